//! Generators of dynamic graphs: `synthetic:NAME?key=value&key=value` wherever a path is taken.
//!
//! Owns the catalogue and the way from a name to a data set. Every draw is a function of the seed
//! and of the position of what is drawn, so a name always makes the same bits, whatever the
//! number of threads. A generator that would need more memory than the machine has free refuses
//! before it starts.

mod aml;
mod bipartite;
mod demo;
mod edges;
mod name;
mod non_uniform;
mod parameter;
mod power;
mod power_law;
mod rhythm;
mod sbm;
mod stream;
mod uniform;

use zoetrope_graph::{Targets, VertexFeatures};

use crate::dataset::{Dataset, Loaded, Notes};
use crate::error::DataError;
use crate::format::Format;
use crate::progress::Progress;

pub use aml::{Pattern, Payment, Planted, planted};
pub use name::is_synthetic;
pub use parameter::{Arguments, Generator, Parameter, Range};
pub use stream::{EventChunk, EventStream};

/// All generators, the one for first contact first.
pub fn catalogue() -> &'static [Generator] {
    &CATALOGUE
}

static CATALOGUE: [Generator; 7] = [
    demo::GENERATOR,
    power_law::GENERATOR,
    uniform::GENERATOR,
    sbm::GENERATOR,
    non_uniform::GENERATOR,
    bipartite::GENERATOR,
    aml::GENERATOR,
];

/// Makes the data set that `name` describes: `synthetic:NAME?key=value&…`, the prefix optional.
///
/// # Errors
/// [`DataError::BadParameter`] if the generator or a parameter is unknown (the message names
/// the nearest known one), a value is out of range, or the sizes need more memory than is free.
pub fn generate(name: &str, progress: &dyn Progress) -> Result<Loaded, DataError> {
    let (generator, arguments) = name::parse(name, catalogue())?;
    let dataset = (generator.build)(&arguments, progress)?;
    let notes = Notes::new(Format::Synthetic, format!("generated as {arguments}"));
    Ok(Loaded { dataset, notes })
}

/// The events that `name` describes, chunk by chunk in time order, without holding all of them;
/// the same events as [`generate`] makes.
///
/// # Errors
/// As [`generate`], and [`DataError::BadParameter`] if the generator cannot stream.
pub fn stream(name: &str) -> Result<EventStream, DataError> {
    let (generator, arguments) = name::parse(name, catalogue())?;
    let stream = generator.stream.ok_or_else(|| {
        let able = catalogue().iter().filter(|known| known.stream.is_some());
        DataError::BadParameter {
            parameter: "generator".into(),
            value: generator.name.into(),
            expected: format!(
                "one that streams: {}",
                able.map(|known| known.name).collect::<Vec<_>>().join(", ")
            ),
        }
    })?;
    stream(&arguments)
}

/// Snapshots whose vertices are `0..n`, with what was made for them.
fn snapshots(
    sequence: zoetrope_graph::SnapshotSequence,
    features: Option<VertexFeatures>,
    targets: Option<Targets>,
) -> Dataset {
    let names = zoetrope_graph::VertexNames::identity(sequence.vertices());
    Dataset::Snapshots(crate::dataset::SnapshotDataset {
        sequence,
        names,
        features,
        targets,
        signal: None,
    })
}

#[cfg(test)]
mod tests;
