//! A run by several ranks: threads of this process, or the processes of an MPI job.
//!
//! All ranks do the same with their shares; the first one also has the run folder, shows progress and
//! measures. What they decide (whether to stop, which epoch was best) they decide together.

use std::sync::Mutex;
use std::time::Instant;

use zoetrope_data::Quiet;
use zoetrope_data::split::Part;
use zoetrope_dist::{Failure, Ranks, Timeouts, threads};
use zoetrope_plan::PlanError;

use super::{
    Finished, GoingOn, Listener, Opened, STOPPED, agreement, check_parts, data_changes, lead,
    loading, start_from,
};
use crate::config::Config;
use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::run::Timeline;
use crate::snapshots::session::Watch;

/// How long ranks wait for each other.
fn timeouts(config: &Config) -> Timeouts {
    Timeouts { timeout: config.rank_timeout(), ..Timeouts::default() }
}

/// Threads that compute for one rank where `here` ranks are on this machine.
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
/// As [`train`](super::train), and where a rank is lost.
///
/// # Panics
/// Never: the first rank has the run.
pub fn train_by_threads(
    mut config: Config,
    begun: Instant,
    interrupt: &Interrupt,
    listener: Box<dyn Listener + Send>,
) -> Result<Finished, TrainError> {
    let (size, started) = (config.train.ranks, Instant::now());
    interrupt.nothing_to_save(STOPPED.to_owned(), || {});
    let material = match Opened::open(&mut config, listener.reading())? {
        Opened::Snapshots(material) => material,
        Opened::Events(_) => {
            let (model, ranks) = (config.model.name.name().to_owned(), size as u32);
            return Err(PlanError::EventsAcrossRanks { model, ranks }.into());
        }
    };
    let listener = Mutex::new(Some(listener));
    let (timeouts, interrupt) = (timeouts(&config), interrupt.clone());
    let threads = threads_of_a_rank(&config, size);
    let ends = threads::run(size, timeouts, move |ranks| {
        let (config, opened) = (config.clone(), Opened::Snapshots(material.clone()));
        // Taken by the first rank; nobody holds the lock while it computes.
        let first = match ranks.rank() {
            0 => listener.lock().ok().and_then(|mut listener| listener.take()),
            _ => None,
        };
        in_pool(threads, &ranks.clone(), || match first {
            Some(mut listener) => {
                let opened = Some((opened, started));
                lead(config, begun, &interrupt, &mut *listener, opened, Some(ranks)).map(Some)
            }
            None => match follow(config, &interrupt, Some(opened), ranks) {
                // The first rank says so, who knows the run folder.
                Ok(()) | Err(TrainError::Interrupted { .. }) => Ok(None),
                Err(error) => Err(error),
            },
        })
    });
    let mut ends = ends.map_err(plain)?;
    Ok(ends.swap_remove(0).expect("the first rank has the run"))
}

/// [`train`](super::train) as this process's rank of an MPI job; None on every rank but the first.
///
/// # Errors
/// As [`train`](super::train), and where there is no MPI or a rank is lost.
#[cfg(feature = "mpi")]
pub fn train_by_mpi(
    config: Config,
    begun: Instant,
    interrupt: &Interrupt,
    listener: &mut (dyn Listener + Send),
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
        let alone = ranks.size() == 1;
        let threads = threads_of_a_rank(&config, local_ranks(ranks.size()));
        in_pool(threads, &ranks.clone(), || match ranks.rank() {
            0 => {
                let ranks = (!alone).then_some(ranks);
                lead(config, begun, interrupt, listener, None, ranks).map(Some)
            }
            _ => follow(config, interrupt, None, ranks).map(|()| None),
        })
    })
    .map_err(plain)
}

/// Ranks of the job on this machine, as the launcher tells; all of them where it does not.
#[cfg(feature = "mpi")]
fn local_ranks(all: usize) -> usize {
    let told = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
    let told = told.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    told.unwrap_or(all)
}

struct Silently<'a>(&'a Interrupt);

impl Watch for Silently<'_> {
    fn frame(&mut self, _: usize, _: usize) -> bool {
        !self.0.is_asked()
    }
}

/// What a rank other than the first does.
fn follow(
    mut config: Config,
    interrupt: &Interrupt,
    opened: Option<Opened>,
    ranks: Ranks,
) -> Result<(), TrainError> {
    ranks.take_time();
    let resumed = config.train.resume.take();
    // A process of its own ends by itself; of threads the first one sees to that.
    let is_process = opened.is_none();
    if is_process {
        interrupt.nothing_to_save(STOPPED.to_owned(), || {});
    }
    let opened = match opened {
        Some(opened) => opened,
        None => Opened::open_for(&mut config, &Quiet, None, resumed.as_deref())?,
    };
    let changes = data_changes(resumed.as_deref(), &mut config, &opened)?;
    let plan = loading::plan_of(&config, resumed.as_deref(), &changes)?;
    agreement::must_agree(&ranks, &config, &opened, plan.as_ref())?;
    let mut run = opened.start_shared(config, plan, Timeline::new(), Some(ranks))?;
    let course = run.course_mut();
    check_parts(course)?;
    let going_on = resumed.as_deref().map(|root| GoingOn { root, changes: &changes });
    start_from(course, going_on, |_| {})?;
    if is_process {
        interrupt.something_to_save();
    }
    course.stop_on(interrupt);
    while !course.is_over() {
        course.epoch(&mut Silently(interrupt))?;
        if course.agree(interrupt.is_asked())? && !course.is_over() {
            let folder = resumed.or_else(|| course.config().output.dir.clone());
            let (folder, epochs) = (folder.unwrap_or_default(), course.epochs().len());
            return Err(TrainError::Interrupted { folder, epochs });
        }
    }
    if is_process {
        let what = "stopped while the run was measured: its checkpoint is saved";
        interrupt.nothing_to_save(what.to_owned(), || {});
    }
    course.choose_best();
    if course.has(Part::Test) {
        course.evaluate(Part::Test)?;
    }
    course.traffic()?;
    course.baselines(Part::Test)?;
    Ok(())
}
