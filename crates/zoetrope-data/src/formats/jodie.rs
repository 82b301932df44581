//! JODIE files: `user_id,item_id,timestamp,state_label,f1,f2,…`, users and items numbered
//! separately.

use std::path::Path;

use crate::dataset::Loaded;
use crate::error::DataError;
use crate::format::Format;
use crate::formats::edge_list;
use crate::options::{ColumnMap, ReadOptions};
use crate::progress::Progress;
use crate::roles::Roles;
use crate::table::{self, Preset};

/// Why a file is a JODIE file, if its header says so.
pub fn recognises(_: &Path, head: &[u8]) -> Option<String> {
    let first = head.split(|&byte| byte == b'\n').next()?;
    let header = String::from_utf8_lossy(first).to_lowercase();
    let mut names = header.split(',').map(str::trim);
    let wanted = ["user_id", "item_id", "timestamp", "state_label"];
    wanted
        .into_iter()
        .all(|wanted| names.next() == Some(wanted))
        .then(|| "the header starts with user_id,item_id,timestamp,state_label".into())
}

/// Reads a JODIE file.
///
/// # Errors
/// See [`table::read`].
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let roles = Roles {
        src: 0,
        dst: 1,
        time: Some(2),
        time_parts: Vec::new(),
        weight: None,
        label: Some(3),
        kind: None,
        features: (4..options.limits.columns).collect(),
        classes: None,
    };
    // What the user says about columns goes before what the format says.
    let roles = (options.columns == ColumnMap::default()).then_some(roles);
    let preset = Preset { roles, bipartite: true, keep_order: false, ..Preset::default() };
    let table = table::read(path, &preset, options, progress)?;
    Ok(edge_list::loaded(path, Format::JodieCsv, table))
}
