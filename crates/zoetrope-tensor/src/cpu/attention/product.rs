//! Products of a matrix in lanes with a small matrix of weights, and the gradient of the weights.
//!
//! Four rows by four columns of results stay in registers: four vectors and four weights are
//! loaded for sixteen multiply-adds. Weights are packed so that four columns lie side by side.

use pulp::Simd;

use crate::cpu::scratch::{self, Scratch};

/// Columns of a tile.
const COLUMNS: usize = 4;

/// Weights `inner × cols` as tiles of four columns, the last filled up with zeros.
pub(super) struct Packed {
    data: Scratch,
    inner: usize,
    cols: usize,
}

impl Packed {
    /// Packs the weights `at(row, column)`.
    pub(super) fn new(inner: usize, cols: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        let tiles = cols.div_ceil(COLUMNS);
        let mut data = scratch::take(tiles * inner * COLUMNS);
        for (tile, data) in data.chunks_exact_mut((inner * COLUMNS).max(1)).enumerate() {
            for (l, data) in data.chunks_exact_mut(COLUMNS).enumerate() {
                for (j, place) in (tile * COLUMNS..).zip(data) {
                    *place = if j < cols { at(l, j) } else { 0.0 };
                }
            }
        }
        Self { data, inner, cols }
    }

    /// y = x·weights (+ y if `add`) for x of `inner` and y of `cols` columns, all in lanes.
    #[inline(always)]
    pub(super) fn multiply<S: Simd>(&self, simd: S, x: &[S::f32s], y: &mut [S::f32s], add: bool) {
        let rows = x.len() / self.inner;
        let mut from = 0;
        if S::REGISTER_COUNT >= 32 {
            while rows - from >= 4 {
                self.rows::<S, 4>(simd, from, x, y, add);
                from += 4;
            }
        }
        while rows - from >= 2 {
            self.rows::<S, 2>(simd, from, x, y, add);
            from += 2;
        }
        if from < rows {
            self.rows::<S, 1>(simd, from, x, y, add);
        }
    }

    /// `R` rows.
    #[inline(always)]
    fn rows<S: Simd, const R: usize>(
        &self,
        simd: S,
        from: usize,
        x: &[S::f32s],
        y: &mut [S::f32s],
        add: bool,
    ) {
        let Self { inner, cols, .. } = *self;
        let mut rows = [&x[..0]; R];
        for u in 0..R {
            rows[u] = &x[(from + u) * inner..][..inner];
        }
        for tile in 0..cols.div_ceil(COLUMNS) {
            let weights = &self.data[tile * inner * COLUMNS..][..inner * COLUMNS];
            let sums = tile_of::<S, R>(simd, rows, weights);
            let at = tile * COLUMNS;
            // Constant bounds: a sum that is picked by a running index would live in memory.
            for u in 0..R {
                for c in 0..COLUMNS {
                    if at + c < cols {
                        let y = &mut y[(from + u) * cols + at + c];
                        *y = if add { simd.add_f32s(*y, sums[u][c]) } else { sums[u][c] };
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn tile_of<S: Simd, const R: usize>(
    simd: S,
    rows: [&[S::f32s]; R],
    weights: &[f32],
) -> [[S::f32s; COLUMNS]; R] {
    let mut sums = [[simd.splat_f32s(0.0); COLUMNS]; R];
    for l in 0..weights.len() / COLUMNS {
        let weights = &weights[l * COLUMNS..][..COLUMNS];
        let mut splats = [simd.splat_f32s(0.0); COLUMNS];
        for c in 0..COLUMNS {
            splats[c] = simd.splat_f32s(weights[c]);
        }
        for u in 0..R {
            let x = rows[u][l];
            for c in 0..COLUMNS {
                sums[u][c] = simd.mul_add_e_f32s(splats[c], x, sums[u][c]);
            }
        }
    }
    sums
}

/// gradient[i, j] += Σ a[row, i]·b[row, j] over rows and lanes, for a of `high` and b of `wide`
/// columns.
#[inline(always)]
pub(super) fn add_gradient<S: Simd>(
    simd: S,
    (a, high): (&[S::f32s], usize),
    (b, wide): (&[S::f32s], usize),
    gradient: &mut [f32],
) {
    let mut i = 0;
    if S::REGISTER_COUNT >= 32 {
        while high - i >= 4 {
            gradient_rows::<S, 4>(simd, (a, high), (b, wide), i, gradient);
            i += 4;
        }
    }
    while high - i >= 2 {
        gradient_rows::<S, 2>(simd, (a, high), (b, wide), i, gradient);
        i += 2;
    }
    if i < high {
        gradient_rows::<S, 1>(simd, (a, high), (b, wide), i, gradient);
    }
}

/// Rows `i..i + R` of a gradient.
#[inline(always)]
fn gradient_rows<S: Simd, const R: usize>(
    simd: S,
    a: (&[S::f32s], usize),
    b: (&[S::f32s], usize),
    i: usize,
    gradient: &mut [f32],
) {
    let mut j = 0;
    while b.1 - j >= 4 {
        gradient_tile::<S, R, 4>(simd, a, b, [i, j], gradient);
        j += 4;
    }
    while j < b.1 {
        gradient_tile::<S, R, 1>(simd, a, b, [i, j], gradient);
        j += 1;
    }
}

#[inline(always)]
fn gradient_tile<S: Simd, const R: usize, const C: usize>(
    simd: S,
    (a, high): (&[S::f32s], usize),
    (b, wide): (&[S::f32s], usize),
    [i, j]: [usize; 2],
    gradient: &mut [f32],
) {
    let mut sums = [[simd.splat_f32s(0.0); C]; R];
    // By index: a call to an iterator that is not inlined would spill all sums.
    for row in 0..a.len() / high {
        let (a, b) = (&a[row * high + i..][..R], &b[row * wide + j..][..C]);
        for u in 0..R {
            for c in 0..C {
                sums[u][c] = simd.mul_add_e_f32s(a[u], b[c], sums[u][c]);
            }
        }
    }
    for u in 0..R {
        for c in 0..C {
            gradient[(i + u) * wide + j + c] += simd.reduce_sum_f32s(sums[u][c]);
        }
    }
}

/// sums[j] += Σ x[row, j] over rows and lanes.
#[inline(always)]
pub(super) fn add_sums<S: Simd>(simd: S, x: &[S::f32s], sums: &mut [f32]) {
    let cols = sums.len();
    for j in 0..cols {
        let mut sum = simd.splat_f32s(0.0);
        for row in 0..x.len() / cols {
            sum = simd.add_f32s(sum, x[row * cols + j]);
        }
        sums[j] += simd.reduce_sum_f32s(sum);
    }
}
