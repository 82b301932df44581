//! Features that are made snapshot by snapshot, for ranks that keep their own.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::degree::{Degree, add_degrees};
use zoetrope_graph::smooth_features::m_product_features;
use zoetrope_graph::{GraphError, SnapshotSequence, VertexFeatures};

use super::stack::{Chosen, logarithms};
use crate::error::TrainError;
use crate::snapshots::engine::FeatureSource;

/// Values that are made at once: some hundred megabytes with those that they are means of.
const VALUES_AT_ONCE: usize = 1 << 24;

/// What makes the features that were chosen of snapshots that are made.
///
/// # Errors
/// If they are learned: ranks exchange features, but not what they learn of each other's.
pub(super) fn of(
    chosen: Chosen,
    snapshots: &Arc<SnapshotSequence>,
    window: Option<usize>,
) -> Result<Arc<dyn FeatureSource>, TrainError> {
    match chosen {
        Chosen::Given(features) => Ok(Arc::new(Constant(features))),
        Chosen::Degrees => {
            let steps = snapshots.steps();
            let window = window.map_or(1, |window| window.clamp(1, steps.max(1)));
            Ok(Arc::new(Degrees { snapshots: Arc::clone(snapshots), window }))
        }
        Chosen::Learned => Err(TrainError::Unfit {
            what: "data.features = \"learned\" and several ranks".to_owned(),
            advice: "use --ranks 1, or data.features=degree".to_owned(),
        }),
    }
}

/// The same at every snapshot; so is their mean over a window.
#[derive(Debug)]
struct Constant(VertexFeatures);

impl FeatureSource for Constant {
    fn width(&self) -> usize {
        self.0.width()
    }

    fn visit(
        &self,
        steps: Range<usize>,
        see: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), GraphError> {
        steps.for_each(|step| see(step, self.0.at(step)));
        Ok(())
    }
}

/// Logarithms of in- and out-degrees, or their means over a window of snapshots.
#[derive(Debug)]
struct Degrees {
    snapshots: Arc<SnapshotSequence>,
    /// 1 if they are what they are.
    window: usize,
}

impl Degrees {
    /// Those of some snapshots before means are taken.
    fn plain(&self, steps: Range<usize>) -> Result<VertexFeatures, GraphError> {
        let (first, vertices) = (steps.start, self.snapshots.vertices() as usize);
        let size = 2 * vertices;
        let mut values = vec![0.0; steps.len() * size];
        self.snapshots.visit(steps.clone(), |step, view| {
            let place = (step - first) * size..(step - first + 1) * size;
            add_degrees(view, Degree::Edges, &mut values[place]);
            Ok::<_, GraphError>(())
        })?;
        Ok(logarithms(VertexFeatures::new(steps.len(), vertices, 2, values)?))
    }
}

impl FeatureSource for Degrees {
    fn width(&self) -> usize {
        2
    }

    fn visit(
        &self,
        steps: Range<usize>,
        see: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), GraphError> {
        let of_a_step = 2 * self.snapshots.vertices() as usize;
        let most = (VALUES_AT_ONCE / of_a_step.max(1)).saturating_sub(2 * self.window).max(1);
        let mut from = steps.start;
        while from < steps.end {
            let until = steps.end.min(from + most);
            // Means are sums over spans of as many snapshots as the window has, counted from the first snapshot: a part
            // that begins with the span before the asked one is summed in the same order.
            let first = match self.window {
                1 => from,
                window => (from / window).saturating_sub(1) * window,
            };
            let plain = self.plain(first..until)?;
            let features = match self.window {
                1 => plain,
                window => m_product_features(&plain, window)?,
            };
            (from..until).for_each(|step| see(step, features.at(step - first)));
            from = until;
        }
        Ok(())
    }
}
