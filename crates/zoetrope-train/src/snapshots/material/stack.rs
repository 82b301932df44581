//! Features and targets of all steps in one matrix each.

use std::sync::Arc;

use zoetrope_config::FeatureRule;
use zoetrope_graph::degree::{Degree, degree_features};
use zoetrope_graph::smooth_features::m_product_features;
use zoetrope_graph::{SnapshotSequence, Targets, VertexFeatures, VertexNames};
use zoetrope_tensor::Matrix;

use crate::error::TrainError;

/// What to predict for each vertex and step.
#[derive(Debug, Clone)]
pub enum Goal {
    /// A number.
    Numbers {
        /// `T·N × 1`, 0 if there is none.
        values: Arc<Matrix>,
        /// `T·N × 1`, 1 if there is one; None if all are there.
        present: Option<Arc<Matrix>>,
    },
    /// A class.
    Classes {
        /// `T·N` classes, 0 if there is none.
        labels: Arc<Vec<u32>>,
        /// `T·N × 1`, 1 if there is one; None if all are there.
        present: Option<Arc<Matrix>>,
        /// The number of classes.
        classes: usize,
    },
}

impl Goal {
    /// Which targets are known; None if all are.
    pub fn present(&self) -> Option<&Arc<Matrix>> {
        match self {
            Self::Numbers { present, .. } | Self::Classes { present, .. } => present.as_ref(),
        }
    }

    /// The bytes held.
    pub fn bytes(&self) -> usize {
        let own = match self {
            Self::Numbers { values, .. } => values.bytes(),
            Self::Classes { labels, .. } => labels.len() * 4,
        };
        own + self.present().map_or(0, |present| present.bytes())
    }
}

/// Refuses features of all steps that do not fit into the memory, before any is laid out.
fn features_must_fit(
    rows: usize,
    given: &Option<VertexFeatures>,
    rule: FeatureRule,
) -> Result<(), TrainError> {
    let own = given.as_ref().filter(|features| features.width() > 0);
    // Degrees are counted, then laid out.
    let (width, times) = match (rule, own) {
        (FeatureRule::Auto, Some(features)) => (features.width(), 1),
        (FeatureRule::Learned | FeatureRule::OneHot, _) => return Ok(()),
        (FeatureRule::Ones, _) => (1, 1),
        _ => (2, 2),
    };
    let bytes = (rows as u64).saturating_mul((4 * width * times) as u64);
    let what = format!("features of {rows} vertices and snapshots");
    let advice = "choose a wider data.window, fewer features or data.features=ones";
    Ok(zoetrope_heap::need(&what, bytes, advice)?)
}

/// Where features come from.
pub(super) enum Chosen {
    /// They are given, for one step or for all.
    Given(VertexFeatures),
    /// Degrees of snapshots.
    Degrees,
    /// The network learns them.
    Learned,
}

/// The features that the rule names.
pub(super) fn choose(
    sequence: &SnapshotSequence,
    given: Option<VertexFeatures>,
    rule: FeatureRule,
    names: &VertexNames,
    warnings: &mut Vec<String>,
) -> Result<Chosen, TrainError> {
    let (steps, vertices) = (sequence.steps(), sequence.vertices() as usize);
    if !sequence.is_made() {
        features_must_fit(steps * vertices, &given, rule)?;
    }
    let features = match (rule, given) {
        (FeatureRule::Auto, Some(features)) if features.width() > 0 => features,
        (FeatureRule::Learned, _) => return Ok(Chosen::Learned),
        (FeatureRule::OneHot, _) => {
            one_hot_must_fit(steps * vertices, vertices)?;
            let mut values = vec![0.0; vertices * vertices];
            (0..vertices).for_each(|at| values[at * vertices + at] = 1.0);
            VertexFeatures::new(1, vertices, vertices, values)?
        }
        (FeatureRule::Ones, _) => VertexFeatures::new(1, vertices, 1, vec![1.0; vertices])?,
        (rule, _) => {
            if rule == FeatureRule::Auto {
                warnings.push(
                    "vertices have no features: their in- and out-degrees are used".to_owned(),
                );
            }
            return Ok(Chosen::Degrees);
        }
    };
    check(&features, names)?;
    if features.steps() != 1 && features.steps() != steps {
        return Err(TrainError::Unfit {
            what: format!("there are features of {} steps for {steps} snapshots", features.steps()),
            advice: "give features of every snapshot, or of one for all".to_owned(),
        });
    }
    Ok(Chosen::Given(features))
}

/// The features of all steps, or their means over a window of steps.
pub(super) fn features(
    chosen: Chosen,
    sequence: &SnapshotSequence,
    window: Option<usize>,
    names: &VertexNames,
) -> Result<Matrix, TrainError> {
    let (steps, vertices) = (sequence.steps(), sequence.vertices() as usize);
    let features = match chosen {
        Chosen::Given(features) => features,
        Chosen::Degrees => {
            let features = logarithms(degree_features(sequence, Degree::Edges)?);
            check(&features, names)?;
            features
        }
        Chosen::Learned => return Ok(Matrix::zeros(steps * vertices, 0)),
    };
    let features = match window {
        Some(window) => m_product_features(&features, window)?,
        None => features,
    };
    let width = features.width();
    let mut stacked = Matrix::zeros(steps * vertices, width);
    let size = vertices * width;
    for (step, block) in stacked.as_mut_slice().chunks_mut(size.max(1)).enumerate() {
        block.copy_from_slice(features.at(step));
    }
    Ok(stacked)
}

/// The most bytes of one-hot features.
const ONE_HOT_BYTES_MAX: usize = 1 << 30;

/// Refuses one-hot features that are larger than anything that they could be good for.
///
/// # Errors
/// [`TrainError::Unfit`] if `rows × vertices` numbers take more than 1 GiB.
pub(crate) fn one_hot_must_fit(rows: usize, vertices: usize) -> Result<(), TrainError> {
    let bytes = rows.saturating_mul(vertices).saturating_mul(size_of::<f32>());
    if bytes <= ONE_HOT_BYTES_MAX {
        Ok(())
    } else {
        Err(TrainError::Unfit {
            what: format!(
                "data.features = \"one-hot\" for {vertices} vertices takes {:.1} GiB",
                bytes as f64 / (1u64 << 30) as f64
            ),
            advice: "use data.features=learned, which learns the same from less memory".to_owned(),
        })
    }
}

/// Degrees of real graphs span orders of magnitude: `ln(1 + degree)` keeps hubs within reach of a
/// sigmoid.
pub(super) fn logarithms(mut features: VertexFeatures) -> VertexFeatures {
    features.values_mut().iter_mut().for_each(|value| *value = value.ln_1p());
    features
}

fn check(features: &VertexFeatures, names: &VertexNames) -> Result<(), TrainError> {
    let Some(at) = features.values().iter().position(|value| !value.is_finite()) else {
        return Ok(());
    };
    let (width, vertices) = (features.width(), features.vertices());
    Err(TrainError::NotFinite {
        what: "feature",
        column: Some(at % width),
        step: at / (width * vertices),
        vertex: names.name((at / width % vertices) as u32).to_string(),
        value: features.values()[at],
    })
}

/// The targets of all steps; NaN means that there is none.
pub(super) fn goal(
    sequence: &SnapshotSequence,
    targets: &Targets,
    names: &VertexNames,
) -> Result<Goal, TrainError> {
    let (steps, vertices) = (sequence.steps(), sequence.vertices() as usize);
    if targets.steps() != 1 && targets.steps() != steps {
        return Err(TrainError::Unfit {
            what: format!("there are targets of {} steps for {steps} snapshots", targets.steps()),
            advice: "give targets of every snapshot, or of one for all".to_owned(),
        });
    }
    let rows = steps * vertices;
    let value = |row: usize| match targets.steps() {
        1 => targets.values()[row % vertices],
        _ => targets.values()[row],
    };
    if let Some(row) = (0..rows).find(|&row| value(row).is_infinite()) {
        return Err(TrainError::NotFinite {
            what: "target",
            column: None,
            step: row / vertices,
            vertex: names.name((row % vertices) as u32).to_string(),
            value: value(row),
        });
    }
    let present = if (0..rows).any(|row| value(row).is_nan()) {
        let flags: Vec<f32> =
            (0..rows).map(|row| if value(row).is_nan() { 0.0 } else { 1.0 }).collect();
        Some(Arc::new(Matrix::from_slice(rows, 1, &flags)?))
    } else {
        None
    };
    Ok(match targets.classes() {
        Some(classes) => {
            let labels =
                (0..rows).map(|row| if value(row).is_nan() { 0 } else { value(row) as u32 });
            Goal::Classes { labels: Arc::new(labels.collect()), present, classes: classes as usize }
        }
        None => {
            let values: Vec<f32> =
                (0..rows).map(|row| if value(row).is_nan() { 0.0 } else { value(row) }).collect();
            Goal::Numbers { values: Arc::new(Matrix::from_slice(rows, 1, &values)?), present }
        }
    })
}
