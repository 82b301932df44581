//! Which sizes are measured: coarse grids, as wide as models here are.

use zoetrope_tensor::Family;

use crate::operators::Point;

/// The axes of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) family: Family,
    pub(crate) rows: &'static [usize],
    pub(crate) inner: &'static [usize],
    pub(crate) width: &'static [usize],
}

const fn grid(
    family: Family,
    rows: &'static [usize],
    inner: &'static [usize],
    width: &'static [usize],
) -> Grid {
    Grid { family, rows, inner, width }
}

/// All tables.
pub(crate) const GRIDS: [Grid; 14] = [
    grid(Family::Sparse, &[128, 1024, 8192], &[2, 8, 32], &[4, 16, 64, 256]),
    grid(Family::TimeProduct, &[1024, 16_384, 262_144], &[2, 8], &[1]),
    grid(Family::Dense, &[64, 1024, 16_384], &[2, 8, 32, 128], &[1, 8, 32, 128]),
    grid(Family::Elementwise, &[256, 8192, 262_144], &[1, 2], &[1]),
    grid(Family::Gru, &[16, 128, 1024], &[2, 16], &[8, 32, 128]),
    grid(Family::Lstm, &[16, 128, 1024], &[2, 16], &[8, 32, 128]),
    grid(Family::Evolve, &[8, 32, 128], &[4, 16], &[8, 32, 128]),
    grid(Family::Attention, &[32, 256, 2048], &[4, 16], &[8, 32, 128]),
    grid(Family::GraphAttention, &[128, 1024, 8192], &[2, 16], &[8, 32, 128]),
    grid(Family::Norm, &[256, 8192, 65_536], &[1], &[8, 64]),
    grid(Family::Dropout, &[256, 8192, 262_144], &[1], &[1]),
    grid(Family::Gather, &[256, 4096, 65_536], &[1], &[8, 64]),
    grid(Family::Pairs, &[256, 4096, 65_536], &[8, 32, 128], &[1]),
    grid(Family::Loss, &[256, 8192, 262_144], &[1, 2], &[1]),
];

/// All tables; of a measurement in haste without the most rows and the widest ones.
pub(crate) fn grids(quick: bool) -> Vec<Grid> {
    let cut = |axis: &'static [usize]| match axis {
        [rest @ .., _] if quick && rest.len() > 1 => rest,
        axis => axis,
    };
    let of = |grid: &Grid| Grid { rows: cut(grid.rows), width: cut(grid.width), ..*grid };
    GRIDS.iter().map(of).collect()
}

/// Skews of degrees that products with the graph are measured with, besides none.
pub(crate) const SKEWS: [f64; 3] = [0.3, 0.6, 0.9];

impl Grid {
    /// Its points, the width changing fastest.
    pub(crate) fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for &rows in self.rows {
            for &inner in self.inner {
                for &width in self.width {
                    points.push(Point { family: self.family, rows, inner, width, skew: 0.0 });
                }
            }
        }
        points
    }

    /// Points between those of the grid, to see how far tables are off.
    pub(crate) fn between(&self) -> Point {
        let middle = |axis: &[usize]| match axis {
            [only] => *only,
            [low, high, ..] => ((low * high) as f64).sqrt() as usize,
            [] => 1,
        };
        let last = |axis: &'static [usize]| &axis[axis.len().saturating_sub(2)..];
        // Kinds of functions have nothing between them.
        let inner = match self.family {
            Family::Elementwise | Family::Loss => 1,
            _ => middle(last(self.inner)),
        };
        let (rows, width) = (middle(last(self.rows)), middle(last(self.width)));
        Point { family: self.family, rows, inner, width, skew: 0.0 }
    }

    /// A point for each number of rows, to see what threads gain.
    pub(crate) fn column(&self) -> Vec<Point> {
        let middle = |axis: &[usize]| axis[axis.len() / 2];
        let of = |&rows: &usize| Point {
            family: self.family,
            rows,
            inner: middle(self.inner),
            width: middle(self.width),
            skew: 0.0,
        };
        self.rows.iter().map(of).collect()
    }
}
