//! Reading snapshots from an archive of arrays.

use std::path::Path;

use zoetrope_graph::{NameTable, SnapshotSequence, Targets, VertexFeatures, VertexId, VertexNames};

use super::archive::NpzArchive;
use super::members::{Dense, Members};
use crate::dataset::{Dataset, Loaded, Notes, OneHot, Signal, SnapshotDataset, Standardise};
use crate::error::DataError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::progress::Progress;

/// Ids up to here make a table of every number below; beyond it only ids that occur get a vertex,
/// unless there are edges to match.
const DENSE_IDS: u64 = 1 << 16;
/// The highest class that a 32-bit float holds exactly.
const MOST_CLASSES: f32 = 16_777_216.0;

/// Reads an archive.
///
/// # Errors
/// [`DataError::Invalid`] with the array at fault if arrays are missing, disagree in size or
/// hold wrong values; [`DataError::Unsupported`] for arrays of objects; [`DataError::Limit`] for
/// archives that unpack to far more than their size; [`DataError::Graph`] if the edges make no
/// graph.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let mut archive = NpzArchive::open(path, &options.limits, progress)?;
    let mut notes = Notes::new(Format::Npz, "a NumPy archive with `edge_offsets`");
    notes.files.push(path.to_owned());
    let mut members = Members { archive: &mut archive };
    let offsets = members.required("edge_offsets", |array| array.read_u64())?;
    let mut src = members.required("edge_src", |array| array.read_u32())?;
    let mut dst = members.required("edge_dst", |array| array.read_u32())?;
    let weight = members.column("edge_weight", |array| array.read_f32())?;
    if let Some(at) = weight.iter().flatten().position(|weight| !weight.is_finite()) {
        let expected = format!("a finite number at position {at}");
        return Err(members.wrong("edge_weight", expected, "NaN or infinity"));
    }
    let features = members.dense("features", &[2, 3], "shape T × N × F or N × F without zeros")?;
    let targets = members.dense("targets", &[1, 2], "shape T × N or N without zeros")?;
    let sizes =
        sizes(&mut members, (&offsets, src.len()), features.as_ref(), targets.as_ref(), options)?;
    let names = names(&mut members, sizes.vertices, &mut src, &mut dst)?;
    let vertices = names.len() as u32;
    let graph = |source| DataError::Graph { path: path.to_owned(), source };
    let mut sequence = if offsets.len() == 2 && sizes.steps != 1 {
        if offsets != [0, src.len() as u64] {
            let found = format!("{offsets:?}");
            return Err(members.wrong("edge_offsets", format!("0, {}", src.len()), found));
        }
        SnapshotSequence::constant(vertices, sizes.steps, src, dst, weight)
    } else {
        SnapshotSequence::new(vertices, offsets, src, dst, weight)
    }
    .map_err(graph)?;
    if let Some(boundaries) = members.column("boundaries", |array| array.read_i64())? {
        sequence = sequence.with_boundaries(boundaries).map_err(graph)?;
    }
    let missing = |dense: Option<&Dense>| {
        dense.map_or(0, |dense| dense.values.iter().filter(|value| value.is_nan()).count() as u64)
    };
    notes.missing_values = missing(features.as_ref()) + missing(targets.as_ref());
    let features = features.map(|dense| dense.into_features()).transpose().map_err(graph)?;
    let mut data = SnapshotDataset { sequence, names, features, targets: None, signal: None };
    match members.scalar("lags")? {
        Some(lags) => data.signal = Some(signal(&mut members, &mut data, targets, lags)?),
        None => data.targets = targets.map(|dense| classes(&mut members, dense)).transpose()?,
    }
    Ok(Loaded { dataset: Dataset::Snapshots(data), notes })
}

impl Dense {
    fn steps(&self, dimensions: usize) -> usize {
        if self.shape.len() == dimensions { self.shape[0] } else { 1 }
    }

    fn vertices(&self, dimensions: usize) -> usize {
        if self.shape.len() == dimensions { self.shape[1] } else { self.shape[0] }
    }

    fn into_features(self) -> Result<VertexFeatures, zoetrope_graph::GraphError> {
        let (steps, vertices) = (self.steps(3), self.vertices(3));
        let width = self.shape.last().copied().unwrap_or(0);
        VertexFeatures::new(steps, vertices, width, self.values)
    }
}

struct Sizes {
    steps: usize,
    vertices: Option<u32>,
}

/// The number of steps and, if an array shows it, of vertices; all arrays must agree.
fn sizes(
    members: &mut Members<'_, '_>,
    (offsets, edges): (&[u64], usize),
    features: Option<&Dense>,
    targets: Option<&Dense>,
    options: &ReadOptions,
) -> Result<Sizes, DataError> {
    if offsets.len() < 2 {
        return Err(members.wrong(
            "edge_offsets",
            "at least two offsets",
            offsets.len().to_string(),
        ));
    }
    let stored = offsets.len() - 1;
    let declared = members.scalar("steps")?;
    if declared.is_some_and(|steps| steps > options.limits.members as u64) {
        return Err(DataError::Limit {
            at: members.at("steps"),
            what: "the number of steps",
            limit: options.limits.members as u64,
            advice: "store each snapshot",
        });
    }
    let shown = [
        ("steps", declared.map(|steps| steps as usize)),
        ("features", features.map(|dense| dense.steps(3)).filter(|&steps| steps != 1)),
        ("targets", targets.map(|dense| dense.steps(2)).filter(|&steps| steps != 1)),
    ];
    let mut steps = (stored != 1).then_some(stored);
    for (name, shown) in shown {
        let Some(shown) = shown else { continue };
        let expected = *steps.get_or_insert(shown);
        if shown != expected {
            return Err(members.wrong(name, format!("{expected} steps"), shown.to_string()));
        }
    }
    let shown = [
        ("features", features.map(|dense| dense.vertices(3) as u64)),
        ("targets", targets.map(|dense| dense.vertices(2) as u64)),
        ("vertices", members.scalar("vertices")?),
    ];
    let mut vertices = None;
    for (name, shown) in shown {
        let Some(shown) = shown else { continue };
        let expected = *vertices.get_or_insert(shown);
        if shown != expected {
            return Err(members.wrong(name, format!("{expected} vertices"), shown.to_string()));
        }
    }
    // Without arrays of that size, the number is a claim that costs the file nothing.
    let shown_by_arrays = features.is_some() || targets.is_some();
    let most = DENSE_IDS.max(64 * edges as u64);
    if !shown_by_arrays && vertices.is_some_and(|count| count > most) {
        return Err(DataError::Limit {
            at: members.at("vertices"),
            what: "the number of vertices without features or targets",
            limit: most,
            advice: "leave the array out: vertices are then counted from the edges",
        });
    }
    Ok(Sizes { steps: steps.unwrap_or(1), vertices: vertices.map(|count| count as u32) })
}

/// The names of the vertices; renumbers the edges if ids are too sparse for a table.
fn names(
    members: &mut Members<'_, '_>,
    vertices: Option<u32>,
    src: &mut [VertexId],
    dst: &mut [VertexId],
) -> Result<VertexNames, DataError> {
    let first = members.names("")?;
    let second = members.names("second_")?;
    let sides = members.column("sides", |array| array.read_u64())?;
    let highest = src.iter().chain(dst.iter()).max().map_or(0, |&id| u64::from(id) + 1);
    let named = first.as_ref().map(|table| table.len() as u64);
    if sides.is_none() && first.is_none() && vertices.is_none() {
        let bound = DENSE_IDS.max(8 * src.len() as u64);
        return Ok(if highest <= bound {
            VertexNames::identity(highest as u32)
        } else {
            renumber(src, dst)
        });
    }
    let total = vertices.map(u64::from).or(named).unwrap_or(highest);
    let sides = sides.unwrap_or_else(|| vec![total]);
    let whole = match sides.as_slice() {
        [one] => *one == total,
        [one, two] => one.checked_add(*two) == Some(total),
        _ => false,
    };
    if !whole {
        let expected = format!("one or two numbers that add up to {total} vertices");
        return Err(members.wrong("sides", expected, format!("{sides:?}")));
    }
    let table = |names: Option<NameTable>, count: u64| match names {
        None => Ok(NameTable::Identity(count as u32)),
        Some(names) if names.len() as u64 == count => Ok(names),
        Some(names) => {
            Err(members.wrong("names", format!("{count} names"), names.len().to_string()))
        }
    };
    let first = table(first, sides[0])?;
    let second = sides.get(1).map(|&count| table(second, count)).transpose()?;
    Ok(VertexNames { first, second })
}

fn renumber(src: &mut [VertexId], dst: &mut [VertexId]) -> VertexNames {
    let mut ids: Vec<VertexId> = src.iter().chain(dst.iter()).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    for id in src.iter_mut().chain(dst) {
        // Every id was put into the list, so the search always finds it.
        *id = ids.binary_search(id).unwrap_or(0) as VertexId;
    }
    let names = ids.into_iter().map(i64::from).collect();
    VertexNames { first: NameTable::Integers(names), second: None }
}

fn classes(members: &mut Members<'_, '_>, dense: Dense) -> Result<Targets, DataError> {
    let (steps, vertices) = (dense.steps(2), dense.vertices(2));
    let declared = members.scalar("classes")?;
    let mut values = dense.values;
    let mut count = None;
    if dense.kind.is_integer() {
        let wrong = |value: f32| !(-1.0..MOST_CLASSES).contains(&value);
        if let Some(at) = values.iter().position(|&value| wrong(value)) {
            let expected = format!("a class from 0 to 16777215, or -1 for none, at position {at}");
            return Err(members.wrong("targets", expected, values[at].to_string()));
        }
        let highest = values.iter().fold(-1.0f32, |highest, &value| highest.max(value));
        let seen = (highest + 1.0) as u64;
        count = Some(declared.unwrap_or(0).max(seen).min(MOST_CLASSES as u64) as u32);
        for value in values.iter_mut().filter(|value| **value < 0.0) {
            *value = f32::NAN;
        }
    }
    Targets::new(steps, vertices, count, values)
        .map_err(|source| DataError::Graph { path: members.archive.path().to_owned(), source })
}

/// The series that `features` and `targets` hold if the archive says `lags`.
fn signal(
    members: &mut Members<'_, '_>,
    data: &mut SnapshotDataset,
    targets: Option<Dense>,
    lags: u64,
) -> Result<Signal, DataError> {
    let Some(values) = data.features.take() else {
        return Err(members.wrong(
            "features",
            "a series, because there is `lags`",
            "no such array",
        ));
    };
    let lags = usize::try_from(lags).unwrap_or(usize::MAX);
    let mut signal = Signal::new(values, lags);
    signal.standardise = match members.column("standardise", |array| array.read_f64())?.as_deref() {
        None | Some([0.0, ..]) => Standardise::No,
        Some([1.0, epsilon]) if epsilon.is_finite() => Standardise::ByVertex { epsilon: *epsilon },
        Some([2.0, ..]) => Standardise::Overall,
        Some(other) => {
            let expected = "0, 1 with an epsilon, or 2";
            return Err(members.wrong("standardise", expected, format!("{other:?}")));
        }
    };
    signal.log_target = members.scalar("log_target")?.unwrap_or(0) != 0;
    signal.repeat_last_target = members.scalar("repeat_last_target")?.unwrap_or(0) != 0;
    signal.target = match targets {
        None => None,
        Some(dense) => {
            let (steps, vertices) = (dense.steps(2), dense.vertices(2));
            let series = VertexFeatures::new(steps, vertices, 1, dense.values);
            let path = members.archive.path().to_owned();
            Some(series.map_err(|source| DataError::Graph { path, source })?)
        }
    };
    if let Some(sizes) = members.column("one_hot_sizes", |array| array.read_u8())? {
        let classes = members.required("one_hot_classes", |array| array.read_u8())?;
        signal.one_hot = Some(OneHot { sizes, classes });
    }
    // Checked again if lags are taken; a file that lies is caught here, while its name is known.
    crate::lagged::check_sizes(&signal, &data.sequence)?;
    Ok(signal)
}
