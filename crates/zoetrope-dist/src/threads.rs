//! Ranks that are threads of one process: the embedded default.
//!
//! A message is handed over without copying its values; rows of an exchange are taken from where they
//! lie. A rank that waits sleeps; the message that
//! completes what it waits for wakes it. A rank that returns an error, panics or hangs wakes all
//! others with the verdict.

mod mailbox;

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::buffer_pool::BufferPool;
use crate::communicator::{Communicator, Fault, Flight, Parcel};
use crate::error::{DistError, Failure};
use crate::exchange::SharedRows;
use crate::ranks::Ranks;
use crate::threads::mailbox::{ExpectedMessages, Letter, Mailbox};
use crate::watch::{Board, Cause, Timeouts, Verdict, panics};

/// How long a waiting rank spins before it sleeps: about what falling asleep and being woken take.
const SPIN_LIMIT: Duration = Duration::from_micros(5);

/// What the threads share.
#[derive(Debug)]
struct Shared {
    board: Board,
    mailboxes: Vec<Mailbox>,
    shared_rows: SharedRows,
}

impl Shared {
    fn new(size: usize, timeouts: Timeouts) -> Self {
        let mailboxes = (0..size).map(|_| Mailbox::default()).collect();
        Self { board: Board::new(size, timeouts), mailboxes, shared_rows: SharedRows::new(size) }
    }

    fn condemn(&self, verdict: Verdict) {
        self.board.record(verdict);
        self.mailboxes.iter().for_each(Mailbox::wake);
    }
}

/// One rank of the threads of a process.
#[derive(Debug)]
struct ThreadRank {
    rank: usize,
    shared: Arc<Shared>,
}

impl Communicator for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.mailboxes.len()
    }

    fn engine(&self) -> &str {
        "threads"
    }

    fn board(&self) -> &Board {
        &self.shared.board
    }

    fn condemn(&self, verdict: Verdict) {
        self.shared.condemn(verdict);
    }

    fn look_after(&self) {
        if self.shared.board.verdict().is_none()
            && let Some(verdict) = self.shared.board.judge()
        {
            self.shared.condemn(verdict);
        }
    }

    fn shared_rows(&self) -> Option<&SharedRows> {
        Some(&self.shared.shared_rows)
    }

    fn start(&self, parcel: Parcel, _: &BufferPool) -> Result<Box<dyn Flight>, Fault> {
        for out in parcel.outgoing {
            let letter = Letter { call: parcel.site.call, message: out.message };
            self.shared.mailboxes[out.to].post((self.rank, parcel.tag), letter);
        }
        let awaited = ExpectedMessages::new(parcel.site.call, parcel.tag, parcel.incoming);
        Ok(Box::new(ThreadFlight { awaited, rank: self.rank, shared: Arc::clone(&self.shared) }))
    }
}

#[derive(Debug)]
struct ThreadFlight {
    awaited: ExpectedMessages,
    rank: usize,
    shared: Arc<Shared>,
}

impl ThreadFlight {
    fn verdict(&self) -> Result<(), Fault> {
        self.shared.board.verdict().map_or(Ok(()), |verdict| Err(Fault::Lost(verdict.clone())))
    }
}

impl Flight for ThreadFlight {
    fn poll(&mut self) -> Result<bool, Fault> {
        let arrived = self.shared.mailboxes[self.rank].collect(&mut self.awaited)?;
        // What has arrived counts, even if a rank was lost since.
        if !arrived {
            self.verdict()?;
        }
        Ok(arrived)
    }

    fn wait(&mut self) -> Result<(), Fault> {
        let shared = Arc::clone(&self.shared);
        let (board, mailbox) = (&shared.board, &shared.mailboxes[self.rank]);
        let start = Instant::now();
        let mut deadline = start + board.timeouts().timeout;
        // On free cores the others may be a moment away. Yielding instead would hand a busy core to
        // strangers for milliseconds, while one that sleeps is let in again as soon as it is woken.
        while start.elapsed() < SPIN_LIMIT {
            if self.poll()? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        loop {
            let enough = || {
                let gone = |rank| board.position(rank).left;
                board.verdict().is_some() || self.awaited.missing_from().any(gone)
            };
            mailbox.sleep_until(deadline, &self.awaited, enough);
            if self.poll()? {
                return Ok(());
            }
            let gone = self.awaited.missing_from().find(|&rank| board.position(rank).left);
            if let Some(rank) = gone {
                shared.condemn(board.ended(rank, "it finished while others still need it"));
            } else if let Some(verdict) = board.judge() {
                shared.condemn(verdict);
            } else if Instant::now() >= deadline {
                // Somebody moved meanwhile, or this rank waits a little shorter than others.
                deadline = Instant::now() + board.timeouts().timeout.div_f64(16.0);
            }
        }
    }

    fn land(self: Box<Self>, _: &BufferPool) -> Vec<crate::message::Message> {
        self.awaited.into_messages()
    }
}

/// The handle of a job of one rank, in the calling thread.
pub fn alone() -> Ranks {
    let shared = Arc::new(Shared::new(1, Timeouts::default()));
    Ranks::new(Arc::new(ThreadRank { rank: 0, shared }))
}

/// How one rank ended.
enum End<T, E> {
    Returned(Result<T, E>),
    Panicked,
}

/// Runs `body` on `size` threads, one for each rank, and returns what they return, in the order of
/// ranks.
///
/// If a rank returns an error or panics, or hangs while others wait for it, the others' calls
/// fail; a panic is known to them before it is printed ([`Ranks::thread_claim`]). They have [`Timeouts::grace`] to return. A thread that does not is left behind: only the
/// end of the process ends it.
///
/// # Errors
/// With the first rank that failed, and how.
///
/// # Panics
/// If `size` is 0 or the system gives no thread.
pub fn run<T, E, F>(size: usize, timeouts: Timeouts, body: F) -> Result<Vec<T>, Failure<E>>
where
    T: Send + 'static,
    E: Display + Send + 'static,
    F: Fn(Ranks) -> Result<T, E> + Send + Sync + 'static,
{
    assert!(size > 0, "a job has at least one rank");
    let shared = Arc::new(Shared::new(size, timeouts));
    let body = Arc::new(body);
    let (sender, ends) = mpsc::channel();
    for rank in 0..size {
        let (shared, body, sender) = (Arc::clone(&shared), Arc::clone(&body), sender.clone());
        let work = move || {
            let communicator: Arc<dyn Communicator> =
                Arc::new(ThreadRank { rank, shared: Arc::clone(&shared) });
            panics::claim_thread(Arc::downgrade(&communicator));
            let ranks = Ranks::new(Arc::clone(&communicator));
            let end = match catch_unwind(AssertUnwindSafe(|| body(ranks))) {
                Ok(result) => {
                    match &result {
                        Ok(_) => shared.board.update(rank, |position| position.left = true),
                        Err(error) => shared.condemn(shared.board.ended(rank, error.to_string())),
                    }
                    // Whoever waits for a rank that has left is told so.
                    shared.mailboxes.iter().for_each(Mailbox::wake);
                    End::Returned(result)
                }
                Err(panic) => {
                    // Only if somebody replaced the hook that writes it earlier.
                    shared.condemn(shared.board.ended(rank, panics::describe(panic.as_ref())));
                    End::Panicked
                }
            };
            // Nobody listens any more if the job is over.
            let _ = sender.send((rank, end));
        };
        let thread = std::thread::Builder::new().name(format!("rank {rank}"));
        thread.spawn(work).expect("the system has room for a thread per rank");
    }
    drop(sender);
    gather(size, &shared, &ends)
}

fn gather<T, E>(
    size: usize,
    shared: &Shared,
    ends: &Receiver<(usize, End<T, E>)>,
) -> Result<Vec<T>, Failure<E>> {
    let mut results: Vec<Option<Result<T, E>>> = (0..size).map(|_| None).collect();
    let (mut ended, over) = (vec![false; size], OnceLock::new());
    // Nobody waits for a rank that hangs: the verdict is to be heard as soon as the others have left.
    let is_hung = |rank: usize| {
        let verdict = shared.board.verdict().filter(|verdict| verdict.rank == rank);
        verdict.is_some_and(|verdict| matches!(verdict.cause, Cause::Hung { .. }))
    };
    while (0..size).any(|rank| !ended[rank] && !is_hung(rank)) {
        let end = match shared.board.verdict() {
            None => ends.recv().ok(),
            Some(_) => {
                let over = over.get_or_init(|| Instant::now() + shared.board.timeouts().grace);
                ends.recv_timeout(over.saturating_duration_since(Instant::now())).ok()
            }
        };
        let Some((rank, end)) = end else { break };
        ended[rank] = true;
        if let End::Returned(result) = end {
            results[rank] = Some(result);
        }
    }
    let Some(verdict) = shared.board.verdict() else {
        return Ok(results.into_iter().filter_map(|result| result.and_then(Result::ok)).collect());
    };
    let rank = verdict.rank;
    match results[rank].take() {
        Some(Err(error)) => Err(Failure::Returned { rank, error }),
        _ => {
            let verdict = Box::new(verdict.clone());
            Err(DistError::Lost { rank, site: None, verdict }.into())
        }
    }
}
