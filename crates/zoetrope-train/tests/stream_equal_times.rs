//! Events of one time: with `task.equal_times = "future"` a question knows none of its own time,
//! neither as neighbours nor through memory, whatever the batches; in training, in judging and in
//! prediction alike.

mod stream_run;

use stream_run::{MODELS, StreamRun, VERTICES, run};
use zoetrope_data::split::Part;
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::random::Random;
use zoetrope_graph::{Column, EventStore, Time, TimeScale, TimeUnit, VertexNames};
use zoetrope_nn::weights;
use zoetrope_run::checkpoint::state_hash;
use zoetrope_train::events::Candidate;
use zoetrope_train::training_run::{Checkpointed, Evaluation, TrainingRun};

/// Events that share a time.
const PER_TIME: usize = 40;
/// Batches that cut the times in various places, that hold several of them, and that end with them.
const BATCHES: [usize; 5] = [7, 17, 40, 64, 100];

/// Rows of a stream.
#[derive(Clone)]
struct Rows {
    ends: Vec<[u32; 2]>,
    time: Vec<Time>,
    /// What is asked for; unknown at all events but one, so that one answer alone makes the measures.
    value: Vec<f32>,
}

impl Rows {
    /// Any pairs, many at each time; the value of one event is known.
    fn new(times: usize, asked: usize) -> Self {
        let random = Random::new(5, 3);
        let count = times * PER_TIME;
        let vertex = |at: usize| random.below(at as u64, VERTICES.into()) as u32;
        let mut value = vec![f32::NAN; count];
        value[asked] = 0.0;
        Self {
            ends: (0..count).map(|at| [vertex(2 * at), vertex(2 * at + 1)]).collect(),
            time: (0..count).map(|at| 10 * (at / PER_TIME) as Time).collect(),
            value,
        }
    }

    fn asked(&self) -> usize {
        self.value.iter().position(|value| !value.is_nan()).unwrap()
    }

    /// The question as a candidate.
    fn candidate(&self) -> Candidate {
        let at = self.asked();
        let [src, dst] = self.ends[at];
        Candidate { src, dst, time: self.time[at] }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.ends.swap(a, b);
        self.value.swap(a, b);
    }

    /// Where the time of the question begins.
    fn begins(&self) -> usize {
        let time = self.time[self.asked()];
        self.time.partition_point(|&t| t < time)
    }

    /// Every other event from `from` on is another.
    fn changed(&self, from: usize) -> Self {
        let (mut other, random) = (self.clone(), Random::new(17, 4));
        for at in (from..self.time.len()).filter(|&at| self.value[at].is_nan()) {
            let vertex = |place| random.below(2 * at as u64 + place, VERTICES.into()) as u32;
            other.ends[at] = [vertex(0), vertex(1)];
        }
        other
    }

    /// The events of the question's time in another order, the question at another place of it.
    fn permuted(&self) -> Self {
        let (mut other, begins) = (self.clone(), self.begins());
        for at in 0..PER_TIME / 2 {
            other.swap(begins + at, begins + PER_TIME - 1 - at);
        }
        other
    }

    /// The question alone at its time: all others happen later.
    fn deleted(&self) -> Self {
        let (mut other, begins) = (self.clone(), self.begins());
        other.swap(begins, self.asked());
        other.time[begins + 1..begins + PER_TIME].iter_mut().for_each(|time| *time += 1);
        other
    }

    /// The same question among others of its time and later.
    fn others(&self) -> [(&'static str, Self); 3] {
        let changed = self.changed(self.begins());
        [("changed", changed), ("permuted", self.permuted()), ("deleted", self.deleted())]
    }

    fn store(&self) -> EventStore {
        let random = Random::new(8, 6);
        // The features of an event go by its ends, so that a permutation takes them along.
        let feature = |&[src, dst]: &[u32; 2]| {
            let key = u64::from(src * VERTICES + dst);
            [random.normal(2 * key) as f32, random.normal(2 * key + 1) as f32]
        };
        let columns = EventColumns {
            weight: Some(Column::from(self.value.clone())),
            features: Some(Column::from(self.ends.iter().flat_map(feature).collect::<Vec<_>>())),
            feature_width: 2,
            ..EventColumns::default()
        };
        let scale = TimeScale { unit: TimeUnit::Nanosecond, unix: false };
        let (src, dst) = self.ends.iter().map(|&[src, dst]| (src, dst)).unzip();
        let names = VertexNames::identity(VERTICES);
        EventStore::new(src, dst, self.time.clone(), columns, scale, names).unwrap()
    }

    fn run(&self, settings: &[&str]) -> StreamRun {
        let task = ["task.name=edge-regression task.own_features=false"];
        run(self.store(), &task.iter().chain(settings).copied().collect::<Vec<_>>())
    }
}

/// Calls `check` for every model, rule of neighbours and size of batches.
fn everywhere(mut check: impl FnMut(&[&str])) {
    for model in MODELS {
        for neighbours in ["task.neighbours=per-event", "task.neighbours=batch-stale"] {
            // JODIE reads no neighbours.
            if model.contains("jodie") && neighbours.ends_with("batch-stale") {
                continue;
            }
            for batch in BATCHES {
                check(&[model, neighbours, &format!("train.batch_size={batch}")]);
            }
        }
    }
}

/// Whether two answers are one but for rounding: how many rows go through a product together decides
/// how it adds, and other events at a time are other rows beside those of the question. Answers and
/// errors are below 2 here, an eighth of a million is some ten units in the last place of 1.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1.2e-6
}

/// The error at the only question of an epoch, and the weights that the epoch leaves.
fn trained(rows: &Rows, settings: &[&str]) -> (f64, Vec<u8>) {
    // Dropout depends on the place in a step, which changes if other events are asked about.
    let mut run = rows.run(&[settings, &["data.split=none model.dropout=0"]].concat());
    run.train(1);
    let loss = run.session.learner().epochs()[0].loss;
    (loss.sqrt(), weights::to_safetensors(run.session.parameters()).unwrap())
}

#[test]
fn training_asks_with_a_memory_that_knows_nothing_of_the_own_time() {
    let rows = Rows::new(7, 5 * PER_TIME + 33);
    everywhere(|settings| {
        let found = |rows: &Rows| trained(rows, settings).0;
        let truth = found(&rows);
        for (what, other) in rows.others() {
            let other = found(&other);
            assert!(same(truth, other), "{what}: {settings:?}: {truth} and {other}");
        }
        // The test can fail: another past is noticed.
        assert!(!same(truth, found(&rows.changed(0))), "{settings:?}");
    });
}

/// The absolute error at the one question of the test part, and the answer to it as a candidate.
fn judged(rows: &Rows, settings: &[&str], weights: &[u8]) -> (f64, f32) {
    let settings = [settings, &["data.split=50/20/30"]].concat();
    let load = || {
        let mut run = rows.run(&settings);
        weights::load_safetensors(run.session.parameters_mut(), weights).unwrap();
        assert!(run.session.material().split.test.contains(&rows.asked()));
        run
    };
    let error = load().session.evaluate(Part::Test).unwrap()["mae"];
    let answer = load().session.predict(&[rows.candidate()], &[]).unwrap()[0];
    (error, answer)
}

#[test]
fn judging_and_predicting_know_nothing_of_the_own_time() {
    let rows = Rows::new(10, 8 * PER_TIME + 33);
    everywhere(|settings| {
        let (_, weights) = trained(&Rows::new(3, PER_TIME + 3), settings);
        let judged = |rows: &Rows| judged(rows, settings, &weights);
        let (error, answer) = judged(&rows);
        // What is judged is what is predicted.
        assert!(same(error, f64::from(answer.abs())), "{settings:?}: {error} and {answer}");
        for (what, other) in rows.others() {
            let (other, predicted) = judged(&other);
            assert!(same(error, other), "{what}: {settings:?}: {error} and {other}");
            // One candidate is asked whatever else happens: nothing may move a bit.
            assert_eq!(answer.to_bits(), predicted.to_bits(), "{what}: {settings:?}");
        }
        assert!(!same(error, judged(&rows.changed(0)).0), "{settings:?}");
    });
}

/// The peers' convention, by its name: memory knows what earlier batches held.
#[test]
fn under_the_convention_of_the_peers_memory_knows_earlier_batches_of_the_same_time() {
    let rows = Rows::new(7, 5 * PER_TIME + 33);
    for model in MODELS {
        let same = |rule: &str| {
            let settings = [model, rule, "train.batch_size=17"];
            let found = |rows: &Rows| trained(rows, &settings).0;
            same(found(&rows), found(&rows.changed(rows.begins())))
        };
        assert!(same("task.equal_times=future"), "{model}");
        assert_eq!(same("task.equal_times=batch"), model.contains("tgat"), "{model}");
    }
}

/// Links at which nobody can guess better than chance: at each time a quarter of the vertices meet
/// each other at random, and every time chooses its quarter anew.
fn redrawn(times: usize, per_time: usize, vertices: u32) -> EventStore {
    let random = Random::new(2, 9);
    let (mut src, mut dst, mut time) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..times {
        let random = random.at_step(step as u32);
        let mut all: Vec<u32> = (0..vertices).collect();
        all.sort_by_key(|&vertex| random.below(u64::from(vertex), 1 << 40));
        let some = &all[..vertices as usize / 4];
        let any = |at: usize| some[random.below((1 << 20) + at as u64, some.len() as u64) as usize];
        for at in 0..per_time {
            src.push(any(2 * at));
            dst.push(any(2 * at + 1));
            time.push(100 * step as Time);
        }
    }
    let scale = TimeScale { unit: TimeUnit::Second, unix: false };
    let names = VertexNames::identity(vertices);
    EventStore::new(src, dst, time, EventColumns::default(), scale, names).unwrap()
}

/// The test part has 12 times of 75 vertices that meet: 900 independent choices. A precision of one
/// half has a standard error of 0.5 / √900 = 0.017 there; four of them are allowed.
#[test]
fn links_that_are_drawn_anew_at_every_time_cannot_be_told() {
    for (model, batch) in [
        ("model.name=tgn model.neighbours=4", 200),
        ("model.name=jodie", 200),
        ("model.name=jodie", 77),
        ("model.name=apan model.neighbours=4", 200),
        ("model.name=tgat model.layers=1 model.neighbours=4", 200),
    ] {
        let ap = |rule: &str| {
            let size = format!("train.batch_size={batch} {rule}");
            let more = "train.lr=0.003 model.hidden=16 data.split=60/20/20 task.candidates=1";
            let mut run = run(redrawn(60, 400, 300), &[model, &size, more]);
            run.train(3);
            run.session.choose_best();
            run.session.evaluate(Part::Test).unwrap()["ap"]
        };
        let found = ap("task.equal_times=future");
        assert!((found - 0.5).abs() < 0.068, "{model}, batch {batch}: AP {found}");
        if model == "model.name=jodie" {
            let peers = ap("task.equal_times=batch");
            assert!(peers > 0.65, "the test can fail: {model}, batch {batch}: AP {peers}");
        }
    }
}

/// Replay and judging absorb the same steps in the same order: a prediction that follows a judged
/// validation part is one that follows a replay.
#[test]
fn replayed_and_judged_memory_are_the_same() {
    let rows = Rows::new(10, 8 * PER_TIME + 33);
    for model in MODELS {
        for batch in BATCHES {
            let batch = format!("train.batch_size={batch}");
            let settings = [model, &batch, "data.split=50/20/30 task.candidates=900"];
            let start = || run(rows.store(), &settings);
            let weights = weights::to_safetensors(start().session.parameters()).unwrap();
            let predicted = |judged: &[Part]| {
                let mut run = start();
                weights::load_safetensors(run.session.parameters_mut(), &weights).unwrap();
                judged.iter().for_each(|&part| drop(run.session.evaluate(part).unwrap()));
                // After the last event: nothing but memory and neighbours of all events.
                let late = |src| Candidate { src, dst: (src + 5) % VERTICES, time: 1_000 };
                let candidates: Vec<_> = (0..VERTICES).map(late).collect();
                run.session.predict(&candidates, &[]).unwrap()
            };
            let replayed = predicted(&[]);
            for judged in [&[Part::Validation, Part::Test][..], &[Part::Test]] {
                for (a, b) in replayed.iter().zip(predicted(judged)) {
                    assert!(same(f64::from(*a), f64::from(b)), "{model} {batch}: {a} and {b}");
                }
            }
        }
    }
}

#[test]
fn a_run_that_was_stopped_between_events_of_one_time_goes_on_to_the_same_bits() {
    for model in MODELS {
        for batch in [7, 17, 64] {
            let batch = format!("train.batch_size={batch}");
            let start = || run(Rows::new(6, 0).store(), &[model, &batch]);
            let mut whole = start();
            whole.train(2);
            let whole = state_hash(&whole.session.save());
            for stop in [1, 2, 3] {
                let mut first = start();
                first.train_batches(stop);
                let saved = first.session.save();
                let mut second = start();
                second.session.restore(saved).unwrap();
                second.train(2);
                assert_eq!(whole, state_hash(&second.session.save()), "{model} {batch} {stop}");
            }
        }
    }
}

/// If every event has a time of its own, the three rules are one.
#[test]
fn without_equal_times_the_rules_do_not_differ() {
    let mut rows = Rows::new(6, 0);
    rows.time = (0..rows.time.len() as Time).collect();
    for model in MODELS {
        let hash = |rule: &str| {
            let mut run = run(rows.store(), &[model, &format!("task.equal_times={rule}")]);
            run.train(2);
            state_hash(&run.session.save())
        };
        let future = hash("future");
        assert_eq!(future, hash("batch"), "{model}");
        assert_eq!(future, hash("past"), "{model}");
    }
}
