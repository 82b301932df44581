//! A program in the making: where it stands, and what the next task has to wait for.

use super::{Purpose, Stream, Task, TaskKind, TaskShape};

/// Tasks so far.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) tasks: Vec<Task>,
    pub(super) update: usize,
    pub(super) frame: Option<usize>,
    pub(super) block: Option<usize>,
    pub(super) backward: bool,
    /// The last task of the stream that computes.
    computed: Option<usize>,
    /// What else its next task waits for.
    awaited: Vec<usize>,
}

impl Builder {
    fn push(&mut self, kind: TaskKind, stream: Stream, after: Vec<usize>) -> usize {
        self.tasks.push(Task {
            kind,
            stream,
            update: self.update,
            frame: self.frame,
            block: self.block,
            layer: None,
            backward: self.backward,
            purpose: None,
            shape: None,
            bytes: None,
            after,
        });
        self.tasks.len() - 1
    }

    /// A task of the stream that computes: after the one before it, and what was awaited.
    pub(super) fn compute(&mut self, kind: TaskKind) -> usize {
        let mut after: Vec<usize> = self.computed.into_iter().collect();
        after.append(&mut self.awaited);
        let id = self.push(kind, Stream::Compute, after);
        self.computed = Some(id);
        id
    }

    /// The same for a layer.
    pub(super) fn layer(&mut self, kind: TaskKind, layer: usize, shape: TaskShape) -> usize {
        let id = self.compute(kind);
        (self.tasks[id].layer, self.tasks[id].shape) = (Some(layer), Some(shape));
        id
    }

    /// A message to other ranks, which computing waits for.
    pub(super) fn talk(&mut self, kind: TaskKind, purpose: Purpose, bytes: u64) -> usize {
        let after = self.computed.into_iter().collect();
        let id = self.push(kind, Stream::Messages, after);
        (self.tasks[id].purpose, self.tasks[id].bytes) = (Some(purpose), Some(bytes));
        self.awaited.push(id);
        id
    }

    /// A message that computing does not wait for yet. [`Builder::wait_for`] says when it does.
    pub(super) fn send(&mut self, purpose: Purpose, bytes: u64) -> usize {
        let id = self.talk(TaskKind::Exchange, purpose, bytes);
        self.awaited.retain(|&awaited| awaited != id);
        id
    }

    /// Something that a thread of the host prepares.
    pub(super) fn prepare(&mut self, kind: TaskKind) -> usize {
        let id = self.push(kind, Stream::Prepare, Vec::new());
        self.awaited.push(id);
        id
    }

    /// A copy to a GPU, after everything that was launched before.
    pub(super) fn copy(&mut self, bytes: u64) -> usize {
        self.copied(TaskKind::Copy, bytes)
    }

    /// A copy to the host, after everything that was launched before.
    pub(super) fn store(&mut self, bytes: u64) -> usize {
        self.copied(TaskKind::Store, bytes)
    }

    fn copied(&mut self, kind: TaskKind, bytes: u64) -> usize {
        let id = self.push(kind, Stream::Copy, self.computed.into_iter().collect());
        self.tasks[id].bytes = Some(bytes);
        id
    }

    /// Lets the next task that computes wait for another one.
    pub(super) fn wait_for(&mut self, id: usize) {
        self.awaited.push(id);
    }
}
