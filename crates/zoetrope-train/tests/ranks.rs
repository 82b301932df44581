//! However ranks share a run and in however many blocks, its losses are those of one rank.

mod shared_run;

use shared_run::{BLOCKS, MODELS, STRATEGIES, expect_equal, losses, session};
use zoetrope_dist::{Timeouts, threads};
use zoetrope_run::checkpoint::state_hash;
use zoetrope_train::TrainError;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::training_run::{Checkpointed, Epochs, TrainingRun};

/// The losses on every rank of a job of threads.
fn by_threads(size: usize, settings: [&'static str; 3]) -> Vec<Vec<f64>> {
    let found = threads::run(size, Timeouts::default(), move |ranks| {
        Ok::<_, TrainError>(losses(&settings, Some(ranks)))
    });
    found.unwrap()
}

fn every_case(size: usize) {
    let session = session(&[], None);
    assert!(session.plan().frames.len() * session.config().train.epochs >= 20);
    for model in MODELS {
        let alone = losses(&[model], None);
        // One rank shares with nobody: there is no strategy to choose.
        let strategies = if size > 1 { &STRATEGIES[..] } else { &[""] };
        for &strategy in strategies {
            for blocks in BLOCKS {
                let what = format!("{model} {strategy} {blocks} {size} ranks");
                let found = by_threads(size, [model, strategy, blocks]);
                expect_equal(&alone, &found[0], &what);
                // Weights are changed by the same numbers everywhere: ranks agree to the bit.
                assert!(found.iter().all(|of_rank| *of_rank == found[0]), "{what}");
            }
        }
    }
}

#[test]
fn one_rank_that_shares_with_nobody_loses_as_much_as_one_alone() {
    every_case(1);
}

#[test]
fn two_ranks_lose_as_much_as_one() {
    every_case(2);
}

#[test]
fn three_ranks_lose_as_much_as_one() {
    every_case(3);
}

#[test]
fn four_ranks_lose_as_much_as_one() {
    every_case(4);
}

#[test]
fn eight_ranks_lose_as_much_as_one() {
    every_case(8);
}

#[test]
fn rows_that_are_sent_while_others_are_computed_give_the_same_losses() {
    // The time encoder of the third model works on weights: no rows move.
    for model in &MODELS[..2] {
        let alone = losses(&[model], None);
        for size in [2, 3, 8] {
            for blocks in ["plan.blocks=1 plan.overlap=true", "plan.blocks=5 plan.overlap=true"] {
                let found = by_threads(size, [*model, "plan.strategy=snapshot", blocks]);
                expect_equal(&alone, &found[0], &format!("{model} {blocks} {size} ranks"));
            }
        }
    }
}

#[test]
fn rows_that_are_sent_while_others_are_computed_give_the_same_bits() {
    // Vertices of a rank are several blocks of the kernels of recurrent layers, between which pieces are cut.
    const LARGE: &str = "data.path=synthetic:aml?accounts=600&days=12&events=6000&patterns=4 train.frame=6 \
        train.epochs=2 plan.strategy=snapshot";
    let hash = |size: usize, settings: [&'static str; 3]| {
        let found = threads::run(size, Timeouts::default(), move |ranks| {
            let mut session = session(&[LARGE, settings[0], settings[1], settings[2]], Some(ranks));
            while !(&session as &dyn TrainingRun).is_over() {
                session.epoch(&mut Unobserved).unwrap();
            }
            Ok::<_, TrainError>(state_hash(&session.save()))
        });
        found.unwrap().swap_remove(0)
    };
    for (size, model, more) in [
        (2, MODELS[0], "plan.blocks=1"),
        (3, MODELS[0], "plan.blocks=2 plan.reuse=false"),
        (2, MODELS[1], "plan.blocks=1"),
        (3, MODELS[1], "plan.blocks=2 model.hidden=16"),
        (2, "model.name=wd-gcn model.layers=2", "train.carry_state=true train.stride=6"),
        (2, "model.name=cd-gcn model.dropout=0.3", "plan.reuse=false"),
    ] {
        let without = hash(size, [model, more, "plan.overlap=false"]);
        let with = hash(size, [model, more, "plan.overlap=true"]);
        assert_eq!(without, with, "{model} {more} {size} ranks");
    }
}

#[test]
fn blocks_that_are_computed_again_give_the_bits_of_blocks_that_are_kept() {
    for model in MODELS {
        for blocks in BLOCKS {
            let hash = |recompute: &str| {
                let mut session = session(&[model, blocks, recompute], None);
                while !(&session as &dyn TrainingRun).is_over() {
                    session.epoch(&mut Unobserved).unwrap();
                }
                state_hash(&session.save())
            };
            let (kept, again) = (hash("plan.recompute=false"), hash("plan.recompute=true"));
            assert_eq!(kept, again, "{model} {blocks}");
        }
    }
}
