//! `zoetrope eval`: measures a trained model.

use clap::Args;
use serde_json::json;
use zoetrope_data::split::Part;
use zoetrope_train::train::{Run, is_measured, unmeasured};

use crate::command::document;
use crate::exit::Failure;
use crate::report::training;
use crate::saved_model::{MemoryNote, SavedModel};
use crate::terminal::Style;

/// Measure a trained model on a part of the data
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    model: SavedModel,
    /// Part to measure on: test, val, train, or new (event models): what comes after the run's own events
    /// in data that begins with them
    #[arg(long, value_name = "PART", default_value = "test", value_parser = ["test", "val", "train", "new"])]
    split: String,
    /// Print one JSON document instead of the report
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope eval --run runs/tgcn-demo-1
  zoetrope eval --run runs/tgcn-demo-1 --split val --json
  zoetrope eval --run runs/tgn-events-1 --data events_until_today.csv --split new
  zoetrope eval --weights tgcn.safetensors --data england_covid.json --model tgcn";

/// The part of that name.
pub(crate) fn part(name: &str) -> Part {
    match name {
        "train" => Part::Train,
        "val" => Part::Validation,
        _ => Part::Test,
    }
}

/// Runs the command.
pub(crate) fn run(args: &EvalArgs) -> Result<String, Failure> {
    let mut opened = args.model.open(args.json)?;
    if args.split == "new" {
        match &mut opened {
            Run::Events(session) => session.judge_new()?,
            Run::Snapshots(_) => {
                return Err(Failure::usage("--split new is for event models")
                    .hint("choose test, val or train"));
            }
        }
    }
    let session = opened.session_mut();
    let part = part(&args.split);
    if !session.has(part) {
        return Err(Failure::usage(format!("the split has no {} part", args.split))
            .hint("choose another --split, or set data.split"));
    }
    session.begin_baselines(part);
    let metrics = session.evaluate(part)?;
    if !is_measured(&metrics) {
        return Err(
            unmeasured(&format!("the events or snapshots of the {} part", args.split)).into()
        );
    }
    let baselines = session.baselines(part)?;
    let memory = match &opened {
        Run::Events(session) => MemoryNote::of(session),
        Run::Snapshots(_) => MemoryNote::default(),
    };
    let session = opened.session();
    let (model, data) = (session.config().model.name.name(), session.data().name);
    if args.json {
        let mut measured = json!({
            "schema": 1,
            "model": model,
            "task": session.task().name(),
            "split": args.split,
            "data": data,
            "metrics": metrics,
            "baselines": baselines,
            "scaling": session.scaled().summary(),
            "protocol": session.declared(),
            "interrupted": args.model.interrupted(),
        });
        memory.add_to(&mut measured);
        args.model.add_warnings(&mut measured, &[]);
        document(&measured)
    } else {
        let heading = format!("{data} on the {} part", args.split);
        let style = Style::stdout();
        let table = training::metrics_table(model, &metrics, &baselines);
        let memory = memory.line().map_or_else(String::new, |line| format!("{line}\n"));
        let scaling = training::scaling_line(session.scaled().summary().as_ref(), style);
        let seen = training::question_line(&session.declared(), style);
        let interruption = args.model.interruption_line();
        let (heading, table) = (style.bold(&heading), table.render(style));
        Ok(format!("{heading}\n{table}{scaling}{seen}{memory}{interruption}"))
    }
}
