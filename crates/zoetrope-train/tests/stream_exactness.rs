//! What must not change the result of a run over events: the number of threads, preparing ahead,
//! computing repeated rows once, a pause, and where time begins.

mod stream_run;

use stream_run::{MODELS, events, run, shifted};
use zoetrope_data::split::Part;
use zoetrope_run::checkpoint::state_hash;
use zoetrope_train::training_run::{Checkpointed, Evaluation, TrainingRun};

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn threads_and_preparing_ahead_do_not_change_a_bit() {
    let hash = |threads: usize, ahead: &str| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            MODELS.map(|model| {
                let setting = format!("plan.prefetch={ahead}");
                let mut session = run(events(400), &[model, &setting]);
                session.train(2);
                state_hash(&session.session.save())
            })
        })
    };
    let first = hash(1, "true");
    assert_eq!(first, hash(2, "true"));
    assert_eq!(first, hash(2, "false"));
}

#[test]
fn repeated_rows_computed_once_or_each_time_give_the_same_losses() {
    for model in MODELS {
        let loss = |setting: &str| {
            let mut session =
                run(events(400), &[model, setting, "model.dropout=0 train.lr=0.0001"]);
            session.train(2);
            session.session.learner().epochs().iter().map(|epoch| epoch.loss).collect::<Vec<_>>()
        };
        let (once, each) = (loss("plan.deduplicate=true"), loss("plan.deduplicate=false"));
        for (once, each) in once.iter().zip(&each) {
            assert!((once - each).abs() <= 1e-5 * once.abs(), "{model}: {once} and {each}");
        }
    }
}

#[test]
fn a_run_that_was_stopped_inside_an_epoch_goes_on_to_the_same_bits() {
    for model in MODELS {
        let mut whole = run(events(400), &[model]);
        whole.train(2);
        let mut first = run(events(400), &[model]);
        first.train_batches(9);
        let saved = first.session.save();
        let mut second = run(events(400), &[model]);
        second.session.restore(saved).unwrap();
        second.train(2);
        assert_eq!(
            state_hash(&whole.session.save()),
            state_hash(&second.session.save()),
            "{model}"
        );
    }
}

/// Nanoseconds since 1970 need 61 bits; a float32 has 24 and a float64 53. Only differences may
/// become floats, so a stream that begins in 2024 gives the bits of one that begins at 0.
#[test]
fn where_time_begins_does_not_change_a_bit() {
    for model in MODELS {
        // Uniform draws are keyed by time, so that other times draw others.
        let sampling = if model.contains("tgat") { "model.sampling=recent" } else { model };
        let scores = |store| {
            let mut session = run(store, &[model, sampling]);
            session.train(1);
            let candidates = session.candidates(40);
            bits(&session.session.predict(&candidates, &[]).unwrap())
        };
        let late = shifted(&events(400), 1_700_000_000_000_000_001);
        assert_eq!(scores(events(400)), scores(late), "{model}");
    }
}

/// A run that goes on after its best epoch tests what a run tests that ended with that epoch: the
/// same weights and the memory that grew with them, not memory rebuilt; so does a run that was
/// stopped and restored.
#[test]
fn epochs_after_the_best_one_do_not_change_the_test() {
    for model in MODELS {
        // A high rate, so that weights change much within an epoch and the best one comes early.
        let settings = [model, "train.lr=0.05 data.split=60/20/20"];
        let mut long = run(events(400), &settings);
        long.train(6);
        let (best, _) = long.session.learner().best_epoch().unwrap();
        let mut short = run(events(400), &settings);
        short.train(best);
        let mut resumed = run(events(400), &settings);
        resumed.session.restore(long.session.save()).unwrap();
        let tested = [short, long, resumed].map(|mut run| {
            run.session.choose_best();
            // As text: a measure of no event is not a number.
            format!("{:?}", run.session.evaluate(Part::Test).unwrap())
        });
        assert_eq!(tested[0], tested[1], "{model}: best of 6 epochs is {best}");
        assert_eq!(tested[0], tested[2], "{model}: restored");
    }
}
