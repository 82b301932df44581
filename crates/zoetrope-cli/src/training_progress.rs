//! The bars and lines that a run shows while it trains, on standard error.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use zoetrope_data::Progress;
use zoetrope_train::observer::{Observer, RunEvent};
use zoetrope_train::run::EpochRecord;
use zoetrope_train::training_run::TrainingRun;

use crate::progress::{Bars, Unit};
use crate::report::training::short;
use crate::terminal::{Style, harmless};

/// The most lines about epochs that are written if there is no terminal.
const LOG_LINES: usize = 10;

/// Shows a bar over all epochs if somebody watches, and a line now and then if a log does.
pub(crate) struct TrainingBars {
    reading: Bars,
    bar: ProgressBar,
    visible: bool,
    quiet: bool,
    epochs: usize,
    text: String,
}

impl TrainingBars {
    /// Nothing is shown yet.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            reading: Bars::new(Unit::Bytes, quiet),
            bar: ProgressBar::hidden(),
            visible: !quiet && std::io::stderr().is_terminal(),
            quiet,
            epochs: 0,
            text: String::new(),
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, line: &str) {
        // A closed standard error must not end a run.
        let _ = writeln!(std::io::stderr(), "{}", harmless(line, Style::stderr()));
    }
}

/// A failure must not leave half a bar behind.
impl Drop for TrainingBars {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Observer for TrainingBars {
    fn observe(&mut self, event: RunEvent<'_>) -> ControlFlow<()> {
        match event {
            RunEvent::Reading { phase, total } => self.reading.begin(phase, total),
            RunEvent::Read(amount) => self.reading.advance(amount),
            RunEvent::Warning(text) => self.warning(text),
            RunEvent::Started { run, folder } => self.started(run, folder),
            RunEvent::Step { epoch, done, all } => self.step(epoch, done, all),
            RunEvent::Epoch { run, record } => self.epoch(run, record),
            RunEvent::Testing => self.finish(),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl TrainingBars {
    fn warning(&mut self, text: &str) {
        let line = format!("{} {text}", Style::stderr().yellow("warning:"));
        self.bar.suspend(|| self.say(&line));
    }

    fn started(&mut self, run: &dyn TrainingRun, folder: &Path) {
        self.reading.finish();
        self.epochs = run.config().train.epochs;
        if self.quiet {
            return;
        }
        let style = Style::stderr();
        self.say(&format!(
            "{} {} on {}: {}; {} parameters → {}",
            style.bold(run.config().model.name.name()),
            style.dim(run.task().name()),
            run.data().name,
            run.size(),
            run.parameters().weights(),
            folder.display(),
        ));
        for choice in run.config().chosen() {
            self.say(&format!("{} {choice}", style.dim("chosen:")));
        }
        for warning in run.warnings() {
            self.say(&format!("{} {warning}", style.yellow("note:")));
        }
        if self.visible {
            let frames = run.steps_per_epoch();
            let template = "{msg} {bar:28} {percent:>3}%  {eta} left";
            let look = ProgressStyle::with_template(template)
                .expect("the template above is well formed")
                .progress_chars("█▉▊▋▌▍▎▏ ");
            self.bar = ProgressBar::new((self.epochs * frames) as u64);
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
            self.bar.set_style(look);
            self.bar.set_position((run.epochs().len() * frames) as u64);
        }
    }

    fn step(&mut self, epoch: usize, done: usize, all: usize) {
        if self.visible {
            self.bar.set_message(format!("epoch {epoch} of {}{}", self.epochs, self.text));
            self.bar.set_position(((epoch - 1) * all + done) as u64);
        }
    }

    fn epoch(&mut self, run: &dyn TrainingRun, record: &EpochRecord) {
        let key = run.learner().watched_key();
        let val = record
            .val
            .get(key)
            .map_or_else(String::new, |value| format!("  val {key} {}", short(*value)));
        self.text = format!("  loss {}{val}", short(record.loss));
        let every = self.epochs.div_ceil(LOG_LINES).max(1);
        let due = record.epoch == 1 || record.epoch.is_multiple_of(every);
        if !self.quiet && !self.visible && due {
            self.say(&format!("epoch {:>4} of {}{}", record.epoch, self.epochs, self.text));
        }
    }
}
