//! `zoetrope train`: trains and leaves a run folder.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use zoetrope_config::Config;
use zoetrope_run::RunFolder;
use zoetrope_train::interrupt::Interrupt;
use zoetrope_train::train::{self, Finished};

use crate::command::document;
use crate::exit::Failure;
use crate::input::{data_must_exist, must_be_shareable};
use crate::report::training;
use crate::settings::{Settings, keep_to_limit, prepare};
use crate::terminal::Style;
use crate::training_progress::TrainingBars;

/// Train a model and measure it against simple rules
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    settings: Settings,
    /// Run folder to write; a fresh one under runs/ if not given
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    out: Option<PathBuf>,
    /// Continue the run in this folder, to the same bits as a run that never stopped; settings that
    /// would change the run are refused
    #[arg(long, value_name = "DIR", conflicts_with = "out", help_heading = "Run")]
    resume: Option<PathBuf>,
    /// With --resume: continue although the data has changed; the summary says so
    #[arg(long, requires = "resume", help_heading = "Run")]
    accept_changed_data: bool,
    /// Weights to start from, as safetensors (a state_dict)
    #[arg(long, value_name = "FILE", conflicts_with = "resume", help_heading = "Run")]
    weights: Option<PathBuf>,
    /// Epochs from one checkpoint to the next; fewer are written if epochs are very short (see
    /// train.checkpoint_share)
    #[arg(long, value_name = "N", help_heading = "Run", allow_hyphen_values = true)]
    checkpoint_every: Option<String>,
    /// Write trace.json for Perfetto or chrome://tracing
    #[arg(long, help_heading = "Run")]
    trace: bool,
    /// Print the summary as one JSON document instead of the report
    #[arg(long, help_heading = "Run")]
    json: bool,
    /// Show no progress
    #[arg(long, short, help_heading = "Run")]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope train                                     T-GCN on a built-in graph
  zoetrope train --data england_covid.json           a PyG-Temporal file
  zoetrope train --data ratings.csv --task link-prediction --model evolvegcn-o
  zoetrope train job.toml --epochs 100 --lr 0.005    a configuration file, and two changes
  zoetrope train TGN.yml --data wikipedia.csv        a configuration of TGL
  zoetrope train --resume runs/tgcn-demo-1           continue a run that stopped
  zoetrope train --model tm-gcn --ranks 4            four ranks share the work
  mpirun -n 8 zoetrope train job.toml                the same on a cluster (feature mpi)
  zoetrope train --set train.carry_state=true        any key of the configuration";

/// Runs the command in a process that started at `begun`.
pub(crate) fn run(args: &TrainArgs, begun: Instant) -> Result<String, Failure> {
    let config = configuration(args)?;
    keep_to_limit(&config)?;
    let interrupt = Interrupt::on_signals()
        .map_err(|error| Failure::resource(format!("cannot listen for Ctrl-C: {error}")))?;
    let bars = TrainingBars::new(args.quiet || args.json);
    match execute(config, begun, &interrupt, bars)? {
        // A rank of an MPI job other than the first, which has said everything.
        None => Ok(String::new()),
        Some(finished) if args.json => document(&finished.summary),
        Some(finished) => Ok(training::render(&finished)),
    }
}

/// Trains alone, by threads that are ranks, or as a rank of an MPI job.
fn execute(
    config: Config,
    begun: Instant,
    interrupt: &Interrupt,
    mut bars: TrainingBars,
) -> Result<Option<Finished>, Failure> {
    if mpi::launched() {
        must_be_shareable(&config.data.path)?;
        data_must_exist(&config.data.path)?;
        return mpi::train(config, begun, interrupt, bars);
    }
    if config.train.ranks > 1 {
        data_must_exist(&config.data.path)?;
        let finished = train::train_by_threads(config, begun, interrupt, Box::new(bars))?;
        return Ok(Some(finished));
    }
    prepare(&config)?;
    // On a thread of the pool: from outside it every parallel kernel would wait for a wake-up.
    let finished = rayon::scope(|_| train::train(config, begun, interrupt, &mut bars))?;
    Ok(Some(finished))
}

/// MPI jobs, in builds that know them.
#[cfg(feature = "mpi")]
mod mpi {
    use super::*;

    pub(super) fn launched() -> bool {
        zoetrope_dist::mpi::launched()
    }

    pub(super) fn train(
        config: Config,
        begun: Instant,
        interrupt: &Interrupt,
        mut bars: TrainingBars,
    ) -> Result<Option<Finished>, Failure> {
        Ok(train::train_by_mpi(config, begun, interrupt, &mut bars)?)
    }
}

/// A build without MPI refuses an MPI job, instead of training once in every process.
#[cfg(not(feature = "mpi"))]
mod mpi {
    use super::*;

    pub(super) fn launched() -> bool {
        let several = |name: &str| std::env::var(name).is_ok_and(|size| size != "1");
        several("OMPI_COMM_WORLD_SIZE") || several("PMI_SIZE")
    }

    pub(super) fn train(
        _: Config,
        _: Instant,
        _: &Interrupt,
        _: TrainingBars,
    ) -> Result<Option<Finished>, Failure> {
        Err(Failure::resource(
            "this build knows no MPI, but was started as one of several processes",
        )
        .hint("build it with `cargo build --release --features mpi`, or use --ranks N"))
    }
}

fn configuration(args: &TrainArgs) -> Result<Config, Failure> {
    let base = match &args.resume {
        Some(root) => RunFolder::config_layer(root)?,
        None => Config::builder(),
    };
    let mut builder = args.settings.over(base);
    let path = |path: &PathBuf| zoetrope_data::given::name_of(path.as_os_str());
    if let Some(out) = &args.out {
        builder = builder.flag("--out", "output.dir", path(out));
    }
    if let Some(resume) = &args.resume {
        builder = builder.flag("--resume", "train.resume", path(resume));
    }
    if args.accept_changed_data {
        builder = builder.flag("--accept-changed-data", "train.accept_changed_data", "true");
    }
    if let Some(weights) = &args.weights {
        builder = builder.flag("--weights", "train.weights", path(weights));
    }
    if let Some(every) = &args.checkpoint_every {
        builder = builder.flag("--checkpoint-every", "train.checkpoint_every", every.clone());
    }
    if args.trace {
        builder = builder.flag("--trace", "output.trace", "true");
    }
    if !args.quiet {
        for note in builder.notes() {
            // A closed standard error must not end a run.
            let _ = writeln!(std::io::stderr(), "{} {note}", Style::stderr().yellow("note:"));
        }
    }
    let Some(root) = &args.resume else { return Ok(builder.build()?) };
    let mut config = builder.build_to_continue(&RunFolder::read_config(root)?)?;
    RunFolder::find_files(root, &mut config)?;
    Ok(config)
}
