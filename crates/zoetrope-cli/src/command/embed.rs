//! `zoetrope embed`: writes the embeddings of vertices at a time.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use zoetrope_data::numbers_file::{Column, Values};
use zoetrope_data::parse_time;
use zoetrope_data::table::TimeReading;
use zoetrope_graph::{Time, VertexNames};
use zoetrope_train::events::EventSession;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::train::Run;
use zoetrope_train::training_run::TrainingRun;

use crate::answer_file::{AnswerFile, identifiers, side, times, times_of};
use crate::command::document;
use crate::exit::Failure;
use crate::saved_model::{MemoryNote, SavedModel};

/// Write the embeddings of all vertices at a snapshot or a time, as an array or a table
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EmbedArgs {
    #[command(flatten)]
    model: SavedModel,
    /// File to write: .npy (vertices × width), .parquet or .csv (a row for each vertex: its identifier, the
    /// time, and the numbers as e0, e1, …)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file
    #[arg(long)]
    force: bool,
    /// The time of the embeddings. Snapshot models: the number of a snapshot from 0 (for a measured
    /// series, of the row that is predicted), or a date in it. Event models: a time as in the data, or a
    /// date if times are dates; only earlier events are known. The end of the data if not given
    #[arg(long, value_name = "STEP|TIME", allow_hyphen_values = true)]
    at: Option<String>,
    /// Print one JSON document instead of the report
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope embed --run runs/tgcn-demo-1 --out vertices.npy
  zoetrope embed --run runs/tgcn-demo-1 --at 120 --out vertices.parquet
  zoetrope embed --run runs/tgn-wikipedia-1 --at 1000000 --out vertices.npy";

/// Runs the command.
pub(crate) fn run(args: &EmbedArgs) -> Result<String, Failure> {
    let file = AnswerFile::new(&args.out, args.force)?;
    let Embedded { names, width, values, at, unit, time, memory } =
        match args.model.open(args.json)? {
            Run::Snapshots(session) => at_snapshot(session, args.at.as_deref())?,
            Run::Events(session) => at_time(session, args.at.as_deref())?,
        };
    let vertices = names.len();
    file.write(&[vertices, width], &values, || {
        let everyone: Vec<u32> = (0..vertices as u32).collect();
        let side = side(&names, &everyone);
        let mut columns = vec![identifiers("vertex", &names, everyone)];
        columns.extend(side);
        if unit == "snapshot" {
            columns.push(Column::new(unit, Values::Whole(vec![at; vertices])));
        }
        columns.extend(time.into_iter().flat_map(|(at, read)| times(vec![at; vertices], read)));
        columns.extend((0..width).map(|column| {
            let numbers = values.iter().skip(column).step_by(width).copied().collect();
            Column::new(format!("e{column}"), Values::Numbers(numbers))
        }));
        columns
    })?;
    if args.json {
        let mut report = json!({
            "schema": 1,
            "file": args.out.display().to_string(),
            "shape": [vertices, width],
        });
        report[unit] = json!(at);
        report["interrupted"] = json!(args.model.interrupted());
        memory.add_to(&mut report);
        args.model.add_warnings(&mut report, &[]);
        document(&report)
    } else {
        let memory = memory.line().map_or_else(String::new, |line| format!("{line}\n"));
        let (file, interruption) = (args.out.display(), args.model.interruption_line());
        Ok(format!("{file}: {vertices} × {width}, {unit} {at}\n{memory}{interruption}"))
    }
}

/// What is written, and of when.
struct Embedded {
    names: VertexNames,
    width: usize,
    values: Vec<f32>,
    at: i64,
    unit: &'static str,
    memory: MemoryNote,
    /// The time, if there is one, and what it means.
    time: Option<(Time, TimeReading)>,
}

fn at_snapshot(mut session: Session, at: Option<&str>) -> Result<Embedded, Failure> {
    let step = match at {
        Some(at) => step_of(session.material(), at)?,
        None => session.material().steps() - 1,
    };
    let values = session.embed(step)?;
    let (names, width) = (session.material().names.clone(), session.network().model.width());
    let material = session.material();
    let config = session.config();
    let time = material.starts().map(|(starts, scale)| (starts.at(step), times_of(config, scale)));
    let (at, memory) = (material.number(step) as i64, MemoryNote::default());
    Ok(Embedded { names, width, values, at, unit: "snapshot", time, memory })
}

/// The step that `--at` names: by the number of a snapshot, or by a date that lies in it.
fn step_of(material: &SnapshotInput, at: &str) -> Result<usize, Failure> {
    let last = material.steps() - 1;
    let number = |number: usize| (0..=last).find(|&step| material.number(step) == number);
    let dated = || {
        let (starts, scale) = material.starts()?;
        let time = parse_time(at, scale).filter(|_| scale.unix)?;
        let before = starts.up_to(time).checked_sub(1)?;
        (Some(time) < starts.last()).then_some(before.min(last))
    };
    let found = match at.parse() {
        Ok(at) => number(at),
        Err(_) => dated(),
    };
    found.ok_or_else(|| {
        let or_date = match material.starts() {
            Some((starts, scale)) if scale.unix => {
                let [first, end] = [0, last + 1].map(|at| scale.format_time(starts.at(at)));
                format!(", or a date from {first} to before {end}")
            }
            _ => String::new(),
        };
        let (first, last) = (material.number(0), material.number(last));
        Failure::usage(format!("--at {at}: there is no such snapshot"))
            .hint(format!("choose one from {first} to {last}{or_date}"))
    })
}

fn at_time(mut session: EventSession, at: Option<&str>) -> Result<Embedded, Failure> {
    let store = &session.material().store;
    let read = times_of(session.config(), store.scale());
    let after = store.time().last().map_or(0, |last| last.saturating_add(1));
    let time = at.map_or(Ok(after), |at| {
        read.parse(at).ok_or_else(|| {
            let (first, last) = (store.time().first(), store.time().last());
            let ends = first.zip(last).filter(|_| read.digits == 0);
            let ends = ends.map_or_else(String::new, |(first, last)| {
                format!("; events lie from {first} to {last}")
            });
            Failure::usage(format!("--at {at}: not a time"))
                .hint(format!("give a number as in the data{ends}"))
        })
    })?;
    let values = rayon::scope(|_| session.embed(time))?;
    let (names, width) =
        (session.material().store.names().clone(), session.network().model.width());
    let memory = MemoryNote::of(&session);
    let when = Some((time, read));
    Ok(Embedded { names, width, values, at: time, unit: "time", time: when, memory })
}
