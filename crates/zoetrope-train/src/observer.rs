//! Watching a run: one trait, which is told one thing after the other.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use zoetrope_data::Progress;

use crate::run::EpochRecord;
use crate::training_run::TrainingRun;

/// What happens in a run, in the order in which it happens.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// A phase of reading the data begins; `total` is what [`RunEvent::Read`] will add up to, if it is known.
    Reading {
        /// What is read, for people.
        phase: &'a str,
        /// In bytes of the file, or in events if they are generated.
        total: Option<u64>,
    },
    /// So much more of the phase was read.
    Read(u64),
    /// Something is not as it should be and was dealt with.
    Warning(&'a str),
    /// The session is ready; its epochs begin.
    Started {
        /// The session.
        run: &'a dyn TrainingRun,
        /// The run folder.
        folder: &'a Path,
    },
    /// A frame or a batch was learnt from; a session tells this after each update.
    Step {
        /// The epoch, counted from 1.
        epoch: usize,
        /// Frames or batches of the epoch that are done.
        done: usize,
        /// All of them.
        all: usize,
    },
    /// An epoch is finished.
    Epoch {
        /// The session.
        run: &'a dyn TrainingRun,
        /// What the epoch came to.
        record: &'a EpochRecord,
    },
    /// Training is over; the test part and the baselines are measured now.
    Testing,
}

/// Who watches a run.
pub trait Observer: Send {
    /// Something happened. `Break` asks for the end: a session ends its epoch after the step that it told
    /// of, and a whole run ends as one that was interrupted, with a checkpoint. Reading the data goes on.
    fn observe(&mut self, event: RunEvent<'_>) -> ControlFlow<()>;
}

impl<F: FnMut(RunEvent<'_>) -> ControlFlow<()> + Send> Observer for F {
    fn observe(&mut self, event: RunEvent<'_>) -> ControlFlow<()> {
        self(event)
    }
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn observe(&mut self, _: RunEvent<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Tells an observer how reading goes on.
///
/// Readers keep their own narrow trait, [`Progress`]: they live below this crate, serve commands without a
/// run as well, and call from several threads at once, which is what the lock is for.
pub(crate) struct ObservedReading<'a>(Mutex<&'a mut dyn Observer>);

impl<'a> ObservedReading<'a> {
    pub(crate) fn new(observer: &'a mut dyn Observer) -> Self {
        Self(Mutex::new(observer))
    }

    fn tell(&self, event: RunEvent<'_>) {
        let mut observer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A reader cannot stop half-way.
        let _ = observer.observe(event);
    }
}

impl Progress for ObservedReading<'_> {
    fn begin(&self, phase: &str, total: Option<u64>) {
        self.tell(RunEvent::Reading { phase, total });
    }

    fn advance(&self, amount: u64) {
        self.tell(RunEvent::Read(amount));
    }
}
