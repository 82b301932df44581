//! The flags that every command about training shares, as layers of one configuration.

use std::path::PathBuf;

use clap::Args;
use zoetrope_config::{Config, ConfigBuilder, Device};

use crate::command::start_threads;
use crate::exit::Failure;
use crate::input::data_must_exist;
use crate::reading::{Reading, data_name};

/// The flags that set keys of the configuration.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Settings {
    /// Configuration file (TOML, or YAML of TGL); flags override it
    #[arg(value_name = "CONFIG.toml")]
    pub(crate) file: Option<PathBuf>,
    /// Data: file, folder, - for standard input, or synthetic:NAME?key=value&…
    #[arg(long, value_name = "PATH", value_parser = data_name())]
    data: Option<String>,
    /// Model: tgcn, a3tgcn, gc-lstm, evolvegcn-o, evolvegcn-h, mpnn-lstm, cd-gcn, wd-gcn, tm-gcn,
    /// dysat on snapshots; tgn, jodie, apan, tgat on events
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Task: node-regression, node-classification, link-prediction, edge-classification,
    /// edge-regression
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Passes over the training part
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    epochs: Option<String>,
    /// Learning rate
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    lr: Option<String>,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    seed: Option<String>,
    /// Width of the hidden state
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    hidden: Option<String>,
    /// Number of layers
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    layers: Option<String>,
    /// Snapshots in a frame, or "all"
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    frame: Option<String>,
    /// Snapshots from the start of one frame to the next
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    stride: Option<String>,
    /// Frames in one update; events for event models
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    batch_size: Option<String>,
    /// Where to compute: cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Precision of dense products on a GPU: f32, tf32 or bf16
    #[arg(long, value_name = "NAME")]
    precision: Option<String>,
    /// Most memory that the run may use, e.g. 8GiB; of the GPU if it computes on one
    #[arg(long, value_name = "BYTES")]
    memory_limit: Option<String>,
    /// Threads; as many as there are cores if not given
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    threads: Option<String>,
    /// Ranks that train together: threads of this process (in an MPI job the launcher decides)
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    ranks: Option<String>,
    /// Name of a planner, or file of a saved plan
    #[arg(long, value_name = "NAME|FILE")]
    plan: Option<String>,
    /// Any key of the configuration, e.g. --set train.carry_state=true; repeat for several
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    reading: Reading,
}

impl Settings {
    /// The layers in rising order: file, environment, `--set`, flags.
    pub(crate) fn layers(&self) -> ConfigBuilder {
        self.over(Config::builder())
    }

    /// The same over a configuration that is there already (of a run).
    pub(crate) fn over(&self, mut builder: ConfigBuilder) -> ConfigBuilder {
        if let Some(file) = &self.file {
            builder = builder.file(file);
        }
        builder = builder.environment(variables());
        for setting in &self.set {
            builder = builder.set(setting);
        }
        let flags = [
            ("--data", "data.path", &self.data),
            ("--model", "model.name", &self.model),
            ("--task", "task.name", &self.task),
            ("--epochs", "train.epochs", &self.epochs),
            ("--lr", "train.lr", &self.lr),
            ("--seed", "train.seed", &self.seed),
            ("--hidden", "model.hidden", &self.hidden),
            ("--layers", "model.layers", &self.layers),
            ("--frame", "train.frame", &self.frame),
            ("--stride", "train.stride", &self.stride),
            ("--batch-size", "train.batch_size", &self.batch_size),
            ("--device", "train.device", &self.device),
            ("--precision", "train.precision", &self.precision),
            ("--memory-limit", "plan.memory_limit", &self.memory_limit),
            ("--threads", "train.threads", &self.threads),
            ("--ranks", "train.ranks", &self.ranks),
            ("--plan", "plan.name", &self.plan),
        ];
        for (flag, key, value) in flags {
            if let Some(value) = value {
                builder = builder.flag(flag, key, value.clone());
            }
        }
        for (flag, key, value) in self.reading.flags() {
            builder = builder.flag(flag, key, value);
        }
        builder
    }
}

/// The environment as far as it is text: no variable of ours is anything else.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// From now on the process holds no more memory than the configuration allows. On a GPU the limit is
/// on the memory of the GPU.
pub(crate) fn keep_to_limit(config: &Config) -> Result<(), Failure> {
    let limit = config.memory_limit().filter(|_| config.train.device == Device::Cpu);
    let Some(limit) = limit else { return Ok(()) };
    zoetrope_heap::keep_to(limit).map_err(|error| Failure::resource(error.to_string()))
}

/// What every command does before it opens the data: sets the limit on memory, checks that the data exists,
/// and starts as many threads as the configuration says.
pub(crate) fn prepare(config: &Config) -> Result<(), Failure> {
    keep_to_limit(config)?;
    data_must_exist(&config.data.path)?;
    start_threads(config.train.threads_to_start())
}
