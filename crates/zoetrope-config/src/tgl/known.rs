//! The keys that TGL reads.

use zoetrope_graph::spelling::nearest;

use super::reader::Entry;
use crate::problem::{ConfigProblem, Origin};
use crate::setting::shorten;

/// The sections and their keys.
const KEYS: [(&str, &[&str]); 4] = [
    (
        "sampling",
        &[
            "layer",
            "neighbor",
            "strategy",
            "prop_time",
            "history",
            "duration",
            "num_thread",
            "no_neg",
            "no_sample",
        ],
    ),
    (
        "memory",
        &[
            "type",
            "dim_time",
            "deliver_to",
            "mail_combine",
            "memory_update",
            "attention_head",
            "mailbox_size",
            "combine_node_feature",
            "dim_out",
        ],
    ),
    ("gnn", &["arch", "layer", "att_head", "dim_time", "dim_out", "time_transform", "combine"]),
    ("train", &["epoch", "batch_size", "reorder", "lr", "dropout", "att_dropout", "all_on_gpu"]),
];

/// Says that TGL has no such key, with the nearest one.
pub(super) fn unknown(entry: &Entry, origin: Origin) -> Option<ConfigProblem> {
    let Entry { section, key, .. } = entry;
    let Some((_, keys)) = KEYS.iter().find(|(known, _)| known == section) else {
        let nearest = nearest(section, KEYS.map(|(known, _)| known)).map(str::to_owned);
        return Some(ConfigProblem::UnknownKey { origin, key: shorten(section), nearest });
    };
    if keys.contains(&key.as_str()) {
        return None;
    }
    let nearest = nearest(key, keys.iter().copied()).map(|near| format!("{section}.{near}"));
    let key = shorten(&format!("{section}.{key}"));
    Some(ConfigProblem::UnknownKey { origin, key, nearest })
}
