//! Attention of targets over sampled neighbours, aggregated before it is projected.
//!
//! ```text
//! x_j = [rows[source_j] | features[event_j] | cos(w·Δt_j + b) | 1]   for the slot j, X wide
//! s(j, h) = activation(scale · q_h·x_j)      q: the queries' row of the slot's target, per head
//! α = softmax of s over the slots of a target       out[target, h] = Σ α(j, h)·x_j
//! ```
//!
//! The activation is a leaky relu or none. Dropout on α is by counter (slot · heads + head).
//! Targets without slots give zeros. Keys and values that are linear in x need no more than this:
//! their weights are applied to queries and results, never to slots.
//!
//! The slots of one target are put side by side in a tile that the first-level cache holds
//! (ten slots of 373 values: 15 KiB); scores and sums are small dense products with it. No matrix
//! of all slots exists. What is saved is α before dropout [slots, heads]; its sign says whether
//! the score was negative, if there is a leaky relu. Time encodings are made again in the backward
//! pass: their sines are needed there as well, and both come from one range reduction.
//!
//! Backward pass: over queries with their targets (gradients of queries and of the time encoder; ᾱ
//! after dropout and the slopes of scores are left in a table), then over rows with the slots
//! that read them (gradients of rows). Each output is written by one thread in a fixed order; the
//! time encoder's gradients are summed in at most `BLOCKS` blocks of queries, whose boundaries
//! follow from the layout, and joined in order. Features get no gradient.
//!
//! Measured with the example `stream` (15 November 2026, one core of a busy two-core AMD EPYC virtual
//! machine with AVX-512, shortest of many runs), 600 targets, 5,000 slots, two heads, X = 373: 0.75 ms
//! forward and 1.31 ms backward. The multiply-adds would take 0.14 and 0.22 ms at one vector a cycle,
//! the time encodings 0.17 and 0.34 ms; most of the rest is waiting for the third-level cache, from
//! which 1.1 KiB a slot come in each pass, beside the queries and the results.

mod backward;
mod dense;
mod forward;
mod sources;
mod tile;
mod time;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::blocks::{ELEMENTS, for_each_block};
use super::dropout::{Dropout, Mask};
use super::matmul::Accumulate;
use super::scattered::Scattered;
use super::scratch::{self, Scratch};
use super::simd::current;
use super::sparse_rows::{SplitOutput, for_each_range};
use super::spmm::CsrRef;
use super::time_encoding::{Turns, subtract};
use crate::neighbourhood::Neighbourhood;
use backward::Queries;
use forward::Forward;
use sources::{Readers, Sources};
use tile::Columns;

/// Slots and targets of a block of the forward pass: some ten microseconds.
const BLOCK: usize = 96;
/// Blocks of queries in the backward pass.
const BLOCKS: usize = 64;
/// Slots below which a block of queries is not cut.
const SLOTS: usize = 48;
/// Slots and rows of a block of the gradients of rows.
const READERS: usize = 256;

/// Operands and options of an attention over neighbours.
#[derive(Debug, Clone, Copy)]
pub struct NeighbourCall<'a> {
    /// Who attends to what.
    pub layout: &'a Neighbourhood,
    /// Number of heads.
    pub heads: usize,
    /// Factor of the scores.
    pub scale: f32,
    /// Slope of the leaky relu below 0.
    pub slope: Option<f32>,
    /// Dropout on α.
    pub dropout: Option<Dropout>,
    /// [queries, heads·X].
    pub queries: &'a [f32],
    /// [sources, width], and the width; 0 for none.
    pub rows: (&'a [f32], usize),
    /// [events, width], and the width; 0 for none.
    pub features: (&'a [f32], usize),
    /// Weight and bias of the time encoding.
    pub time: Option<[&'a [f32]; 2]>,
    /// The time difference of each slot.
    pub deltas: &'a [f64],
}

impl NeighbourCall<'_> {
    fn time_width(&self) -> usize {
        self.time.map_or(0, |[weight, _]| weight.len())
    }

    /// X.
    fn width(&self) -> usize {
        self.rows.1 + self.features.1 + self.time_width() + 1
    }

    fn slots(&self, target: usize) -> std::ops::Range<usize> {
        self.layout.offsets[target] as usize..self.layout.offsets[target + 1] as usize
    }

    /// The targets that ask with a query.
    fn targets_of(&self, query: usize) -> &[u32] {
        let offsets = &self.layout.targets_of_query_offsets;
        &self.layout.targets_of_query[offsets[query] as usize..offsets[query + 1] as usize]
    }

    /// Where the parts of x are.
    fn columns(&self) -> Columns {
        Columns::new([self.rows.1, self.features.1, self.time_width() + 1])
    }

    fn turns(&self) -> Option<Turns> {
        let room = self.columns().time_room();
        self.time.map(|[weight, bias]| Turns::new(weight, bias, room))
    }

    /// The factors of dropout for all slots and heads.
    fn factors(&self) -> Option<Scratch> {
        let mask = Mask::from(self.dropout?);
        let mut factors = scratch::take(self.layout.slots() * self.heads);
        let cpu = current();
        for_each_block(&mut factors, ELEMENTS / 4, |i, factors| {
            cpu.run(Factors { mask, first: (i * ELEMENTS / 4) as u64, factors });
        });
        Some(factors)
    }

    fn check(&self) {
        let slots = self.layout.slots();
        assert!(self.heads > 0, "at least one head");
        assert_eq!(self.layout.query.len(), self.layout.targets(), "one query per target");
        assert!(self.time.is_none() || self.deltas.len() == slots, "one difference per slot");
        assert!(self.features.1 == 0 || self.layout.event.len() == slots, "one event per slot");
    }
}

/// A block of the factors of dropout.
struct Factors<'a> {
    mask: Mask,
    first: u64,
    factors: &'a mut [f32],
}

impl WithSimd for Factors<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.mask.fill(simd, self.first, self.factors);
    }
}

/// Writes `out` [targets, heads·X] and `alpha` [slots, heads].
///
/// # Panics
///
/// When a length does not fit or a position lies outside its matrix.
pub fn neighbour_attention_forward(call: &NeighbourCall, out: &mut [f32], alpha: &mut [f32]) {
    call.check();
    let (layout, wide) = (call.layout, call.heads * call.width());
    assert_eq!(out.len(), layout.targets() * wide, "one row of results per target");
    assert_eq!(alpha.len(), layout.slots() * call.heads, "one weight per slot and head");
    let (turns, factors) = (call.turns(), call.factors());
    let (turns, factors) = (turns.as_ref(), factors.as_deref());
    let cpu = current();
    let slots = CsrRef {
        rows: layout.targets(),
        offsets: &layout.offsets,
        columns: &layout.source,
        values: &[],
    };
    let parts = [
        SplitOutput::rows(out, wide),
        SplitOutput::entries(alpha, call.heads),
        SplitOutput::none(),
    ];
    for_each_range(slots, BLOCK, parts, &|from, to, [out, alpha, _]| {
        let (out, alpha) = (out.data, alpha.data);
        cpu.run(Forward { call, turns, factors, from, to, out, alpha });
    });
}

/// Where the gradients of an attention over neighbours go; what is not wanted is None.
#[derive(Debug, Default)]
pub struct NeighbourGradients<'a> {
    /// Of the queries; replaced or added to.
    pub queries: Option<(&'a mut [f32], Accumulate)>,
    /// Of the rows; replaced or added to.
    pub rows: Option<(&'a mut [f32], Accumulate)>,
    /// Of the time encoder's weight; added to.
    pub weight: Option<&'a mut [f32]>,
    /// Of the time encoder's bias; added to.
    pub bias: Option<&'a mut [f32]>,
}

/// The gradients of [`neighbour_attention_forward`].
///
/// # Panics
///
/// When a length does not fit, or the layout was not indexed.
pub fn neighbour_attention_backward(
    call: &NeighbourCall,
    alpha: &[f32],
    d_out: &[f32],
    gradients: NeighbourGradients,
) {
    call.check();
    let (layout, heads) = (call.layout, call.heads);
    let wide = heads * call.width();
    assert_eq!(d_out.len(), layout.targets() * wide, "gradient of the result");
    assert_eq!(alpha.len(), layout.slots() * heads, "one weight per slot and head");
    if let Some((d, _)) = &gradients.queries {
        assert_eq!(d.len(), call.queries.len(), "gradient of the queries");
    }
    let queries = call.queries.len() / wide;
    assert_inverted(layout, queries);
    let (turns, factors) = (call.turns(), call.factors());
    let with_time = gradients.weight.is_some() || gradients.bias.is_some();
    let (time_width, columns) = (call.time_width(), call.columns());
    let room = if with_time { columns.time_room() } else { 0 };
    let (blocks, bounds) = cut(layout, queries);
    // For each slot ᾱ of all heads, then the slopes of the scores of all heads.
    let mut terms = scratch::take(2 * alpha.len());
    let mut parts = scratch::zeroed(blocks * 2 * room);
    {
        let cpu = current();
        let (wanted, d_queries, mode) = match gradients.queries {
            Some((d, mode)) => (true, Scattered::new(d), mode),
            None => (false, Scattered::new(&mut []), Accumulate::Add),
        };
        let (terms, parts) = (Scattered::new(&mut terms), Scattered::new(&mut parts));
        let (turns, factors) = (turns.as_ref(), factors.as_deref());
        (0..blocks).into_par_iter().for_each(|block| {
            let (from, to) = (bounds[block] as usize, bounds[block + 1] as usize);
            let rows = if wanted { from * wide..to * wide } else { 0..0 };
            // SAFETY: blocks are ranges of queries that do not overlap.
            #[allow(unsafe_code)]
            let d_queries = unsafe { d_queries.piece(rows.start, rows.len()) };
            // SAFETY: one piece per block.
            #[allow(unsafe_code)]
            let part = unsafe { parts.piece(block * 2 * room, 2 * room) };
            let d_queries = wanted.then_some(d_queries);
            cpu.run(Queries {
                call,
                turns,
                factors,
                alpha,
                d_out,
                from,
                to,
                d_queries,
                mode,
                terms,
                part,
            });
        });
    }
    if !parts.is_empty() {
        let (whole, rest) = parts.split_at_mut(2 * room);
        for part in rest.chunks_exact(2 * room) {
            whole.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        subtract(gradients.weight, &whole[..time_width]);
        subtract(gradients.bias, &whole[room..room + time_width]);
    }
    if let Some((d_rows, mode)) = gradients.rows {
        rows_backward(call, &terms, d_out, d_rows, mode);
    }
}

fn rows_backward(
    call: &NeighbourCall,
    terms: &[f32],
    d_out: &[f32],
    d_rows: &mut [f32],
    mode: Accumulate,
) {
    let (rows, width) = call.rows;
    if width == 0 || rows.is_empty() {
        return;
    }
    let slots = CsrRef {
        rows: rows.len() / width,
        offsets: &call.layout.slots_of_source_offsets,
        columns: &call.layout.slots_of_source,
        values: &[],
    };
    assert_eq!(d_rows.len(), rows.len(), "gradient of the rows");
    assert_eq!(slots.offsets.len(), slots.rows + 1, "a layout indexed for these rows");
    assert_eq!(call.layout.target_of_slot.len(), call.layout.slots(), "a layout indexed");
    let cpu = current();
    let parts = [SplitOutput::rows(d_rows, width), SplitOutput::none(), SplitOutput::none()];
    let readers = Readers { call, slots, terms, d_out, mode };
    for_each_range(slots, READERS, parts, &|from, to, [d_rows, _, _]| {
        cpu.run(Sources { readers, from, to, d_rows: d_rows.data });
    });
}

/// Requires that each target is listed once, under its query: threads rely on it.
fn assert_inverted(layout: &Neighbourhood, queries: usize) {
    let (offsets, targets) = (&layout.targets_of_query_offsets, &layout.targets_of_query);
    assert_eq!(offsets.len(), queries + 1, "a layout indexed for these queries");
    assert_eq!(targets.len(), layout.targets(), "a layout indexed for these targets");
    assert_eq!(offsets[queries] as usize, targets.len(), "the last offset");
    for query in 0..queries {
        let own = &targets[offsets[query] as usize..offsets[query + 1] as usize];
        let listed = own.iter().all(|&target| layout.query[target as usize] as usize == query);
        assert!(listed && own.is_sorted_by(|a, b| a < b), "the targets of query {query}");
    }
}

/// Cuts the queries into at most `BLOCKS` blocks of about as many slots each.
fn cut(layout: &Neighbourhood, queries: usize) -> (usize, [u32; BLOCKS + 1]) {
    let enough = layout.slots().div_ceil(BLOCKS).max(SLOTS);
    let mut bounds = [0u32; BLOCKS + 1];
    let (mut blocks, mut slots) = (0, 0);
    for query in 0..queries {
        let own = layout.targets_of_query_offsets[query] as usize
            ..layout.targets_of_query_offsets[query + 1] as usize;
        for &target in &layout.targets_of_query[own] {
            let target = target as usize;
            slots += (layout.offsets[target + 1] - layout.offsets[target]) as usize;
        }
        if (slots >= enough && blocks + 1 < BLOCKS) || query + 1 == queries {
            blocks += 1;
            bounds[blocks] = query as u32 + 1;
            slots = 0;
        }
    }
    (blocks, bounds)
}

#[cfg(test)]
mod tests;
