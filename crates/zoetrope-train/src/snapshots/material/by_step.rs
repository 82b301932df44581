//! Snapshots that a rank makes when it needs them, and what the first rank finds out for all of them before.
//!
//! Every rank has the events (mapped, if they lie in a store). The first one looks at all snapshots once, portion by
//! portion, and tells the others what nobody can know from a part: how many edges there are, and whether their weights
//! can be used.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zoetrope_config::{Config, TaskName, WeightRule};
use zoetrope_data::split::Split;
use zoetrope_dist::Ranks;
use zoetrope_graph::made::visit;
use zoetrope_graph::smooth::SmoothSource;
use zoetrope_graph::{
    DiscretiseOptions, EventStore, GraphError, Lifetime, Merge, SnapshotSequence, SnapshotSource,
    WindowSource, Windows,
};

use super::smooth::smoothing;
use crate::error::TrainError;
use crate::scaling::EdgeWeights;
use crate::train::agreement::found_by_first;

/// Snapshots that are made: beside those that happened, which are the data.
#[derive(Debug)]
pub(super) struct Made {
    /// As models see them.
    pub(super) seen: Arc<SnapshotSequence>,
    /// Pairs of different vertices that are linked, by snapshot.
    pub(super) links: Arc<Vec<u64>>,
    /// What was decided about weights.
    pub(super) weights: Option<EdgeWeights>,
}

/// What the first rank found.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Survey {
    /// Edges of each snapshot.
    happened: Vec<u64>,
    links: Vec<u64>,
    /// Edges of each smoothed snapshot; none if none is smoothed.
    seen: Vec<u64>,
    /// The sum of the training weights, by its bits, and how many there are.
    weights: (u64, u64),
    /// Whether edges have weights.
    has_weights: bool,
    /// Whether one is missing, infinite or negative.
    has_odd_weights: bool,
}

/// The snapshots of events by several ranks; None if a rank has to read all of them: if snapshots depend on more than
/// their windows, or weights have to be mended.
///
/// # Errors
/// If the first rank cannot make a snapshot, or a rank is lost.
pub(super) fn snapshots(
    store: &EventStore,
    windows: &Windows,
    options: DiscretiseOptions,
    config: &Config,
    saved: Option<EdgeWeights>,
    ranks: Option<&Ranks>,
) -> Result<Option<(SnapshotSequence, Made)>, TrainError> {
    let Some(ranks) = ranks.filter(|ranks| ranks.size() > 1) else { return Ok(None) };
    let rule = config.data.weights;
    let hides = rule == WeightRule::Ones || saved.is_some_and(|saved| !saved.kept);
    let options = DiscretiseOptions { weighted: options.weighted && !hides, ..options };
    if !can_be_made(&options, windows, config) {
        return Ok(None);
    }
    // To find the windows took a look at times all over the stream.
    store.let_go(0..store.len());
    let Some(source) = WindowSource::new(Arc::new(store.clone()), windows.clone(), options) else {
        return Ok(None);
    };
    let source: Arc<dyn SnapshotSource> = Arc::new(source);
    let smoothed: Option<Arc<dyn SnapshotSource>> = match smoothing(&config.data) {
        Some(smoothing) => Some(Arc::new(SmoothSource::new(Arc::clone(&source), smoothing)?)),
        None => None,
    };
    let steps = windows.len();
    let training = Split::by_snapshots(steps, config.data.split.fractions()).train.end;
    let survey =
        found_by_first(ranks, || Ok(Survey::of(&*source, smoothed.as_deref(), steps, training)?))?;
    let fits = |edges: &[u64]| edges.len() == steps;
    let all_fit =
        fits(&survey.happened) && fits(&survey.links) && (smoothed.is_none() || fits(&survey.seen));
    // Ranks with other data than the first one's are told so when they compare it.
    if survey.has_odd_weights || !all_fit {
        return Ok(None);
    }
    let (sum, count) = survey.weights;
    let mean = f64::from_bits(sum) / (count.max(1)) as f64;
    let decided = EdgeWeights { kept: true, mean: if count == 0 { 1.0 } else { mean } };
    let weights = match saved.filter(|_| rule == WeightRule::Auto) {
        Some(saved) => Some(saved),
        None => (rule == WeightRule::Auto && survey.has_weights).then_some(decided),
    };
    let vertices = store.vertices();
    let boundaries = windows.boundaries().clone();
    let happened = SnapshotSequence::made_by(vertices, survey.happened, source)
        .with_boundaries(boundaries.clone())?;
    let seen = match smoothed {
        Some(smoothed) => SnapshotSequence::made_by(vertices, survey.seen, smoothed)
            .with_boundaries(boundaries)?,
        None => happened.clone(),
    };
    let made = Made { seen: Arc::new(seen), links: Arc::new(survey.links), weights };
    Ok(Some((happened, made)))
}

/// Whether each snapshot can be made from its window alone, if its weights can be used as they are.
pub(super) fn can_be_made(options: &DiscretiseOptions, windows: &Windows, config: &Config) -> bool {
    let labelled = config.task.name == Some(TaskName::EdgeClassification);
    // Parallel edges would be counted as several links.
    let links = options.merge != Merge::Keep && options.lifetime == Lifetime::Window;
    links && !labelled && !windows.is_empty()
}

/// Whether a weight cannot be used as it is.
pub(super) fn is_odd(weight: &f32) -> bool {
    !weight.is_finite() || *weight < 0.0
}

impl Survey {
    fn of(
        source: &dyn SnapshotSource,
        smoothed: Option<&dyn SnapshotSource>,
        steps: usize,
        training: usize,
    ) -> Result<Self, GraphError> {
        let mut found = Self::default();
        let (mut sum, mut count) = (0.0_f64, 0);
        visit(source, 0..steps, |step, view| {
            found.happened.push(view.len() as u64);
            let loops = view.src.iter().zip(view.dst).filter(|(src, dst)| src == dst).count();
            found.links.push((view.len() - loops) as u64);
            found.has_weights |= view.weight.is_some();
            let weights = view.weight.unwrap_or_default();
            found.has_odd_weights |= weights.iter().any(is_odd);
            if step < training {
                // In the order in which one rank adds them up.
                sum = weights.iter().fold(sum, |sum, &weight| sum + f64::from(weight));
                count += weights.len() as u64;
            }
            Ok::<_, GraphError>(())
        })?;
        found.weights = (sum.to_bits(), count);
        if let Some(smoothed) = smoothed {
            visit(smoothed, 0..steps, |_, view| {
                found.seen.push(view.len() as u64);
                Ok::<_, GraphError>(())
            })?;
        }
        Ok(found)
    }
}
