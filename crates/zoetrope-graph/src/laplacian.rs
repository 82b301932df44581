//! The scaled Laplacian: what Chebyshev convolutions multiply with.
//!
//! [`scaled`] is `L̂ = (2/λ)·L − I` with `L = I − D^-1/2 A D^-1/2` and `λ` twice the largest entry
//! of `L`, the convention of PyG's `ChebConv` with symmetric normalisation (release 2.8): self-loops
//! are dropped, the degree of a vertex is the sum of the weights of its *out*-edges (of its in-edges
//! in [`normalise::gcn`](crate::normalise::gcn)), a degree of 0 scales by 0 and a negative one gives
//! NaN. Weights that are not negative make `λ = 2`, the diagonal of `L̂` is then 0 and is left out:
//! a vertex without edges has an empty row.

use crate::csr::Csr;
use crate::error::GraphError;
use crate::normalise::with_self_loops;
use crate::snapshot::SnapshotView;

/// The scaled Laplacian of a snapshot.
///
/// ```
/// # use zoetrope_graph::SnapshotSequence;
/// # use zoetrope_graph::laplacian::scaled;
/// // One edge in each direction between two vertices.
/// let graph = SnapshotSequence::new(2, vec![0, 2], vec![1, 0], vec![0, 1], None)?;
/// let matrix = scaled(graph.at(0))?;
/// assert_eq!(matrix.row(0), (&[1][..], &[-1.0][..]));
/// # Ok::<(), zoetrope_graph::GraphError>(())
/// ```
///
/// # Errors
/// [`GraphError::TooMany`] where entries outnumber what 32-bit offsets can name.
pub fn scaled(view: SnapshotView<'_>) -> Result<Csr, GraphError> {
    let mut matrix = without_self_loops(&Csr::from_view(view)?);
    let scale = inverse_roots(&matrix);
    let mut largest = 1.0f32;
    let rows: Vec<u32> = matrix.iter().map(|(row, _, _)| row).collect();
    let columns = matrix.column_indices().to_vec();
    for ((value, row), column) in matrix.values_mut().iter_mut().zip(rows).zip(columns) {
        *value = -(scale[column as usize] * *value * scale[row as usize]);
        largest = largest.max(*value);
    }
    let lambda = 2.0 * largest;
    matrix.values_mut().iter_mut().for_each(|value| *value = 2.0 * *value / lambda);
    let diagonal = 2.0 / lambda - 1.0;
    if diagonal == 0.0 { Ok(matrix) } else { with_self_loops(&matrix, diagonal) }
}

fn without_self_loops(matrix: &Csr) -> Csr {
    let kept = || matrix.iter().filter(|(row, column, _)| row != column);
    let mut offsets = vec![0u32; matrix.rows() as usize + 1];
    kept().for_each(|(row, _, _)| offsets[row as usize + 1] += 1);
    for at in 1..offsets.len() {
        offsets[at] += offsets[at - 1];
    }
    let indices = kept().map(|(_, column, _)| column).collect();
    let values = kept().map(|(_, _, value)| value).collect();
    Csr::from_arrays(matrix.rows(), matrix.cols(), offsets, indices, values)
}

/// `D^-1/2` of the out-degrees, summed in the order of the entries.
fn inverse_roots(matrix: &Csr) -> Vec<f32> {
    let mut degree = vec![0.0f32; matrix.cols() as usize];
    for (_, column, value) in matrix.iter() {
        degree[column as usize] += value;
    }
    let inverse = |degree: f32| match 1.0 / degree.sqrt() {
        f32::INFINITY => 0.0,
        root => root,
    };
    degree.into_iter().map(inverse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SnapshotSequence;

    fn of(vertices: u32, edges: &[(u32, u32, f32)]) -> Csr {
        let src = edges.iter().map(|edge| edge.0).collect();
        let dst = edges.iter().map(|edge| edge.1).collect();
        let weight = edges.iter().map(|edge| edge.2).collect();
        let offsets = vec![0, edges.len() as u64];
        let graph = SnapshotSequence::new(vertices, offsets, src, dst, Some(weight)).unwrap();
        scaled(graph.at(0)).unwrap()
    }

    #[test]
    fn degrees_count_out_edges_and_self_loops_vanish() {
        // PyG: ChebConv.__norm__ of edges 0→1 (4), 1→0 (1), 1→1 (9), 1→2 (3).
        let matrix = of(3, &[(0, 1, 4.0), (1, 0, 1.0), (1, 1, 9.0), (1, 2, 3.0)]);
        assert_eq!(matrix.row(0), (&[1][..], &[-0.25][..]));
        assert_eq!(matrix.row(1), (&[0][..], &[-1.0][..]));
        assert_eq!(matrix.row(2), (&[1][..], &[-0.0][..]), "vertex 2 has no out-edge: degree 0");
    }

    #[test]
    fn an_entry_above_one_stretches_the_scale_and_fills_the_diagonal() {
        // PyG: edges 0→1 (-2), 0→2 (3), 1→0 (1): the entry of 0→1 is 2, so λ = 4.
        let matrix = of(3, &[(0, 1, -2.0), (0, 2, 3.0), (1, 0, 1.0)]);
        assert_eq!(matrix.row(0), (&[0, 1][..], &[-0.5, -0.5][..]));
        assert_eq!(matrix.row(1), (&[0, 1][..], &[1.0, -0.5][..]));
        assert_eq!(matrix.row(2), (&[0, 2][..], &[-0.0, -0.5][..]));
    }

    #[test]
    fn a_graph_without_edges_gives_an_empty_matrix() {
        assert_eq!(of(4, &[]).entries(), 0);
    }
}
