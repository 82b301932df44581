//! The matrices of the sparse cases: GCN-normalised snapshots of the D4 and D5 workloads.

use std::collections::HashMap;
use std::path::Path;

use zoetrope_data::dataset::Dataset;
use zoetrope_data::progress::Quiet;
use zoetrope_data::synthetic::generate;
use zoetrope_nn::{Adjacency, PreparedGraph};
use zoetrope_tensor::{SparseGroup, SparseMatrix};

/// Snapshots of a group, as the workloads' frames have.
const SNAPSHOTS: usize = 8;

const NAMES: [(&str, &str); 2] = [
    ("d4", "synthetic:power-law?steps=8&features=0&targets=none"),
    ("d5", "synthetic:power-law?vertices=200000&edges=1000000&steps=8&features=0&targets=none"),
];

/// Graphs that have been made so far.
#[derive(Default)]
pub(crate) struct Graphs {
    made: HashMap<String, SparseGroup>,
}

impl Graphs {
    /// The first snapshots of a workload.
    pub(crate) fn group(&mut self, name: &str, snapshots: usize) -> SparseGroup {
        self.made.entry(name.to_owned()).or_insert_with(|| make(name)).cut(0..snapshots)
    }
}

fn make(name: &str) -> SparseGroup {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    let (_, generator) = known.unwrap_or_else(|| panic!("no graph `{name}`"));
    let loaded = generate(generator, &Quiet).unwrap_or_else(|error| panic!("{error}"));
    let Dataset::Snapshots(data) = loaded.dataset else { panic!("snapshots were generated") };
    let prepared = PreparedGraph::new(&data.sequence, &[Adjacency::Gcn]);
    prepared.unwrap_or_else(|error| panic!("{error}")).form(Adjacency::Gcn).clone()
}

/// Writes offsets, columns (u32) and values (f32) of each snapshot, little-endian, with the number
/// of vertices and of entries before them (u32 each).
pub(crate) fn write(folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder to write to");
    for (name, _) in NAMES {
        let group = make(name);
        assert_eq!(group.len(), SNAPSHOTS, "snapshots of a group");
        let mut bytes = Vec::new();
        for member in group.members() {
            put(&mut bytes, member);
        }
        std::fs::write(folder.join(format!("{name}.bin")), bytes).expect("room for the graph");
    }
}

fn put(bytes: &mut Vec<u8>, member: &SparseMatrix) {
    let matrix = member.matrix();
    let mut words = |words: &[u32]| bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    words(&[matrix.rows(), matrix.entries() as u32]);
    words(matrix.row_offsets());
    words(matrix.column_indices());
    bytes.extend(matrix.values().iter().flat_map(|value| value.to_le_bytes()));
}
