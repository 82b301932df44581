//! Messages over MPI.
//!
//! One lock lets one thread at a time into the library. Nobody stays in there: messages are started,
//! and whoever waits asks for them again and again, sleeping longer the longer it takes, so that a
//! verdict is heard, and ranks that share cores do not take them from each other. Overlapped
//! messages are kept moving by a thread of the engine, because MPI moves things only when called.

use std::ffi::c_int;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::communicator::{Fault, Flight, Incoming, Outgoing, Parcel, Tag};
use crate::message::Message;
use crate::mpi::library::{Functions, Handle, Status};
use crate::spare::Spare;
use crate::sync::lock;
use crate::watch::Board;

/// A message is sent in pieces of at most this many bytes: MPI counts in 32-bit integers.
const PIECE: usize = 1 << 30;

/// MPI allows tags up to 32767 everywhere. Numbers of collectives come again after this many, when
/// the messages of the earlier one are long through.
const TAGS: u64 = 8192;

/// How often the engine's thread looks after overlapped messages.
const KEEP_MOVING: Duration = Duration::from_micros(100);

/// MPI, entered by one thread at a time.
pub(super) struct Engine<H: Handle> {
    functions: Functions<H>,
    /// Communicators of our own, so that messages of others never match: for collectives, and from
    /// one to one.
    planes: [H; 2],
    pub(super) rank: usize,
    pub(super) size: usize,
    inside: Mutex<State>,
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

/// Whether MPI may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Finished,
}

/// One piece of a message.
#[derive(Debug)]
struct Request<H> {
    handle: H,
    /// The sender and the number of bytes of a piece that is received.
    expected: Option<(usize, usize)>,
}

/// Requests and the memory that they read and write.
#[derive(Debug)]
struct Requests<H> {
    open: Vec<Request<H>>,
    /// MPI reads from these until the requests are through.
    outgoing: Vec<Message>,
    /// MPI writes into these until the requests are through.
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
            inside: Mutex::new(State::Running),
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
            // One that failed is left to whoever waits for it.
            unattended.retain(|requests| matches!(engine.advance(&mut lock(requests)), Ok(false)));
            drop(unattended);
            std::thread::sleep(KEEP_MOVING);
        }
    }

    pub(super) fn start(
        self: &Arc<Self>,
        parcel: Parcel,
        spare: &Spare,
        board: &Arc<Board>,
    ) -> Result<Box<dyn Flight>, Fault> {
        let Parcel { tag, outgoing, incoming, overlapped, .. } = parcel;
        let requests = self.post(tag, outgoing, &incoming, spare)?;
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
        spare: &Spare,
    ) -> Result<Requests<H>, Fault> {
        let (plane, tag) = match tag {
            Tag::Collective { number, round } => {
                (self.planes[0], (number % TAGS) as c_int * 2 + c_int::from(round % 2))
            }
            Tag::Point(tag) => (self.planes[1], c_int::from(tag)),
        };
        let expect = |one: &Incoming| spare.message(one.kind, one.len);
        let incoming: Vec<Message> = expected.iter().map(expect).collect();
        let to: Vec<usize> = outgoing.iter().map(|out| out.to).collect();
        let outgoing: Vec<Message> = outgoing.into_iter().map(|out| out.message).collect();
        // The memory belongs to the requests before MPI hears of it, so that an error half-way
        // cannot free what MPI uses.
        let mut requests = Requests { open: Vec::new(), outgoing, incoming };
        let Requests { open, outgoing, incoming } = &mut requests;
        let functions = &self.functions;
        let turn = self.enter()?;
        let mut fault = Ok(());
        for (expected, message) in expected.iter().zip(incoming) {
            for piece in pieces(message.as_bytes_mut()) {
                let (from, len) = (expected.from as c_int, piece.len() as c_int);
                let mut handle = H::blank();
                // SAFETY: the piece is owned by the requests, whose memory is kept until MPI is
                // through with it; nobody else reads or writes it meanwhile.
                let code = unsafe {
                    let place = piece.as_mut_ptr().cast();
                    (functions.irecv)(place, len, functions.byte, from, tag, plane, &raw mut handle)
                };
                fault = fault.and_then(|()| check(functions, "MPI_Irecv", code));
                if fault.is_ok() {
                    let expected = Some((expected.from, piece.len()));
                    open.push(Request { handle, expected });
                }
            }
        }
        for (to, message) in to.into_iter().zip(outgoing) {
            for piece in pieces(message.as_bytes_mut()) {
                let (to, len) = (to as c_int, piece.len() as c_int);
                let mut handle = H::blank();
                // SAFETY: as above; nobody writes to it meanwhile.
                let code = unsafe {
                    let place = piece.as_ptr().cast();
                    (functions.isend)(place, len, functions.byte, to, tag, plane, &raw mut handle)
                };
                fault = fault.and_then(|()| check(functions, "MPI_Isend", code));
                if fault.is_ok() {
                    open.push(Request { handle, expected: None });
                }
            }
        }
        drop(turn);
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
    fn enter(&self) -> Result<MutexGuard<'_, State>, Fault> {
        let turn = lock(&self.inside);
        match *turn {
            State::Running => Ok(turn),
            State::Finished => {
                let message = "was called already".into();
                Err(Fault::Engine { function: "MPI_Finalize", message })
            }
        }
    }

    /// Asks MPI for every open request; whether all are through.
    fn advance(&self, requests: &mut Requests<H>) -> Result<bool, Fault> {
        let _turn = self.enter()?;
        let mut at = 0;
        while at < requests.open.len() {
            match self.test(&mut requests.open[at])? {
                true => drop(requests.open.swap_remove(at)),
                false => at += 1,
            }
        }
        Ok(requests.open.is_empty())
    }

    fn test(&self, request: &mut Request<H>) -> Result<bool, Fault> {
        let functions = &self.functions;
        let (mut through, mut status) = (0, Status::default());
        // SAFETY: the handle stands for a request that is not through; the others are written.
        let code =
            unsafe { (functions.test)(&raw mut request.handle, &raw mut through, &raw mut status) };
        check(functions, "MPI_Test", code)?;
        if through == 0 {
            return Ok(false);
        }
        if let Some((peer, len)) = request.expected {
            let mut got = 0;
            // SAFETY: MPI_Test has filled the status.
            let code =
                unsafe { (functions.get_count)(&raw const status, functions.byte, &raw mut got) };
            check(functions, "MPI_Get_count", code)?;
            if got as usize != len {
                let (expected, got) = (format!("{len} bytes"), format!("{got} bytes"));
                return Err(Fault::Mismatch { peer, expected, got });
            }
        }
        Ok(true)
    }

    /// Ends MPI in this process; waits for the other ranks to do the same.
    pub(super) fn finalize(&self) -> Result<(), Fault> {
        let mut turn = self.enter()?;
        *turn = State::Finished;
        // SAFETY: MPI is running, and nobody enters it any more.
        check(&self.functions, "MPI_Finalize", unsafe { (self.functions.finalize)() })
    }

    /// Ends all processes of the job, as far as MPI can; does not return where it can.
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

/// The bytes of a message in pieces that MPI can count; an empty message is one empty piece.
fn pieces(bytes: &mut [u8]) -> impl Iterator<Item = &mut [u8]> {
    let empty = bytes.is_empty().then_some(<&mut [u8]>::default());
    empty.into_iter().chain(bytes.chunks_mut(PIECE))
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
        self.through = self.through || self.engine.advance(&mut lock(&self.requests))?;
        match self.board.verdict() {
            Some(verdict) if !self.through => Err(Fault::Lost(verdict.clone())),
            _ => Ok(self.through),
        }
    }

    fn wait(&mut self) -> Result<(), Fault> {
        let start = Instant::now();
        while !self.poll()? {
            pause(start.elapsed());
        }
        Ok(())
    }

    fn land(self: Box<Self>, spare: &Spare) -> Vec<Message> {
        let mut requests = lock(&self.requests);
        if !requests.open.is_empty() {
            return Vec::new();
        }
        for message in std::mem::take(&mut requests.outgoing) {
            spare.give_message(message);
        }
        std::mem::take(&mut requests.incoming)
    }
}

impl<H: Handle> Drop for MpiFlight<H> {
    fn drop(&mut self) {
        // MPI still uses the memory: the engine keeps it until it does not.
        if !self.through && !lock(&self.requests).open.is_empty() {
            self.engine.attend(&self.requests);
        }
    }
}

/// Rests between two looks at messages that were not there yet.
fn pause(waited: Duration) {
    // Others on the same host answer within this time where each has its own core. Yielding would hand
    // a busy core to strangers for milliseconds; one that sleeps is let in again.
    const BRISK: Duration = Duration::from_micros(20);
    if waited < BRISK {
        std::hint::spin_loop();
    } else {
        // A twentieth of the time waited so far, up to a millisecond.
        let rest = (waited / 20).clamp(Duration::from_micros(10), Duration::from_millis(1));
        std::thread::sleep(rest);
    }
}
