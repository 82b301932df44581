//! The features of a judged event are part of the question about it, unless the user says otherwise.

mod stream_run;

use stream_run::StreamRun;
use zoetrope_config::Config;
use zoetrope_data::split::Part;
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::random::Random;
use zoetrope_graph::{Column, EventStore, Time, TimeScale, TimeUnit, VertexNames};
use zoetrope_run::Timeline;
use zoetrope_train::events::{Candidate, EventInput, EventSession};
use zoetrope_train::training_run::{Evaluation, TrainingRun};

const EVENTS: usize = 1200;

/// Events between random vertices; the label says whether the second feature is above 1.5, and nothing
/// else tells it.
fn transactions(classes: usize) -> EventStore {
    let random = Random::new(5, 1);
    let vertex = |at: u64| random.below(at, stream_run::VERTICES.into()) as u32;
    let src: Vec<u32> = (0..EVENTS as u64).map(|at| vertex(2 * at)).collect();
    let dst: Vec<u32> = (0..EVENTS as u64).map(|at| vertex(2 * at + 1)).collect();
    let features: Vec<f32> =
        (0..EVENTS * 3).map(|at| random.normal(1_000_000 + at as u64) as f32).collect();
    let class = |value: f32| match classes {
        2 => f32::from(u8::from(value > 1.5)),
        _ => f32::from(u8::from(value > 0.0) + u8::from(value > 1.5)),
    };
    let labels: Vec<f32> = (0..EVENTS).map(|at| class(features[3 * at + 1])).collect();
    let time: Vec<Time> = (0..EVENTS as Time).collect();
    let columns = EventColumns {
        features: Some(Column::from(features)),
        feature_width: 3,
        label: Some(Column::from(labels)),
        ..EventColumns::default()
    };
    let scale = TimeScale { unit: TimeUnit::Nanosecond, unix: false };
    let names = VertexNames::identity(stream_run::VERTICES);
    EventStore::new(src, dst, time, columns, scale, names).unwrap()
}

fn start(settings: &str) -> Result<StreamRun, zoetrope_train::TrainError> {
    let usual = "model.name=tgn model.hidden=8 model.neighbours=4 train.batch_size=50 train.lr=0.02 \
                 train.epochs=15";
    let all = usual.split_whitespace().chain(settings.split_whitespace());
    let config = all.fold(Config::builder(), |builder, setting| builder.set(setting)).build()?;
    let material = EventInput::new(transactions(2), &config)?;
    Ok(StreamRun { session: EventSession::start(config, material, None, Timeline::new())? })
}

/// AP on the test part after fifteen epochs.
fn ap(settings: &str) -> f64 {
    let mut run = start(settings).unwrap();
    run.train(15);
    run.session.choose_best();
    run.session.evaluate(Part::Test).unwrap()["ap"]
}

/// The share of positives in the test part: what chance reaches.
fn chance() -> f64 {
    let store = transactions(2);
    let test = &store.label().unwrap()[EVENTS * 85 / 100..];
    f64::from(test.iter().sum::<f32>()) / test.len() as f64
}

#[test]
fn a_label_that_is_made_from_a_feature_is_found_with_it_and_not_without() {
    let with = ap("task.name=edge-classification");
    assert!(with > 0.95, "{with}");
    for without in ["task.own_features=false", "data.drop_features=1"] {
        let found = ap(&format!("task.name=edge-classification {without}"));
        assert!(found < 4.0 * chance(), "{without}: {found}, chance {}", chance());
    }
}

#[test]
fn classes_of_vertices_are_asked_with_features_only_if_wanted() {
    let without = ap("task.name=node-classification");
    assert!(without < 4.0 * chance(), "{without}, chance {}", chance());
    let with = ap("task.name=node-classification task.own_features=true");
    assert!(with > 0.95, "{with}");
}

#[test]
fn the_protocol_says_which_columns_are_seen() {
    let seen = |settings: &str| {
        let session = start(settings).unwrap().session;
        session.protocol()["task"]["own_features"].clone()
    };
    let all = seen("task.name=edge-classification");
    assert_eq!(all, serde_json::json!({ "seen": true, "columns": ["0", "1", "2"] }));
    let some = seen("task.name=edge-classification data.drop_features=1");
    assert_eq!(some["columns"], serde_json::json!(["0", "2"]));
    for none in
        ["task.name=node-classification", "task.name=edge-classification task.own_features=false"]
    {
        assert_eq!(seen(none), serde_json::json!({ "seen": false, "columns": [] }), "{none}");
    }
    assert!(seen("task.name=link-prediction").is_null());
}

#[test]
fn links_cannot_be_asked_with_features_that_other_pairs_do_not_have() {
    let error = start("task.name=link-prediction task.own_features=true").unwrap_err().to_string();
    for part in ["task.own_features = true", "did not happen", "edge-classification"] {
        assert!(error.contains(part), "{error}");
    }
    let error = start("model.name=tgcn model.variant=pygt task.own_features=true");
    assert!(error.is_err());
    let nothing = "task.name=edge-classification data.drop_features=0,1,2 task.own_features=true";
    let error = start(nothing).unwrap_err().to_string();
    assert!(error.contains("no features"), "{error}");
    assert!(start(&nothing.replace(" task.own_features=true", "")).is_ok());
}

#[test]
fn candidates_are_asked_with_their_own_features() {
    let mut run = start("task.name=edge-classification").unwrap();
    run.train(8);
    assert_eq!(run.session.candidate_columns(), ["0", "1", "2"]);
    let asked = [1, 2, 3, 4].map(|dst| Candidate { src: 0, dst, time: EVENTS as Time + 1 });
    let row = |value: f32| [0.0, value, 0.0];
    let low = [row(0.0); 4].concat();
    let high = [row(3.0); 4].concat();
    let (low, high) =
        (run.session.predict(&asked, &low).unwrap(), run.session.predict(&asked, &high).unwrap());
    assert!(low.iter().all(|&score| score < 0.0), "{low:?}");
    assert!(high.iter().all(|&score| score > 0.0), "{high:?}");
    let error = run.session.predict(&asked, &[]).unwrap_err().to_string();
    assert!(error.contains("reads 3 of each: 0, 1, 2"), "{error}");
}

/// The loss of the first batch against PyTorch's definition, computed from the same answers.
#[test]
fn class_weights_are_the_weight_of_positives() {
    let first_loss = |weights: &str| {
        // One batch of all training events, no update: its loss is that of the first weights.
        let settings = format!(
            "task.name=edge-classification train.batch_size=1200 train.epochs=1 train.lr=1e-9 \
             data.split=none task.neighbours=batch-stale model.dropout=0 task.class_weights={weights}"
        );
        let mut run = start(&settings).unwrap();
        run.train(1);
        (run.session.learner().epochs()[0].loss, run.session)
    };
    let (plain, mut session) = first_loss("none");
    let store = transactions(2);
    let labels = store.label().unwrap();
    // The weights hardly move, and memory is empty in the first batch: asked before the first event, each
    // pair gets the answer of training.
    let asked: Vec<Candidate> = (0..EVENTS)
        .map(|at| Candidate { src: store.src()[at], dst: store.dst()[at], time: 0 })
        .collect();
    let logits = session.predict(&asked, store.features().unwrap()).unwrap();
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    // torch.nn.BCEWithLogitsLoss(pos_weight=p): the mean of p·y·softplus(-x) + (1 - y)·softplus(x).
    let expected = |positive: f64| {
        let one = |(&x, &y): (&f32, &f32)| {
            if y > 0.0 { positive * softplus(-f64::from(x)) } else { softplus(f64::from(x)) }
        };
        logits.iter().zip(labels).map(one).sum::<f64>() / labels.len() as f64
    };
    let positives = f64::from(labels.iter().sum::<f32>());
    let balanced = (EVENTS as f64 - positives) / positives;
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-4 * expected;
    assert!(near(plain, expected(1.0)), "{plain} {}", expected(1.0));
    for (weights, ratio) in [("balanced", balanced), ("2,10", 5.0)] {
        let found = first_loss(weights).0;
        assert!(near(found, expected(ratio)), "{weights}: {found} {}", expected(ratio));
    }
}

#[test]
fn class_weights_that_fit_no_class_are_refused() {
    let error = start("task.name=edge-classification task.class_weights=1,2,3");
    assert!(error.unwrap_err().to_string().contains("3 numbers"));
    let error = start("task.name=link-prediction task.class_weights=balanced");
    assert!(error.unwrap_err().to_string().contains("no classes"));
}

#[test]
fn balanced_weights_are_counted_on_the_training_part() {
    let session =
        start("task.name=edge-classification task.class_weights=balanced").unwrap().session;
    let store = transactions(2);
    let training = &store.label().unwrap()[..EVENTS * 70 / 100];
    let positives = f64::from(training.iter().sum::<f32>());
    let all = training.len() as f64;
    let declared = &session.protocol()["task"]["class_weights"]["weights"];
    let found = [0, 1].map(|class| declared[class].as_f64().unwrap());
    let expected = [all / (2.0 * (all - positives)), all / (2.0 * positives)];
    assert!(
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5),
        "{found:?} {expected:?}"
    );
}
