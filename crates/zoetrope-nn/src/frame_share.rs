//! The share of a frame that one of several ranks computes, as a model sees it.
//!
//! Structure encoders run over some snapshots and vertices, time encoders over all snapshots of some
//! vertices. A model does not know how rows get from one to the other, and from rank to rank: it asks its
//! [`Frame`](crate::Frame) to move them.

use std::fmt::{self, Debug, Formatter};

use zoetrope_tensor::{Tape, TensorError, Var};

/// Exchanges rows between the ranks that share a frame. All of them call it in the same order.
pub trait RowExchange: Debug {
    /// From the rows of this rank to those that its matrices multiply with: its own and those of
    /// others that edges lead from.
    ///
    /// # Errors
    /// If there are not as many rows as this rank has.
    fn gather(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError>;

    /// From the cells of structure encoders to those of time encoders.
    ///
    /// # Errors
    /// If there are not as many rows as this rank has.
    fn to_time(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError>;

    /// From the cells of time encoders to those of structure encoders.
    ///
    /// # Errors
    /// If there are not as many rows as this rank has.
    fn to_structure(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError>;

    /// In how many parts rows are exchanged, so that one is computed while another is sent (ESDG
    /// §6.5); 1 if they are exchanged all at once.
    fn parts(&self) -> usize {
        1
    }

    /// Sends a part of the rows of structure encoders to time encoders, without waiting for the rows
    /// of other ranks.
    ///
    /// # Errors
    /// If there are not as many rows as the part has.
    fn start_to_time(
        &self,
        tape: &mut Tape,
        part: usize,
        rows: Var,
    ) -> Result<PendingRows, TensorError>;

    /// The parts that arrived, one sequence behind the other as time encoders want them.
    ///
    /// # Errors
    /// If a part has not as many rows as it should.
    fn arrange(&self, tape: &mut Tape, parts: &[Var]) -> Result<Var, TensorError>;

    /// Sends all parts of the rows of time encoders to structure encoders, without waiting for any.
    ///
    /// # Errors
    /// If there are not as many rows as this rank has.
    fn start_to_structure(
        &self,
        tape: &mut Tape,
        rows: Var,
    ) -> Result<Vec<PendingRows>, TensorError>;
}

/// Waits for rows and puts them on the tape.
type Receive = dyn FnOnce(&mut Tape) -> Result<Var, TensorError>;

/// Rows that were sent and are not waited for yet.
#[must_use = "rows that were sent are to be received"]
pub struct PendingRows(Box<Receive>);

impl PendingRows {
    /// Rows that `receive` waits for.
    pub fn new(receive: impl FnOnce(&mut Tape) -> Result<Var, TensorError> + 'static) -> Self {
        Self(Box::new(receive))
    }

    /// Waits for them.
    ///
    /// # Errors
    /// None in practice: the rows were checked when they were sent.
    pub fn receive(self, tape: &mut Tape) -> Result<Var, TensorError> {
        (self.0)(tape)
    }
}

impl Debug for PendingRows {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("PendingRows")
    }
}

/// The rows of this rank's structure encoders: here, or in parts that come from time encoders.
#[derive(Debug)]
pub enum StructureRows {
    /// Here.
    Here(Var),
    /// Parts, in the order of time.
    Pending(Vec<PendingRows>),
}

impl StructureRows {
    /// All of them; waits for those that are pending.
    ///
    /// # Errors
    /// None in practice: the rows were checked when they were sent.
    pub fn here(self, tape: &mut Tape) -> Result<Var, TensorError> {
        match self {
            Self::Here(rows) => Ok(rows),
            Self::Pending(parts) => {
                let arrived: Result<Vec<Var>, _> =
                    parts.into_iter().map(|part| part.receive(tape)).collect();
                tape.concat_rows(&arrived?)
            }
        }
    }
}

/// What this rank has of a frame, besides the graph and the features of its structure encoders.
#[derive(Debug, Clone, Copy)]
pub struct Shared<'a> {
    /// The snapshots of the whole frame.
    pub steps: usize,
    /// The first of those whose structure encoders run here.
    pub first: usize,
    /// The vertices whose time encoders run here.
    pub time_vertices: usize,
    /// How rows are exchanged with the other ranks.
    pub exchange: &'a dyn RowExchange,
}

/// What ranks exchange for a model, layer by layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// The layers.
    pub layers: Vec<SharedLayer>,
    /// Whether time encoders work on rows of vertices; EvolveGCN's work on weights.
    pub time_on_features: bool,
}

/// The widths of the rows that one layer exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedLayer {
    /// Of those that its structure encoder gathers.
    pub gathered: usize,
    /// Whether those depend on weights, so that their gradients are exchanged in the backward pass.
    pub gathered_needs_gradient: bool,
    /// Of those that go to its time encoder; 0 if it has none.
    pub to_time: usize,
    /// Whether those depend on weights.
    pub to_time_needs_gradient: bool,
    /// Of those that come back.
    pub from_time: usize,
}
