//! The share of a frame that one of several ranks computes, as a model sees it.
//!
//! Structure encoders run over some snapshots and vertices, time encoders over all snapshots of some
//! vertices. How rows get from one to the other, and from rank to rank, a model does not know: it asks
//! its [`Frame`](crate::Frame) to move them.

use std::fmt::Debug;

use zoetrope_tensor::{Tape, TensorError, Var};

/// Moves rows between the ranks that share a frame. All of them call it in the same order.
pub trait Movement: Debug {
    /// From the rows of this rank to those that its matrices multiply with: its own and those of
    /// others that edges lead from.
    ///
    /// # Errors
    /// Where there are not as many rows as this rank has.
    fn gather(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError>;

    /// From the cells of structure encoders to those of time encoders.
    ///
    /// # Errors
    /// Where there are not as many rows as this rank has.
    fn to_time(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError>;

    /// The way back.
    ///
    /// # Errors
    /// Where there are not as many rows as this rank has.
    fn to_structure(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError>;

    /// Parts in which rows move so that one is computed while another is on its way (ESDG §6.5); 1
    /// where they move all at once.
    fn parts(&self) -> usize {
        1
    }

    /// Sends a part of the rows of structure encoders to time encoders, and does not wait for what
    /// comes from others.
    ///
    /// # Errors
    /// Where there are not as many rows as the part has.
    fn depart_to_time(
        &self,
        tape: &mut Tape,
        part: usize,
        rows: Var,
    ) -> Result<Box<dyn Arrival>, TensorError>;

    /// The parts that arrived, one sequence behind the other as time encoders want them.
    ///
    /// # Errors
    /// Where a part has not as many rows as it should.
    fn arrange(&self, tape: &mut Tape, parts: &[Var]) -> Result<Var, TensorError>;

    /// Sends all parts of the rows of time encoders back, and waits for none.
    ///
    /// # Errors
    /// Where there are not as many rows as this rank has.
    fn depart_to_structure(
        &self,
        tape: &mut Tape,
        rows: Var,
    ) -> Result<Vec<Box<dyn Arrival>>, TensorError>;
}

/// Rows on their way.
pub trait Arrival: Debug {
    /// Waits for them.
    ///
    /// # Errors
    /// None in practice: departure has checked the rows.
    fn arrive(self: Box<Self>, tape: &mut Tape) -> Result<Var, TensorError>;
}

/// The rows of this rank's structure encoders: here, or in parts on their way from time encoders.
#[derive(Debug)]
pub enum Rows {
    /// Here.
    Here(Var),
    /// Parts, in the order of time.
    OnTheWay(Vec<Box<dyn Arrival>>),
}

impl Rows {
    /// All of them, waited for where need be.
    ///
    /// # Errors
    /// None in practice: departure has checked the rows.
    pub fn here(self, tape: &mut Tape) -> Result<Var, TensorError> {
        match self {
            Self::Here(rows) => Ok(rows),
            Self::OnTheWay(parts) => {
                let arrived: Result<Vec<Var>, _> =
                    parts.into_iter().map(|part| part.arrive(tape)).collect();
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
    /// How rows move.
    pub movement: &'a dyn Movement,
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
    /// Whether those follow from weights, so that gradients come back for them.
    pub gathered_needs_gradient: bool,
    /// Of those that go to its time encoder; 0 where it has none.
    pub to_time: usize,
    /// Whether those follow from weights.
    pub to_time_needs_gradient: bool,
    /// Of those that come back.
    pub from_time: usize,
}
