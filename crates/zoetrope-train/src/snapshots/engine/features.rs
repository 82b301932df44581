//! The features of vertices as they are put on tapes: all of them in one matrix, or made snapshot by snapshot.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::{GraphError, SnapshotSequence};
use zoetrope_tensor::Matrix;

/// What makes the features of snapshots that are not kept.
pub trait FeatureSource: Send + Sync + fmt::Debug {
    /// Features of a vertex.
    fn width(&self) -> usize;

    /// Shows those of all vertices (`N × width`) at some consecutive snapshots, one after the other: the same bits
    /// whatever is shown together.
    ///
    /// # Errors
    /// If they cannot be made.
    fn visit(
        &self,
        steps: Range<usize>,
        see: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), GraphError>;
}

/// The features of a run.
#[derive(Debug, Clone)]
pub enum Features {
    /// `T·N × width`, stacked by time.
    Stacked(Arc<Matrix>),
    /// Made for those who need them.
    ByStep(Arc<dyn FeatureSource>),
}

impl From<&Arc<Matrix>> for Features {
    fn from(stacked: &Arc<Matrix>) -> Self {
        Self::Stacked(Arc::clone(stacked))
    }
}

impl Features {
    /// Features of a vertex.
    pub fn width(&self) -> usize {
        match self {
            Self::Stacked(all) => all.shape().cols,
            Self::ByStep(source) => source.width(),
        }
    }

    /// Shows those of `vertices` vertices at some consecutive snapshots, one after the other.
    ///
    /// # Errors
    /// What `see` returns, and if they cannot be made.
    pub(super) fn visit<E: From<GraphError>>(
        &self,
        vertices: usize,
        steps: Range<usize>,
        mut see: impl FnMut(usize, &[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Stacked(all) => {
                let size = vertices * all.shape().cols;
                let of = |step| &all.as_slice()[step * size..(step + 1) * size];
                steps.into_iter().try_for_each(|step| see(step, of(step)))
            }
            Self::ByStep(source) => {
                let mut seen = Ok(());
                source.visit(steps, &mut |step, rows| {
                    if seen.is_ok() {
                        seen = see(step, rows);
                    }
                })?;
                seen
            }
        }
    }

    /// All of them in one matrix, made if they are not there.
    ///
    /// # Errors
    /// If they cannot be made.
    pub(super) fn stacked(&self, sequence: &SnapshotSequence) -> Result<Arc<Matrix>, GraphError> {
        let source = match self {
            Self::Stacked(all) => return Ok(Arc::clone(all)),
            Self::ByStep(source) => source,
        };
        let (steps, vertices) = (sequence.steps(), sequence.vertices() as usize);
        let mut all = Matrix::zeros(steps * vertices, source.width());
        let size = vertices * source.width();
        let place = |step: usize| step * size..(step + 1) * size;
        source.visit(0..steps, &mut |step, rows| {
            all.as_mut_slice()[place(step)].copy_from_slice(rows);
        })?;
        Ok(Arc::new(all))
    }
}
