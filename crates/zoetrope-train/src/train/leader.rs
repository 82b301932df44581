//! What only the first rank of a run does: the run folder, warnings and progress, checkpoints, the summary.
//!
//! Nothing here may wait for other ranks: whoever they wait for says that it takes time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use zoetrope_config::Config;
use zoetrope_nn::weights;
use zoetrope_run::checkpoint::state_hash;
use zoetrope_run::{
    Bytes, DataSource, DeviceUse, Metrics, Phase, RunFolder, Streaming, Summary, Timeline,
    TraceFile, without_lists,
};
use zoetrope_tensor::Device;

use super::folder::Records;
use super::job::{pass, store_of};
use super::saver::Saver;
use super::verdict::verdict;
use super::{Finished, is_measured, peak_host_bytes, unmeasured};
use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::observer::{Observer, RunEvent};
use crate::training_run::{EpochEnd, RunTraffic, TrainingRun};

/// What the first rank of a run is given.
pub(super) struct First<'a> {
    pub(super) observer: &'a mut dyn Observer,
    /// When the process started.
    pub(super) begun: Instant,
    /// When reading the data began.
    pub(super) reading_since: Instant,
}

/// The folder of a run, if its name does not depend on the data.
pub(super) fn claim(
    config: &Config,
    resumed: Option<&Path>,
) -> Result<Option<RunFolder>, TrainError> {
    match resumed {
        Some(root) => Ok(Some(RunFolder::open(root)?)),
        None => Ok(config.output.dir.as_deref().map(RunFolder::create).transpose()?),
    }
}

/// The first rank, which has the run folder.
pub(super) struct Leader<'a> {
    first: First<'a>,
    interrupt: Interrupt,
    folder: RunFolder,
    trace: Option<Arc<TraceFile>>,
}

impl<'a> Leader<'a> {
    /// The leader of a run with the folder that was claimed, or one that is named after the data.
    pub(super) fn new(
        first: First<'a>,
        interrupt: &Interrupt,
        claimed: Option<RunFolder>,
        config: &Config,
        data: &str,
    ) -> Result<Self, TrainError> {
        let folder = match claimed {
            Some(folder) => folder,
            None => RunFolder::create_fresh(Path::new("runs"), config.model.name.name(), data)?,
        };
        let trace =
            config.output.trace.then(|| TraceFile::create(&folder.trace_path(), first.begun));
        let trace = trace.transpose()?.map(Arc::new);
        Ok(Self { first, interrupt: interrupt.clone(), folder, trace })
    }

    /// The run folder.
    pub(super) fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Where the run's seconds are counted, those of reading the data included.
    pub(super) fn timeline(&self) -> Timeline {
        let timeline = match &self.trace {
            Some(trace) => Timeline::traced(Arc::clone(trace), 0, "trainer"),
            None => Timeline::new(),
        };
        timeline.add(Phase::Load, self.first.reading_since);
        timeline
    }

    /// Tells who watches the run; whoever answers that it should end has asked for it as Ctrl-C does.
    pub(super) fn tell(&mut self, event: RunEvent<'_>) {
        if self.first.observer.observe(event).is_break() {
            self.interrupt.ask();
        }
    }

    /// Says what the trace found worth a remark since the last time.
    pub(super) fn tell_remarks(&mut self) {
        let remarks = self.trace.as_deref().map(TraceFile::take_remarks).unwrap_or_default();
        remarks.iter().for_each(|remark| self.tell(RunEvent::Warning(remark)));
    }

    /// The session stands and its epochs begin.
    ///
    /// # Errors
    /// If the run has more epochs already than are asked for, or its files cannot be written.
    pub(super) fn begin(
        mut self,
        session: &dyn TrainingRun,
        resumed: bool,
        changes: &[String],
    ) -> Result<Recorder<'a>, TrainError> {
        if resumed {
            must_go_on(session)?;
        }
        let store = store_of(session, self.folder.root());
        let records = Records::open(&self.folder, session, resumed, changes)?;
        let folder = self.folder.root().to_owned();
        self.tell(RunEvent::Started { run: session, folder: &folder });
        Ok(Recorder {
            first_step_seconds: self.first.begun.elapsed().as_secs_f64(),
            leader: self,
            saver: Saver::new(store, session.config().train.checkpoint_share),
            records,
            state_hash: String::new(),
        })
    }
}

/// Fails if a run that is continued has more epochs than are asked for: what is done is not taken back.
fn must_go_on(session: &dyn TrainingRun) -> Result<(), TrainError> {
    let (done, asked) = (session.epochs().len(), session.config().train.epochs);
    if done <= asked {
        return Ok(());
    }
    Err(TrainError::Unfit {
        what: format!("this run has {done} epochs already, and train.epochs = {asked} are fewer"),
        advice: format!("ask for {done} or more with --epochs, or start a new run"),
    })
}

/// What all ranks measured together after the last epoch.
pub(super) struct Measured {
    pub(super) test: Metrics,
    pub(super) traffic: Option<RunTraffic>,
    pub(super) devices: Vec<DeviceUse>,
    pub(super) baselines: BTreeMap<String, Metrics>,
}

/// The first rank while it trains: writes what grows with the epochs.
pub(super) struct Recorder<'a> {
    leader: Leader<'a>,
    saver: Saver,
    records: Records,
    first_step_seconds: f64,
    /// The digest of the state that was saved last.
    state_hash: String,
}

impl Recorder<'_> {
    /// The session tells what it does.
    pub(super) fn tell(&mut self, event: RunEvent<'_>) {
        self.leader.tell(event);
    }

    /// An epoch with that learning rate ended.
    pub(super) fn epoch(
        &mut self,
        session: &dyn TrainingRun,
        end: &EpochEnd,
        rate: f64,
    ) -> Result<(), TrainError> {
        session.take_time();
        pass("train.epoch");
        let EpochEnd::Finished(record) = end else { return Ok(()) };
        self.records.push(record, rate)?;
        self.leader.folder.keep();
        self.tell(RunEvent::Epoch { run: session, record });
        let due = session.config().train.checkpoint_every;
        let is_due = due.is_some_and(|every| record.epoch.is_multiple_of(every));
        if session.is_over() { Ok(()) } else { self.saver.epoch(is_due, || session.save()) }
    }

    /// Saves a checkpoint before the run is left.
    pub(super) fn save(&mut self, session: &dyn TrainingRun) -> Result<(), TrainError> {
        session.take_time();
        self.saver.save(&session.save())
    }

    /// Saves the last checkpoint; the run is measured now.
    pub(super) fn save_last(&mut self, session: &dyn TrainingRun) -> Result<(), TrainError> {
        self.tell(RunEvent::Testing);
        session.take_time();
        let state = session.save();
        self.state_hash = state_hash(&state);
        self.saver.save(&state)
    }

    /// Writes the weights that are measured.
    pub(super) fn write_weights(&self, session: &dyn TrainingRun) -> Result<(), TrainError> {
        let bytes = weights::to_safetensors(session.parameters())?;
        self.leader.folder.write_file("weights.safetensors", &bytes)?;
        pass("train.test");
        Ok(())
    }

    /// Writes the summary.
    pub(super) fn finish(
        mut self,
        session: &dyn TrainingRun,
        measured: Measured,
    ) -> Result<Finished, TrainError> {
        let Measured { test, traffic, devices, baselines } = measured;
        let folder = &self.leader.folder;
        let [host_to_device, device_to_host] = session.device().copied_bytes();
        let mut seconds = session.timeline().seconds();
        seconds.communicate += traffic.map_or(0.0, |traffic| traffic.own_seconds);
        let data_source = DataSource::read(folder.root())?;
        let summary = Summary {
            model: session.config().model.name.name().to_owned(),
            task: session.task().name().to_owned(),
            chosen: session.config().chosen().to_vec(),
            device: session.config().train.device.to_string(),
            vector_level: zoetrope_tensor::cpu::simd::level().to_string(),
            plan: without_lists(&session.layout(), RunFolder::PLAN),
            data: session.data(),
            data_changes: data_source.map_or_else(Vec::new, |data| data.changes),
            warnings: session.warnings().to_vec(),
            protocol: session.declared(),
            epochs: session.epochs().to_vec(),
            verdict: verdict(session, &test, &baselines),
            test,
            baselines,
            redundancy: session.redundancy(),
            scaling: session.scaled().summary(),
            state_hash: self.state_hash,
            first_step_seconds: self.first_step_seconds,
            peak_host_bytes: peak_host_bytes(),
            peak_device_bytes: session.device().peak_bytes(),
            ranks: session.config().train.ranks,
            seconds,
            bytes: Bytes { host_to_device, device_to_host, ..traffic.unwrap_or_default().bytes },
            streaming: streaming(session.device()),
            devices,
            device_transport: session.device_transport().cloned(),
            ..Summary::default()
        };
        folder.write_summary(&summary)?;
        pass("train.end");
        check_measured(session, &summary.test)?;
        let best = session.learner().best_epoch();
        let has_event_file = session.config().output.tensorboard;
        let folder = folder.root().to_owned();
        self.leader.tell_remarks();
        if let Some(trace) = &self.leader.trace {
            trace.finish()?;
        }
        Ok(Finished { folder, summary, best, has_event_file })
    }
}

/// Fails if parts were held out and nothing in them could be judged: whoever reads an empty
/// table of results has probably not trained on the data that they meant.
fn check_measured(session: &dyn TrainingRun, test: &Metrics) -> Result<(), TrainError> {
    let validation = session.epochs().iter().map(|record| &record.val);
    let all: Vec<&Metrics> = validation.chain([test]).filter(|found| !found.is_empty()).collect();
    if all.iter().any(|metrics| is_measured(metrics)) || all.is_empty() {
        Ok(())
    } else {
        Err(unmeasured("the validation and test parts"))
    }
}

/// What streaming took on a GPU, if anything was streamed.
fn streaming(device: &Device) -> Option<Streaming> {
    let found = device.gpu()?.streaming();
    (found.bytes > 0).then_some(Streaming {
        bytes: found.bytes,
        transfer_seconds: found.transfer_seconds,
        rebuild_seconds: found.rebuild_seconds,
    })
}
