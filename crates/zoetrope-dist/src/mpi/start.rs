//! Watching the ranks of a job until they can watch each other.
//!
//! Until MPI is up and the channel is open, a rank that ends or never comes would leave the others waiting
//! inside MPI for ever. A thread looks meanwhile at the processes that the same launcher has started on
//! this host: it tells each its rank by an environment variable, which the system shows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::DistError;

/// How often a process looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// How long ranks have to come up at least, whatever the timeout: a busy machine starts slowly.
pub(super) const STARTUP_TIMEOUT_MIN: Duration = Duration::from_secs(30);

/// How long a rank of this host may stay unseen: a launcher starts all of them in less.
const UNSEEN_LIMIT: Duration = Duration::from_secs(15);

/// Names of the variables by which launchers tell.
const RANK: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
const SIZE: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];
const LOCAL_SIZE: [&str; 2] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];

/// Ends when ranks watch each other.
#[derive(Debug)]
pub(super) struct Start(Arc<AtomicBool>);

impl Drop for Start {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The ranks of this host.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Seen {
    alive: BTreeSet<usize>,
    stopped: BTreeSet<usize>,
}

/// What is known of the others over time.
#[derive(Debug)]
struct Others {
    /// The number of ranks if all of them are on this host.
    here: Option<usize>,
    ever: BTreeSet<usize>,
    gone: BTreeSet<usize>,
}

impl Start {
    /// Watches until dropped; `lost` is called once with what is wrong.
    pub(super) fn watch(
        timeout: Duration,
        lost: impl FnOnce(DistError) + Send + 'static,
    ) -> Result<Self, DistError> {
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let rank = told(&RANK).unwrap_or(0);
        let work = move || {
            let (size, local) = (told(&SIZE), told(&LOCAL_SIZE));
            let here = size.filter(|_| size == local);
            let mut others = Others { here, ever: BTreeSet::new(), gone: BTreeSet::new() };
            let (begun, timeout) = (Instant::now(), timeout.max(STARTUP_TIMEOUT_MIN));
            while !ended.load(Ordering::Acquire) {
                let message = others.judge(&look(), begun.elapsed(), timeout);
                if let Some(message) = message.filter(|_| !ended.load(Ordering::Acquire)) {
                    return lost(DistError::Start { rank, message });
                }
                std::thread::sleep(LOOK_INTERVAL);
            }
        };
        let thread = std::thread::Builder::new().name("start of MPI".to_owned()).spawn(work);
        thread.map_err(|error| DistError::Start { rank, message: error.to_string() })?;
        Ok(Self(over))
    }
}

impl Others {
    /// What is wrong with what was seen after so much time.
    fn judge(&mut self, seen: &Seen, since: Duration, timeout: Duration) -> Option<String> {
        // Nobody sees others if the system does not show them.
        if seen.alive.is_empty() && since < timeout {
            return None;
        }
        let unseen = |rank: &usize| !seen.alive.contains(rank);
        let mut gone: BTreeSet<usize> = self.ever.iter().copied().filter(unseen).collect();
        self.ever.extend(&seen.alive);
        if since >= UNSEEN_LIMIT.min(timeout) && !seen.alive.is_empty() {
            gone.extend((0..self.here.unwrap_or(0)).filter(unseen));
        }
        // Seen twice: what has ended between two files of the system is there again.
        let lost: Vec<usize> = gone.intersection(&self.gone).copied().collect();
        self.gone = gone;
        if !lost.is_empty() {
            return Some(format!("{} ended before MPI was up", named(&lost)));
        }
        if since < timeout {
            return None;
        }
        let stopped: Vec<usize> = seen.stopped.iter().copied().collect();
        let why = match stopped.as_slice() {
            [] => "a rank did not start, or hosts do not reach each other".to_owned(),
            [_] => format!("{} is stopped", named(&stopped)),
            _ => format!("{} are stopped", named(&stopped)),
        };
        Some(format!("MPI is not up after {} s: {why}", timeout.as_secs()))
    }
}

fn named(ranks: &[usize]) -> String {
    let numbers: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", numbers.join(", "))
}

/// The number that a launcher tells.
fn told(names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// The ranks that this process's launcher has started here.
fn look() -> Seen {
    let parent = std::os::unix::process::parent_id();
    let mut seen = Seen::default();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let folder = entry.path();
        let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
        // Behind the name, which may hold anything: the state and the parent.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let state = fields.next().unwrap_or_default();
        if fields.next().and_then(|text| text.parse().ok()) != Some(parent) {
            continue;
        }
        // What has ended and was not waited for shows no environment.
        let environment = std::fs::read(folder.join("environ")).unwrap_or_default();
        if let Some(rank) = rank_in(&environment) {
            seen.alive.insert(rank);
            if matches!(state, "T" | "t") {
                seen.stopped.insert(rank);
            }
        }
    }
    seen
}

/// The rank in the environment of a process.
fn rank_in(environment: &[u8]) -> Option<usize> {
    let entries = || environment.split(|&byte| byte == 0);
    RANK.iter().find_map(|name| {
        entries().find_map(|entry| {
            let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            std::str::from_utf8(value).ok()?.parse().ok()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(alive: &[usize], stopped: &[usize]) -> Seen {
        let set = |ranks: &[usize]| ranks.iter().copied().collect();
        Seen { alive: set(alive), stopped: set(stopped) }
    }

    fn others(here: Option<usize>) -> Others {
        Others { here, ever: BTreeSet::new(), gone: BTreeSet::new() }
    }

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn a_rank_that_was_there_and_is_gone_is_named() {
        let mut others = others(None);
        let soon = Duration::from_secs(1);
        assert_eq!(others.judge(&seen(&[0, 1, 2], &[]), soon, TIMEOUT), None);
        assert_eq!(others.judge(&seen(&[0, 2], &[]), soon, TIMEOUT), None);
        let said = others.judge(&seen(&[0, 2], &[]), soon, TIMEOUT).unwrap();
        assert_eq!(said, "rank 1 ended before MPI was up");
    }

    #[test]
    fn a_rank_that_was_never_there_is_named_after_a_while() {
        let mut all = others(Some(3));
        for (seconds, says) in [(1, false), (14, false), (15, false), (16, true)] {
            let said = all.judge(&seen(&[0, 2], &[]), Duration::from_secs(seconds), TIMEOUT);
            assert_eq!(said.is_some_and(|said| said.contains("rank 1 ended")), says, "{seconds}");
        }
        // Ranks of other hosts are not seen.
        assert_eq!(others(None).judge(&seen(&[0], &[]), Duration::from_secs(20), TIMEOUT), None);
    }

    #[test]
    fn what_takes_too_long_is_said_with_who_is_stopped() {
        let said = others(Some(2)).judge(&seen(&[0, 1], &[1]), TIMEOUT, TIMEOUT).unwrap();
        assert_eq!(said, "MPI is not up after 60 s: rank 1 is stopped");
        let said = others(None).judge(&seen(&[], &[]), TIMEOUT, TIMEOUT).unwrap();
        assert!(said.contains("a rank did not start"), "{said}");
    }

    #[test]
    fn the_rank_of_a_process_is_in_its_environment() {
        assert_eq!(rank_in(b"A=1\0OMPI_COMM_WORLD_RANK=12\0B=\0"), Some(12));
        assert_eq!(rank_in(b"PMI_RANK=3"), Some(3));
        assert_eq!(rank_in(b"XPMI_RANK=3\0PMI_RANK=x\0"), None);
    }
}
