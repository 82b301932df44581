//! `zoetrope predict`: writes predictions as an array.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use zoetrope_data::candidates;
use zoetrope_data::numbers_file::write_array;
use zoetrope_train::config::TaskName;
use zoetrope_train::session::Session;
use zoetrope_train::stream::{Candidate, StreamSession};
use zoetrope_train::train::Run;

use crate::command::{document, eval};
use crate::exit::Failure;
use crate::input::{may_write, must_exist};
use crate::progress::{Bars, Unit};
use crate::saved_model::{MemoryNote, SavedModel};

/// Write predictions as a NumPy array: of each frame's last snapshot, or of candidate pairs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    model: SavedModel,
    /// Candidate pairs for a model of events: a table of source, destination and time, vertices
    /// named as in the data. Without times they are asked about after the last event.
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// File to write: frames × vertices (× classes), or one number (a row of them) for each pair
    #[arg(long, value_name = "FILE.npy")]
    out: PathBuf,
    /// Replace the file
    #[arg(long)]
    force: bool,
    /// Frames to predict: all, or those whose last snapshot lies in this part
    #[arg(long, value_name = "PART", default_value = "all", value_parser = ["all", "test", "val", "train"])]
    split: String,
    /// Units of predicted numbers: own (as in the data) or scaled (as the model sees them). With
    /// data.scaling=pygt they are scaled unless this says otherwise
    #[arg(long, value_name = "UNITS", value_parser = ["own", "scaled"])]
    units: Option<String>,
    /// Print one JSON document instead of the report
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope predict --run runs/tgcn-demo-1 --out predictions.npy
  zoetrope predict --weights tgcn.safetensors --data england_covid.json --model tgcn \\
      --frame 16 --split test --out test.npy
  zoetrope predict --run runs/tgn-wikipedia-1 --pairs candidates.csv --out scores.npy";

/// Runs the command.
pub(crate) fn run(args: &PredictArgs) -> Result<String, Failure> {
    may_write(&args.out, args.force)?;
    if let Some(pairs) = &args.pairs {
        must_exist(pairs)?;
    }
    let mut session = match args.model.open(args.json)? {
        Run::Snapshots(session) => session,
        Run::Events(session) => return pairs(args, session),
    };
    if args.pairs.is_some() {
        return Err(Failure::usage("--pairs is for models of events")
            .hint("leave it out: a model of snapshots predicts for every vertex"));
    }
    if args.units.is_some() && session.task() != TaskName::NodeRegression {
        let task = session.task().name();
        return Err(Failure::usage(format!("--units is for predicted numbers, not for {task}"))
            .hint("leave it out"));
    }
    let part = (args.split != "all").then(|| eval::part(&args.split));
    let (mut answers, metrics) = session.predict(part)?;
    let units = units(args, &session);
    let scale = session.material().scaled.own_units.as_ref();
    if let (Units::Own, TaskName::NodeRegression, Some(scale)) = (units, session.task(), scale) {
        scale.undo(&mut answers.values);
    }
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
            "units": units.name(),
            "metrics": metrics,
            "scaling": session.material().scaled.summary(),
        })),
        false => {
            let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
            let (first, last) = (answers.steps.first(), answers.steps.last());
            let snapshots = match (first, last) {
                (Some(first), Some(last)) => format!(", snapshots {first} to {last}"),
                _ => String::new(),
            };
            let scaled = match units {
                Units::Own => "",
                Units::Scaled => ", scaled as the model sees them",
            };
            Ok(format!("{}: {}{snapshots}{scaled}\n", args.out.display(), shape.join(" × ")))
        }
    }
}

/// The units of predicted numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Units {
    /// As in the data.
    Own,
    /// As the model sees them.
    Scaled,
}

impl Units {
    fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Scaled => "scaled",
        }
    }
}

/// As asked; otherwise those of the data, and with PyG-Temporal's scale those of that library. What
/// was not scaled has its own units anyway.
fn units(args: &PredictArgs, session: &Session) -> Units {
    let scaled = &session.material().scaled;
    match args.units.as_deref() {
        _ if scaled.own_units.is_none() => Units::Own,
        Some("scaled") => Units::Scaled,
        Some(_) => Units::Own,
        None if scaled.is_reference() => Units::Scaled,
        None => Units::Own,
    }
}

/// Scores of candidate pairs, after replaying the events before each.
fn pairs(args: &PredictArgs, mut session: StreamSession) -> Result<String, Failure> {
    if args.units.is_some() {
        return Err(Failure::usage("--units is for numbers that a model of snapshots predicts")
            .hint("leave it out"));
    }
    let Some(path) = &args.pairs else {
        return Err(Failure::usage("a model of events predicts pairs: which ones?")
            .hint("give a table of source, destination and time with --pairs FILE"));
    };
    let store = &session.material().store;
    let bars = Bars::new(Unit::Bytes, args.model.is_silent(args.json));
    let columns = session.candidate_columns();
    let read = candidates::read(path, store, &columns, &bars)?;
    bars.finish();
    let after = store.time().last().map_or(0, |last| last.saturating_add(1));
    let time = |row: usize| read.time.get(row).copied().unwrap_or(after);
    let ends = read.src.iter().zip(&read.dst).enumerate();
    let asked: Vec<Candidate> =
        ends.map(|(row, (&src, &dst))| Candidate { src, dst, time: time(row) }).collect();
    let values = rayon::scope(|_| session.predict(&asked, &read.features))?;
    let mut shape = vec![asked.len()];
    if values.len() > asked.len() {
        shape.push(values.len() / asked.len());
    }
    write_array(&args.out, &shape, &values)?;
    let memory = MemoryNote::of(&session);
    let by_source = session.memory_use().iter();
    match args.json {
        true => {
            let mut report = json!({
                "schema": 1,
                "file": args.out.display().to_string(),
                "shape": shape,
                "pairs": path.display().to_string(),
            });
            memory.add_to(&mut report);
            report["pairs_by_memory"] =
                by_source.map(|(source, pairs)| (source.name().to_owned(), json!(pairs))).collect();
            document(&report)
        }
        false => {
            let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
            let by_source: Vec<String> = by_source
                .map(|(source, pairs)| format!("memory of {pairs} pairs: {}\n", source.describe()))
                .collect();
            let (file, shape) = (args.out.display(), shape.join(" × "));
            Ok(format!("{file}: {shape} answers\n{}", by_source.concat()))
        }
    }
}
