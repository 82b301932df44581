//! The share of a frame that one of several ranks computes, as a model sees it.
//!
//! Structure encoders run over some snapshots and vertices, time encoders over all snapshots of some
//! vertices. A model does not know how rows get from one to the other, and from rank to rank: it asks its
//! [`Frame`](crate::Frame) to move them.

use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;

use zoetrope_tensor::{Matrix, Tape, TensorError, TogetherWith, Var};

use crate::graph::PreparedGraph;

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

    /// From the rows of this rank's time encoders at one snapshot to those that its matrices of that snapshot
    /// multiply with.
    ///
    /// # Errors
    /// If there are not as many rows as time encoders have here.
    fn gather_in_time(&self, tape: &mut Tape, step: usize, rows: Var) -> Result<Var, TensorError>;

    /// From `count` chosen rows (or all, if there are fewer vertices) of each snapshot of this rank to those
    /// of all ranks and snapshots: by snapshot, then by rank.
    ///
    /// # Errors
    /// If there are not as many rows as were to be chosen.
    fn to_all(&self, tape: &mut Tape, rows: Var, count: usize) -> Result<Var, TensorError>;

    /// The sum of a small matrix over all ranks, which all have afterwards.
    fn sum(&self, tape: &mut Tape, rows: Var) -> Var;

    /// The ranks, for statistics over all of their rows.
    fn together(&self) -> Arc<dyn TogetherWith>;

    /// In how many parts of its snapshots a structure encoder runs, so that one is computed while another is
    /// sent (ESDG §6.5); 1 if they are exchanged all at once.
    fn parts(&self) -> usize {
        1
    }

    /// The pieces of its vertices in which a time encoder runs, so that one is computed while others come and
    /// leave; nothing if it runs over all at once.
    fn pieces(&self) -> &[Range<usize>] {
        &[]
    }

    /// Sends rows of structure encoders to time encoders, without waiting for those of other ranks: one
    /// exchange for each of the latter's pieces.
    ///
    /// # Errors
    /// If there are not as many rows as the part has.
    fn start_to_time(
        &self,
        tape: &mut Tape,
        part: Cut,
        pieces: usize,
        rows: Var,
    ) -> Result<Vec<PendingRows>, TensorError>;

    /// Sends rows of time encoders to structure encoders, without waiting for those of other ranks: one exchange
    /// for each of the latter's parts.
    ///
    /// # Errors
    /// If there are not as many rows as the piece has.
    fn start_to_structure(
        &self,
        tape: &mut Tape,
        piece: Cut,
        parts: usize,
        rows: Var,
    ) -> Result<Vec<PendingRows>, TensorError>;

    /// Waits for what exchanges bring for one part or piece; all of its rows in their order.
    ///
    /// # Errors
    /// None in practice: the rows were checked when they were sent.
    fn receive(&self, tape: &mut Tape, pending: Vec<PendingRows>) -> Result<Var, TensorError>;
}

/// One of several that make a whole; the whole if it is the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cut {
    /// Its place among them.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl Cut {
    /// All of it.
    pub const WHOLE: Self = Self { number: 0, of: 1 };
}

/// Rows that were sent and are not waited for yet, as the exchange knows them.
#[must_use = "rows that were sent are to be received"]
pub struct PendingRows(Box<dyn Any>);

impl PendingRows {
    /// Rows that are on their way.
    pub fn new(rows: impl Any) -> Self {
        Self(Box::new(rows))
    }

    /// What they were made of.
    ///
    /// # Panics
    /// If it was something else.
    pub fn into_inner<T: Any>(self) -> T {
        *self.0.downcast().expect("rows are received by the exchange that sent them")
    }
}

impl Debug for PendingRows {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("PendingRows")
    }
}

/// The rows of this rank's structure encoders: here, or on their way from time encoders.
#[derive(Debug)]
pub enum StructureRows<'a> {
    /// Here.
    Here(Var),
    /// Parts in the order of time, each from all pieces of time encoders.
    Pending(&'a dyn RowExchange, Vec<Vec<PendingRows>>),
}

impl StructureRows<'_> {
    /// All of them; waits for those that are pending.
    ///
    /// # Errors
    /// None in practice: the rows were checked when they were sent.
    pub fn here(self, tape: &mut Tape) -> Result<Var, TensorError> {
        match self {
            Self::Here(rows) => Ok(rows),
            Self::Pending(exchange, mut parts) if parts.len() == 1 => {
                exchange.receive(tape, parts.swap_remove(0))
            }
            Self::Pending(exchange, parts) => {
                let receive = |part| exchange.receive(tape, part);
                let arrived: Result<Vec<Var>, _> = parts.into_iter().map(receive).collect();
                tape.concat_rows(&arrived?)
            }
        }
    }
}

/// The vertices that a rank has, by their numbers in the data.
#[derive(Debug, Clone, PartialEq)]
pub struct VertexNumbers {
    all: usize,
    structure: Arc<Vec<u32>>,
    time: Arc<Vec<u32>>,
    /// The bits of the numbers of the latter, for operators that take matrices.
    time_bits: Arc<Matrix>,
}

impl VertexNumbers {
    /// Those of structure encoders and those of time encoders, of `all` vertices.
    ///
    /// # Errors
    /// None in practice: there is one value for each vertex.
    pub fn new(all: usize, structure: Vec<u32>, time: Vec<u32>) -> Result<Self, TensorError> {
        let bits: Vec<f32> = time.iter().map(|&number| f32::from_bits(number)).collect();
        let time_bits = Arc::new(Matrix::from_slice(time.len(), 1, &bits)?);
        Ok(Self { all, structure: Arc::new(structure), time: Arc::new(time), time_bits })
    }

    /// The number of all vertices.
    pub fn all(&self) -> usize {
        self.all
    }

    /// Those of structure encoders.
    pub fn structure(&self) -> &Arc<Vec<u32>> {
        &self.structure
    }

    /// Those of time encoders.
    pub fn time(&self) -> &Arc<Vec<u32>> {
        &self.time
    }

    /// The bits of the numbers of time encoders' vertices, `N × 1`.
    pub fn time_bits(&self) -> &Arc<Matrix> {
        &self.time_bits
    }
}

/// What this rank has of a frame, besides the graph and the features of its structure encoders.
#[derive(Debug, Clone, Copy)]
pub struct Shared<'a> {
    /// The snapshots of the whole frame.
    pub steps: usize,
    /// The first of those whose structure encoders run here.
    pub first: usize,
    /// The vertices of the rank.
    pub numbers: &'a VertexNumbers,
    /// The matrices of all snapshots for the vertices of its time encoders, in the forms that those multiply
    /// with.
    pub time_graph: &'a PreparedGraph,
    /// How rows are exchanged with the other ranks.
    pub exchange: &'a dyn RowExchange,
}

impl Shared<'_> {
    /// The vertices whose time encoders run here.
    pub fn time_vertices(&self) -> usize {
        self.numbers.time().len()
    }
}
