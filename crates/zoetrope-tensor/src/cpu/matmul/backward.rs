//! The gradients of a linear layer that no cache holds, block by block of its rows.
//!
//! One after the other, the derivative of the activation, the gradients of the input, of the weight and of the
//! bias read and write eight or nine matrices of as many rows as the layer has. Block by block it is four:
//! the input, the result, its gradient, and the gradient of the input.

use rayon::prelude::*;

use super::{Accumulate, MatMut, MatRef, matmul};
use crate::cpu::activation::{self, Activation};
use crate::cpu::{reduce, scratch};

/// Elements of a block's gradient: 128 KiB, beside which a core's cache has room for the others.
const BLOCK: usize = 32 * 1024;
/// Parts that sums over rows are made of, added in order.
const PARTS: usize = 64;

/// `y = activation(x · weightᵀ + bias)`.
#[derive(Debug)]
pub(crate) struct LargeLayer<'a> {
    /// `rows × in`.
    pub(crate) x: MatRef<'a>,
    /// `out × in`.
    pub(crate) weight: MatRef<'a>,
    /// `rows × out`.
    pub(crate) y: &'a [f32],
    pub(crate) activation: Activation,
}

/// Where a gradient goes, and whether what is there counts.
type Target<'a> = (Accumulate, &'a mut [f32]);

impl LargeLayer<'_> {
    /// Writes or adds the gradients that are wanted, given that of `y`; that of the bias is added.
    pub(crate) fn backward(
        &self,
        dy: &[f32],
        dx: Option<Target<'_>>,
        dw: Option<Target<'_>>,
        db: Option<&mut [f32]>,
    ) {
        let (rows, ins, outs) = (self.x.rows, self.weight.cols, self.weight.rows);
        let block = (BLOCK / outs.max(ins)).max(64);
        let per_part = rows.div_ceil(block).div_ceil(PARTS) * block;
        let parts = rows.div_ceil(per_part);
        let (mode, mut dx) =
            dx.map_or((Accumulate::Overwrite, None), |(mode, dx)| (mode, Some(dx)));
        let rows_of = |part: usize| part * per_part..rows.min((part + 1) * per_part);
        let dx_of = |part: usize| {
            let (own, rest) = dx.take()?.split_at_mut(rows_of(part).len() * ins);
            dx = Some(rest);
            Some(own)
        };
        let dx_parts: Vec<Option<&mut [f32]>> = (0..parts).map(dx_of).collect();
        let wanted = [dw.is_some(), db.is_some()];
        let mut sums = scratch::zeroed(parts * (outs * ins + outs));
        let both = sums.par_chunks_mut(outs * ins + outs).zip(dx_parts).enumerate();
        both.for_each(|(part, (sums, mut dx))| {
            let (dw, db) = sums.split_at_mut(outs * ins);
            let all = rows_of(part);
            for from in all.clone().step_by(block) {
                let own = from..all.end.min(from + block);
                let here = from - all.start..own.end - all.start;
                let dx = dx.as_mut().map(|dx| &mut dx[here.start * ins..here.end * ins]);
                self.block(
                    dy,
                    own,
                    dx.map(|dx| (mode, dx)),
                    wanted[0].then_some(&mut *dw),
                    wanted[1].then_some(&mut *db),
                );
            }
        });
        let parts = || sums.chunks_exact(outs * ins + outs).map(|part| part.split_at(outs * ins));
        if let Some((mode, dw)) = dw {
            if mode == Accumulate::Overwrite {
                dw.fill(0.0);
            }
            parts().for_each(|(part, _)| add(part, dw));
        }
        if let Some(db) = db {
            parts().for_each(|(_, part)| add(part, db));
        }
    }

    /// The gradients of some rows; those of weight and bias are added.
    fn block(
        &self,
        dy: &[f32],
        rows: std::ops::Range<usize>,
        dx: Option<Target<'_>>,
        dw: Option<&mut [f32]>,
        db: Option<&mut [f32]>,
    ) {
        let (ins, outs, count) = (self.weight.cols, self.weight.rows, rows.len());
        let of = |width: usize| rows.start * width..rows.end * width;
        let mut kept = None;
        let dz: &[f32] = match self.activation {
            Activation::Identity => &dy[of(outs)],
            activation => {
                let dz = kept.insert(scratch::take(count * outs));
                let (y, dy) = (&self.y[of(outs)], &dy[of(outs)]);
                activation::backward(activation, y, dy, dz, Accumulate::Overwrite);
                dz
            }
        };
        let gradient = MatRef::new(dz, count, outs);
        if let Some((mode, dx)) = dx {
            matmul(gradient, self.weight, MatMut::new(dx, count, ins), mode);
        }
        if let Some(dw) = dw {
            let x = MatRef::new(&self.x.data[of(ins)], count, ins);
            matmul(gradient.t(), x, MatMut::new(dw, outs, ins), Accumulate::Add);
        }
        if let Some(db) = db {
            reduce::column_sums(dz, count, outs, db);
        }
    }
}

fn add(part: &[f32], sum: &mut [f32]) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against one operator after the other; rows that are no multiple of a block.
    #[test]
    fn blocks_give_what_the_whole_gives() {
        let (rows, ins, outs) = (5_003, 5, 16);
        let values = |count: usize, step: f32| -> Vec<f32> {
            (0..count).map(|at| ((at as f32 * step).sin() * 8.0).round() / 8.0).collect()
        };
        let (x, weight) = (values(rows * ins, 0.7), values(outs * ins, 1.3));
        let (y, dy) = (values(rows * outs, 0.9), values(rows * outs, 0.31));
        for (activation, mode) in
            [(Activation::Relu, Accumulate::Add), (Activation::Identity, Accumulate::Overwrite)]
        {
            let (x, weight) = (MatRef::new(&x, rows, ins), MatRef::new(&weight, outs, ins));
            let start = || [vec![1.0; rows * ins], vec![2.0; outs * ins], vec![3.0; outs]];
            let [mut dx, mut dw, mut db] = start();
            let layer = LargeLayer { x, weight, y: &y, activation };
            layer.backward(&dy, Some((mode, &mut dx)), Some((mode, &mut dw)), Some(&mut db));
            let [mut dx1, mut dw1, mut db1] = start();
            let mut dz = vec![0.0; rows * outs];
            activation::backward(activation, &y, &dy, &mut dz, Accumulate::Overwrite);
            let gradient = MatRef::new(&dz, rows, outs);
            matmul(gradient, weight, MatMut::new(&mut dx1, rows, ins), mode);
            matmul(gradient.t(), x, MatMut::new(&mut dw1, outs, ins), mode);
            reduce::column_sums(&dz, rows, outs, &mut db1);
            // Eighths of eighths: every sum is exact.
            assert_eq!((dx, &dw, db), (dx1, &dw1, db1));
            let mut alone = vec![2.0; outs * ins];
            layer.backward(&dy, None, Some((mode, &mut alone)), None);
            assert_eq!(alone, dw1);
        }
    }
}
