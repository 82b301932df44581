//! `zoetrope bench`: papers re-run, their printed values beside ours.

pub(crate) mod esdg;
pub(crate) mod points;

use clap::Subcommand;

use crate::exit::Failure;

/// What is re-run.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Re-run the tables and figures of a paper
    #[command(subcommand, after_help = EXAMPLES)]
    Paper(PaperCommand),
}

/// The papers.
#[derive(Debug, Subcommand)]
pub(crate) enum PaperCommand {
    /// ESDG (SC'21): scaling, differences, checkpoints, snapshot against vertex partitioning, simulated
    Esdg(esdg::EsdgArgs),
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  zoetrope bench paper esdg
  zoetrope bench paper esdg --model tm-gcn --dataset amlsim --ranks-max 16
  zoetrope bench paper esdg --out esdg --json";

/// Runs the command.
pub(crate) fn run(command: &BenchCommand) -> Result<String, Failure> {
    match command {
        BenchCommand::Paper(PaperCommand::Esdg(args)) => esdg::run(args),
    }
}
