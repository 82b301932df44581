//! From a configuration to a session, over snapshots or over events as the model needs.

use std::path::Path;

use zoetrope_config::{Config, TaskName};
use zoetrope_data::{GraphFacts, Progress};
use zoetrope_dist::Ranks;
use zoetrope_heap::during;
use zoetrope_plan::Plan;
use zoetrope_run::{DataSource, DataSummary, Timeline};

use crate::error::TrainError;
use crate::events::{EventInput, EventSession, SavedRun};
use crate::scaling::FittedScaling;
use crate::snapshots::material::{self, SnapshotInput};
use crate::snapshots::session::{Session, of_frames};
use crate::snapshots::task;
use crate::stages;
use crate::train::classes::{self, RunClasses};
use crate::train::settle::{settle, settle_counted};
use crate::train::unlabelled::Unlabelled;
use crate::train::unread;
use crate::training_run::TrainingRun;

/// A data set in the form that the model of a configuration learns from.
// One of them exists at a time: boxing the larger one would only add a pointer.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Opened {
    /// Snapshots.
    Snapshots(SnapshotInput),
    /// Events.
    Events(EventInput),
}

/// A session of either kind.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Run {
    /// Over snapshots.
    Snapshots(Session),
    /// Over events.
    Events(EventSession),
}

impl Opened {
    /// Opens the data that a configuration names, and puts into the configuration what the data
    /// decides: the model and the task if nobody named them, and what follows from these
    /// ([`Config::chosen`] tells). What was given stays.
    ///
    /// # Errors
    /// If it cannot be read or does not fit the model.
    pub fn open(config: &mut Config, progress: &dyn Progress) -> Result<Self, TrainError> {
        let resumed = config.train.resume.clone();
        Self::open_for(config, progress, None, resumed.as_deref())
    }

    /// The same for the model of a run: events that go on from its own keep its parts, and the data
    /// is read as that of the run and scaled by the numbers in the run's folder, if there are any.
    ///
    /// # Errors
    /// As [`Opened::open`], and if the run's numbers cannot be read or do not fit this data.
    pub fn open_for(
        config: &mut Config,
        progress: &dyn Progress,
        run: Option<&SavedRun>,
        folder: Option<&Path>,
    ) -> Result<Self, TrainError> {
        Self::open_with(config, progress, run, folder, None)
    }

    /// The same for a run that is continued, if there is one, by the process of one of several ranks: it keeps no more
    /// of the data than it has to. All ranks call it.
    ///
    /// # Errors
    /// As [`Opened::open_for`], and if a rank is lost.
    pub(super) fn open_as(
        config: &mut Config,
        progress: &dyn Progress,
        resumed: Option<&Path>,
        ranks: Option<&Ranks>,
    ) -> Result<Self, TrainError> {
        Self::open_with(config, progress, None, resumed, ranks)
    }

    fn open_with(
        config: &mut Config,
        progress: &dyn Progress,
        run: Option<&SavedRun>,
        folder: Option<&Path>,
        ranks: Option<&Ranks>,
    ) -> Result<Self, TrainError> {
        let saved = folder.map(FittedScaling::read).transpose()?.flatten();
        let saved = saved.as_ref();
        let source = folder.map(DataSource::read).transpose()?.flatten();
        let usual = source.and_then(|source| source.reading);
        let reading = during(&stages::READING);
        let mut loaded = material::read(config, usual.clone(), progress)?;
        drop(reading);
        let counted = loaded.notes.counted();
        loaded.notes.warnings.extend(counted);
        let _shaping = during(&stages::SHAPING);
        let unlabelled = Unlabelled::count(&loaded.dataset);
        let unknown = classes::leave_unknown(&mut loaded, config, usual.as_ref())?;
        config.provenance.reading = loaded.notes.reading.clone().or(usual);
        let run_classes = folder.map(RunClasses::read).transpose()?;
        let numbered = classes::number(&mut loaded, config, run_classes.as_ref())?;
        let mut notes = settle(config, &loaded);
        notes.extend(numbered);
        notes.extend(unknown);
        notes.extend(unlabelled.note(config));
        classes::keep_count(config, &loaded);
        config.check()?;
        loaded.notes.warnings.extend(notes);
        unread::by_data(config, &loaded.dataset)?;
        if config.model.name.is_stream() {
            let material = EventInput::from_loaded(loaded, config, run, saved)?;
            config.check_read(config.task.name.unwrap_or(TaskName::LinkPrediction))?;
            Ok(Self::Events(material))
        } else {
            let material = SnapshotInput::from_loaded_as(loaded, config, saved, ranks)?;
            config.check_read(task::choose(config, &material)?)?;
            Ok(Self::Snapshots(material))
        }
    }

    /// The same of a graph of which only sizes are known: it can be planned and simulated.
    ///
    /// # Errors
    /// If the model learns from events, or settings need the data itself.
    pub fn of_facts(config: &mut Config, facts: &GraphFacts) -> Result<Self, TrainError> {
        settle_counted(config, facts);
        config.check()?;
        if config.model.name.is_stream() {
            return Err(TrainError::Unfit {
                what: format!(
                    "{} learns from events, and facts are of snapshots",
                    config.model.name
                ),
                advice: "name a model of snapshots, such as tgcn or cd-gcn".to_owned(),
            });
        }
        let material = SnapshotInput::of_facts(facts, config)?;
        config.check_read(task::choose(config, &material)?)?;
        Ok(Self::Snapshots(material))
    }

    /// The short name of the data.
    pub fn name(&self) -> &str {
        match self {
            Self::Snapshots(material) => &material.name,
            Self::Events(material) => &material.name,
        }
    }

    /// The digest of the data.
    pub fn sha256(&self) -> &str {
        match self {
            Self::Snapshots(material) => &material.sha256,
            Self::Events(material) => &material.sha256,
        }
    }

    /// What identifies the data.
    pub(super) fn summary(&self) -> DataSummary {
        match self {
            Self::Snapshots(material) => material.summary(),
            Self::Events(material) => material.summary(),
        }
    }

    /// Starts a session on it.
    ///
    /// # Errors
    /// If data, task, model and plan do not go together.
    pub fn start(
        self,
        config: Config,
        plan: Option<Plan>,
        timeline: Timeline,
    ) -> Result<Run, TrainError> {
        self.start_shared(config, plan, timeline, None)
    }

    /// The same as one of several ranks.
    ///
    /// # Errors
    /// As [`Opened::start`], and if ranks cannot share it.
    pub fn start_shared(
        self,
        config: Config,
        plan: Option<Plan>,
        timeline: Timeline,
        ranks: Option<Ranks>,
    ) -> Result<Run, TrainError> {
        let _planning = during(&stages::PLANNING);
        match (self, plan) {
            (Self::Snapshots(material), plan) => {
                let plan = of_frames(plan, &config)?;
                let session = Session::start_shared(config, material, plan, timeline, ranks)?;
                unread::by_plan(session.config(), session.plan())?;
                Ok(Run::Snapshots(session))
            }
            (Self::Events(material), plan) => {
                let plan = match plan {
                    None => None,
                    Some(Plan::Batches(plan)) => Some(plan),
                    Some(Plan::Frames(_)) => {
                        return Err(snapshots_plan(config.model.name.name()));
                    }
                };
                EventSession::start(config, material, plan, timeline).map(Run::Events)
            }
        }
    }
}

/// The refusal of a plan of frames by a run over events.
fn snapshots_plan(model: &str) -> TrainError {
    TrainError::Unfit {
        what: format!("the plan lays out frames of snapshots, but {model} learns from events"),
        advice: "make another plan with `zoetrope plan`, or leave --plan out".to_owned(),
    }
}

impl Run {
    /// What both kinds have in common.
    pub fn session(&self) -> &dyn TrainingRun {
        match self {
            Self::Snapshots(session) => session,
            Self::Events(session) => session,
        }
    }

    /// What both kinds have in common, to be changed.
    pub fn session_mut(&mut self) -> &mut dyn TrainingRun {
        match self {
            Self::Snapshots(session) => session,
            Self::Events(session) => session,
        }
    }
}
