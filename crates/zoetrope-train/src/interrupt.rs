//! Being asked to stop: Ctrl-C, SIGTERM, SIGQUIT and SIGHUP.
//!
//! While there is something to save, the first request only sets a flag that the trainer looks at
//! between updates and between the steps of an evaluation, so that it can save a checkpoint and end.
//! While there is nothing to save (data is read, a plan is made, or all is saved already), it ends the
//! process at once. A second request always does.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::{SIGHUP, TERM_SIGNALS};
use signal_hook::iterator::Signals;

/// The exit code of a process that ends at once.
const EXIT_CODE: i32 = 1;

/// A flag that says that the run should end; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    asked: AtomicBool,
    at_once: Mutex<Option<AtOnce>>,
}

/// How the process ends at once.
struct AtOnce {
    says: String,
    undo: Box<dyn FnOnce() + Send>,
}

impl fmt::Debug for AtOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtOnce").field("says", &self.says).finish_non_exhaustive()
    }
}

impl Interrupt {
    /// A flag that only [`ask`](Self::ask) sets.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that Ctrl-C, SIGTERM, SIGQUIT and SIGHUP set; if one of them comes while the flag is set,
    /// the process ends at once with exit code 1. SIGHUP stays ignored if it is (`nohup`). For the
    /// process as a whole, so for programs and not for libraries.
    ///
    /// # Errors
    /// If the system refuses to install a handler or to start the thread that waits for signals.
    pub fn on_signals() -> std::io::Result<Self> {
        let interrupt = Self::new();
        let mut wanted = TERM_SIGNALS.to_vec();
        wanted.extend((!is_ignored(SIGHUP)).then_some(SIGHUP));
        let mut signals = Signals::new(wanted)?;
        let told = interrupt.clone();
        let wait = move || signals.forever().for_each(|_| told.come());
        std::thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
        Ok(interrupt)
    }

    /// A signal has come.
    fn come(&self) {
        let at_once = self.0.at_once.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(AtOnce { says, undo }) = at_once {
            undo();
            // A closed standard error keeps nobody from ending.
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{says}\n"));
            signal_hook::low_level::exit(EXIT_CODE);
        }
        if self.0.asked.swap(true, Ordering::SeqCst) {
            signal_hook::low_level::exit(EXIT_CODE);
        }
    }

    /// From now on there is nothing to save: a signal ends the process at once, which says `says` after
    /// it has done `undo`.
    pub(crate) fn nothing_to_save(&self, says: String, undo: impl FnOnce() + Send + 'static) {
        let at_once = AtOnce { says, undo: Box::new(undo) };
        *self.0.at_once.lock().unwrap_or_else(PoisonError::into_inner) = Some(at_once);
    }

    /// From now on there is something to save: a signal asks for the end.
    pub(crate) fn something_to_save(&self) {
        *self.0.at_once.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Asks for the end.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
    }

    /// Whether the end was asked for. Costs one load, so it may be called for every frame.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }
}

/// Lets a file that grows beyond the limit of the process (`ulimit -f`) be an error of the write instead of
/// the end of the process. For the process as a whole, so for programs and not for libraries.
///
/// # Errors
/// If the system refuses to install a handler.
pub fn file_size_limit_is_an_error() -> std::io::Result<()> {
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
    Ok(())
}

/// Whether whoever started this process lets it ignore a signal.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_request() {
        let interrupt = Interrupt::new();
        let other = interrupt.clone();
        assert!(!other.is_asked());
        interrupt.ask();
        assert!(other.is_asked());
    }
}
