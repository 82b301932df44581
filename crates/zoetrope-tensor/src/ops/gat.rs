//! Graph attention: a softmax over the in-edges of each vertex, then their weighted sum.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::cpu::dropout::{Dropout, DropoutKey};
use crate::cpu::gat::{self, Gat};
use crate::cuda::gat::{GatCall, GatGradients};
use crate::cuda::{self, View};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::ops::dropout::expect_rate;
use crate::sparse::SparseGroup;
use crate::tape::{Op, Opened, Tape, Var, expect_shape};

/// How a vertex attends over its in-edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatOptions {
    /// The number of heads; the width is divided among them.
    pub heads: usize,
    /// The slope of the leaky relu below 0.
    pub slope: f32,
    /// Whether the sum of both scores is multiplied with the weight of the edge before the leaky
    /// relu (DySAT).
    pub weighted: bool,
    /// Dropout on the attention weights.
    pub dropout: Option<Dropout>,
}

impl GatOptions {
    /// The kernel's numbers for rows of `cols` values.
    fn kernel(self, cols: usize) -> Gat {
        let (heads, slope, weighted) = (self.heads, self.slope, self.weighted);
        Gat { heads, width: cols / heads, slope, weighted }
    }

    /// The dropout of one snapshot of a group: each has its own mask.
    fn dropout_of(self, step: usize) -> Option<Dropout> {
        self.dropout.map(|dropout| {
            let stream = dropout.key.stream ^ ((step as u32) << 16);
            Dropout { key: DropoutKey { stream, ..dropout.key }, ..dropout }
        })
    }
}

/// Where the values of one snapshot of a group lie.
struct Places {
    /// In the features.
    wide_sources: Range<usize>,
    /// In the source scores.
    sources: Range<usize>,
    /// In the result.
    wide_rows: Range<usize>,
    /// In the destination scores.
    rows: Range<usize>,
    /// In what is saved of the entries.
    entries: Range<usize>,
}

impl Places {
    fn of(group: &SparseGroup, cols: usize, heads: usize) -> impl Iterator<Item = Self> + '_ {
        let (mut source, mut row, mut entry) = (0, 0, 0);
        group.members().iter().map(move |member| {
            let (sources, rows) = (source..source + member.cols(), row..row + member.rows());
            let entries = entry..entry + member.entries();
            (source, row, entry) = (sources.end, rows.end, entries.end);
            let times = |range: &Range<usize>, by: usize| range.start * by..range.end * by;
            Self {
                wide_sources: times(&sources, cols),
                sources: times(&sources, heads),
                wide_rows: times(&rows, cols),
                rows: times(&rows, heads),
                entries: times(&entries, heads),
            }
        })
    }
}

impl Tape {
    /// Attention over the edges of a group of snapshots.
    ///
    /// `x` is `T·N × heads·D`, `source` and `destination` are `T·N × heads`; if the matrices are not square,
    /// `x` and `source` have a row for each of their columns. The score of an edge
    /// `c → r` is `leaky_relu(source[c] + destination[r])`; the row `r` of the result is the sum of
    /// the rows `x[c]` weighted by the softmax of the scores over the in-edges of `r`, and 0 if
    /// there is none.
    ///
    /// # Errors
    /// If shapes do not fit the group, the width is not a multiple of the heads, or the dropout
    /// rate is not in `[0, 1)`.
    pub fn gat(
        &mut self,
        group: &SparseGroup,
        x: Var,
        source: Var,
        destination: Var,
        options: GatOptions,
    ) -> Result<Var, TensorError> {
        let sources = self.shape(x);
        let (rows, columns) = (group.len() * group.vertices(), group.columns());
        let shape = Shape::new(rows, sources.cols);
        expect_shape("gat", "the features", Shape::new(columns, shape.cols), sources)?;
        let heads = options.heads;
        if heads == 0 || !shape.cols.is_multiple_of(heads) {
            return Err(TensorError::Argument {
                operator: "gat",
                name: "the number of heads",
                expected: "a divisor of the width",
                got: format!("{heads} for {}", shape.cols),
            });
        }
        if let Some(dropout) = options.dropout {
            expect_rate("gat", dropout.p)?;
        }
        let scores = |rows| Shape::new(rows, heads);
        expect_shape("gat", "the source scores", scores(columns), self.shape(source))?;
        expect_shape("gat", "the destination scores", scores(rows), self.shape(destination))?;
        let mut y = self.pool.take(shape.len());
        let mut saved = self.pool.take(group.entries() * heads);
        let operands = [x, source, destination];
        match self.gpu() {
            None => self.gat_by_member(group, operands, options, &mut y, &mut saved),
            Some(gpu) => {
                let call = self.gat_call(group, operands, options);
                cuda::gat::gat_forward(gpu, &call, y.view_mut(), saved.view_mut());
            }
        }
        let op = Op::Gat { group: group.clone(), x, source, destination, options };
        Ok(self.record(op, shape, y, Some(saved), &operands))
    }

    /// The processor takes one snapshot after another.
    fn gat_by_member(
        &self,
        group: &SparseGroup,
        [x, source, destination]: [Var; 3],
        options: GatOptions,
        y: &mut Buffer,
        saved: &mut Buffer,
    ) {
        let (cols, heads) = (self.shape(x).cols, options.heads);
        for (step, place) in Places::of(group, cols, heads).enumerate() {
            gat::gat_forward(
                options.kernel(cols),
                group.members()[step].csr(),
                &self.value(x)[place.wide_sources],
                &self.value(source)[place.sources],
                &self.value(destination)[place.rows],
                options.dropout_of(step),
                &mut y.as_mut_slice()[place.wide_rows],
                &mut saved.as_mut_slice()[place.entries],
            );
        }
    }

    /// A GPU takes all snapshots together.
    fn gat_call<'a>(
        &'a self,
        group: &'a SparseGroup,
        operands: [Var; 3],
        options: GatOptions,
    ) -> GatCall<'a> {
        let [x, source, destination]: [View<'a>; 3] = operands.map(|operand| self.view(operand));
        let gat = options.kernel(self.shape(operands[0]).cols);
        let dropout = (0..group.len()).map(|step| options.dropout_of(step)).collect();
        GatCall { gat, group, dropout, x, source, destination }
    }

    pub(super) fn gat_backward(&mut self, op: &Op, node: Var, dy: &Buffer) {
        let Op::Gat { ref group, x, source, destination, options } = *op else { unreachable!() };
        let operands = [x, source, destination];
        let mut opened = operands.map(|operand| self.open(operand));
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its weights");
        match self.gpu() {
            None => {
                let saved = saved.as_slice();
                self.gat_back_by_member(
                    group,
                    operands,
                    options,
                    saved,
                    dy.as_slice(),
                    &mut opened,
                );
            }
            Some(gpu) => {
                let call = self.gat_call(group, operands, options);
                let [x, source, destination] =
                    opened.each_mut().map(|one| one.as_mut().map(Opened::view));
                let gradients = GatGradients { x, source, destination };
                let (saved, y) = (saved.view(), self.view(node));
                cuda::gat::gat_backward(gpu, &call, saved, y, dy.view(), gradients);
            }
        }
        self.close(opened);
    }

    fn gat_back_by_member(
        &self,
        group: &SparseGroup,
        [x, source, destination]: [Var; 3],
        options: GatOptions,
        saved: &[f32],
        dy: &[f32],
        [dx, d_source, d_destination]: &mut [Option<Opened>; 3],
    ) {
        let cols = self.shape(x).cols;
        let places = Places::of(group, cols, options.heads);
        for (step, (member, place)) in group.members().iter().zip(places).enumerate() {
            gat::gat_backward(
                options.kernel(cols),
                member.csr(),
                member.transposed_csr(),
                member.edge_of(),
                &self.value(x)[place.wide_sources.clone()],
                &self.value(source)[place.sources.clone()],
                &self.value(destination)[place.rows.clone()],
                options.dropout_of(step),
                &saved[place.entries],
                &dy[place.wide_rows],
                dx.as_mut().map(|d| &mut d.slice()[place.wide_sources]),
                d_source.as_mut().map(|d| &mut d.slice()[place.sources]),
                d_destination.as_mut().map(|d| &mut d.slice()[place.rows]),
            );
        }
    }
}
