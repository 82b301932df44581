//! What `zoetrope plan --ranks` predicts to move in a step is what a step moves, byte by byte.

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::{Timeouts, Traffic, threads};
use zoetrope_plan::strategy::Row;
use zoetrope_plan::{FramePlan, Plan, Strategy};
use zoetrope_run::Timeline;
use zoetrope_train::TrainError;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::{Session, plan_for_ranks};
use zoetrope_train::training_run::{EpochEnd, Epochs};

/// A graph whose ranks have unlike shares: 17 vertices, 13 snapshots to train on.
const DATA: [&str; 6] = [
    "data.path=synthetic:sbm?vertices=17&steps=17&communities=3&inside=2&outside=1",
    "task.name=link-prediction",
    "data.split=80/20",
    "train.frame=all",
    "model.hidden=5",
    "plan.timeout=300",
];

fn config(ranks: usize, settings: &[String]) -> Config {
    let ranks = format!("train.ranks={ranks}");
    // EvolveGCN of PyG-Temporal is as wide as the features.
    let named = |prefix: &str| settings.iter().any(|setting| setting.starts_with(prefix));
    let square = named("model.name=evolvegcn") && !named("model.variant=paper");
    let usual = DATA.into_iter().filter(|setting| !(square && setting.starts_with("model.hidden")));
    let settings = settings.iter().map(String::as_str);
    let all = usual.chain([ranks.as_str()]).chain(settings);
    all.fold(Config::builder(), zoetrope_config::ConfigBuilder::set).build().unwrap()
}

/// What all ranks send in one update, all weights of which are summed once.
fn measured(ranks: usize, settings: &[String]) -> Vec<Traffic> {
    let settings = settings.to_vec();
    let found = threads::run(ranks, Timeouts::default(), move |ranks| {
        let config = config(ranks.size(), &settings);
        let material = SnapshotInput::open(&config, &Quiet)?;
        let own = ranks.clone();
        let mut session =
            Session::start_shared(config, material, None, Timeline::new(), Some(ranks))?;
        assert_eq!(session.plan().frames.len(), 1);
        let before = own.traffic();
        assert!(matches!(session.epoch(&mut Unobserved)?, EpochEnd::Finished(_)));
        Ok::<_, TrainError>(own.traffic().since(&before))
    });
    found.unwrap()
}

fn predicted(ranks: usize, settings: &[String]) -> FramePlan {
    let config = config(ranks, settings);
    let material = SnapshotInput::open(&config, &Quiet).unwrap();
    plan_for_ranks(config, &material, None, false).unwrap()
}

/// The row of the strategy that is planned.
fn planned(plan: &FramePlan) -> &Row {
    let taken = plan.head.candidates.iter().find(|candidate| candidate.taken).unwrap();
    taken.cells.as_ref().unwrap()
}

fn strategy(plan: &FramePlan) -> Strategy {
    plan.cells().unwrap().strategy
}

fn expect_exact(ranks: usize, settings: &[String]) -> Row {
    let plan = predicted(ranks, settings);
    let row = planned(&plan).clone();
    let traffic = measured(ranks, settings);
    let rows: u64 = traffic.iter().map(|traffic| traffic.all_to_all.bytes).sum();
    assert_eq!(rows, row.row_bytes(), "{ranks} ranks, {settings:?}: {row:?}");
    // Besides the gradients, numbers of 8 bytes: the loss, and whether anybody wants to stop.
    let sums: u64 = traffic.iter().map(|traffic| traffic.all_reduce.bytes).sum();
    let statistics: u64 = traffic.iter().map(|traffic| traffic.all_gather.bytes).sum();
    let scores = settings.iter().any(|setting| setting == "model.name=a3tgcn");
    if scores {
        assert_eq!(statistics, 0, "{settings:?}");
    } else {
        let calls = traffic[0].all_reduce.calls;
        let numbers = (calls - 1) * 8 * (ranks * (ranks - 1)) as u64;
        assert_eq!(sums, row.reduced_bytes + numbers, "{ranks} ranks, {settings:?}");
        assert_eq!(statistics, row.statistics_bytes, "{ranks} ranks, {settings:?}");
    }
    row
}

fn settings(list: &[&str]) -> Vec<String> {
    list.iter().map(|&setting| setting.to_owned()).collect()
}

#[test]
fn every_model_moves_what_is_predicted_for_every_strategy() {
    for model in [
        "tm-gcn",
        "cd-gcn",
        "evolvegcn-o",
        "tgcn",
        "wd-gcn",
        "a3tgcn",
        "gc-lstm",
        "evolvegcn-h",
        "mpnn-lstm",
        "dysat",
    ] {
        for strategy in ["snapshot", "vertex", "hypergraph", "hybrid"] {
            // Nothing is kept of what these aggregate.
            let never = matches!(model, "gc-lstm" | "dysat");
            for reuse in [true, false] {
                if never && !reuse {
                    continue;
                }
                let reuse = if reuse { String::new() } else { "plan.reuse=false".to_owned() };
                let mut list =
                    vec![format!("model.name={model}"), format!("plan.strategy={strategy}")];
                list.extend((!reuse.is_empty()).then_some(reuse));
                if matches!(model, "dysat" | "a3tgcn" | "mpnn-lstm") {
                    // They are made for one length of a frame, or learn a position for each snapshot.
                    list.push("train.frame=12".to_owned());
                }
                let heads = (model == "dysat").then(|| "model.heads=1".to_owned());
                list.extend(heads);
                let row = expect_exact(4, &list);
                let by_snapshot = row.strategy == Strategy::Snapshot;
                let last = matches!(model, "a3tgcn" | "mpnn-lstm");
                assert_eq!(row.answered_bytes == 0, by_snapshot && !last, "{row:?}");
                let exchanges = row.grid.groups > 1 && !model.starts_with("evolvegcn");
                assert_eq!(row.exchanged_bytes > 0, exchanges, "{row:?}");
                assert_eq!(row.statistics_bytes > 0, model == "mpnn-lstm", "{row:?}");
            }
        }
    }
}

#[test]
fn blocks_variants_and_other_models_move_what_is_predicted() {
    for list in [
        &["model.name=tm-gcn", "plan.strategy=snapshot", "plan.blocks=3"][..],
        &["model.name=cd-gcn", "plan.strategy=hybrid", "plan.blocks=2"],
        &["model.name=cd-gcn", "plan.strategy=hypergraph", "plan.blocks=5", "plan.recompute=false"],
        &["model.name=evolvegcn-o", "plan.strategy=vertex", "plan.blocks=4", "plan.reuse=false"],
        &["model.name=evolvegcn-o", "plan.strategy=hybrid", "train.loss=last", "plan.blocks=2"],
        &["model.name=cd-gcn", "model.variant=paper", "plan.strategy=hybrid", "plan.reuse=false"],
        &["model.name=evolvegcn-o", "model.variant=paper", "plan.strategy=hypergraph"],
        &["model.name=wd-gcn", "plan.strategy=snapshot", "plan.order=update-first"],
        &[
            "model.name=wd-gcn",
            "plan.strategy=vertex",
            "plan.order=update-first",
            "plan.reuse=false",
        ],
        &["model.name=tgcn", "plan.strategy=hybrid"],
        &["model.name=tgcn", "plan.strategy=snapshot", "model.variant=paper", "plan.reuse=false"],
        &["model.name=tgcn", "plan.strategy=vertex", "plan.order=update-first", "plan.reuse=false"],
        &["model.name=tm-gcn", "plan.strategy=vertex", "model.hidden=40"],
        &["model.name=tm-gcn", "plan.strategy=snapshot", "plan.overlap=true"],
        &["model.name=cd-gcn", "plan.strategy=snapshot", "plan.overlap=true"],
        &["model.name=mpnn-lstm", "model.variant=paper", "plan.strategy=hybrid", "train.frame=12"],
        &["model.name=gc-lstm", "model.variant=paper", "model.k=3", "plan.strategy=hypergraph"],
        &["model.name=gc-lstm", "plan.strategy=snapshot", "plan.blocks=3"],
        &["model.name=gc-lstm", "plan.strategy=hybrid", "plan.blocks=2", "plan.recompute=false"],
        &[
            "model.name=evolvegcn-h",
            "model.variant=paper",
            "plan.strategy=hypergraph",
            "plan.blocks=2",
        ],
        &[
            "model.name=dysat",
            "model.heads=1",
            "model.layers=2",
            "plan.strategy=hybrid",
            "train.frame=12",
        ],
    ] {
        expect_exact(4, &settings(list));
    }
}

#[test]
fn fewer_snapshots_than_ranks_are_shared_as_recommended() {
    let list = settings(&["model.name=tm-gcn", "train.frame=3"]);
    let plan = predicted(4, &list);
    let recommended = plan.head.candidates.iter().find(|candidate| candidate.recommended).unwrap();
    assert_eq!(recommended.cells.as_ref().unwrap().strategy, strategy(&plan));
    assert_ne!(strategy(&plan), Strategy::Snapshot, "one rank would have nothing to do");
    let enough = predicted(4, &settings(&["model.name=tm-gcn", "train.frame=4"]));
    assert_eq!(strategy(&enough), Strategy::Snapshot);
}

#[test]
fn a_plan_with_its_candidates_is_read_back() {
    let plan = predicted(3, &settings(&["model.name=cd-gcn"]));
    let Plan::Frames(back) = Plan::from_json(&Plan::from(plan.clone()).to_json()).unwrap() else {
        panic!("a plan of frames");
    };
    assert_eq!(back.head.candidates.len(), 3);
    assert_eq!((&back.sharing, &back.frames), (&plan.sharing, &plan.frames));
    assert!(back.alone().head.candidates.is_empty());
}
