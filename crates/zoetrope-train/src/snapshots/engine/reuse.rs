//! Kept aggregations: `Â·X` of the first layer, once for all frames and epochs (ESDG §5.5,
//! PiPAD §4.4).
//!
//! The product depends on data alone, not on weights, so it is the same in every frame that a
//! snapshot belongs to and in every epoch.

use std::sync::Arc;

use zoetrope_nn::{Adjacency, NnError, PreparedGraph};
use zoetrope_tensor::{Device, Matrix, Tape};

/// `Â·X` of every snapshot, stacked by time like the features. `resident` says whether a GPU keeps the
/// features.
pub(super) fn aggregate(
    graph: &PreparedGraph,
    features: &Arc<Matrix>,
    device: &Device,
    resident: bool,
) -> Result<Arc<Matrix>, NnError> {
    let shape = features.shape();
    let vertices = graph.vertices();
    let mut kept = Matrix::zeros(shape.rows, shape.cols);
    let mut tape = Tape::on(device.clone());
    // One snapshot at a time: the tape needs room for one product only.
    for step in 0..graph.steps() {
        let rows = step * vertices..(step + 1) * vertices;
        let at = rows.start * shape.cols..rows.end * shape.cols;
        // A constant of a GPU is a copy of all rows.
        let x = if resident {
            tape.constant(features, rows)?
        } else {
            tape.copied(vertices, shape.cols, &features.as_slice()[at.clone()])?
        };
        let y = tape.spmm(&graph.form(Adjacency::Gcn).cut(step..step + 1), x)?;
        tape.read_into(y, &mut kept.as_mut_slice()[at]);
        tape.reset();
    }
    Ok(Arc::new(kept))
}
