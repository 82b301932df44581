//! Writing a data set in the layout that fits it.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use zoetrope_graph::{NameTable, SnapshotSequence, SnapshotView, VertexFeatures};

use super::extra::{Extra, Series, sides_of};
use super::tennis;
use crate::dataset::{OneHot, Signal, SnapshotDataset, Standardise};
use crate::error::DataError;
use crate::format::Format;
use crate::progress::Progress;
use crate::sink::Sink;

enum Layout {
    /// `edges`, `weights` and a series under this key.
    Series(&'static str),
    /// `edge_mapping` and `y`.
    Mapping,
    /// Numbered steps.
    Steps,
}

/// Writes JSON that PyG-Temporal's loader of the chosen layout reads; see the module.
///
/// # Errors
/// [`DataError::Io`] if the file cannot be written, [`DataError::CannotHold`] if the data has
/// both a series and features.
pub fn write(
    path: &Path,
    data: &SnapshotDataset,
    progress: &dyn Progress,
) -> Result<(), DataError> {
    if data.signal.is_some() && (data.features.is_some() || data.targets.is_some()) {
        return Err(DataError::CannotHold {
            format: Format::PygtJson,
            what: "a measured series besides features or targets",
            advice: "take lags first",
        });
    }
    if data.sequence.steps() == 0 {
        return Err(DataError::CannotHold {
            format: Format::PygtJson,
            what: "a sequence without snapshots",
            advice: "use npz",
        });
    }
    progress.begin("writing", Some(data.sequence.steps() as u64));
    let mut out = Json { sink: Sink::create(path)?, first: true, progress };
    out.raw("{")?;
    match (layout_of(data), &data.signal) {
        (Layout::Series(key), Some(signal)) => {
            out.edges(&data.sequence.at(0), data.sequence.weight().is_some() || key != "FX")?;
            out.rows(key, &signal.values)?;
        }
        (Layout::Mapping, Some(signal)) => {
            out.mapping(&data.sequence)?;
            out.entry("time_periods", &data.sequence.steps())?;
            out.rows("y", &signal.values)?;
        }
        _ => out.steps(data)?,
    }
    if data.names.second.is_none() {
        out.node_ids(&data.names.first)?;
    }
    out.entry("zoetrope", &extra_of(data))?;
    out.raw("}\n")?;
    out.sink.finish()
}

fn layout_of(data: &SnapshotDataset) -> Layout {
    let Some(signal) = &data.signal else { return Layout::Steps };
    let own_lags = signal.target.is_none()
        && signal.one_hot.is_none()
        && signal.values.width() == 1
        && signal.values.steps() == data.sequence.steps();
    match (own_lags, data.sequence.is_constant(), signal.standardise) {
        (false, ..) => Layout::Steps,
        (_, true, Standardise::ByVertex { epsilon: 0.0 }) => Layout::Steps,
        (_, true, Standardise::ByVertex { .. }) => Layout::Series("block"),
        (_, true, _) if data.sequence.weight().is_none() => Layout::Series("FX"),
        (_, true, _) => Layout::Series("X"),
        (_, false, _) => Layout::Mapping,
    }
}

fn extra_of(data: &SnapshotDataset) -> Extra {
    let series = data.signal.as_ref().map(|signal| {
        let mut series = Series::of(signal);
        if signal.one_hot.as_ref().is_some_and(|one_hot| follows_from(one_hot, signal)) {
            series.one_hot_classes.clear();
        }
        series
    });
    Extra {
        vertices: data.sequence.vertices(),
        weighted: data.sequence.weight().is_some(),
        boundaries: data.sequence.boundaries().map(|times| times.iter().collect()),
        classes: data.targets.as_ref().and_then(|targets| targets.classes()),
        series,
        sides: sides_of(&data.names),
    }
}

/// Whether reading the values back makes these classes again, so that they need not be written.
fn follows_from(one_hot: &OneHot, signal: &Signal) -> bool {
    let values = &signal.values;
    // What a reader will see is the shortest decimal of a 32-bit float, not its exact value.
    let decimal = |value: f32| value.to_string().parse::<f64>().unwrap_or(f64::NAN);
    one_hot.sizes == tennis::SIZES
        && values.width() == 2
        && values.values().chunks_exact(2).zip(one_hot.classes.chunks_exact(2)).all(
            |(row, classes)| {
                tennis::classes(decimal(row[0]), decimal(row[1]))
                    .is_some_and(|made| made == classes)
            },
        )
}

struct Json<'a> {
    sink: Sink,
    /// Whether the next entry is the first of its object.
    first: bool,
    progress: &'a dyn Progress,
}

impl Json<'_> {
    fn raw(&mut self, text: &str) -> Result<(), DataError> {
        self.sink.put(text.as_bytes())
    }

    fn value(&mut self, value: &impl Serialize) -> Result<(), DataError> {
        serde_json::to_writer(&mut self.sink, value)
            .map_err(|error| DataError::io(self.sink.path(), error.into()))
    }

    fn key(&mut self, key: &str) -> Result<(), DataError> {
        if !std::mem::replace(&mut self.first, false) {
            self.raw(",")?;
        }
        self.value(&key)?;
        self.raw(":")
    }

    fn entry(&mut self, key: &str, value: &impl Serialize) -> Result<(), DataError> {
        self.key(key)?;
        self.value(value)
    }

    /// Runs `inside` within braces under `key`.
    fn object(
        &mut self,
        key: &str,
        inside: impl FnOnce(&mut Self) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        self.key(key)?;
        self.raw("{")?;
        self.first = true;
        inside(self)?;
        self.first = false;
        self.raw("}")
    }

    fn pairs(&mut self, view: &SnapshotView<'_>) -> Result<(), DataError> {
        self.raw("[")?;
        for (at, (src, dst)) in view.src.iter().zip(view.dst).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(self.sink, "{comma}[{src},{dst}]")
                .map_err(|error| DataError::io(self.sink.path(), error))?;
        }
        self.raw("]")
    }

    fn weights(&mut self, view: &SnapshotView<'_>) -> Result<(), DataError> {
        match view.weight {
            Some(weight) => self.value(&weight),
            None => self.value(&vec![1; view.len()]),
        }
    }

    fn edges(&mut self, view: &SnapshotView<'_>, weights: bool) -> Result<(), DataError> {
        self.key("edges")?;
        self.pairs(view)?;
        if weights {
            self.key("weights")?;
            self.weights(view)?;
        }
        Ok(())
    }

    /// `steps × vertices` values, a row a step.
    fn rows(&mut self, key: &str, series: &VertexFeatures) -> Result<(), DataError> {
        self.key(key)?;
        self.raw("[")?;
        for step in 0..series.steps() {
            if step > 0 {
                self.raw(",")?;
            }
            self.value(&series.at(step))?;
            self.progress.advance(1);
        }
        self.raw("]")
    }

    fn mapping(&mut self, sequence: &SnapshotSequence) -> Result<(), DataError> {
        self.object("edge_mapping", |out| {
            out.object("edge_index", |out| {
                for (step, view) in sequence.iter().enumerate() {
                    out.key(&step.to_string())?;
                    out.pairs(&view)?;
                }
                Ok(())
            })?;
            out.object("edge_weight", |out| {
                for (step, view) in sequence.iter().enumerate() {
                    out.key(&step.to_string())?;
                    out.weights(&view)?;
                }
                Ok(())
            })
        })
    }

    fn steps(&mut self, data: &SnapshotDataset) -> Result<(), DataError> {
        let sequence = &data.sequence;
        if sequence.is_constant() {
            self.edges(&sequence.at(0), true)?;
        }
        for step in 0..sequence.steps() {
            self.object(&step.to_string(), |out| {
                if !sequence.is_constant() {
                    out.edges(&sequence.at(step), true)?;
                }
                out.step(data, step)
            })?;
            self.progress.advance(1);
        }
        self.entry("time_periods", &sequence.steps())
    }

    /// `X` and `y` of a step. What does not change stands in step 0 only. A series of one channel
    /// without a target of its own is `y`, where the Wikipedia maths loader looks for it.
    fn step(&mut self, data: &SnapshotDataset, step: usize) -> Result<(), DataError> {
        let (x, y) = match &data.signal {
            Some(Signal { values, target: None, one_hot: None, .. }) if values.width() == 1 => {
                (None, Some((values.steps(), values.values())))
            }
            Some(signal) => {
                let target = signal.target.as_ref();
                (Some(&signal.values), target.map(|target| (target.steps(), target.values())))
            }
            None => {
                let targets = data.targets.as_ref();
                let targets = targets.map(|targets| (targets.steps(), targets.values()));
                (data.features.as_ref(), targets)
            }
        };
        if let Some(table) = x.filter(|table| table.steps() > step) {
            self.key("X")?;
            self.raw("[")?;
            for (vertex, row) in table.at(step).chunks(table.width().max(1)).enumerate() {
                if vertex > 0 {
                    self.raw(",")?;
                }
                self.value(&row)?;
            }
            self.raw("]")?;
        }
        if let Some((steps, values)) = y.filter(|&(steps, _)| steps > step) {
            let vertices = values.len() / steps;
            self.entry("y", &&values[step * vertices..(step + 1) * vertices])?;
        }
        Ok(())
    }

    fn node_ids(&mut self, names: &NameTable) -> Result<(), DataError> {
        if matches!(names, NameTable::Identity(_)) {
            return Ok(());
        }
        self.object("node_ids", |out| {
            for vertex in 0..names.len() {
                out.entry(&names.name(vertex), &vertex)?;
            }
            Ok(())
        })
    }
}
