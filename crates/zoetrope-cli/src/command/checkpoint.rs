//! `zoetrope checkpoint`: what a run has saved, and whether it is undamaged.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use zoetrope_run::RunFolder;
use zoetrope_run::checkpoint::{CheckpointStore, Restored, Surveyed, Tensors};

use super::document;
use crate::exit::Failure;
use crate::report::human::{bytes, plural};
use crate::report::table::{Align, Table};
use crate::terminal::Style;

pub(crate) const EXAMPLES: &str = "\
Examples:
  zoetrope checkpoint ls runs/tgcn-demo-1
  zoetrope checkpoint verify runs/tgcn-demo-1
  zoetrope checkpoint show runs/tgcn-demo-1 --step 20";

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    /// List the checkpoints of a run, newest first
    #[command(after_help = "\
Examples:
  zoetrope checkpoint ls runs/tgcn-demo-1
  zoetrope checkpoint ls runs/tgcn-demo-1 --json")]
    Ls(CheckpointArgs),
    /// Compare every byte of every checkpoint with its manifest; exit code 3 if one is damaged
    #[command(after_help = "\
Examples:
  zoetrope checkpoint verify runs/tgcn-demo-1")]
    Verify(CheckpointArgs),
    /// Show what a checkpoint holds: epochs, counters, tensors
    #[command(after_help = "\
Examples:
  zoetrope checkpoint show runs/tgcn-demo-1
  zoetrope checkpoint show runs/tgcn-demo-1 --step 20")]
    Show(ShowArgs),
}

/// Which run.
#[derive(Debug, Args)]
pub(crate) struct CheckpointArgs {
    /// Run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Print one JSON document instead of the report
    #[arg(long)]
    json: bool,
}

/// Which checkpoint.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    of: CheckpointArgs,
    /// Which checkpoint: the number N of its folder step-N; the newest undamaged one if not given
    #[arg(long, value_name = "N")]
    step: Option<u64>,
}

/// The report.
pub(crate) fn run(command: &CheckpointCommand) -> Result<String, Failure> {
    match command {
        CheckpointCommand::Ls(args) => list(args),
        CheckpointCommand::Verify(args) => verify(args),
        CheckpointCommand::Show(args) => show(args),
    }
}

/// The checkpoints of a run, newest first.
fn survey(args: &CheckpointArgs) -> Result<Vec<Surveyed>, Failure> {
    RunFolder::config_layer(&args.run)?;
    let folder = RunFolder::checkpoints_of(&args.run);
    let found = CheckpointStore::new(&folder, 1).survey()?;
    if found.is_empty() {
        Err(Failure::input(format!("{}: there is no checkpoint yet", folder.display())))
    } else {
        Ok(found)
    }
}

fn list(args: &CheckpointArgs) -> Result<String, Failure> {
    let found = survey(args)?;
    if args.json {
        document(&json!({ "schema": 1, "checkpoints": documents(&found) }))
    } else {
        Ok(table(&found))
    }
}

fn verify(args: &CheckpointArgs) -> Result<String, Failure> {
    let found = survey(args)?;
    let damaged: Vec<String> =
        found.iter().filter_map(|one| Some(one.read.as_ref().err()?.to_string())).collect();
    let report = if args.json {
        document(&json!({
            "schema": 1,
            "checkpoints": documents(&found),
            "damaged": damaged,
        }))?
    } else {
        table(&found)
    };
    if damaged.is_empty() {
        return Ok(report);
    }
    let whole = plural((found.len() - damaged.len()) as u64, "checkpoint");
    let message = format!("{}; {whole} can be continued from", damaged.join("; "));
    Err(Failure::input(message).report(report))
}

fn show(args: &ShowArgs) -> Result<String, Failure> {
    let found = survey(&args.of)?;
    let wanted = args.step.map(|step| format!("step-{step}"));
    let is_wanted = |one: &Surveyed| match &wanted {
        Some(wanted) => one.name == *wanted,
        None => one.read.is_ok(),
    };
    let names: Vec<String> = found.iter().map(|one| one.name.clone()).collect();
    let Some(Surveyed { name, read }) = found.into_iter().find(is_wanted) else {
        return Err(Failure::usage(match &wanted {
            Some(wanted) => format!("there is no {wanted}; there are {}", names.join(", ")),
            None => format!("none of {} is whole", names.join(", ")),
        }));
    };
    let read = read?;
    if args.of.json { document(&details(&name, &read)) } else { Ok(render(&name, &read)) }
}

fn documents(found: &[Surveyed]) -> Vec<Value> {
    let one = |Surveyed { name, read }: &Surveyed| match read {
        Ok(read) => json!({
            "name": name,
            "epoch": read.state.cursor.epochs.len(),
            "step": read.state.cursor.step,
            "bytes": read.bytes,
            "state_hash": read.state_hash,
            "vector_level": read.vector_level,
        }),
        Err(error) => json!({ "name": name, "damage": error.to_string() }),
    };
    found.iter().map(one).collect()
}

fn table(found: &[Surveyed]) -> String {
    let style = Style::stdout();
    let mut table = Table::new(&[
        ("checkpoint", Align::Left),
        ("epoch", Align::Right),
        ("updates", Align::Right),
        ("size", Align::Right),
        ("state", Align::Left),
        ("computed with", Align::Left),
    ]);
    for Surveyed { name, read } in found {
        table.row(match read {
            Ok(read) => vec![
                name.clone(),
                read.state.cursor.epochs.len().to_string(),
                read.state.cursor.step.to_string(),
                bytes(read.bytes),
                read.state_hash.chars().take(12).collect(),
                read.vector_level.clone().unwrap_or_default(),
            ],
            Err(_) => vec![name.clone(), "–".into(), "–".into(), "–".into(), style.red("damaged")],
        });
    }
    table.render(style)
}

/// Name, shape and size of each tensor of a group.
fn tensors(group: &Tensors) -> Vec<Value> {
    let norm = |values: &[f32]| values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    let one = |(name, tensor): (&String, &zoetrope_run::checkpoint::SavedTensor)| json!({ "name": name, "shape": tensor.dims(), "norm": norm(tensor.data()) });
    group.iter().map(one).collect()
}

fn details(name: &str, read: &Restored) -> Value {
    let state = &read.state;
    json!({
        "schema": 1,
        "name": name,
        "state_hash": read.state_hash,
        "vector_level": read.vector_level,
        "bytes": read.bytes,
        "epoch": state.cursor.epoch,
        "frame": state.cursor.frame,
        "step": state.cursor.step,
        "counters": state.cursor.counters,
        "numbers": state.cursor.numbers,
        "epochs": state.cursor.epochs,
        "weights": tensors(&state.weights),
        "optimiser": tensors(&state.optimiser),
        "hidden": tensors(&state.hidden),
    })
}

fn render(name: &str, read: &Restored) -> String {
    let style = Style::stdout();
    let (state, cursor) = (&read.state, &read.state.cursor);
    let mut text = format!(
        "{} {} and {} of the next one, {}\n  state {}\n",
        style.bold(name),
        plural(cursor.epoch as u64, "epoch"),
        plural(cursor.frame as u64, "frame"),
        bytes(read.bytes),
        read.state_hash,
    );
    if let Some(last) = cursor.epochs.last() {
        // What is not defined has no value.
        let val = last.val.iter().filter(|(_, value)| value.is_finite());
        let val = val.map(|(name, value)| format!(", val {name} {value:.4}"));
        let val: String = val.collect();
        text.push_str(&format!("  epoch {}: loss {:.4}{val}\n", last.epoch, last.loss));
    }
    for (title, group) in
        [("weights", &state.weights), ("optimiser", &state.optimiser), ("hidden", &state.hidden)]
    {
        if group.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{}\n", style.bold(title)));
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Right)]);
        for tensor in tensors(group) {
            let shape = tensor["shape"].as_array().map_or(&[][..], Vec::as_slice);
            let shape: Vec<String> = shape.iter().map(Value::to_string).collect();
            let norm = format!("{:.4}", tensor["norm"].as_f64().unwrap_or(0.0));
            let name = tensor["name"].as_str().unwrap_or_default().to_owned();
            table.row([name, shape.join(" × "), norm]);
        }
        text.push_str(&table.render(style));
    }
    text
}
