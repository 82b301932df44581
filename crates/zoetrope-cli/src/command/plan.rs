//! `zoetrope plan`: how a run would be laid out, and why.

use std::path::{Path, PathBuf};

use clap::Args;
use zoetrope_plan::Plan;
use zoetrope_run::{RunError, Timeline};
use zoetrope_train::TrainError;
use zoetrope_train::snapshots::session::plan_for_ranks;
use zoetrope_train::train::{Opened, Run, load_plan};
use zoetrope_train::training_run::TrainingRun;

use crate::exit::Failure;
use crate::input::may_write;
use crate::progress::{Bars, Unit};
use crate::report::plan as report;
use crate::saved_model;
use crate::settings::{Settings, prepare};

/// Show how a run would be laid out, what it would take, and why
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    settings: Settings,
    /// Save the plan to a file that `train --plan FILE` executes
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "out")]
    force: bool,
    /// Say of every way to share it what its time goes to, and what change of the machine would make it the fastest
    #[arg(long)]
    why: bool,
    /// Print the plan as one JSON document
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope plan --data england_covid.json --model tgcn
  zoetrope plan job.toml --out plan.json
  zoetrope plan job.toml --ranks 8                   compares the ways to share it
  zoetrope plan job.toml --ranks 8 --why             what binds each, what would flip the choice
  zoetrope train job.toml --plan plan.json";

/// Says what a user should know about the data, if progress may be shown and no document is.
fn tell(args: &PlanArgs, warnings: &[String]) {
    for warning in warnings.iter().filter(|_| !args.quiet && !args.json) {
        saved_model::tell("note:", warning);
    }
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs) -> Result<String, Failure> {
    let mut config = args.settings.layers().build()?;
    if args.why && config.train.ranks < 2 {
        return Err(Failure::usage(
            "--why compares the ways to share a run, and one rank has one way",
        )
        .hint("say for how many with --ranks"));
    }
    prepare(&config)?;
    if let Some(out) = &args.out {
        may_write(out, args.force)?;
    }
    let bars = Bars::new(Unit::Bytes, args.quiet || args.json);
    let opened = Opened::open(&mut config, &bars)?;
    bars.finish();
    let given = load_plan(&config)?;
    match opened {
        Opened::Snapshots(material) if config.train.ranks > 1 => {
            let mut plan = rayon::scope(|_| plan_for_ranks(config, &material, given, args.why))?;
            tell(args, &material.warnings);
            plan.head.warnings = material.warnings;
            args.show(&plan.clone().into(), |saved| {
                Ok(report::render_shared(&plan, args.why, saved))
            })
        }
        opened => match opened.start(config, given, Timeline::new())? {
            Run::Snapshots(mut session) => {
                let plan = args.with_warnings(session.plan().clone().into(), &session);
                args.show(&plan, |saved| {
                    let seconds = rayon::scope(|_| session.predict_epoch_seconds());
                    Ok(report::render(&session, told(seconds)?, saved))
                })
            }
            Run::Events(mut session) => {
                // Under a limit on memory it was measured already.
                if session.plan().head.memory.total() == 0 {
                    rayon::scope(|_| session.plan_memory())?;
                }
                let plan = args.with_warnings(session.plan().clone().into(), &session);
                args.show(&plan, |saved| Ok(report::render_batches(&session, saved)))
            }
        },
    }
}

/// Shows the layout even if the first loss is not finite; a warning says so.
fn told(seconds: Result<f64, TrainError>) -> Result<Result<f64, String>, Failure> {
    match seconds {
        Ok(seconds) => Ok(Ok(seconds)),
        Err(TrainError::Run(error @ RunError::Diverged { .. })) => Ok(Err(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

impl PlanArgs {
    /// A plan with what a user should know about the data that it was made for, which is also said.
    fn with_warnings(&self, mut plan: Plan, session: &dyn TrainingRun) -> Plan {
        tell(self, session.warnings());
        plan.head_mut().warnings = session.warnings().to_vec();
        plan
    }

    /// Saves a plan if asked to; prints it, or a report.
    fn show(
        &self,
        plan: &Plan,
        report: impl FnOnce(Option<&Path>) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        let text = plan.to_json();
        if let Some(out) = &self.out {
            std::fs::write(out, &text).map_err(|error| Failure::writing(out, error))?;
        }
        if self.json { Ok(text) } else { report(self.out.as_deref()) }
    }
}
