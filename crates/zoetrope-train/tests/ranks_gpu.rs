//! Ranks that compute on a GPU, real or emulated, and share it: what one processor computes.

mod gpu;
mod shared_run;

use gpu::has_gpu;
use shared_run::{MODELS, expect_near, losses};
use zoetrope_dist::{Timeouts, threads};
use zoetrope_train::TrainError;

/// How far an epoch may take losses of two devices apart.
const TOLERANCE: f64 = 1e-4;

/// ESDG §3.2 inside of §3.1: what differs from snapshot to snapshot is sent block by block.
#[test]
fn blocks_that_are_sent_as_differences_give_the_bits_of_blocks_that_stay_on_the_gpu() {
    if !has_gpu() {
        return;
    }
    for model in MODELS {
        let of = |more: &str| {
            losses(&[model, "plan.blocks=5 train.device=cuda train.epochs=1", more], None)
        };
        let resident = of("plan.residency=resident");
        for sent in ["plan.difference=off", "plan.difference=on"] {
            let sent = format!("plan.residency=stream {sent}");
            assert_eq!(resident, of(&sent), "{model} {sent}");
        }
    }
}

#[test]
fn a_gpu_computes_blocks_and_shares_of_ranks_as_the_processor_does() {
    if !has_gpu() {
        return;
    }
    for model in MODELS {
        let alone = losses(&[model, "train.epochs=1"], None);
        let blocks = "plan.blocks=2";
        let found = losses(&[model, blocks, "train.device=cuda train.epochs=1"], None);
        expect_near(&alone, &found, TOLERANCE, &format!("{model} {blocks} on a GPU"));
        for shared in ["plan.strategy=snapshot plan.overlap=true", "plan.strategy=hypergraph"] {
            let found = threads::run(2, Timeouts::default(), move |ranks| {
                let settings = [model, shared, "plan.blocks=2 train.device=cuda train.epochs=1"];
                Ok::<_, TrainError>(losses(&settings, Some(ranks)))
            });
            let found = found.unwrap();
            let what = format!("{model} {shared}, two ranks on a GPU");
            expect_near(&alone, &found[0], TOLERANCE, &what);
            assert_eq!(found[0], found[1], "{what}");
        }
    }
}
