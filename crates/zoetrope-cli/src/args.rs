//! The command line: the tree of commands and the flags that several of them share.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, FromArgMatches, Parser, Subcommand};

use crate::command::{
    bench, calibrate, checkpoint, completions, convert, doctor, embed, eval, generate, inspect,
    man, negatives, plan, predict, sim, train,
};
use crate::exit::Failure;
use crate::help;

/// Train neural networks on graphs that change over time.
#[derive(Debug, Parser)]
#[command(name = "zoetrope", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope train                                 a first run on a built-in graph
  zoetrope train --data england_covid.json       train on a file
  zoetrope data inspect events.csv.gz            what is in a file
  zoetrope data inspect events.csv --window 1d   its daily snapshots as a picture
  zoetrope data convert events.csv events.zoe    a file that opens at once
  zoetrope doctor                                what this machine offers";

const DATA_EXAMPLES: &str = "\
Examples:
  zoetrope data inspect events.csv --window 1d
  zoetrope data convert events.csv events.zoe
  zoetrope data generate power-law vertices=10k steps=50 --out graph.npz
  zoetrope data negatives events.csv --out negatives.npz --k 20";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train a model and measure it against simple rules
    Train(Box<train::TrainArgs>),
    /// Measure a trained model on a part of the data
    Eval(Box<eval::EvalArgs>),
    /// Write predictions as an array or a table
    Predict(Box<predict::PredictArgs>),
    /// Write the embeddings of vertices at a time
    Embed(Box<embed::EmbedArgs>),
    /// Show how a run would be laid out, what it takes, and why
    Plan(Box<plan::PlanArgs>),
    /// Predict how long an epoch takes on a machine that is described, not there
    Sim(Box<sim::SimArgs>),
    /// Measure this machine, so that plan, train and sim know how long things take here
    Calibrate(calibrate::CalibrateArgs),
    /// Re-run the tables and figures of papers, their printed values beside ours
    #[command(subcommand, after_help = bench::EXAMPLES)]
    Bench(bench::BenchCommand),
    /// Look at data, convert it, generate it
    #[command(subcommand, after_help = DATA_EXAMPLES)]
    Data(Box<DataCommand>),
    /// Look at the checkpoints of a run
    #[command(subcommand, after_help = checkpoint::EXAMPLES)]
    Checkpoint(checkpoint::CheckpointCommand),
    /// Say what this machine offers: CPU, memory, disk, GPU, MPI
    Doctor(doctor::DoctorArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write the pages of all commands to a folder
    Man(man::ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Describe a data set: counts, time range, degrees, repeats, warnings
    Inspect(inspect::InspectArgs),
    /// Write a data set in another format, or cut events into snapshots
    Convert(convert::ConvertArgs),
    /// Write a synthetic data set to a file
    Generate(generate::GenerateArgs),
    /// Write fixed negative samples for evaluation to a file
    Negatives(negatives::NegativesArgs),
}

/// How to run and what to print.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub(crate) struct Running {
    /// Print one JSON document instead of the report
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress bars
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Use this many threads; as many as there are cores if not given
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Where a command writes its file.
#[derive(Debug, Args)]
pub(crate) struct Destination {
    /// File or folder to write
    #[arg(long, value_name = "PATH")]
    pub(crate) out: PathBuf,
    /// Replace what stands there
    #[arg(long)]
    pub(crate) force: bool,
}

/// Parses the command line. Help and version are printed here and end the process.
pub(crate) fn parse() -> Result<Cli, Failure> {
    let matches = help::commands().try_get_matches();
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|error| {
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Failure::finished(error.render().ansi().to_string(), error.render().to_string())
            }
            _ => Failure::rejected(error.render().ansi().to_string(), error.render().to_string()),
        }
    })
}

/// More threads than this are a typing error and could exhaust the machine.
const MOST_THREADS: usize = 4_096;

fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(threads) if threads.get() <= MOST_THREADS => Ok(threads),
        _ => Err(format!("expected a whole number from 1 to {MOST_THREADS}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_consistent() {
        help::commands().debug_assert();
    }
}
