//! Small graphs on which a network shows what it takes.

use std::sync::Arc;

use zoetrope_config::{Config, TaskName};
use zoetrope_data::split::Split;
use zoetrope_graph::random::Random;
use zoetrope_graph::{SnapshotSequence, VertexNames};
use zoetrope_tensor::Matrix;

use super::Network;
use crate::error::TrainError;
use crate::scaling::Scaled;
use crate::snapshots::material::{Goal, SnapshotInput};
use crate::snapshots::sampling::EdgeClassRule;

/// The most vertices of a miniature, unless the model needs more.
const MOST_VERTICES: usize = 256;

/// The fewest.
pub(super) const LEAST_VERTICES: usize = 16;

/// How large a miniature is.
pub(super) struct SmallSize {
    pub(super) vertices: usize,
    /// The edges of a snapshot.
    pub(super) edges: usize,
    /// Values of the embedding of a vertex.
    pub(super) width: usize,
}

impl SmallSize {
    pub(super) fn new(
        config: &Config,
        task: TaskName,
        material: &SnapshotInput,
        outputs: usize,
        steps: usize,
    ) -> Result<Self, TrainError> {
        let (features, vertices) = (material.width(), material.vertices());
        let model = Network::model_only(config, task, features, outputs, steps, vertices)?;
        // Smaller than the real graph, so that the estimate is never itself what takes most.
        let least = model.least_vertices().max(LEAST_VERTICES);
        let vertices = (vertices / 4).clamp(least, MOST_VERTICES.max(least));
        let edges = (2 * vertices).min(material.sequence.stored_edges().max(8));
        Ok(Self { vertices, edges, width: model.width() })
    }
}

/// A miniature of a data set of so many snapshots.
///
/// # Errors
/// As making its snapshots.
pub(super) fn small_graph(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    outputs: usize,
    steps: usize,
) -> Result<SnapshotInput, TrainError> {
    let SmallSize { vertices, edges, .. } = SmallSize::new(config, task, material, outputs, steps)?;
    miniature(material, task, outputs, vertices, edges, steps)
}

/// A small graph of random edges with the widths of the real one.
pub(super) fn miniature(
    like: &SnapshotInput,
    task: TaskName,
    outputs: usize,
    vertices: usize,
    edges: usize,
    steps: usize,
) -> Result<SnapshotInput, TrainError> {
    // One snapshot more: link prediction asks for the next one.
    let steps = steps + 1;
    let random = Random::new(0, 0x6d69_6e69);
    let end = |at: usize| random.below(at as u64, vertices as u64) as u32;
    let mut ends: Vec<(u32, u32, u32)> =
        (0..steps * edges).map(|at| ((at / edges) as u32, end(2 * at), end(2 * at + 1))).collect();
    ends.sort_unstable();
    let offsets = (0..=steps).map(|step| (step * edges) as u64).collect();
    let (dst, src) = ends.iter().map(|&(_, dst, src)| (dst, src)).unzip();
    let sequence = Arc::new(SnapshotSequence::new(vertices as u32, offsets, src, dst, None)?);
    let rows = steps * vertices;
    let mut features = Matrix::zeros(rows, like.features.shape().cols);
    for (at, value) in features.as_mut_slice().iter_mut().enumerate() {
        *value = random.unit(at as u64) as f32;
    }
    let ones = |rows: usize| Matrix::from_slice(rows, 1, &vec![1.0; rows]).map(Arc::new);
    let present = match like.goal.as_ref().and_then(Goal::present) {
        Some(_) => Some(ones(rows)?),
        None => None,
    };
    let goal = match task {
        TaskName::NodeRegression => {
            Some(Goal::Numbers { values: Arc::new(Matrix::zeros(rows, 1)), present })
        }
        TaskName::NodeClassification => {
            Some(Goal::Classes { labels: Arc::new(vec![0; rows]), present, classes: outputs })
        }
        TaskName::LinkPrediction | TaskName::EdgeClassification | TaskName::EdgeRegression => None,
    };
    let labelled = || {
        let weights = (0..steps * edges).map(|at| (at % outputs.max(2)) as f32).collect();
        sequence.with_weight(Some(weights)).map(Arc::new)
    };
    let edge_labels = match task {
        TaskName::EdgeClassification => Some((labelled()?, EdgeClassRule::WeightIsClass)),
        _ => None,
    };
    Ok(SnapshotInput {
        name: like.name.clone(),
        format: String::new(),
        edge_labels,
        happened: Arc::clone(&sequence),
        sequence,
        names: VertexNames::identity(vertices as u32),
        features: Arc::new(features),
        made_features: None,
        splits: false,
        links: None,
        learned: like.learned,
        goal,
        constant_goal: false,
        known_before: None,
        events: 0,
        sha256: String::new(),
        // Its own snapshots: tasks count the classes of the training part.
        split: Split {
            train: 0..steps,
            validation: steps..steps,
            test: steps..steps,
            boundaries: None,
        },
        vertex_classes: Vec::new(),
        edge_classes: Vec::new(),
        scale: None,
        boundaries: None,
        rows: None,
        row_times: None,
        scaled: Scaled::default(),
        warnings: Vec::new(),
    })
}
