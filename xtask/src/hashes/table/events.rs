//! Event models.

use super::{
    CLASSES, CPU, EDGE_CLASSES, EDGE_NUMBERS, EVENT_MODELS, GPU, LINKS, PAYMENTS, STREAM, TIES,
    each, stopped,
};
use crate::hashes::row::Row;

/// All of them.
pub(super) fn rows() -> Vec<Row> {
    let groups = [streams, stream_parts];
    groups.into_iter().flat_map(|group| group()).collect()
}

/// Every event model with every task and device, and continued.
fn streams() -> Vec<Row> {
    let mut rows = Vec::new();
    for model in EVENT_MODELS {
        for (task, data) in [(CLASSES, STREAM), (EDGE_CLASSES, PAYMENTS), (EDGE_NUMBERS, PAYMENTS)]
        {
            rows.push(Row::new(model, task, data, CPU, ""));
        }
        rows.extend(stopped(Row::new(model, LINKS, STREAM, CPU, "")));
        rows.extend(stopped(Row::new(model, LINKS, STREAM, GPU, "")));
        rows.extend(each(
            model,
            LINKS,
            STREAM,
            CPU,
            &[
                "plan.deduplicate=false",
                "plan.prefetch=false",
                "train.batch_size=17",
                "train.batch_size=300",
                "data.inductive=0.1",
            ],
        ));
        rows.extend(stopped(Row::new(model, LINKS, TIES, CPU, "")));
        rows.extend(each(
            model,
            LINKS,
            TIES,
            CPU,
            &["task.equal_times=batch", "task.equal_times=past"],
        ));
    }
    // JODIE has no neighbours.
    for model in ["tgn", "apan", "tgat"] {
        rows.extend(each(
            model,
            LINKS,
            TIES,
            CPU,
            &[
                "task.neighbours=batch-stale",
                "task.equal_times=batch task.neighbours=batch-stale train.batch_size=100",
            ],
        ));
    }
    rows
}

/// The parts that event models are made of, and how their batches and negatives are drawn.
fn stream_parts() -> Vec<Row> {
    let mut rows = each(
        "tgn",
        LINKS,
        STREAM,
        CPU,
        &[
            "model.variant=pyg",
            "model.variant=pyg task.equal_times=batch task.neighbours=batch-stale",
            "model.updater=rnn",
            "model.updater=lstm",
            "model.message=mlp",
            "model.combine=mean",
            "model.embedding=identity",
            "model.embedding=time",
            "model.embedding=sum",
            "model.layers=2 model.neighbours=4",
            "model.sampling=uniform",
            "model.time_width=6",
            "model.dropout=0.3",
            "train.chunks=4",
            "train.settle=1",
            "train.seed=4",
            "task.pool=all",
            "task.pool=historical",
            "task.pool=inductive",
            "task.pool=mixed task.negatives=2",
            "task.negatives=3 task.candidates=20",
            "data.drop_features=[0]",
            "data.feature_scaling=standard",
            "data.feature_scaling=log",
            "data.features=learned",
            "data.features=one-hot",
            "train.threads=2",
        ],
    );
    rows.push(Row::new("tgn", LINKS, STREAM, CPU, "train.chunks=4").resumed());
    rows.push(Row::new("tgn", EDGE_CLASSES, PAYMENTS, CPU, "train.settle=1"));
    rows.extend(each(
        "tgn",
        EDGE_CLASSES,
        PAYMENTS,
        CPU,
        &["task.own_features=false", "task.class_weights=balanced"],
    ));
    rows.extend(each(
        "tgn",
        LINKS,
        STREAM,
        GPU,
        &[
            "model.variant=pyg",
            "plan.deduplicate=false",
            "plan.prefetch=false",
            "plan.residency=stream",
            "data.features=learned",
        ],
    ));
    rows.push(Row::new("tgn", EDGE_CLASSES, PAYMENTS, GPU, ""));
    rows.push(Row::new("tgat", EDGE_CLASSES, PAYMENTS, GPU, "model.layers=2 model.neighbours=4"));
    rows.extend(each("apan", LINKS, STREAM, CPU, &["model.mailbox=4", "model.neighbours=4"]));
    rows.extend(each("tgat", LINKS, STREAM, CPU, &["model.layers=1", "model.sampling=recent"]));
    rows
}
