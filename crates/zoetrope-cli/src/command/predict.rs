//! `zoetrope predict`: writes predictions as an array.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use zoetrope_data::numbers_file::write_array;
use zoetrope_train::train::Run;

use crate::command::{document, eval};
use crate::exit::Failure;
use crate::input::may_write;
use crate::saved_model::SavedModel;

/// Write predictions for the last snapshot of each frame as a NumPy array
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    model: SavedModel,
    /// File to write: frames × vertices, or frames × vertices × classes
    #[arg(long, value_name = "FILE.npy")]
    out: PathBuf,
    /// Replace the file
    #[arg(long)]
    force: bool,
    /// Frames to predict: all, or those whose last snapshot lies in this part
    #[arg(long, value_name = "PART", default_value = "all", value_parser = ["all", "test", "val", "train"])]
    split: String,
    /// Print one JSON document instead of the report
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope predict --run runs/tgcn-demo-1 --out predictions.npy
  zoetrope predict --weights tgcn.safetensors --data england_covid.json --model tgcn \\
      --frame 16 --split test --out test.npy";

/// Runs the command.
pub(crate) fn run(args: &PredictArgs) -> Result<String, Failure> {
    may_write(&args.out, args.force)?;
    let mut session = match args.model.open(args.json)? {
        Run::Snapshots(session) => session,
        Run::Events(session) => return pairs(args, session),
    };
    let part = (args.split != "all").then(|| eval::part(&args.split));
    let (answers, metrics) = session.predict(part)?;
    let mut shape = vec![answers.steps.len(), answers.vertices];
    if answers.per_vertex > 1 {
        shape.push(answers.per_vertex);
    }
    write_array(&args.out, &shape, &answers.values)?;
    match args.json {
        true => document(&json!({
            "schema": 1,
            "file": args.out.display().to_string(),
            "shape": shape,
            "snapshots": answers.steps,
            "metrics": metrics,
        })),
        false => {
            let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
            let (first, last) = (answers.steps.first(), answers.steps.last());
            let snapshots = match (first, last) {
                (Some(first), Some(last)) => format!(", snapshots {first} to {last}"),
                _ => String::new(),
            };
            Ok(format!("{}: {}{snapshots}\n", args.out.display(), shape.join(" × ")))
        }
    }
}
