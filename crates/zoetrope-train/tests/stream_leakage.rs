//! A question about an event stream must not see its own time or anything later: changing, deleting
//! or permuting the future changes no bit of an answer.

mod stream_run;

use stream_run::{MODELS, VERTICES, events, run, store};
use zoetrope_graph::random::Random;
use zoetrope_graph::{EventStore, Time};
use zoetrope_nn::weights;
use zoetrope_train::events::Candidate;
use zoetrope_train::training_run::TrainingRun;

/// The stream with everything from `from` on replaced: other ends, other features, other order.
fn another_future(events: &EventStore, from: Time) -> EventStore {
    let first = events.time().partition_point(|&time| time < from);
    let random = Random::new(99, 9);
    let (mut src, mut dst) = (events.src().to_vec(), events.dst().to_vec());
    let mut features = events.features().unwrap().to_vec();
    for event in first..events.len() {
        src[event] = random.below(event as u64, VERTICES.into()) as u32;
        dst[event] = random.below(event as u64 + 10_000, VERTICES.into()) as u32;
        features[3 * event] = 50.0;
    }
    store(src, dst, events.time().to_vec(), features)
}

/// The stream without anything from `from` on.
fn no_future(events: &EventStore, from: Time) -> EventStore {
    let count = events.time().partition_point(|&time| time < from);
    let features = events.features().unwrap()[..3 * count].to_vec();
    store(
        events.src()[..count].to_vec(),
        events.dst()[..count].to_vec(),
        events.time()[..count].to_vec(),
        features,
    )
}

/// Answers of a network that was trained on the true stream, on another stream.
fn answers(
    model: &str,
    rule: &str,
    trained: &[u8],
    events: EventStore,
    asked: &[Candidate],
) -> Vec<u32> {
    // One part for all, so that batches begin at the same events whatever the stream's length. All
    // of the stream is the training part then, so features must not be scaled by it.
    let rules = "data.split=none data.feature_scaling=none";
    let mut other = run(events, &[model, rule, rules]);
    weights::load_safetensors(other.session.parameters_mut(), trained).unwrap();
    other.session.predict(asked, &[]).unwrap().iter().map(|value| value.to_bits()).collect()
}

#[test]
fn no_answer_knows_the_future() {
    for model in MODELS {
        for rule in ["task.neighbours=per-event", "task.neighbours=batch-stale"] {
            // JODIE reads no neighbours.
            if model.contains("jodie") && rule.ends_with("batch-stale") {
                continue;
            }
            let all = events(300);
            let mut trained = run(events(300), &[model, rule, "data.split=none"]);
            trained.train(1);
            let trained = weights::to_safetensors(trained.session.parameters()).unwrap();
            for at in [90, 151, 299] {
                let time = all.time()[at];
                let asked: Vec<Candidate> = (0..VERTICES)
                    .map(|src| Candidate { src, dst: (src * 7 + 3) % VERTICES, time })
                    .collect();
                let truth = answers(model, rule, &trained, events(300), &asked);
                let other = another_future(&all, time);
                assert_eq!(truth, answers(model, rule, &trained, other, &asked), "{model} {rule}");
                // The test can fail: another past is noticed.
                let past = another_future(&all, all.time()[at / 2]);
                assert_ne!(truth, answers(model, rule, &trained, past, &asked), "{model} {rule}");
            }
        }
    }
}

/// Deleting the future moves the last batch's end, so memory is compared at the beginning of a batch.
#[test]
fn deleting_the_future_changes_nothing() {
    for model in MODELS {
        let all = events(300);
        let mut trained = run(events(300), &[model, "data.split=none"]);
        trained.train(1);
        let trained = weights::to_safetensors(trained.session.parameters()).unwrap();
        // A multiple of the batch size with a time of its own: the state before it is the same
        // whether or not anything follows.
        let at = (1..17).map(|batch| 17 * batch).find(|&at| all.time()[at] > all.time()[at - 1]);
        let time = all.time()[at.unwrap()];
        let asked: Vec<Candidate> =
            (0..VERTICES).map(|src| Candidate { src, dst: (src + 5) % VERTICES, time }).collect();
        let rule = "task.neighbours=per-event";
        let truth = answers(model, rule, &trained, events(300), &asked);
        assert_eq!(truth, answers(model, rule, &trained, no_future(&all, time), &asked), "{model}");
    }
}

/// Neither training nor validation changes when the test part does. Negatives come from all
/// vertices here: destinations of the whole stream would tell who receives anything later.
#[test]
fn training_and_validation_do_not_see_the_test_part() {
    for model in MODELS {
        let all = events(300);
        let rules = "task.pool=all data.feature_scaling=standard";
        let mut truth = run(events(300), &[model, rules]);
        let test = truth.session.material().split.test.start;
        let other = another_future(&all, all.time()[test]);
        let mut other = run(other, &[model, rules]);
        truth.train(2);
        other.train(2);
        let seen = |run: &stream_run::StreamRun| {
            let epochs = run.session.learner().epochs().iter();
            epochs
                .map(|epoch| (epoch.loss.to_bits(), epoch.val["ap"].to_bits()))
                .collect::<Vec<_>>()
        };
        assert_eq!(seen(&truth), seen(&other), "{model}");
    }
}
