//! Whether moving rows beside computing is predicted to be faster, and in how many parts.
//!
//! ```text
//! wire    = bytes that leave a rank in a step / bytes a second of the link
//! idle    = wire − the time in which the processor handles these bytes, which it cannot compute in
//! hidden  = the smaller of idle and computing · (1 − 1/parts), because the first part waits for nothing to be computed
//! cost    = copies of rows that stay + messages of more parts
//! gain    = (hidden − cost) / (computing + wire)
//! ```
//!
//! A part has to be on the wire for longer than it takes the thread that keeps messages moving to notice what came, or
//! parts wait for that thread and not for the wire. Over two hosts (bench/results/overlap.md) 1 Gbit/s gained 10 to
//! 41 %. 10 Gbit/s gained nothing, because messages took the processor nearly as long as the wire, and lost 10 and
//! 13 % if a part was on the wire for a seventh of a millisecond.

use super::Row;
use super::traffic::{Machine, Traffic};
use crate::plan::sharing::Overlap;

/// Bytes a second that a core packs, hands to the network, and unpacks.
const HANDLED_BYTES_PER_SECOND: f64 = 1.2e9;

/// A part on the wire for less is noticed late: the thread that keeps messages moving looks every tenth of a
/// millisecond, and a long message is asked for, granted and sent.
const PART_SECONDS_MIN: f64 = 5e-4;

/// What is predicted to gain less of a step may as well lose.
const GAIN_MIN: f64 = 0.05;

/// What is predicted of a step in which rows move beside computing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forecast {
    machine: Machine,
    compute_seconds: f64,
    /// Bytes that leave a rank in a step.
    bytes: f64,
    /// Redistributions of a step, forward and back.
    exchanges: f64,
    /// Messages of each.
    peers: f64,
}

impl Forecast {
    /// Of a strategy in numbers.
    pub(crate) fn new(row: &Row, traffic: &Traffic, machine: &Machine) -> Self {
        let ranks = f64::from(row.grid.ranks());
        Self {
            machine: *machine,
            compute_seconds: row.compute_seconds,
            bytes: row.exchanged_bytes as f64 / ranks,
            exchanges: 2.0 * traffic.exchanges()[1] as f64 * row.blocks as f64,
            peers: ranks - 1.0,
        }
    }

    fn wire_seconds(&self) -> f64 {
        self.bytes / self.machine.link_bytes_per_second
    }

    /// How many parts of at most so many are on the wire for long enough.
    fn parts(&self, most: usize) -> usize {
        let one = self.wire_seconds() / self.exchanges.max(1.0);
        ((one / PART_SECONDS_MIN) as usize).clamp(1, most)
    }

    /// The share of a step that so many parts would save.
    fn gain(&self, parts: usize) -> f64 {
        let (wire, parts) = (self.wire_seconds(), parts as f64);
        let idle = wire - self.bytes / HANDLED_BYTES_PER_SECOND;
        let hidden = idle.min(self.compute_seconds) * (1.0 - 1.0 / parts);
        let stays = self.bytes / self.peers;
        let copies = 2.0 * stays / self.machine.memory_bytes_per_second;
        let messages = self.exchanges * self.peers * (parts - 1.0) * self.machine.message_seconds;
        (hidden - copies - messages) / (self.compute_seconds + wire).max(f64::MIN_POSITIVE)
    }

    fn in_parts(&self, most: Overlap) -> Overlap {
        let fewer = |count: usize| if count > 1 { self.parts(count) } else { count };
        Overlap { parts: fewer(most.parts), pieces: fewer(most.pieces) }
    }

    /// In how many parts and pieces rows should move, of at most so many; None if it would not pay.
    pub(crate) fn overlap(&self, most: Overlap) -> Option<Overlap> {
        let found = self.in_parts(most);
        let count = found.parts.max(found.pieces);
        let pays = self.machine.is_measured && count > 1 && self.gain(count) >= GAIN_MIN;
        pays.then_some(found)
    }

    /// The reason for what was found.
    pub(crate) fn says(&self, found: Option<Overlap>) -> String {
        if !self.machine.is_measured {
            return "rows are not sent beside computing: no link between processes was measured"
                .to_owned();
        }
        let link = format!(
            "over a link of {:.0} MB/s a step has rows on the wire for {:.1} ms",
            self.machine.link_bytes_per_second / 1e6,
            self.wire_seconds() * 1e3
        );
        match found {
            Some(Overlap { parts, pieces }) => format!(
                "rows are sent beside computing in {} parts: {link}, and {:.0} % of the step are predicted to be saved",
                parts.max(pieces),
                100.0 * self.gain(parts.max(pieces))
            ),
            None => format!(
                "rows are not sent beside computing: {link}, and too little of that is time in which nothing is done"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TM-GCN of `bench/overlap`, two ranks: bytes that leave a rank in one of two steps, and four redistributions
    /// forward and back.
    fn forecast(bytes: f64, bytes_per_second: f64, compute_seconds: f64) -> Forecast {
        let machine = Machine {
            memory_bytes_per_second: 8e9,
            link_bytes_per_second: bytes_per_second,
            message_seconds: 1e-4,
            is_measured: true,
        };
        Forecast { machine, compute_seconds, bytes, exchanges: 8.0, peers: 1.0 }
    }

    const LARGE: f64 = 36e6;
    const SMALL: f64 = 5.5e6;
    const GIGABIT: f64 = 0.125e9;

    #[test]
    fn rows_move_beside_computing_if_the_wire_leaves_time_for_it() {
        let most = Overlap::default();
        let large = forecast(LARGE, GIGABIT, 0.1);
        assert_eq!(large.overlap(most), Some(most));
        let small = forecast(SMALL, GIGABIT, 0.02);
        assert_eq!(small.overlap(most), Some(most));
        // Ten times as fast, messages keep the processor busy.
        assert_eq!(forecast(LARGE, 10.0 * GIGABIT, 0.1).overlap(most), None);
        assert_eq!(forecast(SMALL, 10.0 * GIGABIT, 0.02).overlap(most), None);
        assert!(large.says(large.overlap(most)).contains("in 4 parts"));
        assert!(large.says(None).contains("125 MB/s"));
    }

    #[test]
    fn there_are_no_more_parts_than_the_thread_that_moves_them_notices() {
        // 1.1 ms on the wire for each redistribution.
        let few = forecast(1.1e6, GIGABIT, 0.02);
        assert_eq!(few.overlap(Overlap::default()), Some(Overlap { parts: 2, pieces: 1 }));
        let pieces = Overlap { parts: 1, pieces: 8 };
        assert_eq!(few.overlap(pieces), Some(Overlap { parts: 1, pieces: 2 }));
        assert_eq!(forecast(0.5e6, GIGABIT, 0.02).overlap(pieces), None);
    }

    #[test]
    fn what_nobody_measured_and_what_nobody_computes_are_no_reason() {
        let mut unknown = forecast(LARGE, GIGABIT, 0.1);
        unknown.machine.is_measured = false;
        assert_eq!(unknown.overlap(Overlap::default()), None);
        assert!(unknown.says(None).contains("no link"));
        assert_eq!(forecast(LARGE, GIGABIT, 0.002).overlap(Overlap::default()), None);
    }
}
