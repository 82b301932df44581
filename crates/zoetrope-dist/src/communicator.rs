//! What an engine that moves messages between ranks must be able to do.
//!
//! An engine starts sending some messages and receiving some others, and says when they are complete.
//! [`Ranks`](crate::Ranks) builds everything else on that, once for all engines: collectives, their order
//! of summation, counting and supervision.

use std::fmt::Debug;

use zoetrope_tensor::CudaError;

use crate::buffer_pool::BufferPool;
use crate::exchange::SharedRows;
use crate::message::{Kind, Message};
use crate::site::Site;
use crate::watch::{Board, Verdict};

/// Which message belongs to which call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Part of a collective: its number, which is the same on every rank, and which of its rounds.
    Collective {
        /// The number of the collective.
        number: u64,
        /// Round within it.
        round: u8,
    },
    /// From one rank to one other, told apart by the callers.
    Point(u16),
}

impl Tag {
    /// The tag of a round of a collective.
    pub fn round(site: Site, round: u8) -> Self {
        Self::Collective { number: site.number, round }
    }
}

/// A message to another rank.
#[derive(Debug)]
pub struct Outgoing {
    /// The rank it goes to.
    pub to: usize,
    /// Its values.
    pub message: Message,
}

/// A message that another rank will send.
#[derive(Debug, Clone, Copy)]
pub struct Incoming {
    /// The rank it comes from.
    pub from: usize,
    /// The type of its values.
    pub kind: Kind,
    /// How many there are.
    pub len: usize,
}

/// Messages that travel together.
#[derive(Debug)]
pub struct Parcel {
    /// The call they belong to.
    pub site: Site,
    /// How they are matched.
    pub tag: Tag,
    /// What leaves.
    pub outgoing: Vec<Outgoing>,
    /// What is expected.
    pub incoming: Vec<Incoming>,
    /// Whether the caller computes before it waits, so that someone else has to keep things moving.
    pub overlapped: bool,
}

/// Why messages did not get through, before it is known where.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// A rank is lost.
    Lost(Verdict),
    /// Something else came than was expected.
    Mismatch {
        /// The rank that sent.
        peer: usize,
        /// What should have come.
        expected: String,
        /// What came.
        got: String,
    },
    /// A GPU, or its link with the others, failed.
    Gpu(CudaError),
    /// A function of the engine failed.
    Engine {
        /// The function.
        function: &'static str,
        /// What the engine says.
        message: String,
    },
}

/// Messages under way. It may be dropped before they are complete: the engine keeps what it needs.
pub trait Flight: Debug + Send {
    /// Whether everything has left and arrived. Does not block.
    ///
    /// # Errors
    /// If it never will.
    fn poll(&mut self) -> Result<bool, Fault>;

    /// Blocks until it has, or until a rank is known to be lost.
    ///
    /// # Errors
    /// If it never will.
    fn wait(&mut self) -> Result<(), Fault>;

    /// What arrived, in the order in which it was expected. Blocks of what was sent, if the
    /// engine has them back, go to `buffers`.
    fn land(self: Box<Self>, buffers: &BufferPool) -> Vec<Message>;
}

/// An engine that moves messages between ranks: one value for each rank.
pub trait Communicator: Debug + Send + Sync {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// A name for reports.
    fn engine(&self) -> &str;

    /// How far everyone is.
    fn board(&self) -> &Board;

    /// Tells every rank that one is lost; the first verdict stands.
    fn condemn(&self, verdict: Verdict);

    /// Looks for ranks that hang, while this one waits for something else than messages; nothing if
    /// someone else does that all the time.
    fn look_after(&self) {}

    /// Where ranks of one process show each other rows; None if ranks do not share memory.
    fn shared_rows(&self) -> Option<&SharedRows> {
        None
    }

    /// Starts sending and receiving. Does not wait for other ranks. A rank does not send to itself.
    ///
    /// # Errors
    /// If the engine fails at once.
    fn start(&self, parcel: Parcel, buffers: &BufferPool) -> Result<Box<dyn Flight>, Fault>;
}
