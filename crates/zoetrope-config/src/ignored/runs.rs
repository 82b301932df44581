//! Keys that depend on where and by how many a run is computed.

use super::unread_if;
use crate::problem::ConfigProblem;
use crate::{Config, Device, DeviceTransport, ModelName, StrategyName};

/// What only a GPU does.
const OF_GPUS: [(&str, &str); 5] = [
    ("train.precision", "a processor computes dense products in f32 alone"),
    ("plan.residency", "only a GPU has a memory of its own to keep the graph in"),
    ("plan.block_states", "only a GPU has a memory of its own to keep states in"),
    ("plan.difference", "only to a GPU snapshots are sent"),
    ("plan.record", "only what a GPU is asked to launch can be recorded"),
];

/// What only several ranks do.
const OF_RANKS: [(&str, &str); 6] = [
    ("plan.strategy", "there is nobody to share a frame with"),
    ("plan.members", "there is nobody to share a snapshot with"),
    ("plan.partitioner", "there is nobody to divide vertices among"),
    ("plan.overlap", "there is nobody to send rows to"),
    ("plan.device_transport", "there is nobody to send anything to"),
    ("plan.timeout", "there is nobody to wait for"),
];

/// What is not read on the device of the run.
pub(super) fn by_device(config: &Config) -> Vec<Option<ConfigProblem>> {
    let on_cpu = config.train.device == Device::Cpu;
    let unread = |(key, reason): (&str, &str)| {
        let advice = format!("leave {key} out, or use --device cuda");
        unread_if(on_cpu, config, (key, "train.device = \"cpu\"", reason, &advice))
    };
    OF_GPUS.into_iter().map(unread).collect()
}

/// Blocks of a frame none of whose states has to leave a GPU.
const BLOCKS_ON_GPU: usize = 3;

/// What is not read because of how frames are cut, or their states handed on.
pub(super) fn by_blocks(config: &Config) -> Vec<Option<ConfigProblem>> {
    let (train, plan) = (&config.train, &config.plan);
    let events = config.model.name.is_stream();
    let whole = plan.blocks.is_none() && plan.memory_limit.is_none();
    let again = "an update does not do the same again, so that it is never recorded";
    let leave = "leave plan.record out";
    let recording = [
        (train.carry_state, "train.carry_state = true".to_owned()),
        (train.truncate.is_some(), format!("train.truncate = {}", train.truncate.unwrap_or(0))),
        (config.model.name == ModelName::EvolveGcnH, "model.name = \"evolvegcn-h\"".to_owned()),
    ];
    let mut found = vec![unread_if(
        whole && !events,
        config,
        (
            "plan.recompute",
            "a frame in one block",
            "there are no blocks to compute again",
            "leave plan.recompute out, or choose plan.blocks or a memory limit",
        ),
    )];
    let few = plan.blocks.is_some_and(|blocks| blocks <= BLOCKS_ON_GPU);
    let states = [
        (
            few,
            format!("plan.blocks = {}", plan.blocks.unwrap_or(0)),
            "two states stay on the GPU anyway",
        ),
        (
            !plan.recompute,
            "plan.recompute = false".to_owned(),
            "blocks that are kept have their states",
        ),
    ];
    found.extend(states.into_iter().map(|(holds, chooser, why)| {
        let advice = "leave plan.block_states out";
        unread_if(holds && !events, config, ("plan.block_states", &chooser, why, advice))
    }));
    found.extend(recording.into_iter().map(|(holds, chooser)| {
        unread_if(holds && !events, config, ("plan.record", &chooser, again, leave))
    }));
    found
}

/// What a saved plan says itself.
const OF_PLANS: [&str; 16] = [
    "plan.reuse",
    "plan.group",
    "plan.blocks",
    "plan.recompute",
    "plan.strategy",
    "plan.members",
    "plan.partitioner",
    "plan.overlap",
    "plan.device_transport",
    "plan.order",
    "plan.residency",
    "plan.block_states",
    "plan.difference",
    "plan.record",
    "plan.deduplicate",
    "plan.prefetch",
];

/// What is not read beside a saved plan, which is obeyed.
pub(super) fn by_plan_file(config: &Config) -> Vec<Option<ConfigProblem>> {
    let holds = config.names_plan_file();
    let unread = |key: &str| {
        let advice = format!("leave {key} out, or make another plan with `zoetrope plan`");
        unread_if(holds, config, (key, "plan.name", "the saved plan says it already", &advice))
    };
    OF_PLANS.into_iter().map(unread).collect()
}

/// What is not read by so many ranks.
pub(crate) fn by_ranks(config: &Config, ranks: usize) -> Vec<ConfigProblem> {
    let chooser = format!("train.ranks = {ranks}");
    if ranks == 1 {
        let alone = |(key, reason): (&str, &str)| {
            let advice = format!("leave {key} out, or use more --ranks");
            unread_if(true, config, (key, &chooser, reason, &advice))
        };
        return OF_RANKS.into_iter().filter_map(alone).collect();
    }
    let recorded = unread_if(
        config.plan.strategy == StrategyName::Frames,
        config,
        (
            "plan.record",
            "plan.strategy = \"frames\"",
            "ranks tell each other what they found in their frames, so that updates are never recorded",
            "leave plan.record out, or share frames in another way",
        ),
    );
    let mut found: Vec<ConfigProblem> = recorded.into_iter().collect();
    found.extend(overlap(config).into_iter().flatten());
    found.extend(unread_if(
        config.train.device == Device::Cpu && config.plan.device_transport != DeviceTransport::Nccl,
        config,
        (
            "plan.device_transport",
            "train.device = \"cpu\"",
            "processors have no way of their own from one to the other",
            "leave plan.device_transport out, or use --device cuda",
        ),
    ));
    found
}

/// Rows are on their way beside computing only if they are moved for the time encoder and not gathered for the
/// structure encoder.
fn overlap(config: &Config) -> [Option<ConfigProblem>; 3] {
    let strategy = config.plan.strategy;
    let shares_vertices = !matches!(strategy, StrategyName::Auto | StrategyName::Snapshot);
    let evolves = matches!(config.model.name, ModelName::EvolveGcnO | ModelName::EvolveGcnH);
    let unread = |holds, chooser: &str, reason, advice| {
        unread_if(holds, config, ("plan.overlap", chooser, reason, advice))
    };
    [
        unread(
            shares_vertices,
            &format!("plan.strategy = \"{strategy}\""),
            "only whole snapshots are sent while others are computed",
            "leave plan.overlap out, or use plan.strategy = \"snapshot\"",
        ),
        unread(
            evolves,
            &format!("model.name = \"{}\"", config.model.name),
            "its time encoder runs on weights, so that no rows are sent for it",
            "leave plan.overlap out",
        ),
        unread(
            config.plan.device_transport == DeviceTransport::Nccl,
            "plan.device_transport = \"nccl\"",
            "NCCL sends in the stream that computes, so that nothing runs beside it",
            "leave plan.overlap out, or use plan.device_transport = \"host\"",
        ),
    ]
}
