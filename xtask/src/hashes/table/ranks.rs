//! Several ranks that share every frame.

use super::{
    BLOCKS, CLASSES, CPU, EDGE_CLASSES, GPU, LINKS, NUMBERS, PAYMENTS, REGRESSION, SHARED, each,
};
use crate::hashes::row::Row;

/// All of them.
pub(super) fn rows() -> Vec<Row> {
    let groups = [ranks, ranks_and_gpus];
    groups.into_iter().flat_map(|group| group()).collect()
}

/// Ranks that are threads.
fn ranks() -> Vec<Row> {
    let mut rows = Vec::new();
    for model in SHARED {
        rows.extend(each(
            model,
            LINKS,
            BLOCKS,
            CPU,
            &[
                "train.ranks=2",
                "train.ranks=3",
                "train.ranks=2 plan.strategy=snapshot",
                "train.ranks=2 plan.strategy=vertex",
                "train.ranks=2 plan.strategy=hypergraph",
                "train.ranks=4 plan.strategy=hybrid",
                "train.ranks=2 plan.strategy=snapshot plan.blocks=2",
                "train.ranks=2 plan.strategy=vertex plan.blocks=3 plan.recompute=false",
            ],
        ));
    }
    for model in ["cd-gcn", "wd-gcn", "tm-gcn"] {
        let overlap = "train.ranks=2 plan.strategy=snapshot plan.overlap=true";
        rows.push(Row::new(model, LINKS, BLOCKS, CPU, overlap));
    }
    for strategy in ["snapshot", "vertex"] {
        for (task, data) in [(REGRESSION, NUMBERS), (CLASSES, BLOCKS), (EDGE_CLASSES, PAYMENTS)] {
            let window = if data == PAYMENTS { " data.window=1d" } else { "" };
            let settings = format!("train.ranks=2 plan.strategy={strategy}{window}");
            rows.push(Row::new("tm-gcn", task, data, CPU, &settings));
            rows.push(Row::new("evolvegcn-o", task, data, CPU, &settings));
        }
    }
    rows.extend(each(
        "cd-gcn",
        LINKS,
        BLOCKS,
        CPU,
        &[
            "train.ranks=4 plan.strategy=snapshot",
            "train.ranks=5 plan.strategy=vertex",
            "train.ranks=4 plan.strategy=hybrid plan.members=4",
            "train.ranks=2 train.batch_size=2",
            "train.ranks=2 train.shuffle=true",
            "train.ranks=2 train.frame=all",
            "train.ranks=2 plan.reuse=false",
            "train.ranks=2 plan.order=update-first",
            "train.ranks=2 train.loss=last",
            "train.ranks=2 train.clip=0.5",
        ],
    ));
    for strategy in ["snapshot", "vertex", "hypergraph"] {
        let settings = format!("train.ranks=2 plan.strategy={strategy}");
        rows.push(Row::new("tm-gcn", LINKS, BLOCKS, CPU, &settings).resumed());
    }
    let hybrid = "train.ranks=4 plan.strategy=hybrid";
    rows.push(Row::new("tm-gcn", LINKS, BLOCKS, CPU, hybrid).resumed());
    rows
}

/// Ranks that are threads and share the emulated GPU, or have one each.
fn ranks_and_gpus() -> Vec<Row> {
    let mut rows = Vec::new();
    for model in ["tgcn", "tm-gcn", "evolvegcn-o"] {
        rows.extend(each(
            model,
            LINKS,
            BLOCKS,
            GPU,
            &[
                "train.ranks=2 plan.strategy=snapshot",
                "train.ranks=2 plan.strategy=vertex",
                "train.ranks=2 plan.strategy=snapshot plan.device_transport=host",
            ],
        ));
    }
    rows.extend(each(
        "tm-gcn",
        LINKS,
        BLOCKS,
        GPU,
        &[
            "train.ranks=2 plan.blocks=2",
            "train.ranks=2 plan.strategy=hypergraph",
            "train.ranks=4 plan.strategy=hybrid",
        ],
    ));
    rows
}
