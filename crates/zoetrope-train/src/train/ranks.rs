//! A run by several ranks: threads of this process, or the processes of an MPI job.
//!
//! This file only starts them; what each of them does is one `job`.

use std::sync::Mutex;
use std::time::Instant;

use zoetrope_config::Config;
use zoetrope_dist::{Failure, Ranks, Timeouts, threads};
use zoetrope_plan::PlanError;

use super::job::{STOPPED, job};
use super::leader::First;
use super::{Finished, Opened, agreement};
use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::observer::{ObservedReading, Observer};

/// How long ranks wait for each other.
fn timeouts(config: &Config) -> Timeouts {
    Timeouts { timeout: config.rank_timeout(), ..Timeouts::default() }
}

/// Threads that compute for one rank if `here` ranks are on this machine.
fn threads_of_a_rank(config: &Config, here: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    config.train.threads_to_start().unwrap_or((cores / here.max(1)).max(1))
}

/// Runs as one rank, with threads of its own to compute on: if one of them panics, so has the rank.
fn in_pool<T: Send>(
    threads: usize,
    ranks: &Ranks,
    work: impl FnOnce() -> Result<T, TrainError> + Send,
) -> Result<T, TrainError> {
    let claim = ranks.thread_claim();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.start_handler(move |_| claim()).build();
    let pool = pool.map_err(|error| TrainError::Unavailable {
        what: format!("{threads} threads for a rank ({error})"),
        advice: "choose fewer with --threads or --ranks".to_owned(),
    })?;
    pool.install(work)
}

/// An error of the work itself as it is; one of a rank that was lost names it.
fn plain(failure: Failure<TrainError>) -> TrainError {
    match failure {
        Failure::Returned { error, .. } => error,
        Failure::Lost(error) => agreement::found_by_another(&error).unwrap_or_else(|| error.into()),
        other => TrainError::Unavailable {
            what: other.to_string(),
            advice: "look at the messages of the ranks".to_owned(),
        },
    }
}

/// [`train`](super::train) by `train.ranks` threads. They read the data once.
///
/// # Errors
/// As [`train`](super::train), and if a rank is lost.
///
/// # Panics
/// Never: the first rank has the run.
pub fn train_by_threads(
    mut config: Config,
    begun: Instant,
    interrupt: &Interrupt,
    mut observer: Box<dyn Observer>,
) -> Result<Finished, TrainError> {
    let (size, reading_since) = (config.train.ranks, Instant::now());
    interrupt.nothing_to_save(STOPPED.to_owned(), || {});
    let material = match Opened::open(&mut config, &ObservedReading::new(&mut *observer))? {
        Opened::Snapshots(material) => material,
        Opened::Events(_) => {
            let (model, ranks) = (config.model.name.name().to_owned(), size as u32);
            return Err(PlanError::EventsAcrossRanks { model, ranks }.into());
        }
    };
    let observer = Mutex::new(Some(observer));
    let (timeouts, interrupt) = (timeouts(&config), interrupt.clone());
    let threads = threads_of_a_rank(&config, size);
    let ends = threads::run(size, timeouts, move |ranks| {
        let (config, opened) = (config.clone(), Opened::Snapshots(material.clone()));
        // Taken by the first rank; nobody holds the lock while it computes.
        let is_first = ranks.rank() == 0;
        let own = observer.lock().ok().filter(|_| is_first);
        let mut own = own.and_then(|mut observer| observer.take());
        let first = own.as_mut().map(|own| First { observer: &mut **own, begun, reading_since });
        in_pool(threads, &ranks.clone(), || {
            match job(config, &interrupt, Some(opened), Some(ranks), first) {
                // The first rank says so, who knows the run folder.
                Err(TrainError::Interrupted { .. }) if !is_first => Ok(None),
                end => end,
            }
        })
    });
    let mut ends = ends.map_err(plain)?;
    Ok(ends.swap_remove(0).expect("the first rank has the run"))
}

/// [`train`](super::train) as this process's rank of an MPI job; None on every rank but the first.
///
/// # Errors
/// As [`train`](super::train), and if there is no MPI or a rank is lost.
#[cfg(feature = "mpi")]
pub fn train_by_mpi(
    config: Config,
    begun: Instant,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Option<Finished>, TrainError> {
    zoetrope_dist::mpi::run(timeouts(&config), |ranks| {
        let asked = config.train.ranks;
        if asked != 1 && asked != ranks.size() {
            return Err(TrainError::Unfit {
                what: format!("train.ranks = {asked} in an MPI job of {}", ranks.size()),
                advice: "leave --ranks out: the launcher decides".to_owned(),
            });
        }
        let mut config = config;
        config.train.ranks = ranks.size();
        let (alone, reading_since) = (ranks.size() == 1, Instant::now());
        let threads = threads_of_a_rank(&config, local_ranks(ranks.size()));
        in_pool(threads, &ranks.clone(), || {
            let first = (ranks.rank() == 0).then_some(First { observer, begun, reading_since });
            job(config, interrupt, None, (!alone).then_some(ranks), first)
        })
    })
    .map_err(plain)
}

/// Ranks of the job on this machine, as the launcher tells; all of them if it does not.
#[cfg(feature = "mpi")]
fn local_ranks(all: usize) -> usize {
    let told = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
    let told = told.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    told.unwrap_or(all)
}
