//! A program as the simulation walks through it: who waits for whom, stream by stream.

use zoetrope_plan::program::Stream;
use zoetrope_plan::{Task, TaskKind};

use crate::machine::Machine;
use crate::work::{ModelFacts, Work};

/// Streams of a rank.
pub(crate) const STREAMS: usize = 4;

/// The place of a stream.
pub(crate) fn lane(stream: Stream) -> usize {
    match stream {
        Stream::Compute => 0,
        Stream::Copy => 1,
        Stream::Messages => 2,
        Stream::Prepare => 3,
    }
}

/// Whether other ranks take part in a task.
pub(crate) fn is_message(kind: TaskKind) -> bool {
    matches!(kind, TaskKind::Exchange | TaskKind::AllReduce | TaskKind::AllGather)
}

/// A program with what is looked up again and again.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) tasks: Vec<Task>,
    pub(crate) work: Vec<Work>,
    /// The tasks of each stream, in their order.
    pub(crate) lanes: [Vec<usize>; STREAMS],
    /// The place of a message among all of the rank.
    pub(crate) message: Vec<usize>,
    /// The messages, in their order.
    pub(crate) messages: Vec<usize>,
    /// Where those that wait for a task start in `waiting`.
    starts: Vec<usize>,
    waiting: Vec<usize>,
}

impl Program {
    pub(crate) fn new(tasks: Vec<Task>, model: &ModelFacts, machine: &Machine) -> Self {
        let work = model.work_of(&tasks, machine);
        let mut lanes: [Vec<usize>; STREAMS] = Default::default();
        let (mut message, mut messages) = (vec![usize::MAX; tasks.len()], Vec::new());
        let mut starts = vec![0; tasks.len() + 1];
        for (at, task) in tasks.iter().enumerate() {
            lanes[lane(task.stream)].push(at);
            if is_message(task.kind) {
                message[at] = messages.len();
                messages.push(at);
            }
            task.after.iter().for_each(|&earlier| starts[earlier + 1] += 1);
        }
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let (mut next, mut waiting) = (starts.clone(), vec![0; starts[tasks.len()]]);
        for (at, task) in tasks.iter().enumerate() {
            for &earlier in &task.after {
                waiting[next[earlier]] = at;
                next[earlier] += 1;
            }
        }
        Self { tasks, work, lanes, message, messages, starts, waiting }
    }

    /// The tasks that wait for one.
    pub(crate) fn waiting_for(&self, task: usize) -> &[usize] {
        &self.waiting[self.starts[task]..self.starts[task + 1]]
    }
}
