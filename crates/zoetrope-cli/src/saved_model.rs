//! A trained model for commands that use it: from a run folder or from bare weights.

use std::path::PathBuf;

use clap::Args;
use zoetrope_train::config::Config;
use zoetrope_train::run::{RunFolder, Timeline};
use zoetrope_train::train::{Opened, Run, load_plan, load_weights};

use crate::exit::Failure;
use crate::progress::{Bars, Unit};
use crate::settings::{Settings, prepare};

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
}

impl SavedModel {
    fn config(&self) -> Result<Config, Failure> {
        let base = match &self.run {
            Some(root) => {
                let saved = RunFolder::read_config(root)?;
                Config::builder().text(&saved.to_toml(), root.join("config.toml"))
            }
            None => Config::builder(),
        };
        let mut config = self.settings.over(base).build()?;
        // What belongs to the training of the run and not to the use of its model.
        (config.train.weights, config.train.resume) = (None, None);
        Ok(config)
    }

    /// Whether no progress is shown.
    pub(crate) fn is_silent(&self, silent: bool) -> bool {
        self.quiet || silent
    }

    /// Opens the data and puts the weights in place.
    pub(crate) fn open(&self, silent: bool) -> Result<Run, Failure> {
        let config = self.config()?;
        prepare(&config)?;
        let bars = Bars::new(Unit::Bytes, self.is_silent(silent));
        let opened = Opened::open(&config, &bars)?;
        bars.finish();
        let given = load_plan(&config.plan.name)?;
        let mut run = opened.start(config, given, Timeline::new())?;
        let weights = match (&self.weights, &self.run) {
            (Some(file), _) => file.clone(),
            (None, Some(root)) => root.join("weights.safetensors"),
            (None, None) => unreachable!("one of --run and --weights is required"),
        };
        load_weights(run.course_mut().parameters_mut(), &weights)?;
        if let (Run::Events(session), None, Some(root)) = (&mut run, &self.weights, &self.run) {
            session.recall(root)?;
        }
        Ok(run)
    }
}
