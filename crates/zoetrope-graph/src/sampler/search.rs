//! Where the past of each moment ends: several binary searches side by side.
//!
//! One search is a chain of loads that wait for each other, and its end is mispredicted nearly
//! always. Eight searches take their steps in turn, without branches on what they find, so that the
//! loads of one hide behind those of the others.

use std::hint::select_unpredictable;

use super::Moment;
use crate::temporal_index::TemporalIndex;

/// Searches that run side by side.
const LANES: usize = 8;

/// For each moment the position in the index at which its vertex's events stop being past, by time
/// and by the moment's cut-off. `PAST` counts events at the moment's own time as past.
pub(super) fn ends<const PAST: bool>(index: &TemporalIndex, moments: &[Moment], ends: &mut [u64]) {
    for (moments, ends) in moments.chunks(LANES).zip(ends.chunks_mut(LANES)) {
        by_time::<PAST>(index, moments, ends);
        for (moment, end) in moments.iter().zip(ends) {
            let start = index.offsets()[moment.vertex as usize];
            // Times alone decide nearly always: a look at the newest event spares a second search.
            if *end > start && index.event_at(*end as usize - 1) >= moment.before {
                let past = index.stretch(start as usize..*end as usize);
                *end = start + past.before_event(moment.before).len() as u64;
            }
        }
    }
}

/// As [`ends`] for at most [`LANES`] moments, without cut-offs.
fn by_time<const PAST: bool>(index: &TemporalIndex, moments: &[Moment], ends: &mut [u64]) {
    let times = index.times();
    let is_past = |position: usize, lane: usize| {
        // The vertices at the end of the index may have no event, and nothing follows them.
        times.get(position).is_some_and(|&time| {
            if PAST { time <= moments[lane].time } else { time < moments[lane].time }
        })
    };
    let (mut start, mut events) = ([0_usize; LANES], [0_usize; LANES]);
    let mut longest = 0;
    for (lane, moment) in moments.iter().enumerate() {
        let vertex = moment.vertex as usize;
        start[lane] = index.offsets()[vertex] as usize;
        events[lane] = index.offsets()[vertex + 1] as usize - start[lane];
        longest = longest.max(events[lane]);
    }
    // The first event that is not past lies among `events` from `start` on, or just behind them.
    while longest > 1 {
        for lane in 0..moments.len() {
            let half = events[lane] / 2;
            let middle = start[lane] + half;
            start[lane] = select_unpredictable(is_past(middle, lane), middle, start[lane]);
            events[lane] -= half;
        }
        longest -= longest / 2;
    }
    for (lane, end) in ends.iter_mut().enumerate() {
        let last = events[lane] > 0 && is_past(start[lane], lane);
        *end = start[lane] as u64 + u64::from(last);
    }
}
