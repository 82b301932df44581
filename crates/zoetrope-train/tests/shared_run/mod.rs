//! Runs that ranks share, and what must come out of them: the losses of one rank.

// Each test program uses some of it.
#![allow(dead_code)]

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::Ranks;
use zoetrope_run::Timeline;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Epochs, TrainingRun};

/// ESDG's models with the smoothing that the paper gives each (§6.1).
pub(crate) const MODELS: [&str; 3] = [
    "model.name=tm-gcn model.hidden=6 data.m_product=3 model.bandwidth=3",
    "model.name=cd-gcn model.hidden=6",
    "model.name=evolvegcn-o data.edge_life=3 model.layers=2",
];

/// How ranks share.
pub(crate) const STRATEGIES: [&str; 4] = [
    "plan.strategy=vertex",
    "plan.strategy=hypergraph",
    "plan.strategy=snapshot",
    "plan.strategy=hybrid",
];

/// Blocks of a frame.
pub(crate) const BLOCKS: [&str; 3] = ["plan.blocks=1", "plan.blocks=2", "plan.blocks=5"];

/// Link prediction with θ = 0.1 on a graph whose vertices share few snapshots evenly: 21 of them, 10
/// in a frame, 61 vertices.
const BASE: &str = "data.path=synthetic:aml?accounts=64&days=26&events=2600&patterns=4 data.window=1d \
    data.split=none task.name=link-prediction task.theta=0.1 train.frame=10 \
    train.stride=3 train.epochs=4 train.lr=0.002";

/// A configuration of settings that stand in texts, separated by spaces.
pub(crate) fn config(settings: &[&str]) -> Config {
    let all = settings.iter().flat_map(|text| text.split_whitespace());
    let builder = BASE.split_whitespace().chain(all).fold(Config::builder(), |b, s| b.set(s));
    builder.build().unwrap()
}

/// A session of these settings, alone or as one of several ranks.
pub(crate) fn session(settings: &[&str], ranks: Option<Ranks>) -> Session {
    let config = config(settings);
    let material = SnapshotInput::open(&config, &Quiet).unwrap();
    Session::start_shared(config, material, None, Timeline::new(), ranks).unwrap()
}

/// A session of one of several ranks that makes what it needs of the data by itself.
pub(crate) fn own_session(settings: &[&str], ranks: Ranks) -> Session {
    let config = config(settings);
    let material = SnapshotInput::open_as(&config, &Quiet, &ranks).unwrap();
    Session::start_shared(config, material, None, Timeline::new(), Some(ranks)).unwrap()
}

/// The mean losses of all epochs.
pub(crate) fn losses(settings: &[&str], ranks: Option<Ranks>) -> Vec<f64> {
    losses_of(&mut session(settings, ranks))
}

/// The mean losses of all epochs of a session.
pub(crate) fn losses_of(session: &mut Session) -> Vec<f64> {
    while !(&*session as &dyn TrainingRun).is_over() {
        session.epoch(&mut Unobserved).unwrap();
    }
    session.learner().epochs().iter().map(|epoch| epoch.loss).collect()
}

/// Panics if losses are further than 1e-5 apart.
pub(crate) fn expect_equal(expected: &[f64], found: &[f64], what: &str) {
    expect_near(expected, found, 1e-5, what);
}

/// Panics if losses are further apart than that, relative to what they should be.
pub(crate) fn expect_near(expected: &[f64], found: &[f64], tolerance: f64, what: &str) {
    assert_eq!(expected.len(), found.len(), "{what}");
    for (one, other) in expected.iter().zip(found) {
        let apart = (one - other).abs() / one.abs();
        assert!(apart <= tolerance, "{what}: {expected:?} became {found:?}, {apart:e} apart");
    }
}
