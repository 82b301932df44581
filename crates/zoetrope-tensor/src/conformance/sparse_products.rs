//! Products of sparse matrices in every shape that a GPU tells apart: widths of each way to share a
//! row among lanes, rows of one warp and of several, several windows of rows, parts of a sequence.

use std::sync::Arc;

use super::graphs::csr;
use super::{Case, Kind, List, numbers, plain};
use crate::{SparseGroup, SparseMatrix};

/// Widths at which lanes share a row in another way, and odd ones.
const WIDTHS: [usize; 16] = [1, 2, 3, 4, 6, 7, 12, 16, 32, 33, 64, 100, 128, 172, 256, 520];

/// The cases.
pub(super) fn sparse_products() -> Vec<Case> {
    let mut list = List::default();
    let long = star(&[700, 300, 33, 32], 720);
    for width in WIDTHS {
        let group = long.clone();
        let x = plain(group.len() * group.vertices(), width);
        list.add(format!("spmm/long rows/{width}"), &[x], move |t, v| t.spmm(&group, v[0]));
    }
    let factored = star_with(&[700, 300, 33, 32], 720, |_, edges, vertices| {
        let mut lengths = vec![0u32; vertices];
        edges.iter().for_each(|&(to, _)| lengths[to as usize] += 1);
        let factor = |vertex: u32| match lengths[vertex as usize] {
            0 => 0.0,
            length => 1.0 / (length as f32).sqrt(),
        };
        edges.iter().map(|&(to, from)| factor(from) * factor(to)).collect()
    });
    for width in [2, 16, 32, 128, 256] {
        let group = factored.clone();
        let x = plain(group.len() * group.vertices(), width);
        list.add(format!("spmm/factored/{width}"), &[x], move |t, v| t.spmm(&group, v[0]));
    }
    let windows = star(&[200, 90, 40, 5000], 9000);
    list.add("spmm/windows", &[plain(windows.len() * 9000, 2)], move |t, v| t.spmm(&windows, v[0]));
    let twice = long.cut(1..2);
    list.add("spmm/twice", &[plain(720, 6)], move |t, v| {
        let (once, again) = (t.spmm(&twice, v[0])?, t.spmm(&twice, v[0])?);
        t.add(once, again)
    });
    list.0
}

/// Two snapshots of a graph in which the first vertices have the given numbers of in-edges, and of
/// the others one in two none and the rest up to nine; the second snapshot has half of the edges.
fn star(hubs: &[usize], vertices: usize) -> SparseGroup {
    star_with(hubs, vertices, |step, edges, vertices| {
        numbers(&format!("sparse products/{vertices}/{step}"), Kind::Small, edges.len())
    })
}

/// The same with values that follow from the step, the edges (to, from) and the number of vertices.
fn star_with(
    hubs: &[usize],
    vertices: usize,
    values: impl Fn(usize, &[(u32, u32)], usize) -> Vec<f32>,
) -> SparseGroup {
    let member = |step: usize| {
        let degree = |vertex: usize| match hubs.get(vertex) {
            Some(&degree) => degree >> step,
            None if vertex.is_multiple_of(2) => 0,
            None => (vertex * 7 % 10) >> step,
        };
        let row = |vertex: usize| {
            let degree = degree(vertex);
            let mut sources: Vec<u32> = (0..degree)
                .map(|edge| ((edge * (vertices / degree) + vertex) % vertices) as u32)
                .collect();
            sources.sort_unstable();
            sources.into_iter().map(move |source| (vertex as u32, source))
        };
        let edges: Vec<(u32, u32)> = (0..vertices).flat_map(row).collect();
        let values = values(step, &edges, vertices);
        Arc::new(SparseMatrix::new(csr(vertices as u32, &edges, values)))
    };
    SparseGroup::new((0..2).map(member).collect())
}
