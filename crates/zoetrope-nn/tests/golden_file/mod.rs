//! Reads the files that the scripts in `tests/golden` write.
#![allow(dead_code, reason = "each test program uses its part")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use zoetrope_graph::SnapshotSequence;

/// A tensor of a golden file; integers are read as f32.
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f32>,
}

/// One case: what was built and what it gave.
pub(crate) struct Golden {
    pub(crate) name: String,
    pub(crate) metadata: HashMap<String, String>,
    tensors: HashMap<String, Tensor>,
}

impl Golden {
    /// The cases of a folder beside this file, by name.
    pub(crate) fn folder(name: &str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        let entries = std::fs::read_dir(folder).expect("the folder of golden values");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "safetensors"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).expect("a golden file");
        let (_, header) = SafeTensors::read_metadata(&bytes).expect("a golden file");
        let file = SafeTensors::deserialize(&bytes).expect("a golden file");
        let tensor = |view: &safetensors::tensor::TensorView<'_>| Tensor {
            shape: view.shape().to_vec(),
            values: numbers(view.dtype(), view.data()),
        };
        Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            metadata: header.metadata().clone().unwrap_or_default(),
            tensors: file.iter().map(|(name, view)| (name.to_owned(), tensor(&view))).collect(),
        }
    }

    pub(crate) fn number(&self, key: &str) -> Option<usize> {
        self.metadata.get(key).map(|value| value.parse().expect("a number"))
    }

    pub(crate) fn values(&self, name: &str) -> &[f32] {
        &self.tensors.get(name).unwrap_or_else(|| panic!("{}: no {name}", self.name)).values
    }

    /// The tensors whose names begin with `prefix`, without it, in order of names.
    pub(crate) fn under(&self, prefix: &str) -> Vec<(&str, &Tensor)> {
        let stripped = |(name, tensor)| Some((str::strip_prefix(name, prefix)?, tensor));
        let named = self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor));
        let mut found: Vec<_> = named.filter_map(stripped).collect();
        found.sort_by_key(|(name, _)| *name);
        found
    }

    /// The snapshots.
    pub(crate) fn graph(&self) -> SnapshotSequence {
        let whole = |name| self.values(name).iter().map(|&value| value as u32).collect();
        let offsets = self.values("offsets").iter().map(|&value| value as u64).collect();
        let vertices = self.number("vertices").expect("the number of vertices") as u32;
        let weight = Some(self.values("weight").to_vec());
        SnapshotSequence::new(vertices, offsets, whole("src"), whole("dst"), weight).unwrap()
    }
}

fn numbers(kind: Dtype, data: &[u8]) -> Vec<f32> {
    match kind {
        Dtype::F32 => data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        Dtype::I32 => {
            data.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes) as f32).collect()
        }
        Dtype::I64 => {
            data.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes) as f32).collect()
        }
        other => panic!("unexpected type {other:?}"),
    }
}

/// The largest absolute difference.
pub(crate) fn difference(got: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(got.len(), expected.len());
    let pairs = got.iter().zip(expected);
    // A NaN must not hide behind `max`.
    pairs.fold(0.0, |worst, (a, b)| {
        let gap = (a - b).abs();
        if gap > worst || gap.is_nan() { gap } else { worst }
    })
}

/// The largest absolute value.
pub(crate) fn scale(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |largest, value| value.abs().max(largest))
}
