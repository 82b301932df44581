//! What the link between the processes of a job does, for planners: a few exchanges, timed before anything is planned.

use std::time::Instant;

use zoetrope_dist::Ranks;
use zoetrope_plan::strategy::Machine;

use crate::error::TrainError;

/// Bytes that leave each rank in a timed exchange: 8 ms at 1 Gbit/s.
const TIMED_BYTES: usize = 1 << 20;

/// The shortest of so many is taken: connections are made in the first one, and others may be disturbed.
const ROUNDS: usize = 4;

/// The link between the ranks of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Seconds that a message takes whatever its length.
    message_seconds: f64,
    bytes_per_second: f64,
}

impl Link {
    /// The link that the ranks measure together: as fast as the slowest of them sees it. All ranks call it at the
    /// same place.
    ///
    /// # Errors
    /// If a rank is lost.
    pub(super) fn measured(ranks: &Ranks) -> Result<Self, TrainError> {
        let others = (ranks.size() - 1).max(1);
        let values = TIMED_BYTES / size_of::<f32>() / others;
        let message = shortest(ranks, 1)?;
        let bulk = shortest(ranks, values)? - message;
        let own = [message, bulk.max(f64::MIN_POSITIVE)].map(f64::to_bits);
        let all = ranks.all_gather(&own)?;
        let slowest = |of: usize| {
            all.iter().skip(of).step_by(2).map(|&bits| f64::from_bits(bits)).fold(0.0, f64::max)
        };
        Ok(Self {
            message_seconds: slowest(0),
            bytes_per_second: (others * values * size_of::<f32>()) as f64 / slowest(1),
        })
    }

    /// A machine whose ranks this links.
    pub(super) fn between(self, machine: Machine) -> Machine {
        Machine {
            message_seconds: self.message_seconds,
            link_bytes_per_second: self.bytes_per_second,
            is_measured: true,
            ..machine
        }
    }
}

/// The shortest time in which all ranks have the values of all others.
fn shortest(ranks: &Ranks, values: usize) -> Result<f64, TrainError> {
    let values = vec![0.0_f32; values];
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        ranks.barrier()?;
        let began = Instant::now();
        ranks.all_gather(&values)?;
        least = least.min(began.elapsed().as_secs_f64());
    }
    Ok(least)
}
