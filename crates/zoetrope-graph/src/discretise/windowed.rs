//! Snapshots of separate windows: batches of small windows in parallel, large windows in parallel
//! within themselves. No window sees another, so neither batching nor threads show in the result.

use std::ops::Range;

use rayon::prelude::*;

use super::collect::Job;
use super::fold::emit;
use super::join::{Columns, EdgeRun, concatenate, expect_room, ranges};
use super::partition::{self, WINDOW_EVENTS_MAX};
use super::sort::{Word, sort};
use crate::error::GraphError;
use crate::window::Windows;

/// Events of a batch: enough to hide the cost of a task, few enough to balance.
const BATCH: usize = 1 << 15;
/// What a window costs beyond its events, in events; keeps batches of small windows short.
const WINDOW_COST: usize = 8;

/// A window that is cut up further, or windows that are taken together, counted among those that have
/// events.
enum Task {
    Large(usize),
    Batch(Range<usize>),
}

pub(super) fn snapshots(job: &Job<'_>, windows: &Windows) -> Result<Columns, GraphError> {
    let parts: Vec<Vec<EdgeRun>> = tasks(windows)
        .into_par_iter()
        .map(|task| match task {
            Task::Large(place) => large(job, windows.ranges().nth_filled(place)),
            Task::Batch(range) => vec![batch(job, windows, range)],
        })
        .collect();
    let parts: Vec<EdgeRun> = parts.into_iter().flatten().collect();
    let counts = parts.iter().flat_map(|part| &part.counts).copied();
    let ranges = ranges(job, windows.len(), counts)?;
    expect_room(job, ranges.end())?;
    let (mut src, mut dst, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        src.push(part.src);
        dst.push(part.dst);
        weight.push(part.weight);
    }
    let weight = job.weighted.then_some(weight).map(concatenate);
    Ok((ranges, concatenate(src), concatenate(dst), weight))
}

fn tasks(windows: &Windows) -> Vec<Task> {
    let mut tasks = Vec::new();
    let (mut from, mut cost) = (0, 0);
    let filled = windows.ranges().filled();
    let count = filled.len();
    for (window, (_, events)) in filled.enumerate() {
        let events = events.len();
        if events > WINDOW_EVENTS_MAX {
            if from < window {
                tasks.push(Task::Batch(from..window));
            }
            tasks.push(Task::Large(window));
            (from, cost) = (window + 1, 0);
            continue;
        }
        cost += events + WINDOW_COST;
        if cost >= BATCH {
            tasks.push(Task::Batch(from..window + 1));
            (from, cost) = (window + 1, 0);
        }
    }
    if from < count {
        tasks.push(Task::Batch(from..count));
    }
    tasks
}

fn batch(job: &Job<'_>, windows: &Windows, range: Range<usize>) -> EdgeRun {
    let events = |place: usize| windows.ranges().nth_filled(place).1.len();
    let longest = range.clone().map(events).max().unwrap_or(0);
    if job.narrow(longest) {
        batch_of::<u64>(job, windows, range)
    } else {
        batch_of::<u128>(job, windows, range)
    }
}

fn batch_of<W: Word>(job: &Job<'_>, windows: &Windows, range: Range<usize>) -> EdgeRun {
    let windows = windows.ranges();
    let events: usize = range.clone().map(|place| windows.nth_filled(place).1.len()).sum();
    let mut part = EdgeRun::with_capacity(job, events);
    let (mut words, mut scratch) = (Vec::<W>::new(), Vec::new());
    for place in range {
        let (window, events) = windows.nth_filled(place);
        let bits = job.position_bits(events.len());
        let before = part.len();
        words.clear();
        job.collect(events.start, events.clone(), bits, &mut words);
        sort(&mut words, &mut scratch, bits, bits + job.key_bits());
        emit(job, events.start, &words, bits, 0, &mut part);
        part.counts.push((window, (part.len() - before) as u64));
    }
    part
}

/// The parts of one large window, in key order; the last carries the window's count.
fn large(job: &Job<'_>, (window, events): (usize, Range<usize>)) -> Vec<EdgeRun> {
    let mut parts = if job.narrow(events.len()) {
        large_of::<u64>(job, events)
    } else {
        large_of::<u128>(job, events)
    };
    let total = parts.iter().map(|part| part.len() as u64).sum();
    parts.push(EdgeRun { counts: vec![(window, total)], ..EdgeRun::default() });
    parts
}

fn large_of<W: Word>(job: &Job<'_>, events: Range<usize>) -> Vec<EdgeRun> {
    let start = events.start;
    partition::sorted::<W, EdgeRun>(job, events, |words, bits, base, part| {
        emit(job, start, words, bits, base, part);
    })
}
