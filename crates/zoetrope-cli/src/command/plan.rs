//! `zoetrope plan`: how a run would be laid out, and why.

use std::path::PathBuf;

use clap::Args;
use zoetrope_plan::Plan;
use zoetrope_train::TrainError;
use zoetrope_train::config::Config;
use zoetrope_train::course::Course;
use zoetrope_train::run::Timeline;
use zoetrope_train::session::plan_for_ranks;
use zoetrope_train::train::{Opened, Run, load_plan, models_of_events};

use crate::command::document;
use crate::exit::Failure;
use crate::input::may_write;
use crate::progress::{Bars, Unit};
use crate::report::plan as report;
use crate::saved_model::{self, add_warnings};
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
  zoetrope plan job.toml --ranks 8                   the ways to share it, side by side
  zoetrope train job.toml --plan plan.json";

/// Says what a user should know about the data, if progress may be shown and no document is.
fn tell(args: &PlanArgs, warnings: &[String]) {
    for warning in warnings.iter().filter(|_| !args.quiet && !args.json) {
        saved_model::tell("note:", warning);
    }
}

/// The plan of several ranks, none of which is there yet.
fn shared(
    args: &PlanArgs,
    config: Config,
    opened: Opened,
    given: Option<Plan>,
) -> Result<String, Failure> {
    let Opened::Snapshots(material) = opened else {
        return Err(models_of_events(&config).into());
    };
    let mut plan = rayon::scope(|_| plan_for_ranks(config, &material, given))?;
    tell(args, &material.warnings);
    plan.warnings = material.warnings;
    let text = plan.to_json();
    if let Some(out) = &args.out {
        std::fs::write(out, &text).map_err(|error| Failure::writing(out, error))?;
    }
    match args.json {
        true => Ok(text),
        false => Ok(report::render_shared(&plan, args.out.as_deref())),
    }
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs) -> Result<String, Failure> {
    let mut config = args.settings.layers().build()?;
    prepare(&config)?;
    if let Some(out) = &args.out {
        may_write(out, args.force)?;
    }
    let bars = Bars::new(Unit::Bytes, args.quiet || args.json);
    let opened = Opened::open(&mut config, &bars)?;
    bars.finish();
    let given = load_plan(&config.plan.name)?;
    if config.train.ranks > 1 {
        return shared(args, config, opened, given);
    }
    let mut session = match opened.start(config, given, Timeline::new())? {
        Run::Snapshots(session) => session,
        Run::Events(mut session) => {
            if session.memory().is_none() {
                rayon::scope(|_| session.plan_memory())?;
            }
            if let Some(out) = &args.out {
                let message = format!("{}: batches of events need no saved plan", out.display());
                return Err(Failure::usage(message).hint("leave --out out"));
            }
            tell(args, Course::warnings(&session));
            if !args.json {
                return Ok(report::render_batches(&session));
            }
            let mut layout = session.layout();
            add_warnings(&mut layout, Course::warnings(&session));
            return document(&layout);
        }
    };
    let warnings = Course::warnings(&session);
    tell(args, warnings);
    let text = Plan { warnings: warnings.to_vec(), ..session.plan().clone() }.to_json();
    if let Some(out) = &args.out {
        std::fs::write(out, &text).map_err(|error| Failure::writing(out, error))?;
    }
    match args.json {
        true => Ok(text),
        false => {
            let seconds = match rayon::scope(|_| session.predict_epoch_seconds()) {
                Ok(seconds) => Ok(seconds),
                // The layout stands, whatever the numbers do.
                Err(error @ TrainError::Diverged { .. }) => Err(error.to_string()),
                Err(error) => return Err(error.into()),
            };
            Ok(report::render(&session, seconds, args.out.as_deref()))
        }
    }
}
