//! A cell of the matrix of ways to share a run: a model, a task, a strategy, ranks, blocks, an engine.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Mutex;
use std::time::Instant;

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::{Ranks, Timeouts, threads};
use zoetrope_run::Timeline;
use zoetrope_train::TrainError;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Epochs, TrainingRun};

/// The ten models, and those variants that move other rows.
pub(crate) const MODELS: [&str; 16] = [
    "tgcn",
    "a3tgcn",
    "gc-lstm",
    "evolvegcn-o",
    "evolvegcn-h",
    "mpnn-lstm",
    "cd-gcn",
    "wd-gcn",
    "tm-gcn",
    "dysat model.heads=2",
    "tgcn model.variant=paper",
    "a3tgcn model.variant=paper",
    "gc-lstm model.variant=paper model.k=3",
    "evolvegcn-o model.variant=paper model.layers=2",
    "mpnn-lstm model.variant=paper",
    "dysat model.heads=2 model.layers=2",
];

/// Tasks with data that has them: at least twelve snapshots train.
pub(crate) const TASKS: [&str; 4] = [
    "task.name=node-regression data.path=synthetic:demo?vertices=19&steps=20",
    "task.name=link-prediction data.path=synthetic:demo?vertices=19&steps=20",
    "task.name=node-classification data.path=synthetic:sbm?vertices=40&steps=20&communities=3",
    "task.name=edge-classification data.path=synthetic:bipartite?events=400 data.window=2d task.classes=2",
];

pub(crate) const STRATEGIES: [&str; 4] = ["snapshot", "vertex", "hypergraph", "hybrid"];

pub(crate) const SIZES: [usize; 5] = [1, 2, 3, 4, 8];

pub(crate) const BLOCKS: [usize; 2] = [1, 3];

/// Learning rates at which a rounding stays one for twenty steps.
pub(crate) const OPTIMISERS: [&str; 2] =
    ["train.optimiser=sgd train.lr=0.01", "train.optimiser=adam train.lr=0.001"];

/// Frames of six snapshots: at least seven in an epoch, so that there are more than twenty updates.
const BASE: &str = "train.frame=6 train.epochs=3 model.hidden=8 data.split=80/20";

/// How far a loss may be from that of one rank, relative to it.
const LOSS_TOLERANCE: f64 = 1e-5;
/// How far a weight may be from that of one rank, relative to the largest.
const WEIGHT_TOLERANCE: f32 = 1e-4;

/// What computes and what sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Engine {
    /// Threads of the processor.
    Threads,
    /// Threads, each of which computes on a GPU, real or emulated.
    Gpus,
}

impl Engine {
    /// The name in the table.
    fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Gpus => "GPUs",
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
}

/// All cells that can be.
pub(crate) fn all_cases() -> impl Iterator<Item = Case> {
    let engines = [Engine::Threads, Engine::Gpus];
    let cells = MODELS.len() * TASKS.len() * STRATEGIES.len() * SIZES.len() * 2 * 2 * 2;
    let case = move |mut at: usize| {
        let mut pick = |count: usize| {
            let place = at % count;
            at /= count;
            place
        };
        Case {
            engine: engines[pick(2)],
            optimiser: OPTIMISERS[pick(2)],
            blocks: BLOCKS[pick(2)],
            size: SIZES[pick(SIZES.len())],
            strategy: STRATEGIES[pick(STRATEGIES.len())],
            task: TASKS[pick(TASKS.len())],
            model: MODELS[pick(MODELS.len())],
        }
    };
    (0..cells).map(case).filter(Case::is_possible)
}

/// What one rank comes to, by its settings.
static ALONE: Mutex<Option<HashMap<String, End>>> = Mutex::new(None);

impl Case {
    /// Whether the model can be computed so at all.
    pub(crate) fn is_possible(&self) -> bool {
        let whole = ["a3tgcn", "mpnn-lstm", "dysat"];
        let in_blocks = !whole.iter().any(|name| self.model.starts_with(name));
        let hybrid = self.strategy != "hybrid" || (self.size > 3 && self.size.is_multiple_of(2));
        // One rank shares with nobody.
        let alone = self.size > 1 || self.strategy == STRATEGIES[0];
        (self.blocks == 1 || in_blocks) && hybrid && alone && self.is_worth_it(in_blocks)
    }

    /// An emulated GPU takes seconds for a cell: there is one for each model and strategy, by as few ranks as it
    /// can be, and tasks, blocks and optimisers take turns.
    fn is_worth_it(&self, in_blocks: bool) -> bool {
        let place = |all: &[&str], one: &str| all.iter().position(|&name| name == one).unwrap_or(0);
        let turn = place(&MODELS, self.model) + place(&STRATEGIES, self.strategy);
        let size = if self.strategy == "hybrid" { 4 } else { 2 };
        let blocks = if in_blocks { BLOCKS[turn / 2 % 2] } else { 1 };
        self.engine == Engine::Threads
            || (self.size == size
                && self.blocks == blocks
                && self.task == TASKS[turn % TASKS.len()]
                && self.optimiser == OPTIMISERS[turn % 2])
    }

    fn of_one(&self) -> String {
        let Self { model, task, optimiser, engine, .. } = self;
        let device = if *engine == Engine::Gpus { "train.device=cuda" } else { "" };
        format!("model.name={model} {task} {optimiser} {BASE} {device}")
    }

    fn settings(&self) -> String {
        let mut settings = format!("{} plan.blocks={}", self.of_one(), self.blocks);
        if self.size > 1 {
            settings += &format!(" plan.strategy={}", self.strategy);
        }
        settings
    }

    fn alone(&self) -> End {
        let settings = self.of_one();
        let mut known = ALONE.lock().unwrap();
        let known = known.get_or_insert_default();
        known.entry(settings.clone()).or_insert_with(|| end_of(&settings, None).unwrap()).clone()
    }

    /// The largest differences of a loss and of a weight to those of one rank, or why there are none.
    pub(crate) fn differences(&self) -> Result<(f64, f32), String> {
        let alone = self.alone();
        let settings = self.settings();
        let found = threads::run(self.size, Timeouts::default(), move |ranks| {
            let ranks = (ranks.size() > 1).then_some(ranks);
            end_of(&settings, ranks)
        });
        let found = found.map_err(|error| error.to_string())?;
        if found.iter().any(|end| *end != found[0]) {
            return Err("ranks differ".to_owned());
        }
        if alone.losses.len() != found[0].losses.len() {
            return Err("other epochs".to_owned());
        }
        let losses = alone.losses.iter().zip(&found[0].losses);
        let loss = losses.map(|(one, other)| (one - other).abs() / one.abs().max(1e-12));
        let largest = alone.weights.iter().fold(0.0_f32, |most, one| most.max(one.abs()));
        let weights = alone.weights.iter().zip(&found[0].weights);
        let weight = weights.map(|(one, other)| (one - other).abs() / largest);
        Ok((
            loss.fold(0.0, nan_max),
            weight.fold(0.0, |a, b| if b.is_nan() { b } else { a.max(b) }),
        ))
    }

    /// Whether differences are those of rounding. Adam moves a weight whose gradient is nothing but rounding (a
    /// shift before a softmax) as far as any other, so that its weights say less than its losses.
    fn is_equal(&self, (loss, weight): (f64, f32)) -> bool {
        let by_adam = self.optimiser == OPTIMISERS[1];
        loss <= LOSS_TOLERANCE && (by_adam || weight <= WEIGHT_TOLERANCE)
    }
}

/// What became of the cells of a model.
#[derive(Debug, Default)]
struct Tally {
    cells: usize,
    equal: usize,
    loss: f64,
    weight: f32,
    seconds: f64,
}

/// Runs cells, adds a row for each model to a table if there is one, and panics with all cells that differ from
/// one rank by more than rounding.
pub(crate) fn run(cases: Vec<Case>, table: Option<&OsStr>) {
    let (mut wrong, mut tallies) = (Vec::new(), BTreeMap::<&str, Tally>::new());
    let engine = cases.first().map(|case| case.engine);
    for case in cases {
        let began = Instant::now();
        let found = case.differences();
        let tally = tallies.entry(case.model).or_default();
        tally.cells += 1;
        tally.seconds += began.elapsed().as_secs_f64();
        if let Ok((loss, weight)) = found {
            tally.equal += usize::from(case.is_equal((loss, weight)));
            tally.loss = tally.loss.max(loss);
            if case.optimiser == OPTIMISERS[0] {
                tally.weight = tally.weight.max(weight);
            }
        }
        if !found.as_ref().is_ok_and(|&found| case.is_equal(found)) {
            wrong.push(format!("{case:?}: {found:?}"));
        }
    }
    if let (Some(path), Some(engine)) = (table, engine) {
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        for (model, Tally { cells, equal, loss, weight, seconds }) in &tallies {
            let (engine, name) = (engine.name(), model.replace("model.", ""));
            writeln!(
                file,
                "| {engine} | {name} | {cells} | {equal} | {loss:.1e} | {weight:.1e} | {seconds:.0} |"
            )
            .unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} cells differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn nan_max(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// Panics unless ranks that share a run of these settings as `shared` says learn, and score, what one rank does.
pub(crate) fn expect_as_alone(settings: &str, shared: &str, size: usize) {
    let one = format!("{settings} {BASE}");
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

pub(crate) fn end_of(settings: &str, ranks: Option<Ranks>) -> Result<End, TrainError> {
    let size = ranks.as_ref().map_or(1, Ranks::size);
    let builder = settings.split_whitespace().fold(Config::builder(), |b, s| b.set(s));
    let mut config = builder.build()?;
    config.train.ranks = size;
    let material = SnapshotInput::open(&config, &Quiet)?;
    let mut session = Session::start_shared(config, material, None, Timeline::new(), ranks)?;
    while !(&session as &dyn TrainingRun).is_over() {
        session.epoch(&mut Unobserved)?;
    }
    let parameters = session.network().parameters.iter();
    let epochs = session.learner().epochs();
    Ok(End {
        losses: epochs.iter().map(|epoch| epoch.loss).collect(),
        metrics: epochs.iter().flat_map(|epoch| epoch.val.values().copied()).collect(),
        weights: parameters.flat_map(|(_, one)| one.matrix.as_slice().to_vec()).collect(),
    })
}
