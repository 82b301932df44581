//! Everything that can go wrong in this crate.

use std::path::PathBuf;

use crate::ids::VertexId;
use crate::store::StoreProblem;

/// A failure while building or combining graph structures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Two columns that must be equally long are not.
    #[error("column `{column}` has {got} entries, expected {expected}")]
    LengthMismatch {
        /// The column at fault.
        column: &'static str,
        /// How many entries the other columns have.
        expected: usize,
        /// How many entries this one has.
        got: usize,
    },
    /// An edge names a vertex that the graph does not have.
    #[error("{column}[{position}] is vertex {vertex}, but the graph has {vertices} vertices")]
    VertexOutOfRange {
        /// `src` or `dst`.
        column: &'static str,
        /// Where in the column.
        position: usize,
        /// The vertex found there.
        vertex: VertexId,
        /// The number of vertices of the graph.
        vertices: u32,
    },
    /// More vertices or edges than 32-bit indices can name.
    #[error("{what}: {count} is more than the {limit} that 32-bit indices can name")]
    TooMany {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        limit: u64,
    },
    /// Snapshot offsets that do not start at zero, decrease, or do not end at the edge count.
    #[error(
        "edge offset {position} is {value}: offsets must rise from 0 to the edge count {edges}"
    )]
    BadOffsets {
        /// Which offset.
        position: usize,
        /// Its value.
        value: u64,
        /// The number of edges.
        edges: usize,
    },
    /// Two graphs that must agree in size do not.
    #[error("{what}: {left} against {right}")]
    ShapeMismatch {
        /// What was compared.
        what: &'static str,
        /// The size on the left.
        left: usize,
        /// The size on the right.
        right: usize,
    },
    /// A parameter outside its range.
    #[error("{parameter} = {value}: expected {expected}")]
    BadParameter {
        /// The name of the parameter.
        parameter: &'static str,
        /// The value given.
        value: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// A width so small, or a stretch so long, that windows would fill the memory.
    #[error(
        "{windows} windows are more than the limit of {limit}; a width of {suggestion} would suit this data"
    )]
    TooManyWindows {
        /// How many windows were asked for.
        windows: i128,
        /// How many there may be.
        limit: u64,
        /// A width that suits the data.
        suggestion: String,
    },
    /// It would take more memory than there is.
    #[error(transparent)]
    Memory(#[from] zoetrope_heap::TooLarge),
    /// Snapshots that would fill the memory.
    #[error(
        "the snapshots would have more than {limit} edges together; cut wider windows or raise the limit"
    )]
    TooManyEdges {
        /// How many edges there may be.
        limit: u64,
    },
    /// An event earlier than the one before it, if time order is required.
    #[error("event {event} has time {time}, but the one before it has {before}")]
    NotInTimeOrder {
        /// Which event.
        event: u64,
        /// Its time.
        time: i64,
        /// The time of the event before.
        before: i64,
    },
    /// The edges of a snapshot are asked for of which only their number is known.
    #[error(
        "of snapshot {step} only the number of its edges is known, and this needs the edges themselves"
    )]
    OnlyCounted {
        /// Which snapshot.
        step: usize,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A store file that is not as its format demands.
    #[error("{}: {}", path.display(), list(problems))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, by position.
        problems: Vec<StoreProblem>,
    },
}

fn list(problems: &[StoreProblem]) -> String {
    problems.iter().map(StoreProblem::to_string).collect::<Vec<_>>().join("; ")
}
