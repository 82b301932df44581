//! Snapshot models on one rank.

use super::{
    BLOCKS, CLASSES, CPU, EDGE_CLASSES, GPU, LINKS, NUMBERS, PAYMENTS, REGRESSION, SERIES,
    SNAPSHOT_MODELS, STATEFUL, STREAM, WIDE, each, stopped,
};
use crate::hashes::row::Row;

/// All of them.
pub(super) fn rows() -> Vec<Row> {
    let groups = [models, training, layouts, inputs];
    groups.into_iter().flat_map(|group| group()).collect()
}

/// Every snapshot model with every task and device, and continued.
fn models() -> Vec<Row> {
    let mut rows = Vec::new();
    for model in SNAPSHOT_MODELS {
        rows.extend(stopped(Row::new(model, REGRESSION, NUMBERS, CPU, "")));
        rows.push(Row::new(model, REGRESSION, SERIES, CPU, ""));
        rows.push(Row::new(model, CLASSES, BLOCKS, CPU, ""));
        rows.extend(stopped(Row::new(model, LINKS, BLOCKS, CPU, "")));
        rows.push(Row::new(model, EDGE_CLASSES, PAYMENTS, CPU, "data.window=1d"));
        rows.push(Row::new(model, REGRESSION, NUMBERS, CPU, "model.variant=paper"));
        rows.extend(stopped(Row::new(model, LINKS, BLOCKS, GPU, "")));
        rows.push(Row::new(model, CLASSES, BLOCKS, GPU, ""));
    }
    rows
}

/// How frames follow each other, how gradients flow and how weights change.
fn training() -> Vec<Row> {
    let mut rows = Vec::new();
    for model in STATEFUL {
        rows.extend(each(
            model,
            LINKS,
            BLOCKS,
            CPU,
            &[
                "train.truncate=2",
                "train.carry_state=true train.stride=6",
                "train.carry_state=true train.stride=6 train.truncate=3",
                "train.frame=all train.truncate=4",
            ],
        ));
    }
    for model in ["tgcn", "cd-gcn", "evolvegcn-o", "dysat"] {
        for device in [CPU, GPU] {
            rows.extend(each(
                model,
                LINKS,
                BLOCKS,
                device,
                &[
                    "train.shuffle=true",
                    "train.batch_size=3",
                    "train.shuffle=true train.batch_size=2",
                    "train.loss=last",
                ],
            ));
        }
    }
    rows.extend(each(
        "tgcn",
        LINKS,
        BLOCKS,
        GPU,
        &["train.truncate=2", "train.carry_state=true train.stride=6"],
    ));
    rows.push(Row::new("tgcn", LINKS, BLOCKS, CPU, "train.shuffle=true").resumed());
    let carried = "train.carry_state=true train.stride=6";
    rows.push(Row::new("tgcn", LINKS, BLOCKS, CPU, carried).resumed());
    rows.extend(each(
        "tgcn",
        REGRESSION,
        NUMBERS,
        CPU,
        &[
            "train.optimiser=sgd train.momentum=0.9",
            "train.optimiser=rmsprop train.clip=0.5",
            "train.optimiser=adamw train.weight_decay=0.1",
            "train.schedule=cosine train.min_lr=0.001",
            "train.schedule=warm-up train.warm_up=2",
            "train.schedule=step train.step_every=1",
            "train.schedule=plateau train.plateau_patience=1",
            "train.patience=1",
            "train.frame=all",
            "train.threads=2",
            "data.split=none",
            "data.split=80/20",
            "model.dropout=0.3",
            "model.decoder=mlp",
        ],
    ));
    rows.extend(each(
        "cd-gcn",
        CLASSES,
        BLOCKS,
        CPU,
        &["task.class_weights=balanced", "model.layers=3", "model.dropout=0.3"],
    ));
    rows.extend(each("dysat", LINKS, BLOCKS, CPU, &["model.heads=2 model.dropout=0.2"]));
    rows.extend(each("gc-lstm", LINKS, BLOCKS, CPU, &["model.k=3 model.normalisation=rw"]));
    rows.extend(each("tm-gcn", LINKS, BLOCKS, CPU, &["model.bandwidth=3", "model.decoder=dot"]));
    rows.extend(each(
        "tgcn",
        LINKS,
        BLOCKS,
        CPU,
        &[
            "task.theta=0.5 task.negatives=3",
            "task.candidates=20 task.hits=3",
            "task.all_pairs=true",
        ],
    ));
    rows
}

/// What a plan decides for one rank.
fn layouts() -> Vec<Row> {
    let mut rows = Vec::new();
    for model in ["tgcn", "cd-gcn", "wd-gcn", "tm-gcn", "evolvegcn-o", "gc-lstm"] {
        rows.extend(each(
            model,
            LINKS,
            BLOCKS,
            CPU,
            &[
                "plan.blocks=2",
                "plan.blocks=3 plan.recompute=false",
                "train.frame=all plan.blocks=5",
            ],
        ));
    }
    rows.extend(each(
        "tm-gcn",
        LINKS,
        BLOCKS,
        CPU,
        &[
            "plan.group=1",
            "plan.group=4",
            "plan.reuse=false",
            "plan.order=aggregate-first",
            "plan.order=update-first",
            "plan.order=update-first plan.reuse=false",
            "train.batch_size=2 plan.blocks=2",
        ],
    ));
    rows.push(Row::new("tm-gcn", LINKS, BLOCKS, CPU, "plan.blocks=2").resumed());
    for model in ["tgcn", "tm-gcn", "evolvegcn-o", "gc-lstm"] {
        rows.extend(each(
            model,
            LINKS,
            BLOCKS,
            GPU,
            &[
                "plan.blocks=2",
                "train.frame=all plan.blocks=5 plan.block_states=stream",
                "plan.residency=stream",
                "plan.residency=stream plan.difference=on",
                "plan.residency=stream plan.difference=off",
                "plan.difference=off",
                "plan.record=false",
            ],
        ));
    }
    rows.extend(each(
        "tgcn",
        REGRESSION,
        NUMBERS,
        GPU,
        &[
            "",
            "plan.group=2",
            "plan.reuse=false",
            "plan.residency=stream plan.blocks=2 plan.recompute=false",
            "plan.residency=stream train.shuffle=true",
            "train.precision=tf32",
        ],
    ));
    // So little that the frame has to be cut into blocks.
    let limited = "model.hidden=16 train.frame=24 train.stride=24 plan.memory_limit=15500kB";
    rows.push(Row::new("tm-gcn", REGRESSION, WIDE, GPU, limited));
    rows.extend(stopped(Row::new(
        "tgcn",
        LINKS,
        BLOCKS,
        GPU,
        "plan.residency=stream train.shuffle=true",
    )));
    rows
}

/// What is made of the data before training.
fn inputs() -> Vec<Row> {
    let mut rows = each(
        "tgcn",
        LINKS,
        BLOCKS,
        CPU,
        &[
            "data.features=learned data.learned_width=4",
            "data.features=one-hot",
            "data.features=degree",
            "data.features=ones",
            "data.edge_life=3",
            "data.m_product=3",
            "data.feature_scaling=standard",
        ],
    );
    rows.extend(stopped(Row::new("tgcn", LINKS, BLOCKS, CPU, "data.features=learned")));
    rows.push(Row::new("tgcn", LINKS, BLOCKS, GPU, "data.features=learned"));
    rows.extend(each(
        "tm-gcn",
        LINKS,
        BLOCKS,
        CPU,
        &["data.edge_life=3 plan.blocks=2", "data.m_product=3 train.ranks=2"],
    ));
    rows.extend(each(
        "tgcn",
        REGRESSION,
        SERIES,
        CPU,
        &[
            "data.scaling=raw",
            "data.scaling=overall",
            "data.scaling=by-vertex data.lags=4",
            "data.missing=0",
        ],
    ));
    rows.extend(each(
        "tgcn",
        EDGE_CLASSES,
        PAYMENTS,
        CPU,
        &[
            "data.window=2d",
            "data.window=1d data.weights=ones",
            "data.window=1d data.merge=last data.undirected=true",
            "data.window=1d data.merge=count data.weights=absolute",
            "data.window=1d data.until_removed=true",
        ],
    ));
    rows.extend(each(
        "cd-gcn",
        LINKS,
        STREAM,
        CPU,
        &["data.window=1d", "data.window=1d train.ranks=2"],
    ));
    rows
}
