//! The configuration of a run: one typed tree.
//!
//! Owns the keys, their defaults, their ranges, the layers they come from (flag over environment
//! over file over default) and the text in which a tree is saved with its run and read back
//! equal. Each key is declared once, in the file of its section; adding one is adding a line
//! there. Unknown keys, wrong types and contradictions are errors that name the place.
//!
//! It opens no data set and knows no model beyond its name: what depends on the data (the number
//! of features, whether a window is needed) is checked by the trainer.
//!
//! ```
//! use zoetrope_config::{Config, ModelName};
//!
//! let text = "[model]\nname = \"gc-lstm\"\n[train]\nepochs = 5\n";
//! // What stands later wins: the file, then `--set`.
//! let config = Config::builder().text(text, "job.toml").set("train.lr=0.003").build()?;
//! assert_eq!((config.model.name, config.train.epochs), (ModelName::GcLstm, 5));
//! assert_eq!(Config::from_toml(&config.to_toml(), "config.toml")?, config);
//!
//! // Typos are reported with the closest valid key.
//! let error = Config::builder().set("train.epoch=5").build().unwrap_err();
//! assert!(error.to_string().contains("did you mean `train.epochs`?"), "{error}");
//! # Ok::<(), zoetrope_config::ConfigError>(())
//! ```
#![forbid(unsafe_code)]

mod check;
mod class_weights;
mod columns;
mod data;
mod defaults;
mod error;
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
pub use error::ConfigError;
pub use layers::ConfigBuilder;
pub use model::{DecoderName, ModelConfig, ModelName, Normalisation, Variant};
pub use numbers::Numbers;
pub use output::OutputConfig;
pub use paths::is_file;
pub use plan::{
    ByteCount, DeviceTransport, DifferenceRule, OperatorOrder, OverlapRule, PartitionerName,
    PlanConfig, Residency, StrategyName,
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
    /// [`ConfigError::Wrong`] with every problem of the text.
    pub fn from_toml(text: &str, path: impl Into<std::path::PathBuf>) -> Result<Self, ConfigError> {
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
    /// [`ConfigError::Wrong`] with every contradiction.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::refuse(self.problems())
    }

    /// Refuses what a run with this task, which the data may have decided, and so many ranks would not read.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`] with every key that was changed in vain.
    pub fn check_read(&self, task: TaskName) -> Result<(), ConfigError> {
        let mut problems = ignored::by_task(self, task);
        problems.extend(ignored::by_ranks(self, self.train.ranks));
        ConfigError::refuse(problems)
    }

    /// Refuses a watched metric that a task with the classes of the data is not judged by.
    ///
    /// # Errors
    /// [`ConfigError::UndefinedMetric`] with the metrics that there are.
    pub fn check_watched(&self, metrics: &[MetricName]) -> Result<(), ConfigError> {
        match self.task.metric.filter(|metric| !metrics.contains(metric)) {
            None => Ok(()),
            Some(metric) => Err(ConfigError::UndefinedMetric { metric, defined: metrics.to_vec() }),
        }
    }

    /// Every key, `section.key`, with its value as a file has it, in the order of the file.
    pub fn values(&self) -> impl Iterator<Item = (String, String)> {
        let sections = Self::SECTIONS.into_iter().zip(self.entries());
        sections.flat_map(|(section, entries)| {
            entries
                .into_iter()
                .map(move |(name, value)| (format!("{section}.{name}"), value.to_string()))
        })
    }

    fn entries(&self) -> [Vec<(&'static str, Value)>; 6] {
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
