//! The memory that a finished run left, for commands that use its model.
//!
//! Memory that is rebuilt with the last weights is not the memory that grew with them (`best`), so a
//! run that is measured again, or asked for predictions, goes on from what its best epoch left at
//! the end of training. What binds memory to data are the events (`identity`), never a path: the same
//! events in another file go on from it, and so does a file that only begins with them.

use std::path::Path;

use zoetrope_config::Config;
use zoetrope_graph::{EventStore, VertexId};
use zoetrope_nn::Parameters;
use zoetrope_nn::weights::VertexRows;
use zoetrope_run::RunFolder;
use zoetrope_run::checkpoint::{CheckpointStore, SavedState, entries};

use super::best::{self, Grown};
use super::identity::{Appearance, EventRecord, beginnings};
use super::session::EventSession;
use crate::error::TrainError;
use crate::learner::{arrange_vertices, saved_weights};

/// The name of the record of events in a checkpoint.
pub(super) const EVENTS: &str = entries::EVENTS.name;

/// What a run left for those who use its model.
#[derive(Debug)]
pub struct SavedRun {
    config: Config,
    record: EventRecord,
    state: SavedState,
}

/// How the events at hand stand to those of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Agreement {
    /// There is no run, or other events come before the end of its training.
    Differ,
    /// They are the same.
    Same,
    /// They begin with those of the run: this many.
    GoOn(usize),
    /// They are the same up to the end of the run's training, and differ later.
    SameTraining,
}

impl SavedRun {
    /// Reads the newest checkpoint of a run; None if it has none, or none that says which events it
    /// belongs to.
    ///
    /// # Errors
    /// If a file of the run cannot be read.
    pub fn read(root: &Path) -> Result<Option<Self>, TrainError> {
        let config = RunFolder::read_config(root)?;
        if !config.model.name.is_stream() {
            return Ok(None);
        }
        let store = CheckpointStore::new(RunFolder::checkpoints_of(root), 1);
        let Some(found) = store.load_latest()? else { return Ok(None) };
        let state = found.state;
        if !state.cursor.parts.contains_key(EVENTS) {
            return Ok(None);
        }
        let record = state.cursor.get(EVENTS)?;
        Ok(Some(Self { config, record, state }))
    }

    /// How a stream with these features stands to the events of the run.
    pub(super) fn agreement(&self, store: &EventStore, features: &[f32]) -> Agreement {
        let EventRecord { train, validation, all, .. } = &self.record;
        let ends = [train.events, validation.events, all.events];
        let [own_train, _, own_all] = beginnings(store, features, ends);
        // Events that were added at the last time of the training part would belong to it.
        let cut = train.events.checked_sub(1).map_or(0, |last| {
            let time = store.time();
            time.get(last).map_or(0, |last| time.partition_point(|time| time <= last))
        });
        if own_train != *train || cut != train.events {
            Agreement::Differ
        } else if own_all != *all {
            Agreement::SameTraining
        } else if store.len() > all.events {
            Agreement::GoOn(all.events)
        } else {
            Agreement::Same
        }
    }

    /// After how many events the training and the validation part of the run end, if parts are to be
    /// cut as the run's were.
    pub(super) fn parts(&self, config: &Config) -> Option<[usize; 2]> {
        let ends = [self.record.train.events, self.record.validation.events];
        (config.data.split == self.config.data.split).then_some(ends)
    }

    /// The vertices that the run held out of training, ascending, if as many are to be held out.
    pub(super) fn held_out(&self, config: &Config, store: &EventStore) -> Option<Vec<VertexId>> {
        if config.data.inductive != self.config.data.inductive {
            return None;
        }
        let order = Appearance::of(store, self.record.all.events);
        // One without a place here has no event in the training part, so that nothing is left out.
        let places = self.record.held_out.iter();
        let mut vertices: Vec<VertexId> = places.filter_map(|&place| order.vertex(place)).collect();
        vertices.sort_unstable();
        Some(vertices)
    }

    /// Whether the run came to the epochs that settle memory.
    fn has_settled(&self) -> bool {
        self.state.cursor.counters.contains_key(entries::SETTLED_FROM.name)
    }

    /// Brings weights that have a row for each vertex into the order of other data.
    ///
    /// # Errors
    /// [`TrainError::Unfit`] if the rows are those of other weights.
    pub fn arrange_vertices(&mut self, rows: &VertexRows) -> Result<(), TrainError> {
        arrange_vertices(&mut self.state, rows)
    }

    fn has_weights(&self, parameters: &Parameters) -> bool {
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        parameters.iter().all(|(_, parameter)| {
            saved_weights(&self.state, &parameter.name)
                .is_some_and(|saved| bits(saved.data()) == bits(parameter.matrix.as_slice()))
        })
    }
}

impl EventSession {
    /// Takes over the memory that a run left, if it fits: the weights in place are those of the run,
    /// the model is the same, and so are the events up to the end of the run's training. Otherwise
    /// memory is rebuilt when it is needed, and [`memory_warning`](Self::memory_warning) says why.
    ///
    /// # Errors
    /// If what the run left is damaged.
    pub fn recall(&mut self, run: Option<&SavedRun>) -> Result<(), TrainError> {
        self.grown = None;
        self.known = None;
        if self.state.is_none() {
            return Ok(());
        }
        self.without_run = self.recall_or_reason(run)?;
        Ok(())
    }

    /// Why the memory of the run cannot be used; None if it was taken over.
    fn recall_or_reason(&mut self, run: Option<&SavedRun>) -> Result<Option<String>, TrainError> {
        let reason = |text: &str| Ok(Some(text.to_owned()));
        let Some(run) = run else {
            return reason("no checkpoint of a run is at hand, and weights alone have no memory");
        };
        if run.config.model != self.config.model {
            return reason("the model is not that of the run");
        }
        if run.config.data.inductive != self.config.data.inductive {
            return reason("other vertices are held out of training than in the run");
        }
        let scale = |config: &Config| (config.data.feature_scaling, config.data.missing_features);
        if scale(&run.config) != scale(&self.config) {
            return reason("features are scaled or filled in otherwise than in the run");
        }
        if !run.has_weights(&self.network.parameters) {
            return reason("the weights are not those of the run");
        }
        self.settled = run.has_settled();
        if self.material.agreement == Agreement::Differ {
            return reason(
                "up to the end of the run's training the events are not those of the run",
            );
        }
        let scaled = &self.material.scaled;
        if scaled.fitted.event_features.is_some() && !scaled.of_run {
            return reason("features are not scaled as in the run");
        }
        let Some(state) = &self.state else { return Ok(None) };
        let events = run.record.train.events;
        let order = Appearance::of(&self.material.store, events);
        match best::read_memory(&run.state.hidden, state, &order, events)? {
            Some(state) => self.grown = Some(Grown { events, state }),
            None => return reason("the run kept no memory"),
        }
        Ok(None)
    }

    /// From now on the test part is what comes after the events of the run.
    ///
    /// # Errors
    /// [`TrainError::Unfit`] if the data does not go on where that of the run ends.
    pub fn judge_new(&mut self) -> Result<(), TrainError> {
        let unfit = |what: &str| TrainError::Unfit {
            what: what.to_owned(),
            advice: "give the run's data with new events after them, or choose another --split"
                .to_owned(),
        };
        let run_events = match self.material.agreement {
            Agreement::GoOn(events) => events,
            Agreement::Same => return Err(unfit("there is no event after those of the run")),
            _ => return Err(unfit("the data does not begin with the events of the run")),
        };
        let time = self.material.store.time();
        let last = time[run_events - 1];
        let (start, end) = (time.partition_point(|&time| time <= last), time.len());
        if start == end {
            return Err(unfit("there is no event after the last time of the run"));
        }
        let material = std::sync::Arc::get_mut(&mut self.material)
            .ok_or_else(|| unfit("parts are chosen before anything is measured"))?;
        material.split.test = start..end;
        Ok(())
    }
}
