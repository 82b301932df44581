//! TGL folders: `edges.csv`, `labels.csv`, `edge_features.npy`, `node_features.npy`.
//!
//! `edges.csv` has the columns `src,dst,time` and, usually, a row number in front and `ext_roll`,
//! the part (0 train, 1 validation, 2 test) that each event belongs to. Features of events go by
//! row, those of vertices by identifier. `labels.csv` holds labels of vertices at times
//! (`node,time,label`); each becomes the label of the event that its vertex starts (or else ends)
//! at that time. `ext_full.npz` is an index over `edges.csv` and is not needed for reading.
//!
//! TGL itself keeps features as PyTorch pickles (`.pt`). A pickle can run code, so nothing here
//! opens one: the error says how to save it as `.npy`.
//!
//! Not held: weights, removals, names other than numbers, names of classes and features.

mod labels;
mod reader;
mod writer;

use std::path::{Path, PathBuf};

pub use reader::read;
pub use writer::write;

use crate::formats::side_features::header_names;
use crate::regular_file;

const EDGES: &str = "edges.csv";
const LABELS: &str = "labels.csv";
const EDGE_FEATURES: &str = "edge_features.npy";
const NODE_FEATURES: &str = "node_features.npy";
const INDEX: &str = "ext_full.npz";

/// Whether a path is a TGL folder, or the table of events in one, and why.
pub fn recognises(path: &Path, head: &[u8]) -> Option<String> {
    if path.is_dir() {
        let file = regular_file::open(&path.join(EDGES)).ok()?;
        let mut head = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(file, 4 << 10), &mut head).ok()?;
        let names = header_names(&head);
        return is_table(&names).then(|| "a folder with a TGL table edges.csv".into());
    }
    let names = header_names(head);
    (is_table(&names) && names.iter().any(|name| name == "ext_roll"))
        .then(|| "the header has src,dst,time,ext_roll as TGL's edges.csv".into())
}

fn is_table(names: &[String]) -> bool {
    ["src", "dst", "time"].iter().all(|wanted| names.iter().any(|name| name == wanted))
}

/// The table of events, whether the path is the folder or the table itself.
fn table_path(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(EDGES) } else { path.to_owned() }
}
