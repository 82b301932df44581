//! Memory that grew in training, memory that goes on from it, and memory that replay rebuilds.

mod stream_run;

use stream_run::{MODELS, events, run};
use zoetrope_data::split::Part;
use zoetrope_run::checkpoint::state_hash;
use zoetrope_train::events::MemorySource;
use zoetrope_train::training_run::{Checkpointed, Evaluation, TrainingRun};

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// If weights do not move, both are the same: nothing but the movement of weights parts them.
#[test]
fn memory_that_grew_with_weights_that_stand_still_is_what_replay_rebuilds() {
    for model in MODELS {
        let still = "train.optimiser=sgd train.lr=1e-40 model.dropout=0 data.split=60/20/20";
        let mut run = run(events(400), &[model, still]);
        run.train(2);
        run.session.choose_best();
        let time = run.session.material().store.time();
        let times = [time[240] + 1, time[330], time[399] + 1];
        let grown = times.map(|time| bits(&run.session.embed(time).unwrap()));
        let has_memory = !model.contains("tgat");
        let expected = if has_memory { MemorySource::Run } else { MemorySource::None };
        assert_eq!(run.session.memory_use().source(), Some(expected), "{model}");
        // Who changes weights loses the memory that belongs to them.
        let _ = run.session.parameters_mut();
        let replayed = times.map(|time| bits(&run.session.embed(time).unwrap()));
        let expected = if has_memory { MemorySource::Replayed } else { MemorySource::None };
        assert_eq!(run.session.memory_use().source(), Some(expected), "{model}");
        let apart = |(a, b): (&u32, &u32)| (f32::from_bits(*a) - f32::from_bits(*b)).abs();
        let apart = grown.iter().flatten().zip(replayed.iter().flatten()).map(apart);
        let most = apart.fold(0.0, f32::max);
        // Training computes rows together with those of neighbours: sums are rounded otherwise.
        assert!(most < 1e-5, "{model}: {most} apart although weights stood still");
    }
}

/// While its weights stand still, memory grows as replay rebuilds it, whatever the others learn.
#[test]
fn memory_that_has_settled_is_what_replay_rebuilds() {
    for model in MODELS.into_iter().filter(|model| !model.contains("tgat")) {
        // Shifted batches and dropout belong to the other epochs.
        let more = "train.lr=0.05 train.chunks=4 train.batch_size=20 data.split=60/20/20";
        let [moving, settled] = ["train.settle=0", "train.settle=2"].map(|settle| {
            let mut run = run(events(400), &[model, more, settle]);
            run.train(9);
            run.session.choose_best();
            let end = run.session.material().store.time()[399] + 1;
            let grown = bits(&run.session.embed(end).unwrap());
            assert_eq!(run.session.memory_use().source(), Some(MemorySource::Run), "{model}");
            let _ = run.session.parameters_mut();
            grown == bits(&run.session.embed(end).unwrap())
        });
        assert!(!moving, "{model}: weights that move grow another memory");
        assert!(settled, "{model}: memory has not settled");
    }
}

/// A run that is stopped while its memory settles goes on to the same bits.
#[test]
fn a_run_that_settles_is_restored() {
    let settings =
        ["model.name=tgn train.lr=0.05 data.split=60/20/20 train.settle=3 train.patience=1"];
    let mut whole = run(events(400), &settings);
    while !(&whole.session as &dyn TrainingRun).is_over() {
        let epochs = whole.session.learner().epochs().len();
        whole.train(epochs + 1);
    }
    let epochs = whole.session.learner().epochs().len();
    let mut first = run(events(400), &settings);
    first.train(epochs - 2);
    first.train_batches(3);
    let mut second = run(events(400), &settings);
    second.session.restore(first.session.save()).unwrap();
    second.train(epochs);
    assert!((&second.session as &dyn TrainingRun).is_over());
    let (best, _) = second.session.learner().best_epoch().unwrap();
    assert!(best > epochs - 3, "the best epoch is one in which memory stood still");
    assert_eq!(state_hash(&second.session.save()), state_hash(&whole.session.save()));
}

/// The validation part goes on from the end of training whenever it is asked about.
#[test]
fn validation_measured_again_is_what_the_best_epoch_measured() {
    for model in MODELS {
        let mut run = run(events(400), &[model, "train.lr=0.05 data.split=60/20/20"]);
        run.train(5);
        let (best, _) = run.session.learner().best_epoch().unwrap();
        let measured = format!("{:?}", run.session.learner().epochs()[best - 1].val);
        run.session.choose_best();
        for part in [Part::Test, Part::Validation, Part::Train, Part::Validation] {
            let found = format!("{:?}", run.session.evaluate(part).unwrap());
            if part == Part::Validation {
                assert_eq!(found, measured, "{model}: epoch {best}");
            }
        }
    }
}

/// Candidates before the end of training need memory that is rebuilt; the others keep theirs.
#[test]
fn early_candidates_do_not_change_the_answers_about_later_ones() {
    for model in MODELS {
        let mut run = run(events(400), &[model, "train.lr=0.05 data.split=60/20/20"]);
        run.train(3);
        run.session.choose_best();
        let all = run.candidates(60);
        let end = run.session.material().store.time()[239];
        let later: Vec<_> = all.iter().copied().filter(|asked| asked.time > end).collect();
        let alone = run.session.predict(&later, &[]).unwrap();
        let together = run.session.predict(&all, &[]).unwrap();
        let of_later = &together[together.len() - alone.len()..];
        assert_eq!(bits(of_later), bits(&alone), "{model}");
        let used: Vec<_> = run.session.memory_use().iter().collect();
        if !model.contains("tgat") {
            let early = all.len() - later.len();
            assert_eq!(
                used,
                [(MemorySource::Run, 2 * later.len()), (MemorySource::Replayed, early)]
            );
        }
    }
}
