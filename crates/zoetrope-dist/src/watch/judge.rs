//! Which rank is to blame if another one has waited too long.

use std::time::Duration;

use crate::site::Position;
use crate::watch::Manner;

/// What is known of a rank at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    pub(super) position: Position,
    /// Since when its position has not changed.
    pub(super) still: Duration,
    /// Since when nothing was heard of its process.
    pub(super) silent: Duration,
}

/// A rank that was not heard of for this long, or half the timeout, does not just think.
const SILENCE_LIMIT: Duration = Duration::from_secs(2);

/// A rank that has announced a slow operation (writing a file, say) may take this many times the timeout:
/// a disk that hangs is reported as well, in the end.
pub const SLOW_TIMEOUT_FACTOR: u32 = 20;

/// The rank that hangs, if one does, in what way and for how long.
///
/// A rank hangs if another one has waited for the whole timeout while no rank had announced a slow
/// operation, or if its process was silent for as long. To blame is, in this order: a silent rank; a rank
/// that computes, the one with the fewest collectives first; a rank that waits, likewise.
pub(super) fn culprit(
    observations: &[Observation],
    timeout: Duration,
) -> Option<(usize, Manner, Duration)> {
    let here = || observations.iter().enumerate().filter(|(_, one)| !one.position.left);
    let excused =
        here().any(|(_, one)| one.position.takes_time && one.still < timeout * SLOW_TIMEOUT_FACTOR);
    let waits = |one: &Observation| one.position.waits.is_some() && one.still >= timeout;
    let impatient = !excused && here().any(|(_, one)| waits(one));
    let lost = here().any(|(_, one)| one.silent >= timeout);
    if !impatient && !lost {
        return None;
    }
    let silence = SILENCE_LIMIT.min(timeout / 2);
    if let Some((rank, one)) =
        here().filter(|(_, one)| one.silent >= silence).max_by_key(|(_, one)| one.silent)
    {
        return Some((rank, Manner::Silent, one.silent));
    }
    let behind = |waits: bool| {
        let these = here().filter(|(_, one)| one.position.waits.is_some() == waits);
        these.min_by_key(|(_, one)| (one.position.collectives, std::cmp::Reverse(one.still)))
    };
    let busy = behind(false).map(|(rank, one)| (rank, Manner::Busy, one.still));
    busy.or_else(|| behind(true).map(|(rank, one)| (rank, Manner::Waiting, one.still)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{Call, Site};

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn rank(collectives: u64, waits: bool, still: u64, silent: u64) -> Observation {
        let site = Some(Site { call: Call::AllReduce, number: collectives });
        let waits = site.filter(|_| waits);
        Observation {
            position: Position { collectives, last: site, waits, ..Position::default() },
            still: Duration::from_secs(still),
            silent: Duration::from_secs(silent),
        }
    }

    #[test]
    fn nobody_is_blamed_before_the_timeout() {
        let ranks = [rank(5, true, 59, 0), rank(4, false, 70, 0), rank(5, true, 3, 0)];
        assert_eq!(culprit(&ranks, TIMEOUT), None);
    }

    #[test]
    fn one_that_computes_for_long_is_left_alone_while_nobody_waits() {
        assert_eq!(culprit(&[rank(5, false, 500, 0), rank(5, false, 400, 0)], TIMEOUT), None);
    }

    #[test]
    fn the_one_that_others_wait_for_is_blamed() {
        let ranks = [rank(5, true, 60, 0), rank(4, false, 61, 0), rank(5, true, 60, 0)];
        let blamed = culprit(&ranks, TIMEOUT);
        assert_eq!(blamed, Some((1, Manner::Busy, Duration::from_secs(61))));
    }

    #[test]
    fn of_two_that_compute_the_one_behind_is_blamed() {
        let ranks = [rank(7, true, 60, 0), rank(6, false, 1, 0), rank(4, false, 1, 0)];
        assert_eq!(culprit(&ranks, TIMEOUT).map(|blamed| blamed.0), Some(2));
    }

    #[test]
    fn one_that_said_so_may_take_longer_but_not_for_ever() {
        let mut works = rank(4, false, 90, 0);
        works.position.takes_time = true;
        let ranks = [rank(5, true, 80, 0), works, rank(5, true, 85, 0)];
        assert_eq!(culprit(&ranks, TIMEOUT), None);
        works.still = TIMEOUT * SLOW_TIMEOUT_FACTOR;
        let ranks = [rank(5, true, 80, 0), works, rank(5, true, 85, 0)];
        assert_eq!(culprit(&ranks, TIMEOUT).map(|blamed| blamed.0), Some(1));
        // Its process gives signs of life all the while.
        works.still = Duration::from_secs(90);
        works.silent = TIMEOUT;
        let ranks = [rank(5, true, 80, 0), works, rank(5, true, 85, 0)];
        assert_eq!(culprit(&ranks, TIMEOUT).map(|b| (b.0, b.1)), Some((1, Manner::Silent)));
    }

    #[test]
    fn a_stopped_process_is_blamed_even_if_it_seems_to_wait() {
        let ranks = [rank(5, true, 60, 0), rank(5, true, 60, 59), rank(4, false, 61, 0)];
        let blamed = culprit(&ranks, TIMEOUT);
        assert_eq!(blamed, Some((1, Manner::Silent, Duration::from_secs(59))));
    }

    #[test]
    fn silence_alone_is_enough() {
        let ranks = [rank(5, false, 1, 0), rank(5, false, 60, 60)];
        assert_eq!(culprit(&ranks, TIMEOUT).map(|blamed| blamed.0), Some(1));
    }

    #[test]
    fn where_all_wait_the_one_behind_is_blamed() {
        let ranks = [rank(5, true, 60, 0), rank(3, true, 60, 0)];
        assert_eq!(culprit(&ranks, TIMEOUT).map(|b| (b.0, b.1)), Some((1, Manner::Waiting)));
    }

    #[test]
    fn one_that_has_finished_is_nobodys_fault() {
        let mut done = rank(1, false, 100, 100);
        done.position.left = true;
        assert_eq!(culprit(&[rank(5, true, 60, 0), done], TIMEOUT).map(|b| b.0), Some(0));
    }
}
