//! What a run learns from, ready to be put on a tape: snapshots, stacked features, targets, parts.
//!
//! Owns opening a data set as the configuration says, cutting events into snapshots, choosing
//! features, and refusing numbers that are not finite. It does not normalise graphs (that depends
//! on the model) and draws no samples.

mod by_step;
mod counted;
mod cut;
mod made_features;
mod smooth;
mod stack;
mod weights;

use std::ops::Range;
use std::sync::Arc;

use zoetrope_config::{Config, FeatureRule, TaskName};
use zoetrope_data::split::{Part, Split};
use zoetrope_data::table::TableReading;
use zoetrope_data::{Dataset, Loaded, Progress, ReadOptions, SnapshotDataset};
use zoetrope_dist::Ranks;
use zoetrope_graph::{Boundaries, SnapshotSequence, TimeScale, VertexNames};
use zoetrope_run::{DataSummary, digest};
use zoetrope_tensor::Matrix;

use cut::Cut;

use crate::error::TrainError;
use crate::scaling::{EdgeWeights, FittedScaling, Scaled};
use crate::snapshots::engine::{FeatureSource, Features};
use crate::snapshots::sampling::EdgeClassRule;

pub use stack::Goal;
pub(crate) use stack::one_hot_must_fit;

/// A data set as the trainer sees it.
#[derive(Debug, Clone)]
pub struct SnapshotInput {
    /// A short name: the last part of the path, or the synthetic name.
    pub name: String,
    /// The format it was read from.
    pub format: String,
    /// The topology of every step, as models see it.
    pub sequence: Arc<SnapshotSequence>,
    /// The edges of every step as they happened, which are what is predicted: the same unless
    /// snapshots were smoothed.
    pub happened: Arc<SnapshotSequence>,
    /// Snapshots whose weights tell the classes of edges, if these are asked for.
    pub edge_labels: Option<(Arc<SnapshotSequence>, EdgeClassRule)>,
    /// The original identifiers of the vertices.
    pub names: VertexNames,
    /// `T·N × F`, stacked by time; without columns if features are learned, without rows if they are made.
    pub features: Arc<Matrix>,
    /// What makes the features of a rank that keeps its own.
    pub made_features: Option<Arc<dyn FeatureSource>>,
    /// Whether the process of one of several ranks would keep its part of the data alone.
    pub splits: bool,
    /// How many pairs of different vertices are linked in each snapshot, if that was counted.
    pub links: Option<Arc<Vec<u64>>>,
    /// The width of features that the network learns, a row for each vertex.
    pub learned: Option<usize>,
    /// What to predict for each vertex and step, if the data says so.
    pub goal: Option<Goal>,
    /// Whether what is predicted never changes.
    pub constant_goal: bool,
    /// What was known of each vertex's target before the first step, on the target's scale.
    pub known_before: Option<Vec<f32>>,
    /// Edges over all snapshots, or events before they were cut.
    pub events: usize,
    /// The digest of the files, or of the contents if there are no files.
    pub sha256: String,
    /// Which steps train, validate and test.
    pub split: Split,
    /// The names of the classes of vertices, if the data has them.
    pub vertex_classes: Vec<String>,
    /// The names of the classes of edges, if the data has them.
    pub edge_classes: Vec<String>,
    /// What `boundaries` mean.
    pub scale: Option<TimeScale>,
    /// When each snapshot begins and the last one ends, if that is known: the windows that events were
    /// cut into, or the dates of snapshots.
    pub boundaries: Option<Boundaries>,
    /// The row of the data that is predicted at each step, if features are lags of a series.
    pub rows: Option<Vec<usize>>,
    /// When each of these rows begins and the last one ends, if that is known.
    pub row_times: Option<Boundaries>,
    /// What it was scaled by.
    pub scaled: Scaled,
    /// What a user should know about the data.
    pub warnings: Vec<String>,
}

impl SnapshotInput {
    /// Opens what `[data]` names and brings it into shape.
    ///
    /// # Errors
    /// If the data cannot be read, cut or scaled as asked, or holds numbers that are not
    /// finite.
    pub fn open(config: &Config, progress: &dyn Progress) -> Result<Self, TrainError> {
        Self::from_loaded(read(config, None, progress)?, config, None)
    }

    /// The same as one of several ranks, which all call it: what can be made snapshot by snapshot is made where it is
    /// needed, and nothing else is kept.
    ///
    /// # Errors
    /// As [`SnapshotInput::open`], and if a rank is lost.
    pub fn open_as(
        config: &Config,
        progress: &dyn Progress,
        ranks: &Ranks,
    ) -> Result<Self, TrainError> {
        Self::from_loaded_as(read(config, None, progress)?, config, None, Some(ranks))
    }

    /// Brings a data set that was read into shape, scaled by the numbers of a run if there are any
    /// rather than by numbers that are fitted on this data.
    ///
    /// # Errors
    /// As [`SnapshotInput::open`], and if the numbers do not fit this data.
    pub(crate) fn from_loaded(
        loaded: Loaded,
        config: &Config,
        saved: Option<&FittedScaling>,
    ) -> Result<Self, TrainError> {
        Self::from_loaded_as(loaded, config, saved, None)
    }

    /// The same as the process of one of several ranks, which all call it: what can be made snapshot by snapshot is made
    /// where it is needed.
    ///
    /// # Errors
    /// As [`SnapshotInput::open`], and if a rank is lost.
    pub(crate) fn from_loaded_as(
        loaded: Loaded,
        config: &Config,
        saved: Option<&FittedScaling>,
        ranks: Option<&Ranks>,
    ) -> Result<Self, TrainError> {
        let sha256 = digest::of(&loaded)?;
        let format = loaded.notes.format.to_string();
        let mut warnings = loaded.notes.warnings;
        let events = match &loaded.dataset {
            Dataset::Events(store) => store.len(),
            Dataset::Snapshots(data) => data.sequence.stored_edges(),
        };
        let cut = cut::snapshots(loaded.dataset, config, saved, ranks, &mut warnings)?;
        let edge_weights = saved.and_then(|saved| saved.edge_weights);
        let mut material = Self::new(cut, config, edge_weights, &mut warnings)?;
        material.name = short_name(&config.data.path);
        (material.format, material.sha256, material.events) = (format, sha256, events);
        material.warnings = warnings;
        Ok(material)
    }

    fn new(
        Cut { data, made, splits, edge_labels, newest_lag, mut scaled, named }: Cut,
        config: &Config,
        saved: Option<EdgeWeights>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, TrainError> {
        let SnapshotDataset { sequence, names, features, targets, .. } = data;
        let steps = sequence.steps();
        if steps == 0 || sequence.vertices() == 0 {
            return Err(TrainError::Unfit {
                what: "the data has no snapshot or no vertex".to_owned(),
                advice: "look at it with `zoetrope data inspect`".to_owned(),
            });
        }
        let training = Split::by_snapshots(steps, config.data.split.fractions()).train.end;
        let rule = config.data.weights;
        let (sequence, happened, links) = match made {
            Some(made) => {
                scaled.fitted.edge_weights = made.weights;
                (made.seen, Arc::new(sequence), Some(made.links))
            }
            None => {
                let (sequence, decided) =
                    weights::apply(sequence, rule, training, saved, &names, warnings)?;
                scaled.fitted.edge_weights = decided;
                let (sequence, happened) = smooth::apply(sequence, &config.data)?;
                (sequence, happened, None)
            }
        };
        let window = config.data.m_product;
        let vertices = sequence.vertices() as usize;
        // What is known of the target does not depend on what the model is shown.
        let known_before = newest_lag.zip(features.as_ref()).map(|(column, lags)| {
            let rows = lags.at(0).chunks_exact(lags.width());
            rows.map(|row| row[column]).collect::<Vec<f32>>()
        });
        let rule = config.data.features;
        let chosen = stack::choose(&happened, features, rule, &names, warnings)?;
        let (features, made_features) = if happened.is_made() {
            let made = made_features::of(chosen, &happened, window)?;
            (Matrix::zeros(0, made.width()), Some(made))
        } else {
            (stack::features(chosen, &happened, window, &names)?, None)
        };
        let learned = (rule == FeatureRule::Learned)
            .then(|| config.data.learned_width_for(config.model.hidden, vertices));
        let constant_goal = targets.as_ref().is_some_and(|targets| targets.steps() == 1);
        debug_assert!(known_before.as_ref().is_none_or(|known| known.len() == vertices));
        let goal = targets.map(|targets| stack::goal(&sequence, &targets, &names)).transpose()?;
        let split = Split::by_snapshots(steps, config.data.split.fractions());
        let boundaries = sequence.boundaries().cloned();
        Ok(Self {
            name: String::new(),
            format: String::new(),
            sequence,
            happened,
            edge_labels,
            names,
            features: Arc::new(features),
            made_features,
            splits,
            links,
            learned,
            goal,
            constant_goal,
            known_before,
            events: 0,
            sha256: String::new(),
            split,
            vertex_classes: named.vertex_classes,
            edge_classes: named.edge_classes,
            scale: named.scale,
            boundaries,
            rows: named.rows,
            row_times: named.row_times,
            scaled,
            warnings: Vec::new(),
        })
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.sequence.vertices() as usize
    }

    /// The number of snapshots.
    pub fn steps(&self) -> usize {
        self.sequence.steps()
    }

    /// The number of a step as the data counts: of its snapshots, or of the rows of a series, of which
    /// the first ones are only lags.
    pub fn number(&self, step: usize) -> usize {
        self.rows.as_ref().and_then(|rows| rows.get(step)).copied().unwrap_or(step)
    }

    /// When each step begins and the last one ends, as [`number`](Self::number) counts, and what these
    /// times mean.
    pub fn starts(&self) -> Option<(&Boundaries, TimeScale)> {
        let own = match self.rows {
            Some(_) => &self.row_times,
            None => &self.boundaries,
        };
        own.as_ref().zip(self.scale)
    }

    /// What identifies it.
    pub(crate) fn summary(&self) -> DataSummary {
        DataSummary {
            name: self.name.clone(),
            vertices: self.vertices() as u64,
            events: self.events as u64,
            snapshots: self.steps() as u64,
            edges: (0..self.steps()).map(|step| self.sequence.edges_at(step) as u64).sum(),
            features: self.width() as u64,
            sha256: self.sha256.clone(),
        }
    }

    /// The number of features of a vertex.
    pub fn width(&self) -> usize {
        self.learned.unwrap_or(self.features.shape().cols)
    }

    /// The features as they are put on tapes.
    pub fn rows(&self) -> Features {
        match &self.made_features {
            Some(made) => Features::ByStep(Arc::clone(made)),
            None => Features::Stacked(Arc::clone(&self.features)),
        }
    }

    /// The bytes of the features of all vertices and snapshots.
    pub(crate) fn feature_bytes(&self) -> usize {
        match &self.made_features {
            Some(made) => self.steps() * self.vertices() * made.width() * size_of::<f32>(),
            None => self.features.bytes(),
        }
    }

    /// The steps at which a task asks its questions, by part.
    ///
    /// A question about the next snapshot belongs to the part in which its answer lies, so that no
    /// edge of a later part is ever trained on.
    pub fn steps_of(&self, part: Part, task: TaskName) -> Range<usize> {
        let range = self.split.part(part);
        match task {
            TaskName::LinkPrediction => range.start.saturating_sub(1)..range.end.saturating_sub(1),
            _ => range,
        }
    }

    /// The bytes of features, targets and topology, of all ranks together if each keeps its own.
    pub fn bytes(&self) -> u64 {
        let of = |sequence: &SnapshotSequence| {
            let has_weights = match sequence.counts() {
                Some(counts) => counts.is_weighted(),
                None => sequence.is_made() || sequence.weight().is_some(),
            };
            sequence.stored_edges() * (8 + if has_weights { 4 } else { 0 })
        };
        if self.sequence.is_made() {
            // What models see goes into matrices at once; what is predicted stays.
            return (of(&self.happened) + self.feature_bytes() + self.goal_bytes()) as u64;
        }
        let smoothed = !Arc::ptr_eq(&self.sequence, &self.happened);
        let edges = of(&self.sequence) + if smoothed { of(&self.happened) } else { 0 };
        (edges + self.features.bytes() + self.goal_bytes()) as u64
    }

    /// The bytes of what is predicted of vertices.
    pub(crate) fn goal_bytes(&self) -> usize {
        if self.sequence.counts().is_some() && self.goal.is_some() {
            return self.steps() * self.vertices() * size_of::<f32>();
        }
        self.goal.as_ref().map_or(0, Goal::bytes)
    }
}

/// Reads what `[data]` names, as `usual` says that an earlier table was read if there is one and the
/// configuration does not say otherwise.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read(
    config: &Config,
    usual: Option<TableReading>,
    progress: &dyn Progress,
) -> Result<Loaded, TrainError> {
    let options = ReadOptions { usual: usual.map(Box::new), ..config.data.read_options() };
    Ok(zoetrope_data::open(&config.data.path, &options, progress)?)
}

/// The last part of a path, or a synthetic name as it is.
pub(crate) fn short_name(path: &str) -> String {
    if path.starts_with("synthetic:") {
        path.to_owned()
    } else {
        zoetrope_data::given::short_name(path)
    }
}
