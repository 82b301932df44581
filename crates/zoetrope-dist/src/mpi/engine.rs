//! Messages over MPI.
//!
//! A lock lets one thread at a time call the library, and no call blocks. A thread that waits for messages
//! asks for them again and again, with growing pauses: so it notices a verdict, and ranks that share cores
//! do not keep each other from computing. A thread of the engine keeps overlapped messages moving, because
//! MPI makes progress only when it is called.
//!
//! A message is received only after it has arrived and was found to be as long as expected (`MPI_Improbe`).
//! MPI reports a longer one as an error, but Open MPI 4.1 does so after it has written all of it (4 MiB into
//! the 40 bytes of an `MPI_Irecv`, both processes on one host).

use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::buffer_pool::BufferPool;
use crate::communicator::{Fault, Flight, Incoming, Outgoing, Parcel, Tag};
use crate::message::Message;
use crate::mpi::library::{Functions, Handle, Status};
use crate::sync::lock;
use crate::watch::Board;

/// A message is sent in pieces of at most this many bytes: MPI counts in 32-bit integers.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// MPI allows tags up to 32767 everywhere. Numbers of collectives come again after this many, when
/// the messages of the earlier one are long through.
const TAGS: u64 = 8192;

/// How many overlapped calls receive at a time: those that were started first. Messages that
/// are received at the same time share the network: if all were, the first one would arrive as late as the last.
const ARRIVING_MAX: usize = 2;

/// How often the engine's thread looks after overlapped messages.
const PROGRESS_INTERVAL: Duration = Duration::from_micros(100);

/// MPI, entered by one thread at a time.
pub(super) struct Engine<H: Handle> {
    functions: Functions<H>,
    /// Communicators of our own, so that messages of others never match: for collectives, and from
    /// one to one.
    planes: [H; 2],
    pub(super) rank: usize,
    pub(super) size: usize,
    inside: Mutex<Inside>,
    /// Messages that nobody may be waiting for.
    unattended: Mutex<Vec<Arc<Mutex<Requests<H>>>>>,
    attention: Condvar,
}

impl<H: Handle> fmt::Debug for Engine<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { functions, rank, size, .. } = self;
        f.debug_struct("Engine")
            .field("functions", functions)
            .field("rank", rank)
            .field("size", size)
            .finish_non_exhaustive()
    }
}

/// The state that only the thread that calls MPI has.
#[derive(Debug, Default)]
struct Inside {
    /// Whether MPI may no longer be called.
    finished: bool,
    /// Who waits for messages of a sender under a tag, first come, first served.
    queues: HashMap<Way, VecDeque<u64>>,
    /// The number of the last one who began to wait.
    last: u64,
}

/// The plane, the sender and the tag of a message.
type Way = (usize, usize, c_int);

/// A piece of a message that has not come.
#[derive(Debug)]
struct Awaited {
    way: Way,
    /// Its place in the queue of its way.
    turn: u64,
    /// The message that it belongs to, and its bytes there.
    message: usize,
    bytes: Range<usize>,
}

/// Requests and the memory that they read and write.
#[derive(Debug)]
struct Requests<H> {
    /// Pieces that MPI is sending.
    leaving: Vec<H>,
    /// Pieces that MPI is receiving.
    arriving: Vec<H>,
    awaited: Vec<Awaited>,
    /// Why they will never finish; the thread that waits may learn it later than the thread that found it.
    failed: Option<Fault>,
    /// MPI reads from these until the requests are complete.
    outgoing: Vec<Message>,
    /// MPI writes into these until the requests are complete.
    incoming: Vec<Message>,
}

impl<H: Handle> Engine<H> {
    /// Starts MPI in this process.
    pub(super) fn open(functions: Functions<H>) -> Result<Self, Fault> {
        // MPI_THREAD_SERIALIZED in both interfaces.
        const SERIALIZED: c_int = 2;
        let mut provided = 0;
        let (none, no_arguments) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: MPI allows null for both arguments; `provided` is written.
        let code =
            unsafe { (functions.init_thread)(none, no_arguments, SERIALIZED, &raw mut provided) };
        check(&functions, "MPI_Init_thread", code)?;
        if provided < SERIALIZED {
            let message = format!("offers thread level {provided}, {SERIALIZED} is needed");
            return Err(Fault::Engine { function: "MPI_Init_thread", message });
        }
        let world = functions.world;
        let dup = || {
            let mut plane = world;
            // SAFETY: `world` is a communicator, `plane` is written.
            let code = unsafe { (functions.comm_dup)(world, &raw mut plane) };
            check(&functions, "MPI_Comm_dup", code)?;
            // SAFETY: both are handles that MPI gave.
            let code = unsafe { (functions.comm_set_errhandler)(plane, functions.errors_return) };
            check(&functions, "MPI_Comm_set_errhandler", code)?;
            Ok::<_, Fault>(plane)
        };
        // SAFETY: as above.
        let code = unsafe { (functions.comm_set_errhandler)(world, functions.errors_return) };
        check(&functions, "MPI_Comm_set_errhandler", code)?;
        let planes = [dup()?, dup()?];
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the communicator is valid, `rank` is written.
        let code = unsafe { (functions.comm_rank)(planes[0], &raw mut rank) };
        check(&functions, "MPI_Comm_rank", code)?;
        // SAFETY: the communicator is valid, `size` is written.
        let code = unsafe { (functions.comm_size)(planes[0], &raw mut size) };
        check(&functions, "MPI_Comm_size", code)?;
        Ok(Self {
            planes,
            rank: rank as usize,
            size: size as usize,
            inside: Mutex::default(),
            unattended: Mutex::default(),
            attention: Condvar::new(),
            functions,
        })
    }

    /// What the library says of itself.
    pub(super) fn version(&self) -> &str {
        self.functions.version()
    }

    /// Keeps overlapped messages moving for as long as the engine is there.
    pub(super) fn keep_moving(engine: &Weak<Self>) {
        while let Some(engine) = engine.upgrade() {
            let mut unattended = lock(&engine.unattended);
            if unattended.is_empty() {
                // Short enough to notice the end of the engine.
                let time = Duration::from_millis(200);
                let woken = engine.attention.wait_timeout(unattended, time);
                drop(woken.unwrap_or_else(PoisonError::into_inner));
                continue;
            }
            let mut arriving = 0;
            // One that failed is left to whoever waits for it.
            unattended.retain(|requests| {
                let mut requests = lock(requests);
                arriving += usize::from(requests.is_arriving());
                let moved = engine.advance(&mut requests, arriving <= ARRIVING_MAX);
                matches!(moved, Ok(false))
            });
            drop(unattended);
            std::thread::sleep(PROGRESS_INTERVAL);
        }
    }

    pub(super) fn start(
        self: &Arc<Self>,
        parcel: Parcel,
        buffers: &BufferPool,
        board: &Arc<Board>,
    ) -> Result<Box<dyn Flight>, Fault> {
        let Parcel { tag, outgoing, incoming, overlapped, .. } = parcel;
        let requests = self.post(tag, outgoing, &incoming, buffers)?;
        let requests = Arc::new(Mutex::new(requests));
        if overlapped {
            self.attend(&requests);
        }
        let (engine, board) = (Arc::clone(self), Arc::clone(board));
        Ok(Box::new(MpiFlight { engine, board, requests, through: false }))
    }

    fn attend(&self, requests: &Arc<Mutex<Requests<H>>>) {
        lock(&self.unattended).push(Arc::clone(requests));
        self.attention.notify_one();
    }

    fn post(
        &self,
        tag: Tag,
        outgoing: Vec<Outgoing>,
        expected: &[Incoming],
        buffers: &BufferPool,
    ) -> Result<Requests<H>, Fault> {
        let (plane, tag) = match tag {
            Tag::Collective { number, round } => {
                (0, (number % TAGS) as c_int * 2 + c_int::from(round % 2))
            }
            Tag::Point(tag) => (1, c_int::from(tag)),
        };
        let expect = |one: &Incoming| buffers.message(one.kind, one.len);
        let incoming: Vec<Message> = expected.iter().map(expect).collect();
        let to: Vec<usize> = outgoing.iter().map(|out| out.to).collect();
        let outgoing: Vec<Message> = outgoing.into_iter().map(|out| out.message).collect();
        // The memory belongs to the requests before MPI hears of it, so that an error half-way
        // cannot free what MPI uses.
        let (leaving, arriving, awaited) = (Vec::new(), Vec::new(), Vec::new());
        let mut requests =
            Requests { leaving, arriving, awaited, failed: None, outgoing, incoming };
        let Requests { leaving, awaited, outgoing, incoming, .. } = &mut requests;
        let functions = &self.functions;
        let mut inside = self.enter()?;
        for (at, (expected, message)) in expected.iter().zip(incoming).enumerate() {
            for bytes in pieces(message.as_bytes().len()) {
                let way = (plane, expected.from, tag);
                inside.last += 1;
                let turn = inside.last;
                inside.queues.entry(way).or_default().push_back(turn);
                awaited.push(Awaited { way, turn, message: at, bytes });
            }
        }
        let mut fault = Ok(());
        for (to, message) in to.into_iter().zip(outgoing) {
            for bytes in pieces(message.as_bytes().len()) {
                let piece = &message.as_bytes()[bytes];
                let (to, len, plane) = (to as c_int, piece.len() as c_int, self.planes[plane]);
                let mut handle = H::blank();
                // SAFETY: the piece is owned by the requests, whose memory is kept until MPI is
                // through with it; nobody writes to it meanwhile.
                let code = unsafe {
                    let place = piece.as_ptr().cast();
                    (functions.isend)(place, len, functions.byte, to, tag, plane, &raw mut handle)
                };
                fault = fault.and_then(|()| check(functions, "MPI_Isend", code));
                if fault.is_ok() {
                    leaving.push(handle);
                }
            }
        }
        drop(inside);
        match fault {
            Ok(()) => Ok(requests),
            Err(fault) => {
                // MPI may still use the memory of what was started.
                std::mem::forget(requests);
                Err(fault)
            }
        }
    }

    /// Takes the turn to call MPI.
    fn enter(&self) -> Result<MutexGuard<'_, Inside>, Fault> {
        let inside = lock(&self.inside);
        if inside.finished {
            let message = "was called already".into();
            return Err(Fault::Engine { function: "MPI_Finalize", message });
        }
        Ok(inside)
    }

    /// Receives what has come, if it is its turn, and asks MPI for every open request; whether all are complete.
    fn advance(&self, requests: &mut Requests<H>, receives: bool) -> Result<bool, Fault> {
        if let Some(fault) = &requests.failed {
            return Err(fault.clone());
        }
        let moved = self.moved(requests, receives);
        requests.failed = moved.as_ref().err().cloned();
        moved
    }

    fn moved(&self, requests: &mut Requests<H>, receives: bool) -> Result<bool, Fault> {
        let mut inside = self.enter()?;
        let mut at = 0;
        while receives && at < requests.awaited.len() {
            if self.receive(&mut inside, requests, at)? {
                requests.awaited.remove(at);
            } else {
                at += 1;
            }
        }
        for open in [&mut requests.leaving, &mut requests.arriving] {
            let mut at = 0;
            while at < open.len() {
                if self.test(&mut open[at])? {
                    open.swap_remove(at);
                } else {
                    at += 1;
                }
            }
        }
        Ok(requests.is_through())
    }

    /// Looks for a piece; if it has come and is as long as it should be, lends MPI the memory for it.
    /// Returns whether it has come.
    fn receive(
        &self,
        inside: &mut Inside,
        requests: &mut Requests<H>,
        at: usize,
    ) -> Result<bool, Fault> {
        let functions = &self.functions;
        let Awaited { way, turn, message, bytes } = &requests.awaited[at];
        let (plane, peer, tag) = *way;
        let queue = inside.queues.entry(*way).or_default();
        if queue.front() != Some(turn) {
            return Ok(false);
        }
        let (mut came, mut found, mut status) = (0, H::blank(), Status::default());
        // SAFETY: the communicator is valid; the others are written.
        let code = unsafe {
            let (from, plane) = (peer as c_int, self.planes[plane]);
            (functions.improbe)(from, tag, plane, &raw mut came, &raw mut found, &raw mut status)
        };
        check(functions, "MPI_Improbe", code)?;
        if came == 0 {
            return Ok(false);
        }
        queue.pop_front();
        if queue.is_empty() {
            inside.queues.remove(way);
        }
        let mut got = 0;
        // SAFETY: MPI_Improbe has filled the status.
        let code =
            unsafe { (functions.get_count)(&raw const status, functions.byte, &raw mut got) };
        check(functions, "MPI_Get_count", code)?;
        if usize::try_from(got) != Ok(bytes.len()) {
            let (expected, got) = (format!("{} bytes", bytes.len()), format!("{got} bytes"));
            return Err(Fault::Mismatch { peer, expected, got });
        }
        let piece = &mut requests.incoming[*message].as_bytes_mut()[bytes.clone()];
        let mut handle = H::blank();
        // SAFETY: the message is as long as the piece, which is owned by the requests: their memory is
        // kept until MPI is through with it, and nobody else reads or writes it meanwhile.
        let code = unsafe {
            let (place, len) = (piece.as_mut_ptr().cast(), got);
            (functions.imrecv)(place, len, functions.byte, &raw mut found, &raw mut handle)
        };
        check(functions, "MPI_Imrecv", code)?;
        requests.arriving.push(handle);
        Ok(true)
    }

    fn test(&self, handle: &mut H) -> Result<bool, Fault> {
        let functions = &self.functions;
        let (mut through, mut status) = (0, Status::default());
        // SAFETY: the handle stands for a request that is not through; the others are written.
        let code = unsafe { (functions.test)(handle, &raw mut through, &raw mut status) };
        check(functions, "MPI_Test", code)?;
        Ok(through != 0)
    }

    /// Ends MPI in this process; waits for the other ranks to do the same.
    pub(super) fn finalize(&self) -> Result<(), Fault> {
        let mut inside = self.enter()?;
        inside.finished = true;
        // SAFETY: MPI is running, and nobody enters it any more.
        check(&self.functions, "MPI_Finalize", unsafe { (self.functions.finalize)() })
    }

    /// Ends all processes of the job, as far as MPI can; does not return if it can.
    pub(super) fn abort(&self, code: i32) {
        // A thread that is stuck inside must not keep the process alive.
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut turn = self.inside.try_lock();
        while turn.is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            turn = self.inside.try_lock();
        }
        if turn.is_ok() {
            // SAFETY: the communicator is valid; MPI is entered by one thread.
            unsafe { (self.functions.abort)(self.functions.world, code) };
        }
    }
}

impl<H> Requests<H> {
    /// Whether MPI has completed all of them.
    fn is_through(&self) -> bool {
        self.leaving.is_empty() && !self.is_arriving()
    }

    /// Whether something has not come yet.
    fn is_arriving(&self) -> bool {
        !(self.arriving.is_empty() && self.awaited.is_empty())
    }
}

/// The bytes of a message in pieces that MPI can count; an empty message is one empty piece.
fn pieces(bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let count = bytes.div_ceil(PIECE_BYTES_MAX).max(1);
    (0..count).map(move |at| at * PIECE_BYTES_MAX..((at + 1) * PIECE_BYTES_MAX).min(bytes))
}

fn check<H: Handle>(
    functions: &Functions<H>,
    function: &'static str,
    code: c_int,
) -> Result<(), Fault> {
    match code {
        0 => Ok(()),
        code => Err(Fault::Engine { function, message: functions.explain(code) }),
    }
}

#[derive(Debug)]
struct MpiFlight<H: Handle> {
    engine: Arc<Engine<H>>,
    board: Arc<Board>,
    requests: Arc<Mutex<Requests<H>>>,
    through: bool,
}

impl<H: Handle> Flight for MpiFlight<H> {
    fn poll(&mut self) -> Result<bool, Fault> {
        self.through = self.through || self.engine.advance(&mut lock(&self.requests), true)?;
        let Some(verdict) = self.board.verdict().filter(|_| !self.through) else {
            return Ok(self.through);
        };
        // What a rank sent before it was lost counts, if it came between the two looks.
        self.through = self.engine.advance(&mut lock(&self.requests), true)?;
        if self.through { Ok(true) } else { Err(Fault::Lost(verdict.clone())) }
    }

    fn wait(&mut self) -> Result<(), Fault> {
        let start = Instant::now();
        while !self.poll()? {
            pause(start.elapsed());
        }
        Ok(())
    }

    fn land(self: Box<Self>, buffers: &BufferPool) -> Vec<Message> {
        let mut requests = lock(&self.requests);
        if !requests.is_through() {
            return Vec::new();
        }
        for message in std::mem::take(&mut requests.outgoing) {
            buffers.give_message(message);
        }
        std::mem::take(&mut requests.incoming)
    }
}

impl<H: Handle> Drop for MpiFlight<H> {
    fn drop(&mut self) {
        // MPI still uses the memory: the engine keeps it until it does not.
        if !self.through && !lock(&self.requests).is_through() {
            self.engine.attend(&self.requests);
        }
    }
}

/// Rests between two looks at messages that were not there yet.
fn pause(waited: Duration) {
    // Others on the same host answer within this time if each has its own core. Yielding would hand
    // a busy core to strangers for milliseconds; one that sleeps is let in again.
    const SPIN_LIMIT: Duration = Duration::from_micros(20);
    if waited < SPIN_LIMIT {
        std::hint::spin_loop();
    } else {
        // A twentieth of the time waited so far, up to a millisecond.
        let rest = (waited / 20).clamp(Duration::from_micros(10), Duration::from_millis(1));
        std::thread::sleep(rest);
    }
}
