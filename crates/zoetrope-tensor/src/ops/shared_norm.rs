//! Batch normalisation over the rows of all ranks: each has some of them, the statistics are of all.
//!
//! Forward, ranks tell each other the number, the means and the variances of their rows; backward, the sums
//! that the gradients of means and variances are made of. Both are put together in the order of ranks, in
//! f64: the same bits on every rank. On a GPU these few numbers go through the host, between two parts of a recording
//! if one is made.

use std::fmt::Debug;
use std::sync::Arc;

use super::custom::Place;
use crate::buffer::Buffer;
use crate::cpu::matmul::Accumulate;
use crate::cpu::norm;
use crate::cuda::{self, Sink};
use crate::error::TensorError;
use crate::tape::{Op, Tape, Var, sink};

/// Ranks that compute something together, as an operator sees them.
pub trait TogetherWith: Debug + Send + Sync {
    /// The numbers of all ranks behind each other, in the order of ranks; all have as many. Zeros if a rank
    /// is lost, which whoever drives the computation asks for between two steps.
    fn all_gather(&self, own: &[f32]) -> Vec<f32>;
}

/// Who else has rows of a batch.
#[derive(Debug, Clone)]
pub struct SharedRows {
    /// The ranks.
    pub ranks: Arc<dyn TogetherWith>,
    /// The rows of all of them.
    pub rows: usize,
}

impl Tape {
    /// [`Tape::batch_norm`] with the statistics of the rows of all ranks that share a batch. All of them call
    /// it, and take part in its backward pass.
    ///
    /// # Errors
    /// If scale or shift are not one row as wide as `x`.
    pub fn shared_batch_norm(
        &mut self,
        x: Var,
        [scale, shift]: [Var; 2],
        epsilon: f32,
        shared: SharedRows,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        self.expect_affine("batch_norm", shape, scale, shift)?;
        let (rows, cols) = (shape.rows, shape.cols);
        let mut saved = self.pool.take(2 * cols);
        match self.gpu() {
            None => {
                let (mut mean, mut inverse) = lone(cols, epsilon);
                if rows > 0 {
                    let x = self.value(x);
                    norm::batch_statistics(x, rows, cols, epsilon, &mut mean, &mut inverse);
                }
                let found = of_all(&shared, rows, [&mean, &inverse], epsilon);
                saved.write(&found);
            }
            Some(gpu) => {
                let mut found = gpu.take(2 * cols);
                if rows > 0 {
                    let x = self.view(x);
                    cuda::norm::batch_statistics(gpu, x, rows, cols, epsilon, found.view_mut());
                }
                let (own, place) = (Place::of(found.view()), Place::of(saved.view()));
                let ranks = shared.clone();
                gpu.repeatedly(move |gpu| {
                    let (mut mean, mut inverse) = lone(cols, epsilon);
                    if rows > 0 {
                        let both = own.read(gpu);
                        mean.copy_from_slice(&both[..cols]);
                        inverse.copy_from_slice(&both[cols..]);
                    }
                    let found = of_all(&ranks, rows, [&mean, &inverse], epsilon);
                    gpu.upload(&found, place.view_mut());
                });
            }
        }
        let op = Op::BatchNorm { x, scale, shift, fixed: false, shared: Some(shared) };
        Ok(self.record_norm(op, shape, saved))
    }

    /// The backward pass of [`Tape::shared_batch_norm`].
    pub(super) fn shared_batch_norm_backward(
        &mut self,
        node: Var,
        [x, scale, shift]: [Var; 3],
        shared: &SharedRows,
        dy: &Buffer,
    ) {
        let (rows, cols) = (self.shape(x).rows, self.shape(x).cols);
        let mut dx = self.open_to_overwrite(x);
        let mut d_scale = self.open(scale);
        let mut d_shift = self.open(shift);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its statistics");
        // Σ dy and Σ dy·x̂ of the own rows. The gradients of scale and shift are of these: those of all parameters are
        // added up later.
        let rows_of_all = shared.rows;
        match self.gpu() {
            None => {
                let (mean, inverse) = saved.as_slice().split_at(cols);
                let (x_values, weight) = (self.value(x), Some(self.value(scale)));
                let mut own = vec![0.0; 2 * cols];
                if rows > 0 {
                    let (plain, scaled) = own.split_at_mut(cols);
                    let (dy, mode, found) = (dy.as_slice(), Accumulate::Add, [plain, scaled]);
                    let [plain, scaled] = found.map(Some);
                    norm::batch_norm_backward(
                        x_values, cols, mean, inverse, weight, dy, None, mode, scaled, plain,
                    );
                }
                let sums = added(&shared.ranks.all_gather(&own), 2 * cols);
                for (opened, own) in [(&mut d_shift, &own[..cols]), (&mut d_scale, &own[cols..])] {
                    let Some(opened) = opened else { continue };
                    crate::cpu::elementwise::scale_add(1.0, own, opened.slice());
                }
                if let Some(dx) = dx.as_mut().filter(|_| rows > 0) {
                    let (plain, scaled) = sums.split_at(cols);
                    let mode = dx.mode;
                    norm::batch_norm_input_gradient(
                        x_values,
                        cols,
                        [mean, inverse],
                        weight,
                        dy.as_slice(),
                        [plain, scaled],
                        rows_of_all,
                        dx.slice(),
                        mode,
                    );
                }
            }
            Some(gpu) => {
                let mut own = gpu.take(2 * cols);
                gpu.zero(own.view_mut());
                let (x, scale, dy, saved) =
                    (self.view(x), self.view(scale), dy.view(), saved.view());
                if rows > 0 {
                    let (plain, scaled) = own.view_mut().split_at(cols);
                    let none = Sink { place: None, mode: Accumulate::Add };
                    let sums = [Some(scaled), Some(plain)];
                    cuda::norm::batch_norm_backward(
                        gpu, x, cols, saved, false, scale, dy, none, sums,
                    );
                }
                for (opened, from) in [(&mut d_shift, 0), (&mut d_scale, cols)] {
                    let Some(opened) = opened else { continue };
                    let own = own.view().slice(from..from + cols);
                    cuda::elementwise::scale_add(gpu, 1.0, own, opened.view());
                }
                let factors = gpu.take(3 * cols);
                let [sums, inverse, weight, place] =
                    [own.view(), saved.slice(cols..2 * cols), scale, factors.view()].map(Place::of);
                let ranks = Arc::clone(&shared.ranks);
                gpu.repeatedly(move |gpu| {
                    let sums = added(&ranks.all_gather(&sums.read(gpu)), 2 * cols);
                    let (plain, scaled) = sums.split_at(cols);
                    let (inverse, weight) = (inverse.read(gpu), weight.read(gpu));
                    let (sums, mut found) = ([plain, scaled], vec![0.0; 3 * cols]);
                    let (weight, rows) = (Some(&weight[..]), rows_of_all);
                    norm::input_gradient_factors(&inverse, weight, sums, rows, &mut found);
                    gpu.upload(&found, place.view_mut());
                });
                if rows > 0 && dx.is_some() {
                    let (factors, dx) = (factors.view(), sink(&mut dx));
                    cuda::norm::batch_norm_input_gradient(gpu, x, cols, saved, factors, dy, dx);
                }
            }
        }
        self.close([dx, d_scale, d_shift]);
    }
}

/// Mean and inverse deviation of each column of no rows.
fn lone(cols: usize, epsilon: f32) -> (Vec<f32>, Vec<f32>) {
    (vec![0.0; cols], vec![1.0 / epsilon.sqrt(); cols])
}

/// Means and inverse deviations of all rows, from those of the own ones.
fn of_all(
    shared: &SharedRows,
    rows: usize,
    [mean, inverse]: [&[f32]; 2],
    epsilon: f32,
) -> Vec<f32> {
    let mut own = vec![rows as f32];
    own.extend_from_slice(mean);
    own.extend(inverse.iter().map(|inverse| 1.0 / (inverse * inverse) - epsilon));
    joined(&shared.ranks.all_gather(&own), mean.len(), epsilon)
}

/// Means and inverse deviations of all rows, from `[rows, means, variances]` of each rank.
fn joined(all: &[f32], cols: usize, epsilon: f32) -> Vec<f32> {
    let ranks = || all.chunks_exact(1 + 2 * cols);
    let rows: f64 = ranks().map(|one| f64::from(one[0])).sum::<f64>().max(1.0);
    let mut joined = vec![0.0; 2 * cols];
    let (means, inverses) = joined.split_at_mut(cols);
    for (column, (place, inverse)) in means.iter_mut().zip(inverses).enumerate() {
        let weighed = |one: &[f32]| f64::from(one[0]) * f64::from(one[1 + column]);
        let mean = ranks().map(weighed).sum::<f64>() / rows;
        let square = |one: &[f32]| {
            let (own, variance) = (f64::from(one[1 + column]), f64::from(one[1 + cols + column]));
            f64::from(one[0]) * (variance.max(0.0) + (own - mean) * (own - mean))
        };
        let variance = ranks().map(square).sum::<f64>() / rows;
        *place = mean as f32;
        *inverse = (1.0 / (variance + f64::from(epsilon)).sqrt()) as f32;
    }
    joined
}

/// The sums of the numbers of all ranks.
fn added(all: &[f32], count: usize) -> Vec<f32> {
    let sum = |at: usize| all.chunks_exact(count.max(1)).map(|one| f64::from(one[at])).sum::<f64>();
    (0..count).map(|at| sum(at) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank that shares a batch with others whose numbers are known.
    #[derive(Debug)]
    struct With(Vec<f32>);

    impl TogetherWith for With {
        fn all_gather(&self, own: &[f32]) -> Vec<f32> {
            [own, &self.0].concat()
        }
    }

    #[test]
    fn means_and_variances_of_parts_are_those_of_the_whole() {
        let whole = [[1.0f64, -2.0], [3.0, 5.0], [4.0, 0.5], [-7.0, 2.0], [0.0, 9.0]];
        let part = |rows: &[[f64; 2]]| {
            let mean = |c: usize| rows.iter().map(|row| row[c]).sum::<f64>() / rows.len() as f64;
            let square = |c: usize| {
                let all = rows.iter().map(|row| (row[c] - mean(c)).powi(2)).sum::<f64>();
                all / rows.len() as f64
            };
            let all = [rows.len() as f64, mean(0), mean(1), square(0), square(1)];
            all.map(|one| one as f32)
        };
        let all = [part(&whole[..2]), [0.0, 0.0, 0.0, 0.0, 0.0], part(&whole[2..])].concat();
        let found = joined(&all, 2, 1e-5);
        let expected = part(&whole);
        for column in 0..2 {
            assert!((found[column] - expected[1 + column]).abs() < 1e-6, "{found:?}");
            let inverse = 1.0 / (expected[3 + column] + 1e-5).sqrt();
            assert!((found[2 + column] - inverse).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn a_batch_that_nobody_else_has_rows_of_is_normalised_as_one() {
        let values: Vec<f32> = (0..12).map(|at| ((at * 7 % 11) as f32).sin()).collect();
        let run = |shared: bool| {
            let mut tape = Tape::new();
            let x = tape.variable(4, 3, &values).unwrap();
            let scale = tape.variable(1, 3, &[1.5, -0.5, 2.0]).unwrap();
            let shift = tape.variable(1, 3, &[0.1, 0.2, 0.3]).unwrap();
            let y = if shared {
                let ranks: Arc<dyn TogetherWith> = Arc::new(With(Vec::new()));
                let rows = SharedRows { ranks, rows: 4 };
                tape.shared_batch_norm(x, [scale, shift], 1e-5, rows).unwrap()
            } else {
                tape.batch_norm(x, scale, shift, 1e-5).unwrap()
            };
            let value = tape.value(y).to_vec();
            let seed: Vec<f32> = (0..12).map(|at| (at as f32 * 0.37).cos()).collect();
            tape.backward_from(y, &seed).unwrap();
            let of = |var| tape.gradient(var).unwrap().to_vec();
            [value, of(x), of(scale), of(shift)].concat()
        };
        for (one, other) in run(false).iter().zip(run(true)) {
            assert!((one - other).abs() < 1e-5, "{one} became {other}");
        }
    }
}
