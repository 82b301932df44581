//! Rows by lists of positions: copied and added.
//!
//! Plain loops in one thread: a row is moved once, by the rank's own thread, and ranks are what is
//! parallel. Lists are checked when a plan is made.

/// Row `i` of `y` is row `list[i]` of `x`.
pub(super) fn gather(x: &[f32], cols: usize, list: &[u32], y: &mut [f32]) {
    if cols == 0 {
        return;
    }
    for (y, &row) in y.chunks_exact_mut(cols).zip(list) {
        y.copy_from_slice(at(x, cols, row));
    }
}

/// Row `list[i]` of `y` is row `i` of `x`.
pub(super) fn scatter(x: &[f32], cols: usize, list: &[u32], y: &mut [f32]) {
    for (x, &row) in x.chunks_exact(cols.max(1)).zip(list) {
        at_mut(y, cols, row).copy_from_slice(x);
    }
}

/// Row `to[i]` of `y` is row `from[i]` of `x`.
pub(super) fn copy(x: &[f32], cols: usize, from: &[u32], to: &[u32], y: &mut [f32]) {
    for (&from, &to) in from.iter().zip(to) {
        at_mut(y, cols, to).copy_from_slice(at(x, cols, from));
    }
}

/// Adds row `i` of `x` to row `list[i]` of `y`.
pub(super) fn scatter_add(x: &[f32], cols: usize, list: &[u32], y: &mut [f32]) {
    for (x, &row) in x.chunks_exact(cols.max(1)).zip(list) {
        add(x, at_mut(y, cols, row));
    }
}

/// Adds row `from[i]` of `x` to row `to[i]` of `y`.
pub(super) fn add_from(x: &[f32], cols: usize, from: &[u32], to: &[u32], y: &mut [f32]) {
    for (&from, &to) in from.iter().zip(to) {
        add(at(x, cols, from), at_mut(y, cols, to));
    }
}

fn add(x: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
}

fn at(x: &[f32], cols: usize, row: u32) -> &[f32] {
    &x[row as usize * cols..][..cols]
}

fn at_mut(y: &mut [f32], cols: usize, row: u32) -> &mut [f32] {
    &mut y[row as usize * cols..][..cols]
}
