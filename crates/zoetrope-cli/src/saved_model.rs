//! A trained model for commands that use it: from a run folder or from bare weights.

use std::cell::OnceCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use zoetrope_config::Config;
use zoetrope_run::{Interrupted, RunFolder, Timeline, shell_word};
use zoetrope_train::events::{EventSession, MemorySource, SavedRun};
use zoetrope_train::train::{Opened, Run, load_plan, load_weights, vertex_rows};
use zoetrope_train::training_run::TrainingRun;
use zoetrope_train::{VertexRows, put_run_weights};

use crate::exit::Failure;
use crate::progress::{Bars, Unit};
use crate::settings::{Settings, prepare};
use crate::terminal::{Style, harmless};

/// Where the memory of answers came from, for reports.
#[derive(Debug, Default)]
pub(crate) struct MemoryNote {
    /// None for snapshot models.
    pub(crate) source: Option<MemorySource>,
    /// The warning if it is not the run's.
    pub(crate) warning: Option<String>,
}

impl MemoryNote {
    /// After a session has answered. A warning goes to standard error at once.
    pub(crate) fn of(session: &EventSession) -> Self {
        let note =
            Self { source: session.memory_use().source(), warning: session.memory_warning() };
        if let Some(warning) = &note.warning {
            tell("warning:", warning);
        }
        note
    }

    /// Adds `memory` to a JSON document, and to its `warnings` that memory was rebuilt.
    pub(crate) fn add_to(&self, document: &mut serde_json::Value) {
        if let Some(source) = self.source {
            document["memory"] = source.name().into();
        }
        add_warnings(document, self.warning.iter());
    }

    /// The line of a report, without its end; None for snapshot models.
    pub(crate) fn line(&self) -> Option<String> {
        self.source.map(|source| format!("memory: {}", source.describe()))
    }
}

/// Adds to the `warnings` of a JSON document, which is absent while there are none.
pub(crate) fn add_warnings<'a>(
    document: &mut serde_json::Value,
    warnings: impl IntoIterator<Item = &'a String>,
) {
    for warning in warnings {
        match &mut document["warnings"] {
            serde_json::Value::Array(list) => list.push(warning.as_str().into()),
            absent => *absent = serde_json::json!([warning]),
        }
    }
}

/// A line on standard error.
pub(crate) fn tell(kind: &str, text: &str) {
    let style = Style::stderr();
    // A closed standard error must not end the command.
    let _ = writeln!(std::io::stderr(), "{} {}", style.yellow(kind), harmless(text, style));
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
    /// How far the run had come, if it is not finished.
    #[arg(skip)]
    interrupted: OnceCell<Interrupted>,
    /// What a user should know about the data.
    #[arg(skip)]
    notes: OnceCell<Vec<String>>,
    /// The warning that the data is not that of the run, although it should be.
    #[arg(skip)]
    other_data: OnceCell<String>,
}

impl SavedModel {
    /// The configuration, and the digest of the run's data if that is what is to be read.
    fn config(&self) -> Result<(Config, Option<String>), Failure> {
        let base = match &self.run {
            Some(root) => RunFolder::config_layer(root)?,
            None => Config::builder(),
        };
        let mut config = self.settings.over(base).build()?;
        let digest = match &self.run {
            Some(root) => RunFolder::find_files(root, &mut config)?,
            None => None,
        };
        // What belongs to the training of the run and not to the use of its model.
        (config.train.weights, config.train.resume) = (None, None);
        Ok((config, digest))
    }

    /// Puts the weights of a run in place: the final ones, or those that an interrupted run has saved.
    fn put_weights(
        &self,
        root: &Path,
        session: &mut dyn TrainingRun,
        rows: Option<&VertexRows>,
    ) -> Result<(), Failure> {
        if let Some(state) = put_run_weights(root, session, rows)? {
            self.interrupted.get_or_init(|| state);
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
        if state.running {
            format!("this run {state}\n")
        } else {
            let folder = shell_word(root);
            format!("this run {state}; `zoetrope train --resume {folder}` continues it\n")
        }
    }

    /// Adds what a user should know of the data, and `more`, to the `warnings` of a JSON document.
    pub(crate) fn add_warnings(&self, document: &mut serde_json::Value, more: &[String]) {
        let notes = self.notes.get().into_iter().flatten();
        add_warnings(document, self.other_data.get().into_iter().chain(more).chain(notes));
    }

    /// Whether no progress is shown.
    pub(crate) fn is_silent(&self, silent: bool) -> bool {
        self.quiet || silent
    }

    /// Says what a user should know about the data, where its scale comes from if that is not the run,
    /// and whose features vertices have that the run does not know.
    fn tell(&self, run: &Run, rows: Option<&VertexRows>, silent: bool) {
        let session = run.session();
        let scaled = session.scaled();
        let fitted = (scaled.summary().is_some() && !scaled.of_run).then(|| match &self.run {
            None => "no run is given: the data's scale is fitted on its training part".to_owned(),
            Some(root) => format!(
                "{} has no scale for this data: it is fitted on the data's training part",
                root.display()
            ),
        });
        let new = rows.map(VertexRows::unknown).filter(|&new| new > 0).map(|new| {
            format!(
                "{new} vertices are not in the run's data: zeros stand for the features that it would \
                 have learned of them"
            )
        });
        let notes = session.warnings().iter().cloned().chain(fitted).chain(new).collect();
        for note in self.notes.get_or_init(|| notes).iter().filter(|_| !silent) {
            tell("note:", note);
        }
    }

    /// Opens the data and puts the weights in place.
    pub(crate) fn open(&self, silent: bool) -> Result<Run, Failure> {
        let (mut config, digest) = self.config()?;
        prepare(&config)?;
        let mut saved = self.run_folder().map(SavedRun::read).transpose()?.flatten();
        let bars = Bars::new(Unit::Bytes, self.is_silent(silent));
        let opened = Opened::open_for(&mut config, &bars, saved.as_ref(), self.run_folder())?;
        bars.finish();
        if let Some(digest) = digest.filter(|digest| digest != opened.sha256()) {
            let warning = other_data(&opened, &digest);
            // A closed standard error must not end the command.
            let _ = writeln!(std::io::stderr(), "{} {warning}", Style::stderr().yellow("warning:"));
            self.other_data.get_or_init(|| warning);
        }
        let given = load_plan(&config)?;
        let mut run = opened.start(config, given, Timeline::new())?;
        let rows = vertex_rows(run.session(), self.run_folder())?;
        let rows = rows.as_ref();
        self.tell(&run, rows, self.is_silent(silent));
        match (&self.weights, &self.run) {
            (Some(file), _) => load_weights(run.session_mut().parameters_mut(), file, rows)
                .map_err(|error| self.with_settings_of_run(error.into()))?,
            (None, Some(root)) => self.put_weights(root, run.session_mut(), rows)?,
            (None, None) => unreachable!("one of --run and --weights is required"),
        }
        if let (Some(saved), Some(rows)) = (&mut saved, rows) {
            saved.arrange_vertices(rows)?;
        }
        if let Run::Events(session) = &mut run {
            session.recall(saved.as_ref())?;
        }
        Ok(run)
    }

    /// A failure of weights that lie in a run folder whose settings nobody asked for.
    fn with_settings_of_run(&self, failure: Failure) -> Failure {
        match self.run_folder().filter(|_| self.run.is_none()) {
            Some(root) => failure.hint(format!(
                "--run {} uses the settings that these weights were trained with",
                shell_word(root)
            )),
            None => failure,
        }
    }

    /// The run whose memory may be used: the one that is named, or in whose folder the weights are.
    fn run_folder(&self) -> Option<&Path> {
        let beside = || self.weights.as_deref()?.parent();
        self.run.as_deref().or_else(|| beside().filter(|root| root.join("config.toml").is_file()))
    }
}

/// That data which should be that of a run is not.
fn other_data(opened: &Opened, digest: &str) -> String {
    let short = |digest: &str| digest.chars().take(12).collect::<String>();
    format!(
        "{} is not the data that this run was trained on: its sha256 begins with {}, not {}",
        opened.name(),
        short(opened.sha256()),
        short(digest)
    )
}
