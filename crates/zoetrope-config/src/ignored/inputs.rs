//! Keys that the named data does not read, whatever it holds.

use zoetrope_data::synthetic::is_synthetic;

use super::unread_if;
use crate::problem::ConfigProblem;
use crate::{Config, FeatureRule};

/// How files are read.
const OF_FILES: [&str; 8] = [
    "data.format",
    "data.delimiter",
    "data.header",
    "data.time_unit",
    "data.bipartite",
    "data.text_ids",
    "data.lenient",
    "data.max_problems",
];

pub(super) fn by_input(config: &Config) -> Vec<Option<ConfigProblem>> {
    let path = &config.data.path;
    let of_files = |key| {
        let advice = format!("leave {key} out, or give a file");
        let reason = "what is generated is not read from a file";
        unread_if(
            is_synthetic(path),
            config,
            (key, &format!("data.path = \"{path}\""), reason, &advice),
        )
    };
    let mut found: Vec<Option<ConfigProblem>> = OF_FILES.into_iter().map(of_files).collect();
    let features = config.data.features;
    found.push(unread_if(
        features != FeatureRule::Learned,
        config,
        (
            "data.learned_width",
            &format!("data.features = \"{features}\""),
            "no features are learned",
            "leave data.learned_width out, or use data.features = \"learned\"",
        ),
    ));
    found
}
