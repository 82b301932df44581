//! A trained model for commands that use it: from a run folder or from bare weights.

use std::cell::OnceCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use zoetrope_train::config::Config;
use zoetrope_train::course::Course;
use zoetrope_train::run::{Interrupted, RunFolder, Timeline};
use zoetrope_train::shell_word;
use zoetrope_train::stream::{MemorySource, SavedRun, StreamSession};
use zoetrope_train::train::{Opened, Run, load_plan, load_weights};

use crate::exit::Failure;
use crate::progress::{Bars, Unit};
use crate::settings::{Settings, prepare};
use crate::terminal::Style;

/// Where the memory of answers came from, for reports.
#[derive(Debug, Default)]
pub(crate) struct MemoryNote {
    /// None for snapshot models.
    pub(crate) source: Option<MemorySource>,
    /// What to tell if it is not the run's.
    pub(crate) warning: Option<String>,
}

impl MemoryNote {
    /// After a session has answered. A warning goes to standard error at once.
    pub(crate) fn of(session: &StreamSession) -> Self {
        let note =
            Self { source: session.memory_use().source(), warning: session.memory_warning() };
        if let Some(warning) = &note.warning {
            eprintln!("{} {warning}", Style::stderr().yellow("warning:"));
        }
        note
    }

    /// Adds `memory`, and `warnings` if there is one, to a JSON document.
    pub(crate) fn add_to(&self, document: &mut serde_json::Value) {
        let Some(source) = self.source else { return };
        document["memory"] = source.name().into();
        if let Some(warning) = &self.warning {
            document["warnings"] = serde_json::json!([warning]);
        }
    }

    /// The line of a report, without its end; None for snapshot models.
    pub(crate) fn line(&self) -> Option<String> {
        self.source.map(|source| format!("memory: {}", source.describe()))
    }
}

/// Which weights, and with what settings.
#[derive(Debug, Args)]
pub(crate) struct SavedModel {
    /// Run folder whose settings and weights to use
    #[arg(long, value_name = "DIR", required_unless_present = "weights")]
    run: Option<PathBuf>,
    /// Weights as safetensors (a state_dict); with --run they replace those of the run
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// How far the run had come, if it has not come to its end.
    #[arg(skip)]
    interrupted: OnceCell<Interrupted>,
}

impl SavedModel {
    fn config(&self) -> Result<Config, Failure> {
        let base = match &self.run {
            Some(root) => RunFolder::config_layer(root)?,
            None => Config::builder(),
        };
        let mut config = self.settings.over(base).build()?;
        if let Some(root) = &self.run {
            RunFolder::find_files(root, &mut config)?;
        }
        // What belongs to the training of the run and not to the use of its model.
        (config.train.weights, config.train.resume) = (None, None);
        Ok(config)
    }

    /// Puts the weights of a run in place: the final ones, or those that an interrupted run has saved.
    fn put_weights(&self, root: &Path, course: &mut dyn Course) -> Result<(), Failure> {
        match RunFolder::interrupted(root)? {
            None => load_weights(course.parameters_mut(), &root.join("weights.safetensors"))?,
            Some((state, found)) => {
                course.restore(found.state)?;
                course.choose_best();
                self.interrupted.get_or_init(|| state);
            }
        }
        Ok(())
    }

    /// How far the run had come, if it has not come to its end; known once the model is open.
    pub(crate) fn interrupted(&self) -> Option<Interrupted> {
        self.interrupted.get().copied()
    }

    /// The same as a line of a report, with how to go on; empty for a finished run.
    pub(crate) fn interruption_line(&self) -> String {
        let (Some(state), Some(root)) = (self.interrupted(), &self.run) else {
            return String::new();
        };
        match state.running {
            true => format!("this run {state}\n"),
            false => {
                let folder = shell_word(root);
                format!("this run {state}; `zoetrope train --resume {folder}` continues it\n")
            }
        }
    }

    /// Whether no progress is shown.
    pub(crate) fn is_silent(&self, silent: bool) -> bool {
        self.quiet || silent
    }

    /// Says what a user should know about the data, and where its scale comes from if that is not
    /// the run.
    fn tell(&self, run: &Run) {
        let course = run.course();
        let scaled = course.scaled();
        let fitted = (scaled.summary().is_some() && !scaled.of_run).then(|| match &self.run {
            None => "no run is given: the data's scale is fitted on its training part".to_owned(),
            Some(root) => format!(
                "{} has no scale for this data: it is fitted on the data's training part",
                root.display()
            ),
        });
        for note in course.warnings().iter().chain(&fitted) {
            // A closed standard error must not end the command.
            let _ = writeln!(std::io::stderr(), "{} {note}", Style::stderr().yellow("note:"));
        }
    }

    /// Opens the data and puts the weights in place.
    pub(crate) fn open(&self, silent: bool) -> Result<Run, Failure> {
        let mut config = self.config()?;
        prepare(&config)?;
        let saved = match self.run_folder().filter(|_| config.model.name.is_stream()) {
            Some(root) => SavedRun::read(root)?,
            None => None,
        };
        let bars = Bars::new(Unit::Bytes, self.is_silent(silent));
        let opened = Opened::open_for(&mut config, &bars, saved.as_ref(), self.run_folder())?;
        bars.finish();
        let given = load_plan(&config.plan.name)?;
        let mut run = opened.start(config, given, Timeline::new())?;
        if !self.is_silent(silent) {
            self.tell(&run);
        }
        match (&self.weights, &self.run) {
            (Some(file), _) => load_weights(run.course_mut().parameters_mut(), file)?,
            (None, Some(root)) => self.put_weights(root, run.course_mut())?,
            (None, None) => unreachable!("one of --run and --weights is required"),
        }
        if let Run::Events(session) = &mut run {
            session.recall(saved.as_ref())?;
        }
        Ok(run)
    }

    /// The run whose memory may be used: the one that is named, or in whose folder the weights are.
    fn run_folder(&self) -> Option<&Path> {
        let beside = || self.weights.as_deref()?.parent();
        self.run.as_deref().or_else(|| beside().filter(|root| root.join("config.toml").is_file()))
    }
}
