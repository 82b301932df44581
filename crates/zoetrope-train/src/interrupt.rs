//! Being asked to stop: Ctrl-C and SIGTERM.
//!
//! The first request only sets a flag that the trainer looks at between updates, so that it can
//! save a checkpoint and end; the second ends the process at once. It does not save anything
//! itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::TERM_SIGNALS;

/// The exit code of a process that was asked twice.
const EXIT_CODE: i32 = 1;

/// A flag that says that the run should end; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that only [`ask`](Self::ask) sets.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that Ctrl-C, SIGTERM and SIGQUIT set; where one of them comes while the flag is set,
    /// the process ends at once with exit code 1. For the process as a whole, so for programs and
    /// not for libraries.
    ///
    /// # Errors
    /// Where the system refuses to install a handler.
    pub fn on_signals() -> std::io::Result<Self> {
        let interrupt = Self::new();
        for &signal in TERM_SIGNALS {
            let flag = || Arc::clone(&interrupt.0);
            // In this order: the first signal must not find the flag set by itself.
            signal_hook::flag::register_conditional_shutdown(signal, EXIT_CODE, flag())?;
            signal_hook::flag::register(signal, flag())?;
        }
        Ok(interrupt)
    }

    /// Asks for the end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the end was asked for. Costs one load, so it may be called for every frame.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
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
