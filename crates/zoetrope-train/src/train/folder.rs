//! The files of a run folder that grow with its epochs.

use zoetrope_run::tensorboard::EventFile;
use zoetrope_run::{DataChange, DataSource, EpochRecord, MetricsLine, MetricsLog, RunFolder};

use crate::error::TrainError;
use crate::training_run::TrainingRun;

/// `metrics.jsonl` and the event file of TensorBoard.
#[derive(Debug)]
pub(super) struct Records {
    metrics: MetricsLog,
    events: Option<EventFile>,
}

impl Records {
    /// Starts or continues the files, and writes the configuration and the plan of a new run.
    pub(super) fn open(
        folder: &RunFolder,
        session: &dyn TrainingRun,
        resumed: bool,
        changes: &[String],
    ) -> Result<Self, TrainError> {
        let path = folder.metrics_path();
        let metrics = if resumed {
            MetricsLog::resume(&path, session.epochs().len())?
        } else {
            MetricsLog::create(&path)?
        };
        // A run that lost the file and was scaled anew has it again.
        let (fitted, scales) = (&session.scaled().fitted, folder.root().join(RunFolder::SCALING));
        if !fitted.is_empty() && (!resumed || !scales.exists()) {
            folder.write_json(&scales, fitted)?;
        }
        if !resumed || !changes.is_empty() {
            folder.write_json(&folder.plan_path(), &session.layout())?;
        }
        if !resumed {
            let named = session.classes();
            if !named.is_empty() {
                folder.write_json(&folder.root().join(RunFolder::CLASSES), &named)?;
            }
            if session.config().data.features.is_by_vertex() {
                folder.write_vertices(session.vertex_names())?;
            }
        }
        let mut source = DataSource::new(session.config(), folder.root(), session.data());
        source.warnings = session.warnings().to_vec();
        if !changes.is_empty() {
            source.changes =
                DataSource::read(folder.root())?.map_or_else(Vec::new, |was| was.changes);
            let after_epochs = session.epochs().len();
            source.changes.push(DataChange { after_epochs, differences: changes.to_vec() });
        }
        if !resumed || !changes.is_empty() {
            folder.write_source(&source)?;
        }
        // Written last of what makes a folder a run: one without it holds nothing to continue.
        folder.write_config(session.config())?;
        let events = if session.config().output.tensorboard {
            Some(EventFile::create(folder.root())?)
        } else {
            None
        };
        Ok(Self { metrics, events })
    }

    /// Adds an epoch.
    pub(super) fn push(&mut self, record: &EpochRecord, lr: f64) -> Result<(), TrainError> {
        self.metrics.push(&MetricsLine { record: record.clone(), lr })?;
        let Some(events) = &mut self.events else { return Ok(()) };
        let own =
            [("train/loss", record.loss), ("train/lr", lr), ("train/seconds", record.seconds)];
        let names: Vec<(String, f64)> =
            record.val.iter().map(|(name, &value)| (format!("val/{name}"), value)).collect();
        let val = names.iter().map(|(name, value)| (name.as_str(), *value));
        Ok(events.scalars(record.epoch as u64, own.into_iter().chain(val))?)
    }
}
