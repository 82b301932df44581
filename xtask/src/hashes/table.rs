//! The configurations.

mod events;
mod ranks;
mod snapshots;

use super::row::Row;
use super::ties;

/// A short name, and what `--data` gets.
type Data = (&'static str, &'static str);

const SERIES: Data = ("demo", "synthetic:demo?vertices=24&steps=40");
const NUMBERS: Data = (
    "power-law",
    "synthetic:power-law?vertices=40&steps=24&edges=160&features=3&targets=neighbours",
);
const BLOCKS: Data = ("sbm", "synthetic:sbm?vertices=40&steps=24&communities=4");
const PAYMENTS: Data = ("aml", "synthetic:aml?accounts=48&events=600&days=24&patterns=8");
const WIDE: Data =
    ("wide", "synthetic:power-law?vertices=200&steps=40&edges=300&features=3&targets=neighbours");
const TIES: Data = ("ties", ties::FILE);
const STREAM: Data = (
    "bipartite",
    "synthetic:bipartite?users=30&items=12&tastes=3&events=600&features=3&labels=0.2&days=24",
);

const SNAPSHOT_MODELS: [&str; 10] = [
    "tgcn",
    "a3tgcn",
    "gc-lstm",
    "evolvegcn-o",
    "evolvegcn-h",
    "mpnn-lstm",
    "cd-gcn",
    "wd-gcn",
    "tm-gcn",
    "dysat",
];

/// Snapshot models that ranks can share.
const SHARED: [&str; 5] = ["tgcn", "cd-gcn", "wd-gcn", "tm-gcn", "evolvegcn-o"];

/// Models that hand a state from frame to frame.
const STATEFUL: [&str; 4] = ["tgcn", "gc-lstm", "evolvegcn-o", "evolvegcn-h"];

const EVENT_MODELS: [&str; 4] = ["tgn", "jodie", "apan", "tgat"];

const REGRESSION: &str = "node-regression";
const CLASSES: &str = "node-classification";
const LINKS: &str = "link-prediction";
const EDGE_CLASSES: &str = "edge-classification";
const EDGE_NUMBERS: &str = "edge-regression";

const CPU: &str = "cpu";
/// The emulated GPU.
const GPU: &str = "cuda";

/// Every configuration, in the order in which it is shown.
pub(super) fn rows() -> Vec<Row> {
    let groups = [snapshots::rows, ranks::rows, events::rows, refusals];
    groups.into_iter().flat_map(|group| group()).collect()
}

/// The variants of a row that the lines name, each a list of settings.
fn each(
    model: &'static str,
    task: &'static str,
    data: Data,
    device: &'static str,
    lines: &[&str],
) -> Vec<Row> {
    lines.iter().map(|settings| Row::new(model, task, data, device, settings)).collect()
}

/// A row and the same with a stop in the middle.
fn stopped(row: Row) -> [Row; 2] {
    [row.clone(), row.resumed()]
}

/// What has to stay refused.
fn refusals() -> Vec<Row> {
    let mut rows =
        each("dysat", LINKS, BLOCKS, CPU, &["train.ranks=2", "plan.blocks=2", "train.truncate=2"]);
    rows.extend(each(
        "tgcn",
        LINKS,
        BLOCKS,
        CPU,
        &[
            "train.ranks=2 train.carry_state=true",
            "train.ranks=2 model.dropout=0.2",
            "train.ranks=41",
            "train.ranks=4 plan.strategy=hybrid plan.members=3",
            "train.truncate=2 plan.blocks=2",
            "train.frame=25",
            "plan.name=none-such",
        ],
    ));
    rows.push(Row::new("tgn", LINKS, STREAM, CPU, "train.ranks=2"));
    rows.push(Row::new("tgn", LINKS, STREAM, CPU, "train.frame=4"));
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_rows_have_one_name_and_every_model_has_rows_on_both_devices() {
        let rows = rows();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
        assert!(rows.len() >= 60);
        for model in SNAPSHOT_MODELS.iter().chain(&EVENT_MODELS) {
            for device in [CPU, GPU] {
                let starts = |name: &&&str| name.starts_with(&format!("{model} {LINKS}"));
                assert!(names.iter().filter(starts).any(|name| name.contains(device)), "{model}");
            }
        }
    }

    #[test]
    fn every_row_that_is_continued_has_a_twin_without_a_stop() {
        let rows = rows();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let continued: Vec<&Row> = rows.iter().filter(|row| row.resumes).collect();
        assert!(continued.len() > 20);
        for row in continued {
            assert!(row.without_stop().is_some_and(|name| names.contains(name)), "{}", row.name);
        }
    }
}
