//! The backward pass through a single step of many vertices: products of all rows at once.
//!
//! Blocks of vertices keep weights in cache over many steps; with one step there is nothing to
//! keep, and each block would sum a weight gradient of its own (300 × 572 values for the memory
//! of TGN, as much to zero and to join as to compute). Here the gradients of the gates are written
//! as rows, and each gradient is one large product. Gradients that are not wanted cost nothing.
//!
//! Measured with the example `stream` (15 November 2026, one core of a busy two-core AMD EPYC virtual
//! machine with AVX-512, shortest of many runs), 780 vertices, H = 100, 372 constant features and 100
//! with a gradient: 3.7 ms, 84 GFLOP/s; block by block it took 5.0 ms. The products alone would take
//! 3.2 ms at the 97 GFLOP/s of a linear layer of this shape.

use super::{AfterBack, GruCall, GruGradients, GruKind};
use crate::cpu::matmul::{Accumulate, MatMut, MatRef, matmul};
use crate::cpu::recurrent::{Input, InputRows, Layout, sum_features, to_rows};
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch::{self, Scratch};
use crate::cpu::simd::current;

/// Vertices from which on the products are large enough.
const VERTICES: usize = 192;

/// Whether this way is the faster one; depends on shapes only.
pub(super) fn pays(call: &GruCall<&[f32]>) -> bool {
    call.kind == GruKind::ResetAfter
        && call.shape.steps == 1
        && call.shape.vertices >= VERTICES
        && matches!(call.input, Input::Rows(_))
}

/// The gradients of the gates as rows.
struct GateRows {
    /// Of r, z and n before their activation, [N, 3H].
    gates: Scratch,
    /// Of the product h·U_nᵀ + b_n, [N, H].
    product: Scratch,
    /// What reaches the state past the gates, [N, H]; empty if not wanted.
    state: Scratch,
    /// Their sums over vertices but for the last, `[4H]`.
    sums: Scratch,
}

/// Adds the gradients; lengths were checked.
pub(super) fn backward(
    call: &GruCall<&[f32]>,
    saved: &[f32],
    d_out: &[f32],
    gradients: GruGradients<&mut [f32]>,
) {
    let Input::Rows(rows) = call.input else { unreachable!("rows and their weight") };
    let GruGradients { input, h0: d_h0, u: d_u, bias: d_bias } = gradients;
    let (n, h) = (call.shape.vertices, call.shape.hidden);
    let GateRows { gates, product, state, sums } = gates(call, saved, d_out, d_h0.is_some());
    let d_gates = MatRef::new(&gates, n, 3 * h);
    let d_both = MatRef { cols: 2 * h, ..d_gates };
    let d_product = MatRef::new(&product, n, h);
    let InputRows { x, beside, weight, .. } = rows;
    let inner = weight.len() / (3 * h);
    let right = beside.map_or(0, |beside| beside.len() / n);
    let mut d_weight = input.weight;
    let parts =
        [(Some(x), 0..inner - right, input.x), (beside, inner - right..inner, input.beside)];
    for (x, columns, d_x) in parts {
        let Some(x) = x else { continue };
        let width = columns.len();
        if let Some(d_weight) = &mut d_weight {
            let data = &mut d_weight[columns.start..];
            let c = MatMut { data, rows: 3 * h, cols: width, stride: inner };
            matmul(d_gates.t(), MatRef::new(x, n, width), c, Accumulate::Add);
        }
        if let Some((d_x, mode)) = d_x {
            let data = &weight[columns.start..];
            let own = MatRef { data, rows: 3 * h, cols: width, stride: inner, transposed: false };
            matmul(d_gates, own, MatMut::new(d_x, n, width), mode);
        }
    }
    let (u_both, u_candidate) = call.u.split_at(2 * h * h);
    if let Some(d_u) = d_u {
        let h0 = MatRef::new(call.h0, n, h);
        let (both, candidate) = d_u.split_at_mut(2 * h * h);
        matmul(d_both.t(), h0, MatMut::new(both, 2 * h, h), Accumulate::Add);
        matmul(d_product.t(), h0, MatMut::new(candidate, h, h), Accumulate::Add);
    }
    if let Some(d_h0) = d_h0 {
        d_h0.iter_mut().zip(state.iter()).for_each(|(d, passes)| *d += passes);
        let pairs =
            [(d_both, MatRef::new(u_both, 2 * h, h)), (d_product, MatRef::new(u_candidate, h, h))];
        for (d, u) in pairs {
            matmul(d, u, MatMut::new(d_h0, n, h), Accumulate::Add);
        }
    }
    let of_state = sums[..2 * h].iter().chain(&sums[3 * h..]);
    d_bias.into_iter().flatten().zip(of_state).for_each(|(d, sum)| *d += sum);
    input.bias.into_iter().flatten().zip(&sums[..3 * h]).for_each(|(d, sum)| *d += sum);
}

/// Backward pass through the element-wise part, block by block.
#[allow(unsafe_code)]
fn gates(call: &GruCall<&[f32]>, saved: &[f32], d_out: &[f32], with_state: bool) -> GateRows {
    let GruCall { shape, h0, mask, kind, .. } = *call;
    let (n, h, cpu) = (shape.vertices, shape.hidden, current());
    let mut rows = GateRows {
        gates: scratch::take(n * 3 * h),
        product: scratch::take(n * h),
        state: scratch::take(if with_state { n * h } else { 0 }),
        sums: scratch::zeroed(4 * h),
    };
    let outs = [&mut rows.gates, &mut rows.product, &mut rows.state];
    let outs = outs.map(|out| Scattered::new(out));
    shape.sum_over_blocks(&mut rows.sums, |block, sums| {
        let plane = block.plane();
        let lanes = if block.layout == Layout::Lanes { plane } else { 0 };
        let (mut spare, mut turned) = (scratch::take(lanes), scratch::take(lanes));
        let mut spread = scratch::take(if mask.is_some() { plane } else { 0 });
        let (mut gates, mut carry) = (scratch::take(4 * plane), scratch::zeroed(plane));
        let mask = block.mask(mask, 0);
        if let Some(mask) = mask {
            block.spread_mask(mask, &mut spread);
        }
        let (at, len) = block.planes_at(0, kind.planes());
        cpu.run(AfterBack {
            plane,
            saved: &saved[at..at + len],
            state: block.operand(block.of(h0, 0, h), h, &mut turned),
            d_out: block.operand(block.of(d_out, 0, h), h, &mut spare),
            mask: mask.map(|_| &spread[..]),
            carry: &mut carry,
            gates: &mut gates,
        });
        sum_features(cpu, block, &gates, sums);
        let (first, last) = gates.split_at(3 * plane);
        let planes = [(first, 3 * h), (last, h), (&carry[..], h)];
        for ((planes, width), out) in planes.into_iter().zip(outs).take(2 + usize::from(with_state))
        {
            let (at, len) = block.at(0, width);
            // SAFETY: rows of this block's vertices, which no other block touches.
            let rows = unsafe { out.piece(at, len) };
            to_rows(block, planes, rows, Accumulate::Overwrite);
        }
    });
    rows
}
