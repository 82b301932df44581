//! A cell of the matrix of ways to compute a run: what it comes to, and how far that is from what one rank comes to.

mod ledger;
mod matrix;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::{Ranks, Timeouts, threads};
use zoetrope_run::Timeline;
use zoetrope_train::TrainError;
use zoetrope_train::observer::RunEvent;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Epochs, TrainingRun};

pub(crate) use ledger::{Ledger, Verdict};
pub(crate) use matrix::{FRAMES, MODELS, OPTIMISERS, STRATEGIES, TASKS, all_cases};

/// Frames of six snapshots: at least seven in an epoch, so that there are twenty updates.
const BASE: &str = "train.frame=6 train.epochs=3 data.split=80/20";
/// The same for updates of two frames.
const UPDATES_OF_TWO: &str = "train.batch_size=2 train.epochs=6";
/// Updates after which losses are compared.
const UPDATES_MIN: usize = 20;

/// How far a loss may be from that of one rank, relative to it.
const LOSS_TOLERANCE: f64 = 1e-5;
/// How far a weight may be from that of one rank, relative to the largest.
const WEIGHT_TOLERANCE: f32 = 1e-4;

/// What computes and what sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Engine {
    /// Threads of the processor.
    Threads,
    /// Processes of an MPI job.
    Processes,
    /// Threads, each of which computes on a GPU, real or emulated.
    Gpus,
}

impl Engine {
    /// The name in the table, and in the environment of whoever runs all cells.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Processes => "processes",
            Self::Gpus => "gpus",
        }
    }
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Case {
    pub(crate) model: &'static str,
    pub(crate) task: &'static str,
    pub(crate) strategy: &'static str,
    pub(crate) size: usize,
    pub(crate) blocks: usize,
    pub(crate) optimiser: &'static str,
    pub(crate) engine: Engine,
}

/// What a run comes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct End {
    losses: Vec<f64>,
    weights: Vec<f32>,
    /// Of the validation part after each epoch, if there is one.
    metrics: Vec<f64>,
    updates: usize,
}

/// What a run comes to, or why it is refused.
type Found = Result<End, String>;

/// What one rank comes to, by its settings.
static RUNS_OF_ONE: Mutex<Option<HashMap<String, End>>> = Mutex::new(None);

impl Case {
    fn of_one(&self) -> String {
        let Self { model, task, optimiser, engine, .. } = self;
        let device = if *engine == Engine::Gpus { "train.device=cuda" } else { "" };
        let updates = if self.strategy == FRAMES { UPDATES_OF_TWO } else { "" };
        let width = width_of(model);
        format!("model.name={model} {width} {task} {optimiser} {BASE} {updates} {device}")
    }

    fn settings(&self) -> String {
        let mut settings = format!("{} plan.blocks={}", self.of_one(), self.blocks);
        if self.size > 1 {
            settings += &format!(" plan.strategy={}", self.strategy);
        }
        settings
    }

    /// What one rank comes to that computes whole frames.
    fn alone(&self) -> End {
        let settings = self.of_one();
        let mut known = RUNS_OF_ONE.lock().unwrap();
        let known = known.get_or_insert_default();
        known.entry(settings.clone()).or_insert_with(|| end_of(&settings, None).unwrap()).clone()
    }

    /// Runs the cell by threads and judges it.
    pub(crate) fn by_threads(&self) -> Verdict {
        let (began, settings) = (Instant::now(), self.settings());
        let found = threads::run(self.size, Timeouts::default(), move |ranks| {
            found_of(&settings, Some(ranks))
        });
        match found {
            Err(error) => Verdict::Failed(error.to_string()),
            Ok(found) => {
                let same = found.iter().all(|end| is_same(end, &found[0]));
                self.judged(&found[0], same, began)
            }
        }
    }

    /// Runs the cell as one of the processes of a job. The first one judges it.
    #[cfg(feature = "mpi")]
    pub(crate) fn by_processes(&self, ranks: &Ranks) -> Result<Option<Verdict>, TrainError> {
        use std::hash::{DefaultHasher, Hash, Hasher};

        let began = Instant::now();
        let found = found_of(&self.settings(), Some(ranks.clone()))?;
        let mut hash = DefaultHasher::new();
        if let Ok(End { losses, weights, .. }) = &found {
            losses.iter().for_each(|loss| loss.to_bits().hash(&mut hash));
            weights.iter().for_each(|weight| weight.to_bits().hash(&mut hash));
        }
        let all = ranks.all_gather_varied(&[hash.finish()])?;
        let same = all.iter().all(|one| *one == all[0]);
        Ok((ranks.rank() == 0).then(|| self.judged(&found, same, began)))
    }

    /// Compares a run of which all ranks have the same end with that of one rank.
    fn judged(&self, found: &Found, same: bool, began: Instant) -> Verdict {
        let found = match (found, self.must_be_refused()) {
            (Err(said), Some(reason)) if said.contains(reason) => {
                return Verdict::Refused(said.clone());
            }
            (Err(said), _) => return Verdict::Failed(said.clone()),
            (Ok(_), Some(_)) => return Verdict::Failed("was not refused".to_owned()),
            (Ok(found), None) => found,
        };
        let alone = self.alone();
        if !same {
            return Verdict::Failed("ranks differ".to_owned());
        }
        if alone.losses.len() != found.losses.len() || found.updates < UPDATES_MIN {
            return Verdict::Failed(format!("{} updates", found.updates));
        }
        let losses = alone.losses.iter().zip(&found.losses);
        let loss = losses.map(|(one, other)| (one - other).abs() / one.abs().max(1e-12));
        let largest = alone.weights.iter().fold(0.0_f32, |most, one| most.max(one.abs()));
        let weights = alone.weights.iter().zip(&found.weights);
        let weight = weights.map(|(one, other)| (one - other).abs() / largest);
        let (loss, weight) = (loss.fold(0.0, worse), weight.map(f64::from).fold(0.0, worse));
        // Adam moves a weight whose gradient is nothing but rounding (a shift before a softmax) as far as any
        // other, so that its weights say less than its losses.
        let by_adam = self.optimiser == OPTIMISERS[1];
        let near = loss <= LOSS_TOLERANCE && (by_adam || weight <= f64::from(WEIGHT_TOLERANCE));
        let seconds = began.elapsed().as_secs_f64();
        Verdict::Compared { near, loss, weight: (!by_adam).then_some(weight), seconds }
    }
}

/// EvolveGCN of PyG-Temporal has square weights, as wide as the features.
fn width_of(model: &str) -> &'static str {
    let square = model.starts_with("evolvegcn") && !model.contains("variant=paper");
    if square { "" } else { "model.hidden=8" }
}

fn is_same(one: &Found, other: &Found) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => one == other,
        (one, other) => one.is_err() && other.is_err(),
    }
}

fn worse(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// Runs cells by threads and panics with all of them that differ from one rank by more than rounding.
pub(crate) fn run(cases: Vec<Case>) {
    assert!(!cases.is_empty(), "there are cells");
    let judged = cases.into_iter().map(|case| (case, case.by_threads()));
    let wrong: Vec<String> = judged
        .filter(|(_, verdict)| !verdict.is_right())
        .map(|(case, verdict)| format!("{case:?}: {verdict:?}"))
        .collect();
    assert!(wrong.is_empty(), "{} cells differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Panics unless ranks that share a run of these settings as `shared` says learn, and score, what one rank does.
pub(crate) fn expect_as_alone(settings: &str, shared: &str, size: usize) {
    let model = settings.strip_prefix("model.name=").unwrap_or(settings);
    let one = format!("{settings} {} {BASE}", width_of(model));
    let alone = end_of(&one, None).unwrap_or_else(|error| panic!("{one}: {error}"));
    let all = format!("{one} {shared}");
    let found = threads::run(size, Timeouts::default(), move |ranks| {
        let ranks = (ranks.size() > 1).then_some(ranks);
        end_of(&all, ranks)
    });
    let what = format!("{settings} {shared} {size} ranks");
    let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
    for (expected, found, name) in [
        (&alone.losses, &found[0].losses, "losses"),
        (&alone.metrics, &found[0].metrics, "metrics"),
    ] {
        assert_eq!(expected.len(), found.len(), "{what}: {name}");
        let near = |(one, other): (&f64, &f64)| (one - other).abs() <= LOSS_TOLERANCE * one.abs();
        assert!(
            expected.iter().zip(found).all(near),
            "{what}: {name} {expected:?} became {found:?}"
        );
    }
}

/// What a run comes to, or its refusal (exit code 2) with the reason; other errors are errors.
fn found_of(settings: &str, ranks: Option<Ranks>) -> Result<Found, TrainError> {
    match end_of(settings, ranks) {
        Ok(end) => Ok(Ok(end)),
        Err(error) if error.kind().exit_code() == 2 => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}

pub(crate) fn end_of(settings: &str, ranks: Option<Ranks>) -> Result<End, TrainError> {
    let size = ranks.as_ref().map_or(1, Ranks::size);
    let builder = settings.split_whitespace().fold(Config::builder(), |b, s| b.set(s));
    let mut config = builder.build()?;
    config.train.ranks = size;
    let material = SnapshotInput::open(&config, &Quiet)?;
    let mut session = Session::start_shared(config, material, None, Timeline::new(), ranks)?;
    let mut updates = 0;
    while !(&session as &dyn TrainingRun).is_over() {
        session.epoch(&mut |event: RunEvent<'_>| {
            updates += usize::from(matches!(event, RunEvent::Step { .. }));
            ControlFlow::Continue(())
        })?;
    }
    let parameters = session.network().parameters.iter();
    let epochs = session.learner().epochs();
    Ok(End {
        losses: epochs.iter().map(|epoch| epoch.loss).collect(),
        metrics: epochs.iter().flat_map(|epoch| epoch.val.values().copied()).collect(),
        weights: parameters.flat_map(|(_, one)| one.matrix.as_slice().to_vec()).collect(),
        updates,
    })
}
