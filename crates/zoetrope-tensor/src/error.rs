//! What can go wrong on a tape.

use crate::matrix::Shape;

/// A refusal of an operator: its operands do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// An operand has another shape than the operator needs.
    #[error("{operator}: {operand} must be {expected}, but is {got}")]
    Shape {
        /// The operator.
        operator: &'static str,
        /// Which of its operands.
        operand: &'static str,
        /// The shape it needs.
        expected: Shape,
        /// The shape it got.
        got: Shape,
    },
    /// A list of values does not fill a matrix.
    #[error("a matrix of {shape} needs {} values, but got {got}", shape.len())]
    Length {
        /// The shape of the matrix.
        shape: Shape,
        /// The number of values given.
        got: usize,
    },
    /// A range or an index lies outside of a matrix.
    #[error("{operator}: {what} {index} is out of range, there are {count}")]
    OutOfRange {
        /// The operator.
        operator: &'static str,
        /// Rows or columns.
        what: &'static str,
        /// The index asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A number that an operator cannot work with.
    #[error("{operator}: {name} must be {expected}, but is {got}")]
    Argument {
        /// The operator.
        operator: &'static str,
        /// The name of the number.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is, as text (numbers of several types come here).
        got: String,
    },
    /// A second backward pass over one recording, whose values the first one gave back.
    #[error("backward: this recording was walked back already; reset the tape and record it again")]
    Spent,
}
