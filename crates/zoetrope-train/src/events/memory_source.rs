//! Where the memory comes from with which questions are answered.

use std::collections::BTreeMap;

use super::session::EventSession;

/// Where the memory of an answer comes from, in the order of how far it may be from the memory that
/// the weights were learnt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemorySource {
    /// The model keeps none.
    None,
    /// It is what the run's training left, and the events are those of the run.
    Run,
    /// It is what the run's training left, and went on with events that the run did not have.
    Continued,
    /// It was rebuilt from the first event on, with the weights in place.
    Replayed,
}

impl MemorySource {
    /// The name in JSON documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Run => "run",
            Self::Continued => "continued",
            Self::Replayed => "replayed",
        }
    }

    /// The same for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::None => "none: the model keeps none",
            Self::Run => "of the run",
            Self::Continued => "of the run, continued with new events",
            Self::Replayed => "rebuilt by replay",
        }
    }
}

/// How many questions were answered with memory of each source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryUse(BTreeMap<MemorySource, usize>);

impl MemoryUse {
    pub(super) fn add(&mut self, source: MemorySource, questions: usize) {
        *self.0.entry(source).or_default() += questions;
    }

    /// The source that is farthest from the run's memory; None if nothing was asked.
    pub fn source(&self) -> Option<MemorySource> {
        self.0.keys().next_back().copied()
    }

    /// The number of questions by source.
    pub fn iter(&self) -> impl Iterator<Item = (MemorySource, usize)> + '_ {
        self.0.iter().map(|(&source, &questions)| (source, questions))
    }
}

impl EventSession {
    /// Where the memory in place comes from.
    pub(super) fn source(&self) -> MemorySource {
        match (&self.state, self.grew) {
            (None, _) => MemorySource::None,
            (Some(_), false) => MemorySource::Replayed,
            (Some(_), true) if self.material.goes_on() => MemorySource::Continued,
            (Some(_), true) => MemorySource::Run,
        }
    }

    /// Where the memory came from with which questions were answered since the session began or the
    /// weights changed.
    pub fn memory_use(&self) -> &MemoryUse {
        &self.used
    }

    /// What to tell a user if memory was rebuilt: why, and what follows from it. Nothing for a run
    /// whose memory has settled (`train.settle`): there replay rebuilds the same.
    pub fn memory_warning(&self) -> Option<String> {
        if self.used.source() != Some(MemorySource::Replayed) || self.settled {
            return None;
        }
        let why = match &self.without_run {
            Some(why) => why.clone(),
            None => "what is asked lies before the end of the run's training".to_owned(),
        };
        Some(format!(
            "memory was rebuilt by replaying the events with the final weights: {why}. It is not the \
             memory that the weights were learnt with, and scores may lie far below the run's \
             (docs/evaluation.md)"
        ))
    }
}
