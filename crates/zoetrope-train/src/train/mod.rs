//! A whole run: from a configuration to a run folder.
//!
//! Owns the order of things: lock the folder, open the data, start or continue the session, run its
//! epochs, save checkpoints, measure at the end, write the summary. It prints nothing: whoever wants
//! to show progress is a [`Listener`].

pub(crate) mod agreement;
mod changed_data;
pub(crate) mod classes;
mod folder;
mod loading;
mod open;
mod pace;
mod peak;
mod ranks;
mod saver;
mod settle;
mod unlabelled;
mod unread;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use zoetrope_data::Progress;
use zoetrope_data::split::Part;
use zoetrope_dist::Ranks;
use zoetrope_heap::during;
use zoetrope_nn::weights::{self, VertexRows};
use zoetrope_tensor::Device;

use crate::checkpoint::{CheckpointStore, state_hash};
use crate::config::{Config, FeatureRule};
use crate::error::TrainError;
use crate::fault;
use crate::interrupt::Interrupt;
use crate::run::{
    Bytes, DataSource, EpochRecord, Metrics, Phase, RunFolder, RunVertices, Streaming, Summary,
    Timeline, TraceFile, Verdict, without_lists,
};
use crate::snapshots::session::{EpochEnd, Watch};
use crate::stages;
use crate::training_run::TrainingRun;

pub use crate::learner::put_saved_weights;
pub use classes::RunClasses;
pub use loading::{load_plan, load_weights};
pub use open::{Opened, Run};
pub use peak::peak_host_bytes;
#[cfg(feature = "mpi")]
pub use ranks::train_by_mpi;
pub use ranks::train_by_threads;

use folder::Records;
use saver::Saver;

/// Who hears of a run's progress.
pub trait Listener {
    /// How reading the data goes on.
    fn reading(&self) -> &dyn Progress;

    /// Something is not as it should be and was dealt with.
    fn warning(&mut self, text: &str);

    /// The session is ready; its epochs begin.
    fn started(&mut self, course: &dyn TrainingRun, folder: &std::path::Path);

    /// So many of an epoch's frames are done.
    fn frame(&mut self, epoch: usize, done: usize, all: usize);

    /// An epoch is finished.
    fn epoch(&mut self, course: &dyn TrainingRun, record: &EpochRecord);

    /// Training is over; the test part and the baselines are measured now.
    fn testing(&mut self);
}

/// What a run ended with.
#[derive(Debug)]
pub struct Finished {
    /// The run folder.
    pub folder: PathBuf,
    /// What `summary.json` holds.
    pub summary: Summary,
    /// The epoch whose weights were measured, where one was chosen, with its measure.
    pub best: Option<(usize, f64)>,
    /// Whether the folder has an event file for TensorBoard.
    pub has_event_file: bool,
}

/// Trains as the configuration says and leaves everything in a run folder. `begun` is when the
/// process started: the summary says how long the first step had to wait.
///
/// # Errors
/// If anything of the configuration, the data or the machine stands in the way; and
/// [`TrainError::Interrupted`] where the run was asked to stop, with a checkpoint saved.
pub fn train(
    config: Config,
    begun: Instant,
    interrupt: &Interrupt,
    listener: &mut dyn Listener,
) -> Result<Finished, TrainError> {
    lead(config, begun, interrupt, listener, None, None)
}

/// What a process says that is stopped while it reads or plans.
const STOPPED: &str = "stopped before the first update: there was nothing to save";

/// The same alone or as the first of several ranks, on data that may have been opened at some time.
fn lead(
    mut config: Config,
    begun: Instant,
    interrupt: &Interrupt,
    listener: &mut dyn Listener,
    opened: Option<(Opened, Instant)>,
    ranks: Option<Ranks>,
) -> Result<Finished, TrainError> {
    if let Some(ranks) = &ranks {
        ranks.take_time();
    }
    // The saved tree describes the run and not this call: it must not say that it continues itself.
    let resumed = config.train.resume.take();
    let folder = match &resumed {
        Some(root) => Some(RunFolder::open(root)?),
        None => config.output.dir.as_deref().map(RunFolder::create).transpose()?,
    };
    match &folder {
        Some(folder) => interrupt.nothing_to_save(STOPPED.to_owned(), folder.undo()),
        None => interrupt.nothing_to_save(STOPPED.to_owned(), || {}),
    }
    let (opened, started) = match opened {
        Some(opened) => opened,
        None => {
            let started = Instant::now();
            (Opened::open_for(&mut config, listener.reading(), None, resumed.as_deref())?, started)
        }
    };
    let changes = data_changes(resumed.as_deref(), &mut config, &opened)?;
    let plan = loading::plan_of(&config, resumed.as_deref(), &changes)?;
    if let Some(ranks) = &ranks {
        agreement::must_agree(ranks, &config, &opened, plan.as_ref())?;
    }
    let mut folder = match folder {
        Some(folder) => folder,
        None => {
            let base = std::path::Path::new("runs");
            RunFolder::create_fresh(base, config.model.name.name(), opened.name())?
        }
    };
    interrupt.nothing_to_save(STOPPED.to_owned(), folder.undo());
    let trace = if config.output.trace {
        Some(Arc::new(TraceFile::create(&folder.trace_path(), begun)?))
    } else {
        None
    };
    let timeline = match &trace {
        Some(trace) => Timeline::traced(Arc::clone(trace), 0, "trainer"),
        None => Timeline::new(),
    };
    timeline.add(Phase::Load, started);
    let mut run = opened.start_shared(config, plan, timeline, ranks)?;
    tell_remarks(trace.as_deref(), listener);
    let course = run.course_mut();
    check_parts(course)?;
    let going_on = resumed.as_ref().map(|_| GoingOn { root: folder.root(), changes: &changes });
    let store = start_from(course, going_on, |text| listener.warning(text))?;
    if resumed.is_some() {
        must_go_on(course)?;
    }
    let store = store.unwrap_or_else(|| store_of(course, folder.root()));
    let mut records = Records::open(&folder, course, resumed.is_some(), &changes)?;
    listener.started(course, folder.root());
    interrupt.something_to_save();
    course.stop_on(interrupt);
    let first_step_seconds = begun.elapsed().as_secs_f64();
    let mut saver = Saver::new(store, course.config().train.checkpoint_share);
    run_epochs(course, &mut folder, &mut saver, &mut records, interrupt, listener)?;
    listener.testing();
    let finished = finish(course, &folder, &mut saver, interrupt, first_step_seconds)?;
    tell_remarks(trace.as_deref(), listener);
    if let Some(trace) = trace {
        trace.finish()?;
    }
    Ok(finished)
}

/// A run that is continued.
struct GoingOn<'a> {
    root: &'a Path,
    /// What differs between its data and the data that it began with.
    changes: &'a [String],
}

/// Fails if a run that is continued has more epochs than are asked for: what is done is not taken back.
fn must_go_on(course: &dyn TrainingRun) -> Result<(), TrainError> {
    let (done, asked) = (course.epochs().len(), course.config().train.epochs);
    if done <= asked {
        return Ok(());
    }
    Err(TrainError::Unfit {
        what: format!("this run has {done} epochs already, and train.epochs = {asked} are fewer"),
        advice: format!("ask for {done} or more with --epochs, or start a new run"),
    })
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
fn store_of(course: &dyn TrainingRun, root: &Path) -> CheckpointStore {
    let keep = course.config().train.keep_checkpoints;
    CheckpointStore::new(RunFolder::checkpoints_of(root), keep)
}

/// Puts the newest checkpoint of the run that is continued in place, or the weights to start from.
fn start_from(
    course: &mut dyn TrainingRun,
    going_on: Option<GoingOn<'_>>,
    mut warn: impl FnMut(&str),
) -> Result<Option<CheckpointStore>, TrainError> {
    course.take_time();
    let store = going_on.as_ref().map(|run| store_of(course, run.root));
    let found = store.as_ref().map(CheckpointStore::load_latest).transpose()?.flatten();
    let changed = going_on.filter(|run| !run.changes.is_empty());
    if let Some(run) = &changed {
        warn(&format!("this run goes on with other data: {}", run.changes.join(", ")));
    }
    match (found, course.config().train.weights.clone()) {
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
                changed_data::keep_what_was_learnt(course, run.root, &mut found.state)?;
            }
            course.restore(found.state)?;
        }
        (None, Some(path)) => load_weights_of_run(course, &path)?,
        (None, None) => {}
    }
    Ok(store)
}

/// Puts the weights of a file in place. Those of a run know its vertices by name.
fn load_weights_of_run(course: &mut dyn TrainingRun, path: &Path) -> Result<(), TrainError> {
    let rows = vertex_rows(course, path.parent())?;
    load_weights(course.parameters_mut(), path, rows.as_ref())
}

/// Which row of the weights of a run belongs to each vertex of the data; None if they are the same
/// vertices, or if weights do not depend on vertices.
///
/// # Errors
/// [`TrainError::Unfit`] if the weights say nothing about the vertices of the data.
pub fn vertex_rows(
    course: &dyn TrainingRun,
    run: Option<&Path>,
) -> Result<Option<VertexRows>, TrainError> {
    let rule = course.config().data.features;
    if !rule.is_by_vertex() {
        return Ok(None);
    }
    let Some(vertices) = run.map(RunVertices::read).transpose()?.flatten() else {
        return Ok(None);
    };
    let Some(rows) = vertices.rows_for(course.vertex_names()) else { return Ok(None) };
    let (unknown, all) = (rows.unknown(), rows.0.len());
    if rule == FeatureRule::OneHot || unknown == all {
        return Err(TrainError::Unfit {
            what: if unknown == all {
                "none of the vertices of this data is in the run's data".to_owned()
            } else {
                format!(
                    "this data has other vertices than the run's data ({unknown} of {all} are new), \
                     and data.features = \"one-hot\" has a column for each"
                )
            },
            advice:
                "give data with the run's vertices, or train with data.features=learned, which \
                     finds vertices by name, or with features that do not depend on who a vertex is"
                    .to_owned(),
        });
    }
    Ok(Some(rows))
}

fn tell_remarks(trace: Option<&TraceFile>, listener: &mut dyn Listener) {
    for remark in trace.map(TraceFile::take_remarks).unwrap_or_default() {
        listener.warning(&remark);
    }
}

/// A fault point between two operations: nothing there can fail, so only what ends or halts a process
/// happens.
fn pass(name: &str) {
    let _ = fault::point(name);
}

struct Frames<'a> {
    interrupt: &'a Interrupt,
    listener: &'a mut dyn Listener,
    epoch: usize,
}

impl Watch for Frames<'_> {
    fn frame(&mut self, done: usize, all: usize) -> bool {
        pass("train.update");
        self.listener.frame(self.epoch, done, all);
        !self.interrupt.is_asked()
    }
}

fn run_epochs(
    course: &mut dyn TrainingRun,
    folder: &mut RunFolder,
    saver: &mut Saver,
    records: &mut Records,
    interrupt: &Interrupt,
    listener: &mut dyn Listener,
) -> Result<(), TrainError> {
    let of_events = course.config().model.name.is_stream();
    let stage = if of_events { &stages::TRAINING_EVENTS } else { &stages::TRAINING };
    let _training = during(stage);
    while !course.is_over() {
        let rate = course.learner().rate(course.config());
        let epoch = course.epochs().len() + 1;
        let end = course.epoch(&mut Frames { interrupt, listener: &mut *listener, epoch })?;
        course.take_time();
        pass("train.epoch");
        if let EpochEnd::Finished(record) = &end {
            records.push(record, rate)?;
            folder.keep();
            listener.epoch(course, record);
            let due = course.config().train.checkpoint_every;
            let is_due = due.is_some_and(|every| record.epoch.is_multiple_of(every));
            if !course.is_over() {
                saver.epoch(is_due, || course.save())?;
            }
        }
        if course.agree(interrupt.is_asked())? && !course.is_over() {
            course.take_time();
            saver.save(&course.save())?;
            let epochs = course.epochs().len();
            return Err(TrainError::Interrupted { folder: folder.root().to_owned(), epochs });
        }
    }
    Ok(())
}

/// Saves the last checkpoint, measures the chosen weights, writes the summary.
fn finish(
    course: &mut dyn TrainingRun,
    folder: &RunFolder,
    saver: &mut Saver,
    interrupt: &Interrupt,
    first_step_seconds: f64,
) -> Result<Finished, TrainError> {
    course.take_time();
    let state = course.save();
    let hash = state_hash(&state);
    saver.save(&state)?;
    drop(state);
    let stopped =
        TrainError::Interrupted { folder: folder.root().to_owned(), epochs: course.epochs().len() };
    interrupt.nothing_to_save(stopped.to_string(), || {});
    course.choose_best();
    let bytes = weights::to_safetensors(course.parameters())?;
    folder.write_file("weights.safetensors", &bytes)?;
    pass("train.test");
    let test = if course.has(Part::Test) { course.evaluate(Part::Test)? } else { Metrics::new() };
    let traffic = course.traffic()?;
    let timer = Instant::now();
    let comparing = during(&stages::COMPARING);
    let baselines = course.baselines(Part::Test)?;
    drop(comparing);
    course.timeline().add(Phase::Evaluate, timer);
    let [host_to_device, device_to_host] = course.device().copied_bytes();
    let mut seconds = course.timeline().seconds();
    seconds.communicate += traffic.map_or(0.0, |traffic| traffic.own_seconds);
    let summary = Summary {
        model: course.config().model.name.name().to_owned(),
        task: course.task().name().to_owned(),
        chosen: course.config().chosen().to_vec(),
        device: course.config().train.device.to_string(),
        vector_level: zoetrope_tensor::cpu::simd::level().to_string(),
        plan: without_lists(&course.layout(), RunFolder::PLAN),
        data: course.data(),
        data_changes: DataSource::read(folder.root())?.map_or_else(Vec::new, |data| data.changes),
        warnings: course.warnings().to_vec(),
        protocol: course.declared(),
        epochs: course.epochs().to_vec(),
        verdict: Verdict::of(course, &test, &baselines),
        test,
        baselines,
        redundancy: course.redundancy(),
        scaling: course.scaled().summary(),
        state_hash: hash,
        first_step_seconds,
        peak_host_bytes: peak_host_bytes(),
        peak_device_bytes: course.device().peak_bytes(),
        ranks: course.config().train.ranks,
        seconds,
        bytes: Bytes { host_to_device, device_to_host, ..traffic.unwrap_or_default().bytes },
        streaming: streaming(course.device()),
        device_transport: course.device_transport().cloned(),
        ..Summary::default()
    };
    folder.write_summary(&summary)?;
    pass("train.end");
    check_measured(course, &summary.test)?;
    let best = course.learner().best_epoch();
    let has_event_file = course.config().output.tensorboard;
    Ok(Finished { folder: folder.root().to_owned(), summary, best, has_event_file })
}

/// Fails if parts are to be held out and nothing is in them: all events of one time are in one part.
fn check_parts(course: &dyn TrainingRun) -> Result<(), TrainError> {
    let empty = !course.has(Part::Validation) && !course.has(Part::Test);
    if empty && course.config().data.split.holds_out() {
        Err(unmeasured("the validation and test parts"))
    } else {
        Ok(())
    }
}

/// Fails if parts were held out and nothing in them could be judged: whoever reads an empty
/// table of results has probably not trained on the data that they meant.
fn check_measured(course: &dyn TrainingRun, test: &Metrics) -> Result<(), TrainError> {
    let validation = course.epochs().iter().map(|record| &record.val);
    let all: Vec<&Metrics> = validation.chain([test]).filter(|found| !found.is_empty()).collect();
    if all.iter().any(|metrics| is_measured(metrics)) || all.is_empty() {
        Ok(())
    } else {
        Err(unmeasured("the validation and test parts"))
    }
}

/// Whether any metric besides the loss has a value, or there is none besides it.
pub fn is_measured(metrics: &Metrics) -> bool {
    let mut others = metrics.iter().filter(|(name, _)| *name != "loss").peekable();
    others.peek().is_none() || others.any(|(_, value)| !value.is_nan())
}

/// The error for parts in which nothing could be judged.
pub fn unmeasured(parts: &str) -> TrainError {
    TrainError::Unmeasured {
        what: format!("{parts} hold nothing that the task asks about"),
        advice: "Look at the data with `zoetrope data inspect` and check which columns were read \
                 (--src, --dst, --time, --label), or change data.split or data.window"
            .to_owned(),
    }
}

/// What streaming took on a GPU, where anything was streamed.
fn streaming(device: &Device) -> Option<Streaming> {
    let found = device.gpu()?.streaming();
    (found.bytes > 0).then_some(Streaming {
        bytes: found.bytes,
        transfer_seconds: found.transfer_seconds,
        rebuild_seconds: found.rebuild_seconds,
    })
}
