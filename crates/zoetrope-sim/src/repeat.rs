//! Updates that repeat: of a row of equal ones three are simulated, and the second stands for those between.

use std::ops::Range;

use zoetrope_plan::Task;

/// Fewer equal updates than this are simulated one by one.
const REPEATS_MIN: usize = 4;

/// Which updates are simulated, and how many each stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The update, by its place in the program.
    pub(crate) update: usize,
    /// How many it stands for.
    pub(crate) times: u64,
}

/// The tasks of each update: they are consecutive.
pub(crate) fn updates(tasks: &[Task]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        match found.last_mut() {
            Some(last) if tasks[last.start].update == task.update => last.end = at + 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

/// Whether an update does what the one before it did, waiting for the same tasks relative to itself.
fn same(tasks: &[Task], before: &Range<usize>, own: &Range<usize>) -> bool {
    let shift = own.start - before.start;
    own.len() == before.len()
        && tasks[before.clone()].iter().zip(&tasks[own.clone()]).all(|(left, right)| {
            let what = |task: &Task| {
                (
                    task.kind,
                    task.stream,
                    task.block,
                    task.layer,
                    task.backward,
                    task.purpose,
                    task.shape,
                    task.bytes,
                )
            };
            let frames = |task: &Task| task.frame.is_some();
            let waits = left.after.len() == right.after.len()
                && left.after.iter().zip(&right.after).all(|(left, right)| left + shift == *right);
            what(left) == what(right) && frames(left) == frames(right) && waits
        })
}

/// The updates to simulate, such that every program repeats what is left out.
pub(crate) fn kept(programs: &[&[Task]]) -> Vec<Kept> {
    let cut: Vec<Vec<Range<usize>>> = programs.iter().map(|tasks| updates(tasks)).collect();
    let count = cut.first().map_or(0, Vec::len);
    if cut.iter().any(|updates| updates.len() != count) {
        let all = cut.iter().map(Vec::len).max().unwrap_or(0);
        return (0..all).map(|update| Kept { update, times: 1 }).collect();
    }
    let repeats = |update: usize| {
        update > 0
            && programs
                .iter()
                .zip(&cut)
                .all(|(tasks, updates)| same(tasks, &updates[update - 1], &updates[update]))
    };
    let (mut kept, mut first) = (Vec::new(), 0);
    while first < count {
        let mut end = first + 1;
        while end < count && repeats(end) {
            end += 1;
        }
        let run = end - first;
        if run < REPEATS_MIN {
            kept.extend((first..end).map(|update| Kept { update, times: 1 }));
        } else {
            kept.push(Kept { update: first, times: 1 });
            kept.push(Kept { update: first + 1, times: run as u64 - 2 });
            kept.push(Kept { update: end - 1, times: 1 });
        }
        first = end;
    }
    kept
}

/// A program of the kept updates alone. The number of an update is its place among them.
pub(crate) fn shortened(tasks: &[Task], kept: &[Kept]) -> Vec<Task> {
    let cut = updates(tasks);
    let mut place = vec![None; tasks.len()];
    let mut short: Vec<Task> = Vec::new();
    for (number, one) in kept.iter().enumerate() {
        let Some(range) = cut.get(one.update) else { continue };
        // What waited for an update that is left out waits for the one that stands for it.
        let stands = number.checked_sub(1).map(|before| &cut[kept[before].update]);
        let left_out = one.update.checked_sub(1).map(|before| &cut[before]);
        for at in range.clone() {
            place[at] = Some(short.len());
            let mut task = tasks[at].clone();
            task.update = number;
            task.after.retain_mut(|earlier| {
                let found = place[*earlier].or_else(|| {
                    let (stands, left_out) = (stands?, left_out?);
                    place[stands.start + earlier.checked_sub(left_out.start)?]
                });
                found.inspect(|&found| *earlier = found).is_some()
            });
            short.push(task);
        }
    }
    short
}
