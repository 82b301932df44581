//! Prepares the next batch while this one trains (Sven §3.3.1).
//!
//! Preparation reads the graph and nothing that training changes, so it may run ahead. It runs on a
//! thread of its own, as many batches ahead as the plan says; batches go round in a circle, so that their memory is used
//! again. The result does not depend on whether anything ran ahead.
//!
//! Tried and dropped (wikipedia events, batch 200, two cores): preparation as a task of the trainer's
//! own pool made an epoch of JODIE 7 % slower; threads of the pool that stay awake between parallel
//! loops doubled it, as they keep this thread from a core.

use std::sync::mpsc::sync_channel;

use super::prepare::Prepared;
use crate::error::TrainError;

/// Prepares `count` batches in order, `ahead` of them at most before they are asked for, and hands each to
/// `consume`, which says whether to go on.
pub(super) fn run(
    ahead: usize,
    count: usize,
    mut prepare: impl FnMut(usize, &mut Prepared) -> Result<(), TrainError> + Send,
    mut consume: impl FnMut(usize, &mut Prepared) -> Result<bool, TrainError>,
) -> Result<(), TrainError> {
    if ahead == 0 || count < 2 {
        let mut batch = Prepared::default();
        for at in 0..count {
            prepare(at, &mut batch)?;
            if !consume(at, &mut batch)? {
                break;
            }
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        // One is computed, those ahead wait or are being prepared.
        let batches = 1 + ahead;
        let (give_back, spare) = sync_channel::<Prepared>(batches);
        let (hand_over, ready) = sync_channel::<Result<Prepared, TrainError>>(ahead - 1);
        for _ in 0..batches {
            give_back.send(Prepared::default()).expect("the channel has room for all");
        }
        let prepares = move || {
            // Sampling may ask for threads. Those of the trainer's pool may all be waiting for this
            // batch, so this thread is a pool of its own.
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            let _alone = match alone.build() {
                Ok(pool) => pool,
                Err(error) => {
                    let _ = hand_over.send(Err(TrainError::Unavailable {
                        what: format!("a thread that prepares batches ({error})"),
                        advice: "set plan.prefetch = false".to_owned(),
                    }));
                    return;
                }
            };
            for at in 0..count {
                // If the other end is gone, nobody wants more.
                let Ok(mut batch) = spare.recv() else { return };
                let made = prepare(at, &mut batch).map(|()| batch);
                let failed = made.is_err();
                if hand_over.send(made).is_err() || failed {
                    return;
                }
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, prepares).map_err(|error| {
            TrainError::Unavailable {
                what: format!("a thread that prepares batches ({error})"),
                advice: "set plan.prefetch = false".to_owned(),
            }
        })?;
        for at in 0..count {
            // The other end is gone without a word only if it panicked, which the scope tells.
            let Ok(made) = ready.recv() else { return Ok(()) };
            let mut batch = made?;
            if !consume(at, &mut batch)? {
                break;
            }
            // Nobody takes it back once everything is prepared.
            let _ = give_back.send(batch);
        }
        drop((give_back, ready));
        Ok(())
    })
}
