//! The handle of a rank: every communication there is, on whatever engine.
//!
//! Collectives are called by all ranks in the same order. Each is made of messages from rank to
//! rank, in the same way on every engine, and sums are made in the order of ranks: the result has the
//! same bits everywhere. Each comes twice: `name` blocks, `start_name` returns a [`Pending`] that
//! owns the values until [`Pending::wait`].
//!
//! | call | bytes that leave a rank of `P`, for `n` values of `s` bytes |
//! | --- | --- |
//! | all-reduce, up to 4 KiB | `(P - 1) n s` |
//! | all-reduce, more | `(n - nᵣ) s + (P - 1) nᵣ s`, where rank `r` adds up `nᵣ ≈ n / P` of them |
//! | all-gather | `(P - 1) n s` |
//! | all-to-all, exchange | what it sends to others |
//! | broadcast | `(P - 1) n s` at the root, 0 elsewhere |
//! | barrier | 0 |

mod all_reduce;
mod at_work;
mod gather;
mod pending;
mod point;
mod shown;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use crate::buffer_pool::BufferPool;
use crate::communicator::{Communicator, Fault, Flight, Incoming, Outgoing, Parcel, Tag};
use crate::error::DistError;
#[cfg(feature = "faults")]
use crate::fault_point;
use crate::gpu::GpuLink;
use crate::journal::{Journal, JournalEntry};
use crate::message::{Element, Message};
use crate::site::{Call, Position, Site};
use crate::sync::lock;
use crate::traffic::Traffic;
use crate::watch::panics;

pub(crate) use all_reduce::all_reduce_slices;
pub use all_reduce::{Reduction, all_reduce_bytes};
pub use pending::Pending;
pub(crate) use pending::{Mode, Stage};

/// One rank of a job. Clones are the same rank, for use one after the other: the order in which a
/// rank communicates is part of its program.
#[derive(Debug, Clone)]
pub struct Ranks {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    communicator: Arc<dyn Communicator>,
    collectives: AtomicU64,
    points: AtomicU64,
    traffic: Mutex<Traffic>,
    /// What is told of each communication, if anybody asked.
    journal: Mutex<Option<Journal>>,
    fault: OnceLock<DistError>,
    buffers: BufferPool,
    /// The link of this rank's GPU with those of the others, if there is one.
    gpus: OnceLock<Arc<GpuLink>>,
}

impl Ranks {
    /// The handle of one rank of an engine.
    pub fn new(communicator: Arc<dyn Communicator>) -> Self {
        // Forward and backward lists of several exchanges, each with a block for each peer.
        let buffers = BufferPool::new(16 * communicator.size());
        Self {
            inner: Arc::new(Inner {
                communicator,
                collectives: AtomicU64::new(0),
                points: AtomicU64::new(0),
                traffic: Mutex::default(),
                journal: Mutex::default(),
                fault: OnceLock::new(),
                buffers,
                gpus: OnceLock::new(),
            }),
        }
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.inner.communicator.rank()
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.inner.communicator.size()
    }

    /// The name of the engine, for reports.
    pub fn engine(&self) -> &str {
        self.inner.communicator.engine()
    }

    /// Tells the others which step of training this rank is at.
    pub fn set_step(&self, step: u64) {
        self.inner.communicator.board().update(self.rank(), |position| position.step = step);
    }

    /// Tells the others that what this rank does before its next communication may take longer than
    /// they wait for one that computes: reading and writing files, measuring, dividing a graph.
    /// [`watch::SLOW_TIMEOUT_FACTOR`](crate::watch::SLOW_TIMEOUT_FACTOR) says how much longer.
    pub fn take_time(&self) {
        self.inner.communicator.board().update(self.rank(), |position| position.takes_time = true);
    }

    /// How far everyone is, as far as it is known here.
    pub fn positions(&self) -> Vec<Position> {
        self.inner.communicator.board().positions()
    }

    /// What communication has cost this rank so far.
    pub fn traffic(&self) -> Traffic {
        *lock(&self.inner.traffic)
    }

    /// Keeps a journal of this rank's communications from now on.
    pub fn keep_journal(&self) {
        lock(&self.inner.journal).get_or_insert_default();
    }

    /// The communications since the journal was last taken, in the order in which they began; none if
    /// nobody keeps one.
    pub fn take_journal(&self) -> Vec<JournalEntry> {
        lock(&self.inner.journal).as_mut().map_or_else(Vec::new, Journal::take)
    }

    /// Fails if communication has failed before, also inside of an operator of a tape, which
    /// cannot say so itself: to be asked after every step, before its results are used.
    ///
    /// # Errors
    /// With the first failure.
    pub fn check(&self) -> Result<(), DistError> {
        self.check_at(None)
    }

    fn check_at(&self, site: Option<Site>) -> Result<(), DistError> {
        if let Some(fault) = self.inner.fault.get() {
            return Err(fault.clone());
        }
        match self.inner.communicator.board().verdict() {
            None => Ok(()),
            Some(verdict) => Err(self.fail(site, Fault::Lost(verdict.clone()))),
        }
    }

    /// Tells all ranks that this one cannot go on, and why: their calls fail from now on.
    pub fn give_up(&self, why: impl Into<String>) {
        let board = self.inner.communicator.board();
        self.inner.communicator.condemn(board.ended(self.rank(), why));
    }

    /// What a thread calls that works for this rank: if it panics later, the other ranks are told so
    /// before the panic is printed. The thread of the rank itself has called it; a rank that computes
    /// on other threads, such as those of a pool, lets them call it, too. Such a panic is the end of
    /// the rank, even if somebody catches it.
    pub fn thread_claim(&self) -> impl Fn() + Send + Sync + use<> {
        // Threads may outlive the job: they must not keep its connections open.
        let communicator = Arc::downgrade(&self.inner.communicator);
        move || panics::claim_thread(communicator.clone())
    }

    pub(crate) fn communicator(&self) -> &Arc<dyn Communicator> {
        &self.inner.communicator
    }

    pub(crate) fn gpu_link(&self) -> Option<&Arc<GpuLink>> {
        self.inner.gpus.get()
    }

    /// Uses a link between GPUs from now on; the first one stays.
    pub(crate) fn keep_gpus(&self, gpus: Arc<GpuLink>) {
        self.inner.gpus.get_or_init(|| gpus);
    }

    pub(crate) fn count_bytes(&self, call: Call, bytes: usize) {
        lock(&self.inner.traffic).count_bytes(call, bytes);
        if let Some(journal) = lock(&self.inner.journal).as_mut() {
            journal.count_bytes(call, bytes);
        }
    }

    pub(crate) fn buffers(&self) -> &BufferPool {
        &self.inner.buffers
    }

    /// Ranks other than this one.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.rank();
        (0..self.size()).filter(move |&rank| rank != own)
    }

    /// Notes that a call begins; also one that fails at once, so that the error names it.
    pub(crate) fn enter(&self, call: Call) -> Result<Site, DistError> {
        let point = matches!(call, Call::Send | Call::Receive);
        let counter = if point { &self.inner.points } else { &self.inner.collectives };
        let site = Site { call, number: counter.fetch_add(1, Ordering::Relaxed) + 1 };
        self.inner.communicator.board().update(self.rank(), |position| {
            position.last = Some(site);
            position.takes_time = false;
            position.collectives += u64::from(!point);
        });
        #[cfg(feature = "faults")]
        if !point {
            fault_point::pass_rank(self.rank(), site, fault_point::Moment::Before);
        }
        self.check_at(Some(site))?;
        lock(&self.inner.traffic).count_call(call);
        if let Some(journal) = lock(&self.inner.journal).as_mut() {
            journal.enter(site);
        }
        Ok(site)
    }

    /// Refuses a call that cannot be right.
    pub(crate) fn refuse(
        &self,
        site: Site,
        what: &'static str,
        expected: impl ToString,
        got: impl ToString,
    ) -> DistError {
        let (expected, got) = (expected.to_string(), got.to_string());
        let error = DistError::Argument { rank: self.rank(), site, what, expected, got };
        self.inner.fault.get_or_init(|| error).clone()
    }

    /// Remembers the first failure and returns it.
    pub(crate) fn fail(&self, site: Option<Site>, fault: Fault) -> DistError {
        let rank = self.rank();
        let error = match (fault, site) {
            (Fault::Lost(verdict), site) => {
                DistError::Lost { rank, site, verdict: Box::new(verdict) }
            }
            (Fault::Mismatch { peer, expected, got }, Some(site)) => {
                DistError::Mismatch { rank, site, peer, expected, got }
            }
            (Fault::Mismatch { peer, expected, got }, None) => {
                let message = format!("expected {expected} from rank {peer}, got {got}");
                DistError::Channel { rank, message }
            }
            (Fault::Gpu(source), site) => DistError::Gpu { rank, site, source },
            (Fault::Engine { function, message }, site) => {
                DistError::Mpi { rank, site, function, message }
            }
        };
        self.inner.fault.get_or_init(|| error).clone()
    }

    /// Sends and receives; counts what leaves.
    fn launch(
        &self,
        site: Site,
        tag: Tag,
        mode: Mode,
        outgoing: Vec<Outgoing>,
        incoming: Vec<Incoming>,
    ) -> Result<Box<dyn Flight>, DistError> {
        let bytes = outgoing.iter().map(|out| out.message.as_bytes().len()).sum();
        self.count_bytes(site.call, bytes);
        let overlapped = mode == Mode::Overlapped;
        let parcel = Parcel { site, tag, outgoing, incoming, overlapped };
        let flight = self.inner.communicator.start(parcel, &self.inner.buffers);
        #[cfg(feature = "faults")]
        if !matches!(site.call, Call::Send | Call::Receive) {
            fault_point::pass_rank(self.rank(), site, fault_point::Moment::In);
        }
        flight.map_err(|fault| self.fail(Some(site), fault))
    }

    /// Runs a part of a call on the clock of its kind.
    pub(crate) fn timed<R>(&self, call: Call, part: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = part();
        let took = start.elapsed();
        lock(&self.inner.traffic).count_time(call, took);
        if let Some(journal) = lock(&self.inner.journal).as_mut() {
            journal.count_time(call, took);
        }
        result
    }

    /// Blocks until the messages of a flight have left and arrived, visibly to the others.
    fn await_flight(&self, site: Site, flight: &mut dyn Flight) -> Result<(), DistError> {
        let board = self.inner.communicator.board();
        board.update(self.rank(), |position| position.waits = Some(site));
        let result = flight.wait();
        board.update(self.rank(), |position| position.waits = None);
        result.map_err(|fault| self.fail(Some(site), fault))
    }

    /// The values of a message that arrived.
    fn unpack<T: Element>(&self, site: Site, message: Message) -> Result<Vec<T>, DistError> {
        let got = message.kind();
        T::unpack(message).ok_or_else(|| self.refuse(site, "the type of values", T::KIND, got))
    }
}
