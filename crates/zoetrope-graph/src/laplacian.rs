//! The scaled Laplacian: what Chebyshev convolutions multiply with.
//!
//! [`scaled`] is `L̂ = (2/λ)·L − I` with `λ` twice the largest entry of `L`, the convention of PyG's
//! `ChebConv` (release 2.8): self-loops are dropped, the degree of a vertex is the sum of the weights
//! of its *out*-edges (of its in-edges in [`normalise::gcn`](crate::normalise::gcn)), a degree of 0
//! scales by 0 and a negative one gives NaN under a root. A diagonal of zeros is left out: with
//! weights that are not negative, the normalised Laplacians have `λ = 2` and no diagonal, and a
//! vertex without edges has an empty row.

use crate::csr::Csr;
use crate::error::GraphError;
use crate::snapshot::SnapshotView;

/// Which Laplacian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Laplacian {
    /// `I − D^-1/2 A D^-1/2`.
    #[default]
    Symmetric,
    /// `I − D^-1 A`, `D` being that of the source of an edge.
    RandomWalk,
    /// `D − A`.
    Unnormalised,
}

/// The scaled Laplacian of a snapshot.
///
/// If all of `L` is 0 (no edges, unnormalised), PyG divides by 0; here `L̂ = −I`.
///
/// ```
/// # use zoetrope_graph::SnapshotSequence;
/// # use zoetrope_graph::laplacian::{Laplacian, scaled};
/// // One edge in each direction between two vertices.
/// let graph = SnapshotSequence::new(2, vec![0, 2], vec![1, 0], vec![0, 1], None)?;
/// let matrix = scaled(graph.at(0), Laplacian::Symmetric)?;
/// assert_eq!(matrix.row(0), (&[1][..], &[-1.0][..]));
/// # Ok::<(), zoetrope_graph::GraphError>(())
/// ```
///
/// # Errors
/// [`GraphError::TooMany`] if entries outnumber what 32-bit offsets can name.
pub fn scaled(view: SnapshotView<'_>, kind: Laplacian) -> Result<Csr, GraphError> {
    let adjacency = Csr::from_view(view)?;
    let degree = out_degrees(&adjacency);
    let scale: Vec<f32> = degree.iter().map(|&degree| factor(kind, degree)).collect();
    let entry = |row: u32, column: u32, weight: f32| match kind {
        Laplacian::Symmetric => -(scale[column as usize] * weight * scale[row as usize]),
        Laplacian::RandomWalk => -(scale[column as usize] * weight),
        Laplacian::Unnormalised => -weight,
    };
    let own = |row: u32| match kind {
        Laplacian::Unnormalised => degree[row as usize],
        Laplacian::Symmetric | Laplacian::RandomWalk => 1.0,
    };
    let edges = adjacency.iter().filter(|(row, column, _)| row != column);
    let largest = edges.map(|(row, column, weight)| entry(row, column, weight));
    let largest = largest.chain((0..adjacency.rows()).map(own)).fold(f32::MIN, f32::max);
    let stretch = |value: f32| if largest == 0.0 { 0.0 } else { value / largest };

    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..adjacency.rows() {
        let start = columns.len();
        let (sources, weights) = adjacency.row(row);
        for (&source, &weight) in sources.iter().zip(weights) {
            if source != row {
                columns.push(source);
                values.push(stretch(entry(row, source, weight)));
            }
        }
        let diagonal = stretch(own(row)) - 1.0;
        if diagonal != 0.0 {
            let place = start + columns[start..].partition_point(|&source| source < row);
            columns.insert(place, row);
            values.insert(place, diagonal);
        }
        crate::csr::check_entries("edges with self-loops", columns.len())?;
        offsets.push(columns.len() as u32);
    }
    Ok(Csr::from_arrays(adjacency.rows(), adjacency.cols(), offsets, columns, values))
}

/// The sums of the weights that leave each vertex, self-loops aside, in the order of the entries.
fn out_degrees(matrix: &Csr) -> Vec<f32> {
    let mut degree = vec![0.0f32; matrix.cols() as usize];
    for (row, column, value) in matrix.iter() {
        if row != column {
            degree[column as usize] += value;
        }
    }
    degree
}

fn factor(kind: Laplacian, degree: f32) -> f32 {
    let inverse = match kind {
        Laplacian::Symmetric => 1.0 / degree.sqrt(),
        Laplacian::RandomWalk => 1.0 / degree,
        Laplacian::Unnormalised => 1.0,
    };
    if inverse == f32::INFINITY { 0.0 } else { inverse }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SnapshotSequence;

    fn of(vertices: u32, edges: &[(u32, u32, f32)], kind: Laplacian) -> Csr {
        let src = edges.iter().map(|edge| edge.0).collect();
        let dst = edges.iter().map(|edge| edge.1).collect();
        let weight = edges.iter().map(|edge| edge.2).collect();
        let offsets = vec![0, edges.len() as u64];
        let graph = SnapshotSequence::new(vertices, offsets, src, dst, Some(weight)).unwrap();
        scaled(graph.at(0), kind).unwrap()
    }

    // The expected values below are those of PyG 2.8's `ChebConv.__norm__`.
    const EDGES: [(u32, u32, f32); 4] = [(0, 1, 4.0), (1, 0, 1.0), (1, 1, 9.0), (1, 2, 3.0)];

    #[test]
    fn degrees_count_out_edges_and_self_loops_vanish() {
        let matrix = of(3, &EDGES, Laplacian::Symmetric);
        assert_eq!(matrix.row(0), (&[1][..], &[-0.25][..]));
        assert_eq!(matrix.row(1), (&[0][..], &[-1.0][..]));
        assert_eq!(matrix.row(2), (&[1][..], &[-0.0][..]), "vertex 2 has no out-edge: degree 0");
    }

    #[test]
    fn an_entry_above_one_stretches_the_scale_and_fills_the_diagonal() {
        // The entry of 0→1 is 2, so λ = 4.
        let matrix = of(3, &[(0, 1, -2.0), (0, 2, 3.0), (1, 0, 1.0)], Laplacian::Symmetric);
        assert_eq!(matrix.row(0), (&[0, 1][..], &[-0.5, -0.5][..]));
        assert_eq!(matrix.row(1), (&[0, 1][..], &[1.0, -0.5][..]));
        assert_eq!(matrix.row(2), (&[0, 2][..], &[-0.0, -0.5][..]));
    }

    #[test]
    fn the_random_walk_divides_by_the_degree_of_the_source() {
        let matrix = of(3, &EDGES, Laplacian::RandomWalk);
        assert_eq!(matrix.row(0), (&[1][..], &[-0.25][..]));
        assert_eq!(matrix.row(1), (&[0][..], &[-1.0][..]));
        assert_eq!(matrix.row(2), (&[1][..], &[-0.75][..]));
    }

    #[test]
    fn the_unnormalised_one_has_degrees_on_its_diagonal() {
        // Degrees 4, 4, 0: λ = 8.
        let matrix = of(3, &EDGES, Laplacian::Unnormalised);
        assert_eq!(matrix.row(0), (&[1][..], &[-0.25][..]));
        assert_eq!(matrix.row(1), (&[0][..], &[-1.0][..]));
        assert_eq!(matrix.row(2), (&[1, 2][..], &[-0.75, -1.0][..]));
    }

    #[test]
    fn a_graph_without_edges_gives_an_empty_matrix_or_minus_one() {
        assert_eq!(of(4, &[], Laplacian::Symmetric).entries(), 0);
        assert_eq!(of(2, &[], Laplacian::Unnormalised).values(), [-1.0, -1.0]);
    }
}
