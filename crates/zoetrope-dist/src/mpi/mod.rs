//! Ranks that are processes of an MPI job: `mpirun -n P program`.
//!
//! Open MPI or MPICH is looked for at run time, so that one binary serves machines with either and
//! with none. [`run`] is the counterpart of [`threads::run`](crate::threads::run): here the launcher
//! has started the processes, and `run` is called in each of them.

#[allow(unsafe_code)]
mod addresses;
mod channel;
#[allow(unsafe_code)]
mod engine;
#[allow(unsafe_code)]
mod library;
mod link;
mod start;

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::buffer_pool::BufferPool;
use crate::communicator::{Communicator, Fault, Flight, Parcel};
use crate::error::{DistError, Failure};
use crate::mpi::channel::Channel;
use crate::mpi::engine::Engine;
use crate::mpi::library::{Found, Functions, Handle};
use crate::mpi::start::Start;
use crate::ranks::{Mode, Ranks};
use crate::site::Call;
use crate::watch::{Board, Timeouts, Verdict, panics};

pub use library::{launched, version};

/// What a process exits with that did not leave in time after another rank was lost.
pub const EXIT_CODE: i32 = 5;

/// One rank of an MPI job.
#[derive(Debug)]
struct MpiRank<H: Handle> {
    engine: Arc<Engine<H>>,
    board: Arc<Board>,
}

impl<H: Handle> Communicator for MpiRank<H> {
    fn rank(&self) -> usize {
        self.engine.rank
    }

    fn size(&self) -> usize {
        self.engine.size
    }

    fn engine(&self) -> &str {
        self.engine.version()
    }

    fn board(&self) -> &Board {
        &self.board
    }

    fn condemn(&self, verdict: Verdict) {
        // The channel passes it on.
        self.board.record(verdict);
    }

    fn start(&self, parcel: Parcel, buffers: &BufferPool) -> Result<Box<dyn Flight>, Fault> {
        self.engine.start(parcel, buffers, &self.board)
    }
}

/// Runs `body` as this process's rank of the job and returns what it returns.
///
/// If any rank returns an error, panics, dies, or hangs while others wait for it, the calls of all
/// others fail; they have [`Timeouts::grace`] to return before their process is ended with
/// [`EXIT_CODE`]. After an error the process should report it and exit with that code, without
/// further ado: MPI is left as it is, which makes the launcher end what is left of the job.
///
/// Called once in a process.
///
/// # Errors
/// If there is no MPI, it cannot be started, or a rank failed.
pub fn run<T, E, F>(timeouts: Timeouts, body: F) -> Result<T, Failure<E>>
where
    E: Display,
    F: FnOnce(Ranks) -> Result<T, E>,
{
    match library::load().map_err(|tried| DistError::NoMpi { tried })? {
        Found::OpenMpi(functions) => run_with(functions, timeouts, body),
        Found::Mpich(functions) => run_with(functions, timeouts, body),
    }
}

fn run_with<H, T, E, F>(
    functions: Functions<H>,
    timeouts: Timeouts,
    body: F,
) -> Result<T, Failure<E>>
where
    H: Handle,
    E: Display,
    F: FnOnce(Ranks) -> Result<T, E>,
{
    // MPI itself would wait for a rank that never comes for ever.
    let start = Start::watch(timeouts.timeout, |error| {
        eprintln!("error: {error}");
        std::process::exit(EXIT_CODE);
    })?;
    let engine = Engine::open(functions).map_err(|fault| outside(0, fault))?;
    let (rank, engine) = (engine.rank, Arc::new(engine));
    let board = Arc::new(Board::new(engine.size, timeouts));
    let communicator = MpiRank { engine: Arc::clone(&engine), board: Arc::clone(&board) };
    let ranks = Ranks::new(Arc::new(communicator));
    let mover = Arc::downgrade(&engine);
    spawn("messages", rank, move || Engine::keep_moving(&mover))?;
    let over = Arc::new(AtomicBool::new(false));
    let channel = Channel::open(&ranks, &board)?;
    drop(start);
    let (ended, aborting) = (Arc::clone(&over), Arc::clone(&engine));
    let watcher = spawn("watch", rank, move || {
        channel.watch(&ended, |verdict| {
            let error = DistError::Lost { rank, site: None, verdict: Box::new(verdict.clone()) };
            eprintln!("{error}");
            aborting.abort(EXIT_CODE);
            std::process::exit(EXIT_CODE);
        });
    })?;
    panics::claim_thread(Arc::downgrade(ranks.communicator()));
    let result = catch_unwind(AssertUnwindSafe(|| body(ranks.clone())));
    match &result {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => ranks.give_up(error.to_string()),
        Err(panic) => ranks.give_up(panics::describe(panic.as_ref())),
    }
    let met = match &result {
        // Nobody leaves while others still need it.
        Ok(Ok(_)) => ranks.meet(Call::Finish, Mode::Blocking).and_then(crate::Pending::wait),
        _ => ranks.check(),
    };
    over.store(true, Ordering::Release);
    // A watcher that panicked has nothing more to say.
    let _ = watcher.join();
    let result = result.unwrap_or_else(|panic| resume_unwind(panic));
    match (result, met) {
        (Ok(result), Ok(())) => {
            engine.finalize().map_err(|fault| outside(rank, fault))?;
            Ok(result)
        }
        (Err(error), _) if board.verdict().is_none_or(|verdict| verdict.rank == rank) => {
            Err(Failure::Returned { rank, error })
        }
        (Err(_), Err(lost)) | (Ok(_), Err(lost)) => Err(lost.into()),
        (Err(error), Ok(())) => Err(Failure::Returned { rank, error }),
    }
}

/// A failure of MPI outside of a communication.
fn outside(rank: usize, fault: Fault) -> DistError {
    match fault {
        Fault::Engine { function, message } => {
            DistError::Mpi { rank, site: None, function, message }
        }
        Fault::Lost(verdict) => DistError::Lost { rank, site: None, verdict: Box::new(verdict) },
        Fault::Gpu(source) => DistError::Gpu { rank, site: None, source },
        Fault::Mismatch { expected, got, .. } => {
            DistError::Channel { rank, message: format!("expected {expected}, got {got}") }
        }
    }
}

fn spawn(
    name: &str,
    rank: usize,
    work: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, DistError> {
    let thread = std::thread::Builder::new().name(format!("{name} of rank {rank}")).spawn(work);
    thread.map_err(|error| DistError::Channel { rank, message: error.to_string() })
}
