//! Progress bars on standard error, for operations that take long enough.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use zoetrope_data::Progress;

/// Operations shorter than this show no bar, which would only flicker.
const BAR_DELAY: Duration = Duration::from_millis(500);

/// What a step of progress is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Bytes of a file.
    Bytes,
    /// Events, or rows.
    Events,
}

/// Shows the phases of a long operation as bars, one after the other.
#[derive(Debug)]
pub(crate) struct Bars {
    unit: Unit,
    started: Instant,
    visible: bool,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    bar: ProgressBar,
    shown: bool,
}

impl Bars {
    /// Bars for an operation that starts now; invisible if nobody watches or `quiet`.
    pub(crate) fn new(unit: Unit, quiet: bool) -> Self {
        Self {
            unit,
            started: Instant::now(),
            visible: !quiet && std::io::stderr().is_terminal(),
            current: Mutex::new(Current { bar: ProgressBar::hidden(), shown: false }),
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.lock().bar.finish_and_clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn style(&self, known: bool) -> ProgressStyle {
        let template = match (self.unit, known) {
            (Unit::Bytes, true) => {
                "{msg:<12} {bar:28} {bytes:>10} of {total_bytes}  {bytes_per_sec}  {eta} left"
            }
            (Unit::Bytes, false) => "{msg:<12} {spinner} {bytes:>10}  {bytes_per_sec}",
            (Unit::Events, true) => {
                "{msg:<12} {bar:28} {human_pos:>10} of {human_len}  {per_sec}  {eta} left"
            }
            (Unit::Events, false) => "{msg:<12} {spinner} {human_pos:>10}  {per_sec}",
        };
        ProgressStyle::with_template(template)
            .expect("the templates above are well formed")
            .progress_chars("█▉▊▋▌▍▎▏ ")
    }
}

/// A failure must not leave half a bar behind.
impl Drop for Bars {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Progress for Bars {
    fn begin(&self, phase: &str, total: Option<u64>) {
        if !self.visible {
            return;
        }
        let mut current = self.lock();
        current.bar.finish_and_clear();
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        bar.set_style(self.style(total.is_some()));
        bar.set_message(phase.to_owned());
        *current = Current { bar, shown: false };
    }

    fn advance(&self, amount: u64) {
        if !self.visible {
            return;
        }
        let mut current = self.lock();
        if !current.shown && self.started.elapsed() > BAR_DELAY {
            current.bar.set_draw_target(ProgressDrawTarget::stderr());
            current.shown = true;
        }
        current.bar.inc(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_well_formed() {
        for unit in [Unit::Bytes, Unit::Events] {
            let bars = Bars::new(unit, false);
            bars.style(true);
            bars.style(false);
            bars.begin("reading", Some(3));
            bars.advance(3);
            bars.finish();
        }
    }
}
