//! What a rank did, task by task: numbered as tasks end, and shown in the trace with their bytes.
//!
//! The numbers are those of the program that the plan is lowered to
//! ([`TaskGraph`](zoetrope_plan::TaskGraph)), which nobody reads here: both follow from the plan, and tests
//! compare them. Without a trace nothing is numbered. An update that is launched as a recorded CUDA graph
//! shows no tasks; its number of frames says how many went by.

use std::cell::Cell;
use std::time::{Duration, Instant};

use zoetrope_dist::{Call, JournalEntry, Ranks};
use zoetrope_nn::{Stage, StageKind, StageListener};
use zoetrope_plan::TaskKind;
use zoetrope_run::{TaskNote, TaskTrack, Timeline};

/// The tasks of the running epoch so far.
#[derive(Debug, Default)]
pub(crate) struct TaskLog {
    track: Option<TaskTrack>,
    /// Whose communications are tasks.
    ranks: Option<Ranks>,
    /// The number of the next task, while an epoch is trained.
    next: Cell<Option<u64>>,
    /// Bytes that were copied to a GPU ahead of use when they were last looked at.
    copied: Cell<u64>,
}

impl TaskLog {
    /// A log into the trace of a timeline, if it has one.
    pub(crate) fn new(timeline: &Timeline, ranks: Option<&Ranks>) -> Self {
        let track = timeline.task_track();
        let ranks = ranks.filter(|_| track.is_some()).cloned();
        if let Some(ranks) = &ranks {
            ranks.keep_journal();
        }
        Self { track, ranks, ..Self::default() }
    }

    /// Tasks are numbered from here on, from 0.
    pub(crate) fn begin(&self, copied: u64) {
        if self.track.is_some() {
            self.take_journal();
            self.copied.set(copied);
            self.next.set(Some(0));
        }
    }

    /// Tasks are no longer numbered.
    pub(crate) fn end(&self) {
        self.tell_communications();
        self.next.set(None);
    }

    /// A task is over that began at `began`.
    pub(crate) fn task(&self, kind: TaskKind, began: Instant, bytes: Option<u64>) {
        self.tell_communications();
        self.show(kind, began, began.elapsed(), bytes, None);
    }

    /// Copies to a GPU began, if `all` bytes that were ever copied ahead of use are more than before.
    pub(crate) fn copies(&self, began: Instant, all: u64) {
        let new = all - self.copied.replace(all);
        if new > 0 {
            self.task(TaskKind::Copy, began, Some(new));
        }
    }

    /// Another thread prepared what comes next.
    pub(crate) fn prepared(&self, began: Instant, took: Duration) {
        self.show(TaskKind::Draw, began, took, None, None);
    }

    /// Who listens to a forward pass; nobody if nothing is numbered.
    pub(crate) fn listener(&self) -> Option<&dyn StageListener> {
        self.next.get().map(|_| self as &dyn StageListener)
    }

    fn take_journal(&self) -> Vec<JournalEntry> {
        self.ranks.as_ref().map_or_else(Vec::new, Ranks::take_journal)
    }

    /// Communications that began since the last task ended.
    fn tell_communications(&self) {
        if self.next.get().is_none() {
            return;
        }
        for JournalEntry { site, bytes, began, took } in self.take_journal() {
            let kind = match site.call {
                Call::Exchange | Call::AllToAll => TaskKind::Exchange,
                Call::AllReduce => TaskKind::AllReduce,
                Call::AllGather => TaskKind::AllGather,
                _ => continue,
            };
            self.show(kind, began, took, Some(bytes), None);
        }
    }

    fn show(
        &self,
        kind: TaskKind,
        began: Instant,
        took: Duration,
        bytes: Option<u64>,
        layer: Option<usize>,
    ) {
        let (Some(track), Some(task)) = (&self.track, self.next.get()) else { return };
        self.next.set(Some(task + 1));
        track.show(kind.name(), began, took, TaskNote { task, bytes, layer });
    }
}

impl StageListener for TaskLog {
    fn stage(&self, stage: Stage, began: Instant) {
        let kind = match stage.kind {
            StageKind::Structure => TaskKind::Structure,
            StageKind::Time => TaskKind::Time,
            StageKind::Embed => TaskKind::Embed,
            StageKind::Remember => TaskKind::Remember,
            StageKind::Draw => TaskKind::Draw,
            StageKind::Loss => TaskKind::Loss,
            // What really moves is in the journal of the ranks.
            StageKind::Gather
            | StageKind::GatherInTime
            | StageKind::InParts
            | StageKind::InPieces
            | StageKind::ToTime
            | StageKind::ToStructure
            | StageKind::ToAll
            | StageKind::Statistics
            | StageKind::Sum => return,
        };
        self.tell_communications();
        let layer = matches!(kind, TaskKind::Structure | TaskKind::Time).then_some(stage.layer);
        self.show(kind, began, began.elapsed(), None, layer);
    }
}
