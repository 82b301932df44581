//! What every rank of a run does, from its data to its last measurement.
//!
//! Ranks call the collectives of a session (comparing settings, planning, agreeing, evaluating, counting
//! bytes) in one order, so that order stands here and nowhere else. What the first rank does besides (the
//! run folder, warnings, progress, checkpoints, the summary) are methods of [`Leader`] and [`Recorder`],
//! none of which talks to other ranks.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_data::split::Part;
use zoetrope_dist::Ranks;
use zoetrope_heap::during;
use zoetrope_run::checkpoint::CheckpointStore;
use zoetrope_run::{Metrics, Phase, RunFolder, Timeline, fault};

use super::leader::{First, Leader, Measured, Recorder, claim};
use super::{
    Finished, Opened, agreement, changed_data, load_weights, loading, unmeasured, vertex_rows,
};
use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::observer::{ObservedReading, RunEvent};
use crate::stages;
use crate::training_run::TrainingRun;

/// What a process says that is stopped while it reads or plans.
pub(super) const STOPPED: &str = "stopped before the first update: there was nothing to save";

/// What a process other than the first rank's says that is stopped after its last epoch.
const STOPPED_AT_THE_END: &str = "stopped while the run was measured: its checkpoint is saved";

/// The work of one of several ranks, or of a run that has one; `first` is what only the first rank has. It
/// reads the data unless it is given `data` that was read already, which threads of one process share.
/// Returns what the run ended with, on the first rank.
pub(super) fn job(
    mut config: Config,
    interrupt: &Interrupt,
    data: Option<Opened>,
    ranks: Option<Ranks>,
    mut first: Option<First<'_>>,
) -> Result<Option<Finished>, TrainError> {
    // Of the threads of a process the first one says how the process ends when it is stopped.
    let owns_process = first.is_some() || data.is_none();
    if let Some(ranks) = &ranks {
        ranks.take_time();
    }
    // The saved tree describes the run and not this call: it must not say that it continues itself.
    let resumed = config.train.resume.take();
    let resumed = resumed.as_deref();
    let claimed = match &first {
        Some(_) => claim(&config, resumed)?,
        None => None,
    };
    if owns_process {
        let undo = claimed.as_ref().map(RunFolder::undo);
        interrupt.nothing_to_save(STOPPED.to_owned(), || undo.into_iter().for_each(|undo| undo()));
    }
    let opened = match data {
        Some(opened) => opened,
        None => {
            if let Some(ranks) = &ranks {
                agreement::must_agree_on_settings(ranks, &config)?;
                ranks.take_time();
            }
            let ranks = ranks.as_ref();
            match &mut first {
                Some(first) => {
                    let reading = ObservedReading::new(&mut *first.observer);
                    Opened::open_as(&mut config, &reading, resumed, ranks)?
                }
                None => Opened::open_as(&mut config, &Quiet, resumed, ranks)?,
            }
        }
    };
    let changes = data_changes(resumed, &mut config, &opened)?;
    let plan = loading::plan_of(&config, resumed, &changes)?;
    if let Some(ranks) = &ranks {
        agreement::must_agree(ranks, &config, &opened, plan.as_ref())?;
    }
    let leader = first.map(|first| Leader::new(first, interrupt, claimed, &config, opened.name()));
    let mut leader = leader.transpose()?;
    if let Some(leader) = &leader {
        interrupt.nothing_to_save(STOPPED.to_owned(), leader.folder().undo());
    }
    let folder = match &leader {
        Some(leader) => leader.folder().root().to_owned(),
        None => resumed.or(config.output.dir.as_deref()).unwrap_or(Path::new("")).to_owned(),
    };
    let timeline = leader.as_ref().map_or_else(Timeline::new, Leader::timeline);
    let mut run = opened.start_shared(config, plan, timeline, ranks)?;
    let session = run.session_mut();
    if let Some(leader) = &mut leader {
        leader.tell_remarks();
    }
    check_parts(session)?;
    let going_on = resumed.map(|root| GoingOn { root, changes: &changes });
    start_from(session, going_on, |text| {
        if let Some(leader) = &mut leader {
            leader.tell(RunEvent::Warning(text));
        }
    })?;
    let mut recorder = match leader {
        Some(leader) => Some(leader.begin(session, resumed.is_some(), &changes)?),
        None => None,
    };
    if owns_process {
        interrupt.something_to_save();
    }
    session.stop_on(interrupt);
    session.begin_baselines(Part::Test);
    run_epochs(session, recorder.as_mut(), interrupt, owns_process, &folder)?;
    if let Some(recorder) = &mut recorder {
        let stopped = TrainError::Interrupted { folder, epochs: session.epochs().len() };
        recorder.save_last(session)?;
        interrupt.nothing_to_save(stopped.to_string(), || {});
    } else if owns_process {
        interrupt.nothing_to_save(STOPPED_AT_THE_END.to_owned(), || {});
    }
    session.choose_best();
    if let Some(recorder) = &recorder {
        recorder.write_weights(session)?;
    }
    let measured = measure(session, owns_process)?;
    recorder.map(|recorder| recorder.finish(session, measured)).transpose()
}

/// Runs the epochs that are left.
///
/// # Errors
/// [`TrainError::Interrupted`] if a rank was asked to stop, with a checkpoint saved; and as an epoch.
fn run_epochs(
    session: &mut dyn TrainingRun,
    mut recorder: Option<&mut Recorder<'_>>,
    interrupt: &Interrupt,
    owns_process: bool,
    folder: &Path,
) -> Result<(), TrainError> {
    let of_events = session.config().model.name.is_stream();
    let stage = if of_events { &stages::TRAINING_EVENTS } else { &stages::TRAINING };
    let _training = owns_process.then(|| during(stage));
    while !session.is_over() {
        let rate = session.learner().rate(session.config());
        let end = session.epoch(&mut |step: RunEvent<'_>| {
            if let Some(recorder) = &mut recorder {
                pass("train.update");
                recorder.tell(step);
            }
            if interrupt.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some(recorder) = &mut recorder {
            recorder.epoch(session, &end, rate)?;
        }
        if session.agree(interrupt.is_asked())? && !session.is_over() {
            if let Some(recorder) = &mut recorder {
                recorder.save(session)?;
            }
            let epochs = session.epochs().len();
            return Err(TrainError::Interrupted { folder: folder.to_owned(), epochs });
        }
    }
    Ok(())
}

/// Measures the chosen weights and the simple rules.
fn measure(session: &mut dyn TrainingRun, owns_process: bool) -> Result<Measured, TrainError> {
    let test = if session.has(Part::Test) { session.evaluate(Part::Test)? } else { Metrics::new() };
    let (traffic, devices) = (session.traffic()?, session.devices()?);
    let timer = Instant::now();
    let comparing = owns_process.then(|| during(&stages::COMPARING));
    let baselines = session.baselines(Part::Test)?;
    drop(comparing);
    session.timeline().add(Phase::Evaluate, timer);
    Ok(Measured { test, traffic, devices, baselines })
}

/// A fault point between two operations: nothing there can fail, so only what ends or halts a process
/// happens.
pub(super) fn pass(name: &str) {
    let _ = fault::point(name);
}

/// A run that is continued.
struct GoingOn<'a> {
    root: &'a Path,
    /// What differs between its data and the data that it began with.
    changes: &'a [String],
}

/// What differs between the data of the run that is continued, if any, and the data that was opened.
/// The saved tree does not keep that this was accepted: the next change is asked about again.
fn data_changes(
    resumed: Option<&Path>,
    config: &mut Config,
    opened: &Opened,
) -> Result<Vec<String>, TrainError> {
    let accepts = std::mem::take(&mut config.train.accept_changed_data);
    match resumed {
        Some(root) => changed_data::accepted(root, opened, accepts),
        None if accepts => Err(changed_data::must_continue()),
        None => Ok(Vec::new()),
    }
}

/// The checkpoints of a run folder.
pub(super) fn store_of(session: &dyn TrainingRun, root: &Path) -> CheckpointStore {
    let keep = session.config().train.keep_checkpoints;
    let level = zoetrope_tensor::cpu::simd::level().to_string();
    CheckpointStore::new(RunFolder::checkpoints_of(root), keep).computed_with(level)
}

/// Puts the newest checkpoint of the run that is continued in place, or the weights to start from.
fn start_from(
    session: &mut dyn TrainingRun,
    going_on: Option<GoingOn<'_>>,
    mut warn: impl FnMut(&str),
) -> Result<(), TrainError> {
    session.take_time();
    let store = going_on.as_ref().map(|run| store_of(session, run.root));
    let found = store.as_ref().map(CheckpointStore::load_latest).transpose()?.flatten();
    let changed = going_on.filter(|run| !run.changes.is_empty());
    if let Some(run) = &changed {
        warn(&format!("this run goes on with other data: {}", run.changes.join(", ")));
    }
    match (found, session.config().train.weights.clone()) {
        (Some(mut found), _) => {
            for damage in &found.rejected {
                warn(&format!("{damage}; going on from {}", found.path.display()));
            }
            let level = zoetrope_tensor::cpu::simd::level().to_string();
            if let Some(was) = found.vector_level.filter(|was| *was != level) {
                warn(&format!(
                    "this run was computed with {was} and goes on with {level}: last bits may differ \
                     from a run in one go; ZOETROPE_SIMD={was} asks for the same"
                ));
            }
            if let Some(run) = changed {
                changed_data::keep_what_was_learnt(session, run.root, &mut found.state)?;
            }
            session.restore(found.state)?;
        }
        (None, Some(path)) => load_weights_of_run(session, &path)?,
        (None, None) => {}
    }
    Ok(())
}

/// Puts the weights of a file in place. Those of a run know its vertices by name.
fn load_weights_of_run(session: &mut dyn TrainingRun, path: &Path) -> Result<(), TrainError> {
    let rows = vertex_rows(session, path.parent())?;
    load_weights(session.parameters_mut(), path, rows.as_ref())
}

/// Fails if parts are to be held out and nothing is in them: all events of one time are in one part.
fn check_parts(session: &dyn TrainingRun) -> Result<(), TrainError> {
    let empty = !session.has(Part::Validation) && !session.has(Part::Test);
    if empty && session.config().data.split.holds_out() {
        Err(unmeasured("the validation and test parts"))
    } else {
        Ok(())
    }
}
