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
    for model in MODELS {
        let alone = losses(&[model], None);
        for size in [2, 3, 8] {
            for blocks in ["plan.blocks=1 plan.overlap=true", "plan.blocks=5 plan.overlap=true"] {
                let found = by_threads(size, [model, "plan.strategy=snapshot", blocks]);
                expect_equal(&alone, &found[0], &format!("{model} {blocks} {size} ranks"));
            }
        }
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
