//! What communication cost a rank: calls, bytes and time by kind.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::site::Call;

/// The cost of one kind of communication.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// How often it was called.
    pub calls: u64,
    /// Bytes that left this rank for another one. What a rank sends itself does not count.
    pub bytes: u64,
    /// Seconds that the caller spent in calls: for overlapped ones what was left to wait for.
    pub seconds: f64,
}

/// The cost of all communication of a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Sums and maxima over ranks.
    pub all_reduce: Cost,
    /// Everyone gets everyone's.
    pub all_gather: Cost,
    /// Everyone sends to everyone, also exchanges of rows.
    pub all_to_all: Cost,
    /// One sends to everyone.
    pub broadcast: Cost,
    /// No rank continues before all have arrived.
    pub barrier: Cost,
    /// One sends to one.
    pub point_to_point: Cost,
}

impl Traffic {
    /// Bytes of every kind.
    pub fn bytes(&self) -> u64 {
        self.costs().iter().map(|cost| cost.bytes).sum()
    }

    /// Seconds of every kind.
    pub fn seconds(&self) -> f64 {
        self.costs().iter().map(|cost| cost.seconds).sum()
    }

    /// What was spent since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let mut difference = *self;
        for (cost, before) in difference.costs_mut().into_iter().zip(before.costs()) {
            cost.calls -= before.calls;
            cost.bytes -= before.bytes;
            cost.seconds -= before.seconds;
        }
        difference
    }

    fn costs(&self) -> [Cost; 6] {
        let Self { all_reduce, all_gather, all_to_all, broadcast, barrier, point_to_point } = *self;
        [all_reduce, all_gather, all_to_all, broadcast, barrier, point_to_point]
    }

    fn costs_mut(&mut self) -> [&mut Cost; 6] {
        let Self { all_reduce, all_gather, all_to_all, broadcast, barrier, point_to_point } = self;
        [all_reduce, all_gather, all_to_all, broadcast, barrier, point_to_point]
    }

    fn of(&mut self, call: Call) -> &mut Cost {
        match call {
            Call::AllReduce => &mut self.all_reduce,
            Call::AllGather => &mut self.all_gather,
            Call::AllToAll | Call::Exchange => &mut self.all_to_all,
            Call::Broadcast => &mut self.broadcast,
            Call::Barrier | Call::Link | Call::Finish => &mut self.barrier,
            Call::Send | Call::Receive => &mut self.point_to_point,
        }
    }

    pub(crate) fn count_call(&mut self, call: Call) {
        self.of(call).calls += 1;
    }

    pub(crate) fn count_bytes(&mut self, call: Call, bytes: usize) {
        self.of(call).bytes += bytes as u64;
    }

    pub(crate) fn count_time(&mut self, call: Call, time: Duration) {
        self.of(call).seconds += time.as_secs_f64();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_what_came_in_between() {
        let mut traffic = Traffic::default();
        traffic.count_call(Call::Exchange);
        traffic.count_bytes(Call::Exchange, 10);
        let before = traffic;
        traffic.count_bytes(Call::AllToAll, 5);
        traffic.count_time(Call::Send, Duration::from_millis(500));
        let since = traffic.since(&before);
        assert_eq!(since.all_to_all, Cost { calls: 0, bytes: 5, seconds: 0.0 });
        assert_eq!(since.seconds(), 0.5);
        assert_eq!(traffic.bytes(), 15);
    }

    #[test]
    fn a_report_is_read_back_as_it_was_written() {
        let mut traffic = Traffic::default();
        traffic.count_bytes(Call::AllReduce, 7);
        let text = serde_json::to_string(&traffic).unwrap();
        assert_eq!(serde_json::from_str::<Traffic>(&text).unwrap(), traffic);
        assert!(text.contains("\"all_reduce\":{\"calls\":0,\"bytes\":7"));
    }
}
