//! Features of vertices that are learned, and those that stand in for them: their gradients are
//! right, they train, they continue to the same bits, and no rule of features fails on any kind of
//! data.

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_run::Timeline;
use zoetrope_run::checkpoint::state_hash;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::train::{Opened, Run};
use zoetrope_train::training_run::EpochEnd;
use zoetrope_train::training_run::TrainingRun;

const SNAPSHOTS: &str = "data.path=synthetic:sbm?vertices=24&steps=9&communities=3&inside=4&seed=4";
const EVENTS: &str =
    "data.path=synthetic:bipartite?users=20&items=9&tastes=3&events=240&features=0";

fn start(settings: &[&str]) -> Run {
    let builder = settings.iter().fold(Config::builder(), |builder, text| builder.set(text));
    let mut config = builder.build().unwrap();
    let opened = Opened::open(&mut config, &Quiet).unwrap();
    opened.start(config, None, Timeline::new()).unwrap()
}

/// The loss of an epoch, which is one update.
fn loss(session: &mut dyn TrainingRun) -> f64 {
    match session.epoch(&mut Unobserved).unwrap() {
        EpochEnd::Finished(record) => record.loss,
        EpochEnd::Interrupted => panic!("nobody interrupts"),
    }
}

fn embedding(session: &dyn TrainingRun) -> Vec<f32> {
    let parameters = session.parameters();
    let id = parameters.find("vertex_embedding.weight").expect("there are learned features");
    parameters.get(id).as_slice().to_vec()
}

/// Starts with these learned features.
fn with_embedding(settings: &[&str], values: &[f32]) -> Run {
    let mut run = start(settings);
    let parameters = run.session_mut().parameters_mut();
    let id = parameters.find("vertex_embedding.weight").unwrap();
    parameters.get_mut(id).as_mut_slice().copy_from_slice(values);
    run
}

/// Plain descent with a rate of 1 over the whole data set at once: what an update changes is the
/// gradient, and the loss is that of the weights before it.
fn gradient_is_that_of_the_loss(settings: &[&str]) {
    let first: Vec<f32> = {
        let length = embedding(start(settings).session()).len();
        (0..length).map(|at| ((at * 37 % 101) as f32 / 101.0 - 0.5) * 0.8).collect()
    };
    let mut run = with_embedding(settings, &first);
    loss(run.session_mut());
    let after = embedding(run.session());
    let gradient: Vec<f32> =
        first.iter().zip(&after).map(|(before, after)| before - after).collect();
    let mut places: Vec<usize> = (0..gradient.len()).collect();
    places.sort_by(|&a, &b| gradient[b].abs().total_cmp(&gradient[a].abs()));
    let largest = gradient[places[0]].abs();
    assert!(largest > 1e-5, "{settings:?}: no gradient arrives ({largest:e})");
    // The largest, and some of middling size.
    for &place in [places[0], places[1], places[places.len() / 4]].iter() {
        let at = |change: f32| {
            let mut values = first.clone();
            values[place] += change;
            loss(with_embedding(settings, &values).session_mut())
        };
        // Differences of fourth order: a batch norm bends too much for two points.
        let over = |step: f32| at(step) - at(-step);
        let measure = |step: f32| (8.0 * over(step) - over(2.0 * step)) / f64::from(12.0 * step);
        let found = f64::from(gradient[place]);
        // Long steps see bends (a layer norm of a row that is nearly constant) and kinks (relu), short
        // ones the rounding of f32 losses: the step that sees neither must agree.
        let agrees = |(step, rounding): (f32, f64)| {
            let measured = measure(step);
            (measured - found).abs() <= 0.03 * found.abs().max(measured.abs()) + rounding
        };
        let steps = [(0.005, 2e-5), (0.002, 5e-5), (0.0005, 2e-4), (0.0001, 1e-3)];
        assert!(
            steps.into_iter().any(agrees),
            "{settings:?}: {found:e}, but differences say {:?}",
            steps.map(|(step, _)| measure(step))
        );
    }
}

#[test]
fn gradients_of_learned_features_are_right_for_every_snapshot_model() {
    for model in zoetrope_nn::model::NAMES {
        let model = format!("model.name={model}");
        gradient_is_that_of_the_loss(&[
            SNAPSHOTS,
            &model,
            "data.features=learned",
            "data.split=none",
            "task.name=node-classification",
            "model.hidden=8",
            "train.frame=9",
            "train.optimiser=sgd",
            "train.lr=1",
            "train.epochs=1",
        ]);
    }
}

#[test]
fn gradients_of_learned_features_are_right_for_event_models() {
    for model in ["tgn", "jodie", "tgat"] {
        let model = format!("model.name={model}");
        gradient_is_that_of_the_loss(&[
            EVENTS,
            &model,
            "data.features=learned",
            "data.split=none",
            "task.name=link-prediction",
            "model.hidden=8",
            "model.dropout=0",
            "train.batch_size=240",
            "train.optimiser=sgd",
            "train.lr=1",
            "train.epochs=1",
        ]);
    }
}

/// Trains to the end in one go, and stops and goes on in between: equal bits, and changed features.
fn continues_to_the_same_bits(settings: &[&str], learned: bool) {
    let end = |run: &mut Run| {
        let session = run.session_mut();
        while !session.is_over() {
            loss(session);
        }
        state_hash(&session.save())
    };
    let mut whole = start(settings);
    let first = learned.then(|| embedding(whole.session()));
    let expected = end(&mut whole);
    if let Some(first) = first {
        assert_ne!(embedding(whole.session()), first, "{settings:?}: nothing was learned");
    }
    let mut half = start(settings);
    loss(half.session_mut());
    let saved = half.session().save();
    let mut rest = start(settings);
    rest.session_mut().restore(saved).unwrap();
    assert_eq!(end(&mut rest), expected, "{settings:?}");
}

#[test]
fn learned_and_one_hot_features_train_and_continue_to_the_same_bits() {
    for rule in ["learned", "one-hot"] {
        let rule_of = format!("data.features={rule}");
        for (data, model) in [(SNAPSHOTS, "tgcn"), (SNAPSHOTS, "dysat"), (EVENTS, "tgn")] {
            let model = format!("model.name={model}");
            let settings = [data, &model, &rule_of, "model.hidden=8", "train.epochs=3"];
            let frames = ["train.frame=3"];
            let more: &[&str] = if data == SNAPSHOTS { &frames } else { &[] };
            let settings = [&settings[..], more].concat();
            continues_to_the_same_bits(&settings, rule == "learned");
        }
    }
}

#[test]
fn every_rule_of_features_works_on_every_kind_of_data() {
    let folder = tempfile::tempdir().unwrap();
    let series = folder.path().join("series.json");
    let rows: Vec<String> = (0..40)
        .map(|step| format!("[{}, {}, {}]", step % 7, (step + 2) % 5, (step * step) % 11))
        .collect();
    let text = format!(
        r#"{{"edges": [[0, 1], [1, 2], [2, 0]], "node_ids": {{"A": 0, "B": 1, "C": 2}}, "FX": [{}]}}"#,
        rows.join(", ")
    );
    std::fs::write(&series, text).unwrap();
    let series = format!("data.path={}", series.display());
    let kinds =
        ["data.path=synthetic:demo?vertices=20&steps=40", series.as_str(), SNAPSHOTS, EVENTS];
    for data in kinds {
        for rule in ["auto", "learned", "one-hot", "degree", "ones"] {
            let rule = format!("data.features={rule}");
            let settings = [
                data,
                "model.name=tgcn",
                &rule,
                "model.hidden=4",
                "train.epochs=1",
                "train.frame=3",
            ];
            let mut run = start(&settings);
            let found = loss(run.session_mut());
            assert!(found.is_finite(), "{settings:?}: {found}");
            let rules = run.session_mut().baselines(zoetrope_data::split::Part::Test).unwrap();
            assert!(!rules.is_empty(), "{settings:?}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let refused = |settings: &[&str]| {
        let builder = settings.iter().fold(Config::builder(), |builder, text| builder.set(text));
        let mut config = builder.build().unwrap();
        let opened = Opened::open(&mut config, &Quiet);
        match opened.and_then(|opened| opened.start(config, None, Timeline::new())) {
            Ok(_) => panic!("{settings:?} was not refused"),
            Err(error) => error.to_string(),
        }
    };
    let text = refused(&["data.path=synthetic:bipartite?events=500", "data.features=degree"]);
    assert!(text.contains("future"), "{text}");
    let large = "data.path=synthetic:uniform?vertices=20000&steps=2&density=0.1";
    let text = refused(&[large, "data.features=one-hot"]);
    assert!(text.contains("data.features=learned"), "{text}");
}
