//! The reverse-mode tape: it records what is computed, in order, and runs the backward pass over it.
//!
//! Operators append nodes; [`Tape::backward`] walks them in reverse. Values live in blocks of a
//! [`Pool`], so a step that repeats the shapes of the step before allocates nothing. During the
//! backward pass, blocks of values and gradients return to the pool as soon as they are no longer needed:
//! read what you want to keep before calling it.
//!
//! A row range and a reshape are aliases: they own no block, and gradients of their readers go
//! straight into the gradient of the matrix they look at.
//!
//! A tape computes on one device; everything on it lives there. The tape knows no model. Operators
//! are in [`ops`](crate::ops).

mod backward;
mod gradient;
mod kept;
mod node;
mod operations;
mod pieces;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::buffer::Buffer;
use crate::cuda::{Gpu, ParameterBlock, Steps, View};
use crate::device::Device;
use crate::error::TensorError;
use crate::matrix::{Matrix, Shape};
use crate::pool::Pool;

pub use backward::Seed;
pub(crate) use gradient::{Gradient, Opened, sink};
pub use kept::Kept;
pub(crate) use node::{List, Node, Op, Value};
pub use operations::{Family, Floor, Operation};
pub use pieces::Piece;

/// A matrix on a tape. Valid until the tape is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var {
    pub(crate) index: u32,
    generation: u32,
}

/// A place in a recording, to come back to.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    nodes: usize,
    lists: usize,
    ranges: usize,
    generation: u32,
}

/// A record of computations with the blocks they live in.
#[derive(Debug, Default)]
pub struct Tape {
    pub(crate) nodes: Vec<Node>,
    pub(crate) pool: Pool,
    pub(crate) gradients: Vec<Gradient>,
    lists: Vec<Var>,
    ranges: Vec<(Var, Range<usize>)>,
    parameters: Vec<Option<Var>>,
    bound: Option<Arc<ParameterBlock>>,
    /// Gradients of parameters that the next backward pass adds to.
    lent: Vec<(usize, Buffer)>,
    /// Where constants of a device are written before they are copied up.
    staged: Vec<f32>,
    generation: u32,
    /// Whether there will be no backward pass: parameters are constants, and nothing is saved for gradients.
    forgetful: bool,
    /// The piece of a sequence that is recorded.
    pub(crate) piece: Option<Piece>,
    pub(crate) left: pieces::Left,
}

impl Tape {
    /// An empty tape of the processor.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty tape of a device.
    pub fn on(device: Device) -> Self {
        Self { pool: Pool::on(device), ..Self::default() }
    }

    /// Where the tape computes.
    pub fn device(&self) -> &Device {
        self.pool.device()
    }

    /// The GPU that the tape computes on, if it does.
    pub(crate) fn gpu(&self) -> Option<&Gpu> {
        self.device().gpu()
    }

    /// Says whether there will be a backward pass through what is recorded from now on. Without one parameters
    /// are constants, and operators need not save anything for gradients. At first there will be.
    pub fn keep_history(&mut self, keeps: bool) {
        self.forgetful = !keeps;
    }

    /// Forgets everything recorded and keeps the blocks for the next step.
    pub fn reset(&mut self) {
        for node in self.nodes.drain(..) {
            if let Some(buffer) = node.value.into_block() {
                self.pool.give(buffer);
            }
            if let Some(buffer) = node.saved {
                self.pool.give(buffer);
            }
        }
        for gradient in self.gradients.drain(..) {
            if let Gradient::Held(buffer) | Gradient::Part(buffer, _) = gradient {
                self.pool.give(buffer);
            }
        }
        self.left.drain().for_each(|block| self.pool.give(block));
        self.piece = None;
        self.lent.clear();
        self.lists.clear();
        self.ranges.clear();
        self.parameters.fill(None);
        self.generation = self.generation.wrapping_add(1);
    }

    /// How far the recording has come.
    pub fn mark(&self) -> Mark {
        let (nodes, lists, ranges) = (self.nodes.len(), self.lists.len(), self.ranges.len());
        Mark { nodes, lists, ranges, generation: self.generation }
    }

    /// Forgets what was recorded since a mark and keeps its blocks for what comes next: matrices of before
    /// stay valid, those of since are gone.
    ///
    /// # Panics
    /// If the tape was reset or walked back since.
    pub fn forget_since(&mut self, mark: Mark) {
        assert!(mark.generation == self.generation, "the mark belongs to an earlier step");
        assert!(self.gradients.is_empty(), "a recording that was walked back is spent");
        for node in self.nodes.drain(mark.nodes..) {
            let value = node.value.into_block();
            value.into_iter().chain(node.saved).for_each(|block| self.pool.give(block));
        }
        self.lists.truncate(mark.lists);
        self.ranges.truncate(mark.ranges);
        for slot in &mut self.parameters {
            *slot = slot.filter(|var| (var.index as usize) < mark.nodes);
        }
    }

    /// Forgets everything recorded and frees its blocks: the next step is of another size.
    pub fn shrink(&mut self) {
        self.reset();
        self.pool.free_unused();
    }

    /// The most bytes that values and gradients took at one time since the tape was made.
    pub fn peak_bytes(&self) -> usize {
        self.pool.peak_bytes()
    }

    /// The bytes that the tape holds, in use or not.
    pub fn allocated_bytes(&self) -> usize {
        self.pool.allocated_bytes()
    }

    /// The number of nodes recorded since the last reset.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was recorded since the last reset.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A constant that shares its values with the caller: some rows of a matrix.
    ///
    /// # Errors
    /// If the matrix has no such rows.
    pub fn constant(
        &mut self,
        matrix: &Arc<Matrix>,
        rows: Range<usize>,
    ) -> Result<Var, TensorError> {
        let shape = matrix.shape();
        if rows.end > shape.rows || rows.start > rows.end {
            let (index, count) = (rows.end, shape.rows);
            return Err(TensorError::OutOfRange {
                operator: "constant",
                what: "row",
                index,
                count,
            });
        }
        let value = match self.gpu() {
            None => Value::Shared(Arc::clone(matrix), rows.start * shape.cols),
            Some(gpu) => Value::Resident(gpu.resident_matrix(matrix), rows.start * shape.cols),
        };
        Ok(self.push(Op::Leaf, Shape::new(rows.len(), shape.cols), value, None, false))
    }

    /// A constant whose values are copied onto the tape.
    ///
    /// # Errors
    /// If there are not `rows × cols` values.
    pub fn copied(&mut self, rows: usize, cols: usize, values: &[f32]) -> Result<Var, TensorError> {
        let shape = Shape::new(rows, cols);
        if values.len() != shape.len() {
            return Err(TensorError::Length { shape, got: values.len() });
        }
        let mut buffer = self.pool.take(values.len());
        buffer.write(values);
        Ok(self.push(Op::Leaf, shape, Value::Owned(buffer), None, false))
    }

    /// A constant that the caller writes in place: `fill` gets the values row by row, whatever
    /// they held before.
    pub fn filled(&mut self, rows: usize, cols: usize, fill: impl FnOnce(&mut [f32])) -> Var {
        let mut buffer = self.pool.take(rows * cols);
        match self.gpu() {
            None => fill(buffer.as_mut_slice()),
            Some(_) => {
                self.staged.clear();
                self.staged.resize(rows * cols, 0.0);
                fill(&mut self.staged);
                buffer.write(&self.staged);
            }
        }
        self.push(Op::Leaf, Shape::new(rows, cols), Value::Owned(buffer), None, false)
    }

    /// A constant of zeros.
    pub fn zeros(&mut self, rows: usize, cols: usize) -> Var {
        let value = match self.gpu() {
            None => Value::Owned(self.pool.take_zeroed(rows * cols)),
            Some(gpu) => Value::Resident(gpu.zeros(rows * cols), 0),
        };
        self.push(Op::Leaf, Shape::new(rows, cols), value, None, false)
    }

    /// A constant of ones.
    pub fn ones(&mut self, rows: usize, cols: usize) -> Var {
        self.filled(rows, cols, |values| values.fill(1.0))
    }

    /// From now on parameters are those of a block on the tape's GPU: values are read there and
    /// gradients are added there.
    ///
    /// # Panics
    /// If something was recorded since the last reset.
    pub fn bind(&mut self, block: &Arc<ParameterBlock>) {
        assert!(self.is_empty(), "parameters are bound before anything is recorded");
        self.bound = Some(Arc::clone(block));
    }

    pub(crate) fn bound(&self) -> &ParameterBlock {
        self.bound.as_ref().expect("bound parameters come from a block")
    }

    /// The parameter that the caller numbers `slot`; the same node however often it is asked for,
    /// so that its gradient is the sum over all uses.
    pub fn parameter(&mut self, slot: usize, matrix: &Matrix) -> Var {
        if self.parameters.len() <= slot {
            self.parameters.resize(slot + 1, None);
        }
        if let Some(var) = self.parameters[slot] {
            return var;
        }
        let value = match &self.bound {
            Some(_) => Value::Bound(slot),
            None => {
                let mut buffer = self.pool.take(matrix.shape().len());
                buffer.write(matrix.as_slice());
                Value::Owned(buffer)
            }
        };
        let var = self.push(Op::Leaf, matrix.shape(), value, None, !self.forgetful);
        self.parameters[slot] = Some(var);
        var
    }

    /// A leaf whose gradient is wanted, with values copied onto the tape.
    ///
    /// # Errors
    /// If there are not `rows × cols` values.
    pub fn variable(
        &mut self,
        rows: usize,
        cols: usize,
        values: &[f32],
    ) -> Result<Var, TensorError> {
        let var = self.copied(rows, cols, values)?;
        self.nodes[var.index as usize].needs_gradient = true;
        Ok(var)
    }

    /// The gradient of the parameter `slot` after [`Tape::backward`]; None if the loss does not
    /// depend on it.
    pub fn parameter_gradient(&self, slot: usize) -> Option<&[f32]> {
        self.parameters.get(slot).copied().flatten().and_then(|var| self.gradient(var))
    }

    /// Rows and columns of a matrix.
    pub fn shape(&self, var: Var) -> Shape {
        self.node(var).shape
    }

    /// The values of a matrix, row by row.
    ///
    /// # Panics
    /// If the backward pass has already given the block away, or the tape computes on a GPU:
    /// [`Tape::read`] copies from there.
    pub fn value(&self, var: Var) -> &[f32] {
        let node = self.node(var);
        match &node.value {
            Value::Owned(buffer) => buffer.as_slice(),
            Value::Shared(matrix, offset) => {
                &matrix.as_slice()[*offset..*offset + node.shape.len()]
            }
            Value::Alias { root, offset } => {
                &self.value(*root)[*offset..*offset + node.shape.len()]
            }
            Value::Resident(..) | Value::Bound(_) | Value::Deferred(_) => {
                panic!("these values are on a device")
            }
            Value::Released => panic!("{RELEASED}"),
        }
    }

    /// The values of a matrix on the tape's GPU, row by row.
    ///
    /// # Panics
    /// If the backward pass has already given the block away, or the tape computes on the host.
    pub(crate) fn view(&self, var: Var) -> View<'_> {
        let node = self.node(var);
        let (whole, from) = match &node.value {
            Value::Owned(buffer) => (buffer.view(), 0),
            Value::Resident(copy, offset) => (copy.view(), *offset),
            Value::Bound(slot) => (self.bound().value_view(*slot), 0),
            Value::Alias { root, offset } => (self.view(*root), *offset),
            Value::Deferred(block) => {
                let block = block.get_or_init(|| self.normalised(&node.op, node.saved.as_ref()));
                (block.view(), 0)
            }
            Value::Shared(..) => panic!("these values are on the host"),
            Value::Released => panic!("{RELEASED}"),
        };
        whole.slice(from..from + node.shape.len())
    }

    /// A copy of the values of a matrix, row by row; waits for the tape's device.
    ///
    /// # Panics
    /// If the backward pass has already given the block away.
    pub fn read(&self, var: Var) -> Vec<f32> {
        let mut values = vec![0.0; self.shape(var).len()];
        self.read_into(var, &mut values);
        values
    }

    /// The same into memory of the caller.
    ///
    /// # Panics
    /// As [`Tape::read`], and if the lengths differ.
    pub fn read_into(&self, var: Var, to: &mut [f32]) {
        match self.gpu() {
            None => to.copy_from_slice(self.value(var)),
            Some(gpu) => gpu.download(self.view(var), to),
        }
    }

    /// The same for some consecutive values from a position on.
    ///
    /// # Panics
    /// As [`Tape::read`], and if there are not as many values.
    pub fn read_part(&self, var: Var, from: usize, to: &mut [f32]) {
        let part = from..from + to.len();
        match self.gpu() {
            None => to.copy_from_slice(&self.value(var)[part]),
            Some(gpu) => gpu.download(self.view(var).slice(part), to),
        }
    }

    /// Adds `factor` times a 1 × 1 matrix to the loss of the current step, without waiting for it.
    ///
    /// # Panics
    /// If the tape computes on the host.
    pub fn log_loss(&self, loss: Var, factor: f32, steps: &mut Steps) {
        steps.add(self.view(loss), factor);
    }

    /// The only value of a 1 × 1 matrix; waits for the tape's device.
    ///
    /// # Panics
    /// If the matrix is not 1 × 1, or as for [`Tape::read`].
    pub fn scalar(&self, var: Var) -> f32 {
        let mut value = [0.0];
        self.read_into(var, &mut value);
        value[0]
    }

    /// Whether a gradient flows into this matrix.
    pub fn needs_gradient(&self, var: Var) -> bool {
        self.node(var).needs_gradient
    }

    pub(crate) fn node(&self, var: Var) -> &Node {
        debug_assert_eq!(var.generation, self.generation, "this matrix belongs to an earlier step");
        &self.nodes[var.index as usize]
    }

    /// Appends a node.
    pub(crate) fn push(
        &mut self,
        op: Op,
        shape: Shape,
        value: Value,
        saved: Option<Buffer>,
        needs_gradient: bool,
    ) -> Var {
        let index = u32::try_from(self.nodes.len()).expect("a step records less than 2^32 nodes");
        self.nodes.push(Node { op, shape, value, saved, needs_gradient });
        Var { index, generation: self.generation }
    }

    /// Appends the result of an operator, whose gradient flows if any input's does.
    pub(crate) fn record(
        &mut self,
        op: Op,
        shape: Shape,
        value: Buffer,
        saved: Option<Buffer>,
        inputs: &[Var],
    ) -> Var {
        let needs_gradient = inputs.iter().any(|&input| self.needs_gradient(input));
        self.push(op, shape, Value::Owned(value), saved, needs_gradient)
    }

    /// The same for a result that is computed when it is read.
    pub(crate) fn record_deferred(
        &mut self,
        op: Op,
        shape: Shape,
        saved: Buffer,
        inputs: &[Var],
    ) -> Var {
        let needs_gradient = inputs.iter().any(|&input| self.needs_gradient(input));
        self.push(op, shape, Value::Deferred(OnceLock::new()), Some(saved), needs_gradient)
    }

    /// Gives a block back that can be computed again.
    pub(crate) fn forget(&mut self, var: Var) {
        if let Value::Deferred(block) = &mut self.nodes[var.index as usize].value
            && let Some(buffer) = block.take()
        {
            self.pool.give(buffer);
        }
    }

    /// Takes the block of a result that is no longer read.
    pub(crate) fn take_block(&mut self, var: Var) -> Option<Buffer> {
        let value = &mut self.nodes[var.index as usize].value;
        match value {
            Value::Owned(_) => std::mem::replace(value, Value::Released).into_block(),
            _ => None,
        }
    }

    /// Appends a node that looks at part of another.
    pub(crate) fn alias(&mut self, var: Var, offset: usize, shape: Shape) -> Var {
        let (root, base) = self.root(var);
        let needs_gradient = self.needs_gradient(var);
        let value = Value::Alias { root, offset: base + offset };
        self.push(Op::Leaf, shape, value, None, needs_gradient)
    }

    /// The node that owns the values of `var`, and where in it they begin.
    pub(crate) fn root(&self, var: Var) -> (Var, usize) {
        match self.node(var).value {
            Value::Alias { root, offset } => (root, offset),
            _ => (var, 0),
        }
    }

    pub(crate) fn var_at(&self, index: usize) -> Var {
        Var { index: index as u32, generation: self.generation }
    }

    /// Keeps a list of operands without a heap allocation per operator.
    pub(crate) fn keep_list(&mut self, vars: &[Var]) -> List {
        let start = self.lists.len();
        self.lists.extend_from_slice(vars);
        List { start: start as u32, len: vars.len() as u32 }
    }

    pub(crate) fn listed(&self, list: List, at: usize) -> Var {
        self.lists[list.start as usize + at]
    }

    /// Keeps a list of operands of which only a range counts, told by `range`.
    pub(crate) fn keep_ranges<T>(
        &mut self,
        parts: &[T],
        range: impl Fn(&Self, &T) -> (Var, Range<usize>),
    ) -> List {
        let start = self.ranges.len();
        for part in parts {
            let range = range(self, part);
            self.ranges.push(range);
        }
        List { start: start as u32, len: parts.len() as u32 }
    }

    pub(crate) fn ranges(&self, list: List) -> &[(Var, Range<usize>)] {
        &self.ranges[list.start as usize..][..list.len as usize]
    }
}

const RELEASED: &str = "read a value before the backward pass, not after it";

/// Refuses an operand of another shape than needed.
pub(crate) fn expect_shape(
    operator: &'static str,
    operand: &'static str,
    expected: Shape,
    got: Shape,
) -> Result<(), TensorError> {
    if expected == got {
        Ok(())
    } else {
        Err(TensorError::Shape { operator, operand, expected, got })
    }
}
