//! Ranks that keep only their part of the data: the same bits as with all of it, from a part of the memory.

mod shared_run;

use shared_run::{BLOCKS, MODELS, STRATEGIES, losses_of, own_session, session};
use zoetrope_data::split::Part;
use zoetrope_dist::{Ranks, Timeouts, threads};
use zoetrope_train::TrainError;
use zoetrope_train::training_run::Evaluation;

/// Losses, test metrics by their bits, and the edges that each rank has in memory.
type Found = (Vec<f64>, Vec<u64>, [usize; 2]);

fn by_ranks(size: usize, settings: &[&'static str], own: bool) -> Vec<Found> {
    let settings = settings.to_vec();
    let found = threads::run(size, Timeouts::default(), move |ranks: Ranks| {
        let mut session =
            if own { own_session(&settings, ranks) } else { session(&settings, Some(ranks)) };
        assert_eq!(session.material().sequence.is_made(), own);
        let losses = losses_of(&mut session);
        let metrics = if session.has(Part::Test) {
            session.evaluate(Part::Test)?
        } else {
            Default::default()
        };
        let bits = metrics.values().map(|value| value.to_bits()).collect();
        let material = session.material();
        let held = [material.sequence.held_edges(), material.happened.held_edges()];
        Ok::<_, TrainError>((losses, bits, held))
    });
    found.unwrap()
}

#[test]
fn a_part_of_the_data_gives_the_bits_of_all_of_it() {
    // Every model, strategy and number of blocks, not all with each other.
    for (at, strategy) in STRATEGIES.into_iter().enumerate() {
        let size = if strategy.ends_with("hybrid") { 4 } else { 2 + at % 2 };
        for (other, model) in MODELS.into_iter().enumerate() {
            let parts = if at % 2 == 0 { "data.split=none" } else { "data.split=60/20/20" };
            let settings = [model, strategy, BLOCKS[(at + other) % 3], parts];
            let (whole, own) = (by_ranks(size, &settings, false), by_ranks(size, &settings, true));
            for (rank, (whole, own)) in whole.iter().zip(&own).enumerate() {
                assert_eq!((&own.0, &own.1), (&whole.0, &whole.1), "rank {rank}: {settings:?}");
            }
        }
    }
}

#[test]
fn a_rank_keeps_its_part_of_the_edges() {
    let settings = [MODELS[0], "plan.strategy=snapshot train.frame=all train.epochs=1"];
    for size in [2, 4] {
        let found = by_ranks(size, &settings, true);
        let whole = by_ranks(1, &settings, false)[0].2[1];
        for (rank, &(_, _, [seen, happened])) in found.iter().enumerate() {
            // Matrices are made of what models see, and it is let go.
            assert_eq!(seen, 0, "rank {rank}");
            // Days differ by more than a part does: two fifths more than even.
            assert!(
                happened * size * 5 <= whole * 7,
                "rank {rank} of {size}: {happened} of {whole}"
            );
        }
    }
}
