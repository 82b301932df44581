//! Event models on a GPU, real or emulated: what the processor computes, and the same bits
//! after a pause.

mod gpu;
mod stream_run;

use gpu::has_gpu;
use stream_run::{MODELS, StreamRun, crowded, events, run};
use zoetrope_data::split::Part;
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::random::Random;
use zoetrope_graph::{Column, EventStore};
use zoetrope_run::checkpoint::{SavedState, SavedTensor, state_hash};
use zoetrope_train::training_run::{Checkpointed, Evaluation, TrainingRun};

/// What the models of [`MODELS`] leave out.
const VARIANTS: [&str; 13] = [
    "model.name=tgn model.layers=2 model.neighbours=3",
    "model.name=tgn model.combine=mean",
    "model.name=tgn model.variant=pyg model.combine=mean",
    "model.name=tgn model.message=mlp",
    "model.name=tgn model.variant=pyg model.message=mlp model.combine=mean",
    "model.name=tgn model.variant=pyg model.updater=lstm",
    "model.name=tgn model.updater=rnn",
    "model.name=tgn model.embedding=sum",
    "model.name=tgn model.embedding=identity",
    "model.name=apan model.embedding=time model.neighbours=3",
    "model.name=apan model.combine=mean model.neighbours=3",
    "model.name=tgn model.variant=pyg model.time_width=3",
    "model.name=jodie task.equal_times=batch",
];

/// Heads that read the features of the judged event, and weights of classes.
const OWN_FEATURES: [&str; 4] = [
    "model.name=tgn model.neighbours=4 task.name=edge-classification",
    "model.name=jodie task.name=edge-classification task.class_weights=1,5 task.classes=2",
    "model.name=tgat model.neighbours=4 task.name=edge-classification task.classes=3",
    "model.name=tgn model.neighbours=4 task.name=node-classification task.own_features=true",
];

/// The same events with classes.
fn labelled(count: usize) -> EventStore {
    let events = events(count);
    let features = events.features().unwrap();
    let labels: Vec<f32> =
        (0..count).map(|at| f32::from(u8::from(features[3 * at] > 0.5))).collect();
    let columns = EventColumns {
        features: Some(Column::from(features.to_vec())),
        feature_width: 3,
        label: Some(Column::from(labels)),
        ..EventColumns::default()
    };
    events.with_columns(columns).unwrap()
}

/// The largest difference in units of the largest value; infinite for other shapes.
fn difference(a: &SavedTensor, b: &SavedTensor) -> f32 {
    if a.dims() != b.dims() {
        return f32::INFINITY;
    }
    let scale = a.data().iter().fold(1e-3f32, |most, value| most.max(value.abs()));
    let pairs = a.data().iter().zip(b.data());
    pairs.map(|(a, b)| (a - b).abs() / scale).fold(0.0, f32::max)
}

fn expect_near(name: &str, host: &SavedState, on_gpu: &SavedState, tolerance: f32) {
    for (kind, a, b) in
        [("weight", &host.weights, &on_gpu.weights), ("state", &host.hidden, &on_gpu.hidden)]
    {
        assert!(a.keys().eq(b.keys()), "{name}: {:?} and {:?}", a.keys(), b.keys());
        for (key, a) in a {
            let found = difference(a, &b[key]);
            assert!(found <= tolerance, "{name}: {kind} {key} differs by {found}");
        }
    }
    for (key, a) in &host.cursor.numbers {
        let b = on_gpu.cursor.numbers[key];
        // Seconds differ; all else is counted or computed.
        let equal = (a - b).abs() <= f64::from(tolerance) * a.abs().max(1.0);
        assert!(key.contains("seconds") || equal, "{name}: {key} is {a} and {b}");
    }
}

/// Plain descent, because a moment that is nearly 0 would turn rounding into steps of full size; and
/// slow, because the frequencies of a time encoding, whose gradients are as large as the differences
/// of times, would turn it into other frequencies.
const USUAL: &str = "train.optimiser=sgd train.lr=0.0001";

#[test]
fn a_gpu_trains_models_of_events_as_the_processor_does() {
    if !has_gpu() {
        return;
    }
    for model in MODELS.iter().chain(&VARIANTS).chain(&OWN_FEATURES) {
        let after = |device: &str, batches| {
            let mut session = run(labelled(160), &[model, USUAL, device]);
            session.train_batches(batches);
            session.session.save()
        };
        // Rounding grows with every update and every batch that reads what the last one wrote.
        for (batches, tolerance) in [(1, 1e-5), (2, 1e-5), (5, 3e-5)] {
            let [host, on_gpu] =
                ["train.device=cpu", "train.device=cuda"].map(|device| after(device, batches));
            expect_near(model, &host, &on_gpu, tolerance);
        }
    }
}

/// More events at a time than a batch has: several updates see one memory, and the state absorbs
/// them afterwards in passes without questions.
#[test]
fn a_gpu_absorbs_a_crowded_time_as_the_processor_does() {
    if !has_gpu() {
        return;
    }
    for model in MODELS {
        let after = |device: &str| {
            let mut session = run(crowded(160, 45), &[model, USUAL, device]);
            session.train_batches(5);
            session.session.save()
        };
        let [host, on_gpu] = ["train.device=cpu", "train.device=cuda"].map(after);
        expect_near(model, &host, &on_gpu, 3e-5);
    }
}

#[test]
fn a_gpu_judges_and_predicts_as_the_processor_does() {
    if !has_gpu() {
        return;
    }
    for model in MODELS {
        let found = |device: &str| {
            let mut session = run(events(200), &[model, USUAL, device]);
            session.train(1);
            let candidates = session.candidates(12);
            let scores = session.session.predict(&candidates, &[]).unwrap();
            let (metrics, embedded) = (
                session.session.evaluate(Part::Test).unwrap(),
                session.session.embed(10_000).unwrap(),
            );
            (scores, metrics, embedded)
        };
        let (host, on_gpu) = (found("train.device=cpu"), found("train.device=cuda"));
        // After the nine updates of an epoch.
        let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-4);
        assert!(near(&host.0, &on_gpu.0), "{model}: {:?} and {:?}", host.0, on_gpu.0);
        assert!(near(&host.2, &on_gpu.2), "{model}: embeddings");
        assert!(host.1.keys().eq(on_gpu.1.keys()), "{model}");
    }
}

#[test]
fn memory_that_settled_on_a_gpu_is_what_replay_rebuilds_there() {
    if !has_gpu() {
        return;
    }
    for model in MODELS.into_iter().filter(|model| !model.contains("tgat")) {
        let more = "train.device=cuda train.settle=1 data.split=60/20/20 train.epochs=2";
        let mut run = run(events(160), &[model, more]);
        run.train(2);
        run.session.choose_best();
        let grown = run.session.embed(10_000).unwrap();
        // Who changes weights loses the memory that belongs to them.
        let _ = run.session.parameters_mut();
        assert_eq!(run.session.embed(10_000).unwrap(), grown, "{model}");
    }
}

#[test]
fn a_run_of_a_gpu_that_was_stopped_goes_on_to_the_same_bits() {
    if !has_gpu() {
        return;
    }
    for model in MODELS {
        let fresh = || run(events(160), &[model, "train.device=cuda"]);
        let mut whole = fresh();
        whole.train(1);
        let mut first = fresh();
        first.train_batches(3);
        let saved = first.session.save();
        let mut second = fresh();
        second.session.restore(saved).unwrap();
        second.train(1);
        let [whole, paused] = [whole, second].map(|run| state_hash(&run.session.save()));
        assert_eq!(whole, paused, "{model}");
    }
}

#[test]
fn where_neighbours_are_sampled_does_not_change_a_bit() {
    if !has_gpu() {
        return;
    }
    let layout = |session: &StreamRun| session.session.layout()["gpu"]["residency"].clone();
    for model in MODELS {
        let after = |residency: &str| {
            let place = format!("train.device=cuda plan.residency={residency}");
            let mut session = run(events(160), &[model, &place, "model.sampling=uniform"]);
            session.train_batches(4);
            (layout(&session), state_hash(&session.session.save()))
        };
        if model.contains("jodie") {
            continue;
        }
        let (on_gpu, host) = (after("resident"), after("stream"));
        assert_eq!((on_gpu.0.as_str(), host.0.as_str()), (Some("resident"), Some("stream")));
        assert_eq!(on_gpu.1, host.1, "{model}");
    }
}

/// 6 MB of features beside a limit of 5 MiB.
#[test]
fn features_of_events_that_a_gpu_has_no_room_for_are_sent_by_batch() {
    if !has_gpu() {
        return;
    }
    let (count, width) = (6000, 256);
    let wide = || {
        let plain = events(count);
        let random = Random::new(5, 5);
        let features: Vec<f32> =
            (0..count * width).map(|at| random.normal(at as u64) as f32).collect();
        let columns = EventColumns {
            features: Some(Column::from(features)),
            feature_width: width,
            ..EventColumns::default()
        };
        plain.with_columns(columns).unwrap()
    };
    for model in ["model.name=tgn model.neighbours=4", "model.name=tgat model.neighbours=4"] {
        let after = |limit: &str| {
            let settings = [model, "train.device=cuda", limit];
            let mut session = run(wide(), &settings[..if limit.is_empty() { 2 } else { 3 }]);
            let gpu = session.session.device().gpu().unwrap().clone();
            session.train_batches(2);
            let before = gpu.copied_bytes()[0];
            session.train_batches(4);
            let sent = gpu.copied_bytes()[0] - before;
            let place = session.session.layout()["gpu"]["features"].clone();
            assert_eq!(gpu.fault(), None, "{model} {limit}");
            (place, sent, gpu.memory_use(), state_hash(&session.session.save()))
        };
        let (here, few, ..) = after("");
        let (host, more, used, hash) = after("plan.memory_limit=5MiB");
        assert_eq!((here.as_str(), host.as_str()), (Some("resident"), Some("stream")), "{model}");
        assert_eq!(hash, after("").3, "{model}");
        // A row for each of 17 events at least.
        assert!(more > few + 4 * 17 * width as u64 * 4, "{model}: {few} {more}");
        assert!(used.limit < count * width * 4 && used.peak <= used.limit, "{model}: {used:?}");
    }
}

#[test]
fn a_batch_takes_few_launches_and_uploads_lists_only() {
    if !has_gpu() {
        return;
    }
    let mut session = run(events(400), &["model.name=tgn model.variant=pyg train.device=cuda"]);
    session.train_batches(4);
    let gpu = session.session.device().gpu().unwrap().clone();
    let (launches, [up, down]) = (gpu.launches(), gpu.copied_bytes());
    session.train_batches(8);
    let batches = 8;
    let [up, down] = [gpu.copied_bytes()[0] - up, gpu.copied_bytes()[1] - down];
    let launches = gpu.launches() - launches;
    eprintln!(
        "{} launches, {} bytes up, {} down",
        launches / batches,
        up / batches,
        down / batches
    );
    assert!(launches / batches < 150, "{launches} launches in {batches} batches");
    assert!(up / batches < 20_000, "{up} bytes go up in {batches} batches");
}
