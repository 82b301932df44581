//! The configuration of `zoetrope train`: one typed tree.
//!
//! Owns the keys, their defaults, their ranges, the layers they come from (flag over environment
//! over file over default) and the text in which a tree is saved with its run and read back
//! equal. Each key is declared once, in the file of its section; adding one is adding a line
//! there. Unknown keys, wrong types and contradictions are errors that name the place.
//!
//! It opens no data set and knows no model beyond its name: what depends on the data (the number
//! of features, whether a window is needed) is checked by the trainer.

mod check;
mod class_weights;
mod columns;
mod data;
mod defaults;
mod file;
mod ignored;
mod layers;
mod model;
mod names;
mod numbers;
mod output;
mod paths;
mod plan;
mod problem;
mod provenance;
mod reading;
mod resumed;
mod rule;
mod section;
mod setting;
mod settle;
mod stream;
mod task;
mod tgl;
mod train;
mod wishes;

pub use class_weights::ClassWeights;
pub use columns::{Column, Columns};
pub use data::{
    DataConfig, FeatureRule, FeatureScaling, MergeRule, MissingFeatures, Scaling, SplitRule,
    WeightRule,
};
pub use layers::ConfigBuilder;
pub use model::{DecoderName, ModelConfig, ModelName, Normalisation, Variant};
pub use numbers::Numbers;
pub use output::OutputConfig;
pub(crate) use paths::is_file;
pub use plan::{
    ByteCount, DeviceTransport, DifferenceRule, OperatorOrder, PlanConfig, Residency, StrategyName,
};
pub use problem::{ConfigProblem, Origin};
pub use provenance::{Choice, Provenance};
pub use reading::{Delimiter, RoleColumn, name_of_unit, unit_named};
pub use section::Key;
pub use stream::{CombineName, EmbeddingName, MessageName, SamplingName, UpdaterName};
pub use task::{EqualTimesRule, MetricName, NegativePool, NeighbourRule, TaskConfig, TaskName};
pub use train::{Device, Frame, LossOn, OptimiserName, Precision, ScheduleName, TrainConfig};
pub use wishes::PlannedRanks;

use section::Section;
use toml::Value;

use crate::error::TrainError;

/// Everything that a run is told, by section.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// `[data]`: what is learned from.
    pub data: DataConfig,
    /// `[model]`: what learns.
    pub model: ModelConfig,
    /// `[task]`: what is predicted and how it is judged.
    pub task: TaskConfig,
    /// `[train]`: how it learns.
    pub train: TrainConfig,
    /// `[plan]`: how the work is laid out.
    pub plan: PlanConfig,
    /// `[output]`: what is written.
    pub output: OutputConfig,
    /// Which of these values were given, and which the data decided.
    pub provenance: Provenance,
}

impl Config {
    /// The names of the sections, in the order in which they are written.
    pub const SECTIONS: [&'static str; 6] = [
        DataConfig::NAME,
        ModelConfig::NAME,
        TaskConfig::NAME,
        TrainConfig::NAME,
        PlanConfig::NAME,
        OutputConfig::NAME,
    ];

    /// An empty stack of layers over the defaults.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::new()
    }

    /// Reads a tree from the text of a file; `path` is for messages only.
    ///
    /// # Errors
    /// [`TrainError::Config`] with every problem of the text.
    pub fn from_toml(text: &str, path: impl Into<std::path::PathBuf>) -> Result<Self, TrainError> {
        Self::builder().text(text, path).build()
    }

    /// The tree as the text of a file, every key with its value. Reads back equal.
    pub fn to_toml(&self) -> String {
        let chosen = self.chosen().iter().map(|choice| format!("# chosen: {choice}\n"));
        let mut text: String = chosen.collect();
        for (section, entries) in Self::SECTIONS.into_iter().zip(self.entries()) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("[{section}]\n"));
            for (key, value) in entries {
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
        text
    }

    /// Every key of every section with its meaning, its range and its default.
    pub fn keys() -> Vec<Key> {
        let mut keys = DataConfig::keys();
        keys.extend(ModelConfig::keys());
        keys.extend(TaskConfig::keys());
        keys.extend(TrainConfig::keys());
        keys.extend(PlanConfig::keys());
        keys.extend(OutputConfig::keys());
        keys
    }

    /// Refuses combinations that contradict each other.
    ///
    /// # Errors
    /// [`TrainError::Config`] with every contradiction.
    pub fn check(&self) -> Result<(), TrainError> {
        let problems = self.problems();
        if problems.is_empty() { Ok(()) } else { Err(TrainError::Config { problems }) }
    }

    /// Refuses what a run with this task, which the data may have decided, and so many ranks would not read.
    ///
    /// # Errors
    /// [`TrainError::Config`] with every key that was changed in vain.
    pub(crate) fn check_read(&self, task: TaskName) -> Result<(), TrainError> {
        let mut problems = ignored::by_task(self, task);
        problems.extend(ignored::by_ranks(self, self.train.ranks));
        if problems.is_empty() { Ok(()) } else { Err(TrainError::Config { problems }) }
    }

    /// Refuses a watched metric that a task with the classes of the data is not judged by.
    ///
    /// # Errors
    /// [`TrainError::Unfit`] with the metrics that there are.
    pub(crate) fn check_watched(&self, metrics: &[MetricName]) -> Result<(), TrainError> {
        match self.task.metric.filter(|metric| !metrics.contains(metric)) {
            None => Ok(()),
            Some(metric) => {
                let names: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
                Err(TrainError::Unfit {
                    what: format!(
                        "task.metric = \"{metric}\" is not defined for this many classes"
                    ),
                    advice: format!("use one of {}", names.join(", ")),
                })
            }
        }
    }

    pub(crate) fn entries(&self) -> [Vec<(&'static str, Value)>; 6] {
        [
            self.data.entries(),
            self.model.entries(),
            self.task.entries(),
            self.train.entries(),
            self.plan.entries(),
            self.output.entries(),
        ]
    }

    fn section_mut(&mut self, name: &str) -> Option<&mut dyn Section> {
        let sections: [&mut dyn Section; 6] = [
            &mut self.data,
            &mut self.model,
            &mut self.task,
            &mut self.train,
            &mut self.plan,
            &mut self.output,
        ];
        Self::SECTIONS
            .into_iter()
            .zip(sections)
            .find_map(|(known, section)| (known == name).then_some(section))
    }
}

#[cfg(test)]
mod tests;
