//! Writing snapshots as an archive of arrays.

use std::path::Path;

use zoetrope_graph::{NameTable, VertexFeatures};

use super::sink::NpzSink;
use crate::dataset::{Signal, SnapshotDataset, Standardise};
use crate::error::DataError;
use crate::format::Format;
use crate::progress::Progress;

/// Writes an archive that `numpy.load` opens; uncompressed, as `numpy.savez` writes it.
///
/// # Errors
/// [`DataError::Io`] if the file cannot be written, [`DataError::CannotHold`] if the data
/// has both a series and features.
pub fn write(
    path: &Path,
    data: &SnapshotDataset,
    progress: &dyn Progress,
) -> Result<(), DataError> {
    if data.signal.is_some() && (data.features.is_some() || data.targets.is_some()) {
        return Err(DataError::CannotHold {
            format: Format::Npz,
            what: "a measured series besides features or targets",
            advice: "take lags first",
        });
    }
    progress.begin("writing", None);
    let mut out = NpzSink::create(path, progress)?;
    let sequence = &data.sequence;
    let offsets = sequence.ranges().offsets();
    out.put("edge_offsets", &[offsets.len()], &offsets)?;
    out.put("edge_src", &[sequence.src().len()], sequence.src())?;
    out.put("edge_dst", &[sequence.dst().len()], sequence.dst())?;
    if let Some(weight) = sequence.weight() {
        out.put("edge_weight", &[weight.len()], weight)?;
    }
    if sequence.is_constant() {
        out.put("steps", &[], &[sequence.steps() as u64])?;
    }
    if let Some(boundaries) = sequence.boundaries() {
        out.put("boundaries", &[boundaries.len()], &boundaries.iter().collect::<Vec<i64>>())?;
    }
    if let Some(features) = &data.features {
        out.features(features, features.steps() == 1)?;
    }
    if let Some(targets) = &data.targets {
        let shape: &[usize] = match targets.steps() {
            1 => &[targets.vertices()],
            steps => &[steps, targets.vertices()],
        };
        match targets.classes() {
            None => out.put("targets", shape, targets.values())?,
            Some(classes) => {
                let class = |value: &f32| if value.is_nan() { -1 } else { *value as i64 };
                let values: Vec<i64> = targets.values().iter().map(class).collect();
                out.put("targets", shape, &values)?;
                out.put("classes", &[], &[u64::from(classes)])?;
            }
        }
    }
    if let Some(signal) = &data.signal {
        out.signal(signal)?;
    }
    out.names(data)?;
    out.finish()
}

impl NpzSink<'_> {
    fn features(&mut self, features: &VertexFeatures, constant: bool) -> Result<(), DataError> {
        let shape = [features.steps(), features.vertices(), features.width()];
        let shape = if constant { &shape[1..] } else { &shape[..] };
        self.put("features", shape, features.values())
    }

    fn signal(&mut self, signal: &Signal) -> Result<(), DataError> {
        self.features(&signal.values, false)?;
        if let Some(target) = &signal.target {
            self.put("targets", &[target.steps(), target.vertices()], target.values())?;
        }
        self.put("lags", &[], &[signal.lags as u64])?;
        let scaling = match signal.standardise {
            Standardise::No => [0.0, 0.0],
            Standardise::ByVertex { epsilon } => [1.0, epsilon],
            Standardise::Overall => [2.0, 0.0],
        };
        self.put("standardise", &[2], &scaling)?;
        self.put("log_target", &[], &[u8::from(signal.log_target)])?;
        self.put("repeat_last_target", &[], &[u8::from(signal.repeat_last_target)])?;
        if let Some(one_hot) = &signal.one_hot {
            self.put("one_hot_sizes", &[one_hot.sizes.len()], &one_hot.sizes)?;
            self.put("one_hot_classes", &[one_hot.classes.len()], &one_hot.classes)?;
        }
        Ok(())
    }

    fn names(&mut self, data: &SnapshotDataset) -> Result<(), DataError> {
        let names = &data.names;
        let shown = data.features.is_some() || data.targets.is_some() || data.signal.is_some();
        if !shown {
            self.put("vertices", &[], &[names.len() as u64])?;
        }
        if let Some(second) = &names.second {
            self.put("sides", &[2], &[names.first.len() as u64, second.len() as u64])?;
            self.table("second_", second)?;
        }
        self.table("", &names.first)
    }

    fn table(&mut self, prefix: &str, table: &NameTable) -> Result<(), DataError> {
        match table {
            NameTable::Identity(_) => Ok(()),
            NameTable::Integers(names) => {
                self.put(&format!("{prefix}names"), &[names.len()], names)
            }
            NameTable::Text(names) => {
                let (ends, bytes) = names.parts();
                self.put(&format!("{prefix}name_ends"), &[ends.len()], ends)?;
                self.put(&format!("{prefix}name_bytes"), &[bytes.len()], bytes)
            }
        }
    }
}
