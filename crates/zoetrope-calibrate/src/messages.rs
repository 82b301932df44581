//! Messages between ranks that are threads of this process, by their size.

use std::time::Instant;

use zoetrope_dist::{DistError, Ranks, Reduction, Timeouts, threads};
use zoetrope_sim::machine::calibration::{Curve, Messages};

/// Bytes that a rank sends.
const SIZES: [usize; 6] = [64, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 23];
/// Messages of a round: fewer of large ones.
const BYTES_OF_ROUND: usize = 1 << 24;
/// Messages of a round at most.
const MESSAGES_MAX: usize = 200;
const ROUNDS: usize = 4;

/// Measures ranks of one process. None if messages failed: there is nothing to say about them then.
pub(crate) fn between_threads(ranks: usize, quick: bool) -> Option<Messages> {
    let rounds = if quick { 1 } else { ROUNDS };
    let measured = threads::run(ranks, Timeouts::default(), move |ranks| measure(&ranks, rounds));
    let [point_to_point, all_to_all, all_reduce] = measured.ok()?.into_iter().next()?;
    Some(Messages { point_to_point, all_to_all, all_reduce })
}

/// The three curves of the rank that calls; all ranks call it.
///
/// # Errors
/// If a rank is lost.
pub(crate) fn measure(ranks: &Ranks, rounds: usize) -> Result<[Curve; 3], DistError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let point = |values: usize| -> Result<(), DistError> {
        // There and back: two messages.
        match rank {
            0 => {
                ranks.send(1, 1, vec![1.0_f32; values])?;
                ranks.receive::<f32>(1, 1, values)?;
            }
            1 => {
                let got = ranks.receive::<f32>(0, 1, values)?;
                ranks.send(0, 1, got)?;
            }
            _ => {}
        }
        Ok(())
    };
    let everyone = |values: usize| -> Result<(), DistError> {
        let each = (values / (size - 1).max(1)).max(1);
        let sends = (0..size).map(|to| vec![1.0_f32; if to == rank { 0 } else { each }]).collect();
        let lengths: Vec<usize> =
            (0..size).map(|from| if from == rank { 0 } else { each }).collect();
        ranks.all_to_all_known(sends, &lengths)?;
        Ok(())
    };
    let sum = |values: usize| -> Result<(), DistError> {
        let mut all = vec![1.0_f32; values];
        ranks.all_reduce(&mut all, Reduction::Sum)
    };
    Ok([
        curve(ranks, rounds, 2.0, &point)?,
        curve(ranks, rounds, 1.0, &everyone)?,
        curve(ranks, rounds, 1.0, &sum)?,
    ])
}

/// Seconds of one message by its bytes: the shortest round of several.
fn curve(
    ranks: &Ranks,
    rounds: usize,
    messages: f64,
    send: &dyn Fn(usize) -> Result<(), DistError>,
) -> Result<Curve, DistError> {
    let mut is = Vec::new();
    for bytes in SIZES {
        let (values, count) = (bytes / 4, (BYTES_OF_ROUND / bytes).clamp(2, MESSAGES_MAX));
        let mut best = f64::INFINITY;
        for round in 0..=rounds {
            ranks.barrier()?;
            let timer = Instant::now();
            (0..count).try_for_each(|_| send(values))?;
            ranks.barrier()?;
            let seconds = timer.elapsed().as_secs_f64() / count as f64 / messages;
            if round > 0 {
                best = best.min(seconds);
            }
        }
        is.push(best.max(1e-9));
    }
    Ok(Curve { at: SIZES.map(|bytes| bytes as f64).to_vec(), is })
}
