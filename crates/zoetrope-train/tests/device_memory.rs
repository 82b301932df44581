//! What a plan says that a rank takes on its GPU, against what it takes there.

mod gpu;

use gpu::has_gpu;
use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::{Timeouts, threads};
use zoetrope_plan::FramePlan;
use zoetrope_run::Timeline;
use zoetrope_tensor::cuda::{Consumer, MemoryUse};
use zoetrope_train::TrainError;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Epochs, TrainingRun};

/// One frame of twelve snapshots, in three epochs: computed, recorded, launched.
const DATA: &str = "data.path=synthetic:power-law?vertices=600&steps=12&edges=1200&features=24&change=0.1&targets=random \
    data.split=none task.name=node-regression model.hidden=16 train.frame=all train.epochs=3 train.device=cuda \
    plan.device_transport=host";

/// How much more than it takes a rank may be planned to take.
const MOST_PLANNED: f64 = 1.25;

/// The ten models, with what they need beside [`DATA`]: a limit from which on a plan asks the GPU what a step takes.
const MODELS: [&str; 10] = [
    "tgcn plan.memory_limit=24MiB",
    "a3tgcn train.frame=6 train.stride=6 plan.memory_limit=24MiB",
    "gc-lstm plan.memory_limit=40MiB",
    "evolvegcn-o plan.memory_limit=16MiB",
    "evolvegcn-h plan.memory_limit=16MiB",
    "mpnn-lstm train.frame=6 train.stride=6 plan.memory_limit=40MiB",
    "cd-gcn plan.memory_limit=40MiB",
    "wd-gcn plan.memory_limit=40MiB",
    "tm-gcn plan.memory_limit=24MiB",
    "dysat train.frame=6 train.stride=6 plan.memory_limit=40MiB",
];

/// What the ranks of a run were planned to take and took.
fn measured(settings: &str, ranks: usize) -> Vec<(FramePlan, MemoryUse)> {
    let all = format!("{DATA} model.name={settings}");
    let found = threads::run(ranks, Timeouts::default(), move |ranks| {
        let builder = all.split_whitespace().fold(Config::builder(), |b, s| b.set(s));
        let mut config = builder.build()?;
        config.train.ranks = ranks.size();
        let material = SnapshotInput::open(&config, &Quiet)?;
        let ranks = (ranks.size() > 1).then_some(ranks);
        let mut session = Session::start_shared(config, material, None, Timeline::new(), ranks)?;
        for _ in 0..3 {
            session.epoch(&mut Unobserved)?;
        }
        Ok::<_, TrainError>((session.plan().clone(), session.device().gpu().unwrap().memory_use()))
    });
    found.unwrap_or_else(|error| panic!("{settings}: {error:?}"))
}

/// Planned by measured, and both by consumer in KiB. Libraries take theirs only once there is a large product.
fn compared(plan: &FramePlan, used: &MemoryUse) -> (f64, String) {
    let planned = plan.gpu.unwrap().memory;
    let total = planned.total() - planned.workspace;
    let took = (used.peak - used.peak_of(Consumer::Workspace)) as u64;
    let shown = [
        ("graph", planned.graph, Consumer::Graph),
        ("features", planned.features, Consumer::Features),
        ("parameters", planned.parameters, Consumer::Parameters),
        // The allocator does not tell them apart.
        ("step and rows", planned.activations + planned.exchanged, Consumer::Activations),
        ("states", planned.checkpoints, Consumer::States),
    ];
    let shown = shown.map(|(name, bytes, consumer)| {
        format!("{name} {} / {}", bytes / 1024, used.peak_of(consumer) / 1024)
    });
    let asked = plan.head.reasons.iter().any(|reason| reason.contains("measured on the GPU"));
    let how = if asked { "" } else { " (by the processor)" };
    let all = format!("{} / {}, {}{how}", total / 1024, took / 1024, shown.join(", "));
    (total as f64 / took as f64, all)
}

/// Each rank takes what its plan says, or up to a fifth less.
fn expect_planned(settings: &str, ranks: usize) {
    for (rank, (plan, used)) in measured(settings, ranks).iter().enumerate() {
        let (ratio, shown) = compared(plan, used);
        assert!(shown.ends_with(|last: char| last.is_ascii_digit()), "{settings}: {shown}");
        assert!(
            (1.0..=MOST_PLANNED).contains(&ratio),
            "{settings}, rank {rank}: {ratio:.2}, {shown}"
        );
    }
}

#[test]
fn a_rank_takes_on_its_gpu_what_its_plan_says() {
    if !has_gpu() {
        return;
    }
    expect_planned("tgcn plan.memory_limit=24MiB plan.reuse=false", 1);
    expect_planned(
        "cd-gcn plan.memory_limit=40MiB plan.reuse=false plan.blocks=3 plan.strategy=snapshot",
        2,
    );
}

/// A block of three snapshots is two and one for two ranks, the next one other ones for each.
#[test]
fn blocks_that_ranks_cannot_share_evenly_take_what_the_plan_says() {
    if !has_gpu() {
        return;
    }
    expect_planned(
        "cd-gcn plan.memory_limit=40MiB plan.reuse=false plan.blocks=5 plan.strategy=snapshot",
        2,
    );
}

/// What is planned to fit, fits, also while an update is recorded.
#[test]
fn a_run_fits_into_what_its_plan_says_that_it_takes() {
    if !has_gpu() {
        return;
    }
    let settings = "tgcn plan.reuse=false plan.blocks=3";
    let (plan, used) = measured(&format!("{settings} plan.memory_limit=24MiB"), 1).swap_remove(0);
    let memory = plan.gpu.unwrap().memory;
    let total = memory.total() - memory.workspace;
    let (again, tight) =
        measured(&format!("{settings} plan.memory_limit={total}"), 1).swap_remove(0);
    assert!(tight.peak as u64 <= total, "{} of {total}, {} before", tight.peak, used.peak);
    assert!(again.gpu.unwrap().record, "updates are recorded");
}

/// Not a test of its own: all models, strategies and blocks, side by side.
#[test]
#[ignore = "takes minutes: cargo test --test device_memory -- --ignored --nocapture"]
fn all_models_by_all_strategies_in_blocks() {
    if !has_gpu() {
        return;
    }
    let (mut found, mut wrong) = (0, 0);
    for model in MODELS {
        for (ranks, strategy) in
            [(1, ""), (2, "snapshot"), (2, "vertex"), (2, "hypergraph"), (4, "hybrid")]
        {
            for blocks in [1, 3, 5] {
                let strategy = match strategy {
                    "" => String::new(),
                    name => format!("plan.strategy={name}"),
                };
                for record in [true, false] {
                    if blocks > 1 && model.contains("train.frame=6")
                        || !record && (blocks != 3 || ranks != 2)
                    {
                        continue;
                    }
                    let settings =
                        format!("{model} {strategy} plan.blocks={blocks} plan.record={record}");
                    for (rank, (plan, used)) in measured(&settings, ranks).iter().enumerate() {
                        let (ratio, shown) = compared(plan, used);
                        found += 1;
                        wrong += usize::from(!(1.0..=MOST_PLANNED).contains(&ratio));
                        eprintln!("{ratio:.2} {settings} rank {rank}: {shown}");
                    }
                }
            }
        }
    }
    eprintln!("{wrong} of {found} are not within 1.0 to {MOST_PLANNED}");
}
