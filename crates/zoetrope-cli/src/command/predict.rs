//! `zoetrope predict`: writes predictions as an array or a table.

mod events;
mod snapshots;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use zoetrope_config::TaskName;
use zoetrope_data::candidates::PairColumns;
use zoetrope_data::given::{STANDARD_INPUT, is_read_once, name_of};
use zoetrope_data::numbers_file::Column;
use zoetrope_data::options::ColumnRef;
use zoetrope_data::split::Part;
use zoetrope_train::answers::Meaning;
use zoetrope_train::train::Run;
use zoetrope_train::training_run::TrainingRun;

use crate::answer_file::{self, AnswerFile, PREDICTION};
use crate::command::{document, eval};
use crate::exit::Failure;
use crate::input::must_exist;
use crate::reading::parse_column;
use crate::saved_model::{MemoryNote, SavedModel};
use crate::terminal::Style;

/// Write predictions as an array or a table: of vertices, of pairs that you name, or of the pairs
/// that a part of the data is judged by
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    model: SavedModel,
    /// Pairs to predict: a table with source, destination and, if wanted, a time or a snapshot number
    ///
    /// Vertices, times and columns are named as in the data; - reads standard input. Snapshot models also
    /// take a column "snapshot", counted from 0. Pairs without a time are predicted for the time after the
    /// last event or snapshot. A model that judges events by their own features reads the columns of these
    /// features, too. Without this flag, tasks about pairs predict the pairs that a part is judged by (see
    /// --split)
    #[arg(long, value_name = "FILE", conflicts_with = "split")]
    pairs: Option<PathBuf>,
    /// Column of the source in the file of pairs, if its name is not that of the data
    #[arg(long, value_name = "COLUMN", value_parser = parse_column, requires = "pairs")]
    pairs_src: Option<ColumnRef>,
    /// Column of the destination in the file of pairs
    #[arg(long, value_name = "COLUMN", value_parser = parse_column, requires = "pairs")]
    pairs_dst: Option<ColumnRef>,
    /// Column of the time in the file of pairs
    #[arg(long, value_name = "COLUMN", value_parser = parse_column, requires = "pairs")]
    pairs_time: Option<ColumnRef>,
    /// File to write: .npy (the numbers alone), .parquet or .csv (a table with vertices and times)
    ///
    /// An array has the shape frames × vertices (× classes), or pairs (× classes)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file
    #[arg(long)]
    force: bool,
    /// Write the raw scores of links and classes instead of probabilities
    #[arg(long)]
    logits: bool,
    /// Part to predict: the frames whose last snapshot lies in it, or the pairs that it is judged by. If not
    /// given, all frames, or the pairs of the test part
    #[arg(long, value_name = "PART", value_parser = ["all", "test", "val", "train"])]
    split: Option<String>,
    /// Units of predicted numbers: own (as in the data) or scaled (as the model sees them). The default is
    /// own; with data.scaling=pygt it is scaled
    #[arg(long, value_name = "UNITS", value_parser = ["own", "scaled"])]
    units: Option<String>,
    /// Print one JSON document instead of the report
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope predict --run runs/tgcn-demo-1 --out predictions.csv
  zoetrope predict --weights tgcn.safetensors --data england_covid.json --model tgcn \\
      --frame 16 --split test --out test.npy
  zoetrope predict --run runs/tgn-wikipedia-1 --pairs candidates.csv --out scores.parquet
  zoetrope predict --run runs/evolvegcn-o-ratings-1 --pairs candidates.csv --logits --out scores.npy

A table of predictions begins with snapshot, time, date and vertex (those that the data has), or \
with src, dst, snapshot, time and date. Then come `probability` for links; `p_NAME` of each class \
and the likeliest `class`; or `prediction` for numbers (`prediction_scaled` if they are not in the \
data's own units). Pairs that a part is judged by also have the right answer: `happened` (1 or 0) \
for links, `truth` otherwise. Identifiers are text, spelled as in the data.";

/// Raw answers of a model, and what they are about.
struct Predicted {
    meaning: Meaning,
    /// Numbers for each answer.
    outputs: usize,
    values: Vec<f32>,
    /// The shape of an array of them.
    shape: Vec<usize>,
    /// Vertices, snapshots and times, by answer.
    subjects: Vec<Column>,
    /// What is right, by answer, if it is known.
    truth: Option<Vec<f32>>,
    /// What a user should know of the pairs.
    warnings: Vec<String>,
    /// What a report adds: for people, and for programs.
    about: String,
    fields: Value,
    memory: MemoryNote,
    /// Of predicted numbers.
    units: Units,
}

impl Predicted {
    /// Answers in the data's own units, of which nobody knows whether they are right.
    fn new(
        (meaning, outputs): (Meaning, usize),
        values: Vec<f32>,
        subjects: Vec<Column>,
        about: String,
        fields: Value,
    ) -> Self {
        let mut shape = vec![values.len() / outputs];
        if outputs > 1 {
            shape.push(outputs);
        }
        Self {
            meaning,
            outputs,
            values,
            shape,
            subjects,
            truth: None,
            warnings: Vec::new(),
            about,
            fields,
            memory: MemoryNote::default(),
            units: Units::Own,
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

/// Runs the command.
pub(crate) fn run(args: &PredictArgs) -> Result<String, Failure> {
    let file = AnswerFile::new(&args.out, args.force)?;
    if let Some(pairs) = args.pairs.as_deref().filter(|pairs| *pairs != Path::new(STANDARD_INPUT)) {
        must_exist(pairs)?;
    }
    let run = args.model.open(args.json)?;
    args.refuse_what_does_nothing(run.session())?;
    let predicted = match run {
        Run::Snapshots(session) => snapshots::predict(args, session)?,
        Run::Events(session) => events::predict(args, session)?,
    };
    let Predicted { meaning, outputs, shape, subjects, truth, fields, memory, units, .. } =
        predicted;
    for warning in &predicted.warnings {
        // A closed standard error must not end the command.
        let _ = writeln!(std::io::stderr(), "{} {warning}", Style::stderr().yellow("warning:"));
    }
    let (mut values, about) = (predicted.values, predicted.about);
    if !args.logits {
        meaning.to_probabilities(outputs, &mut values);
    }
    let columns = file.write(&shape, &values, || {
        let mut columns = subjects;
        columns.extend(answer_file::answers(&meaning, args.logits, outputs, &values));
        if units == Units::Scaled {
            // The name says that these are not the data's own units.
            let numbers = columns.iter_mut().filter(|column| column.name == PREDICTION);
            numbers.for_each(|column| column.name = format!("{PREDICTION}_scaled"));
        }
        columns.extend(truth.map(|truth| answer_file::truth(&meaning, &truth)));
        columns
    })?;
    if args.json {
        let mut report = json!({
            "schema": 1,
            "file": args.out.display().to_string(),
            "shape": shape,
            "columns": columns,
            "values": kind_of_values(&meaning, args.logits),
            "classes": match &meaning {
                Meaning::Classes(names) => json!(names),
                _ => Value::Null,
            },
            "interrupted": args.model.interrupted(),
        });
        if let (Value::Object(report), Value::Object(fields)) = (&mut report, fields) {
            report.extend(fields);
        }
        memory.add_to(&mut report);
        args.model.add_warnings(&mut report, &predicted.warnings);
        return document(&report);
    }
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    let kind = kind_of_values(&meaning, args.logits);
    let about = match units {
        Units::Own => about,
        Units::Scaled => format!("{about}, scaled as the model sees them"),
    };
    let mut text = format!("{}: {} {kind}{about}\n", args.out.display(), shape.join(" × "));
    if !columns.is_empty() {
        text.push_str(&format!("columns: {}\n", columns.join(", ")));
    }
    text.push_str(&memory.line().map_or_else(String::new, |line| format!("{line}\n")));
    text.push_str(&args.model.interruption_line());
    Ok(text)
}

impl PredictArgs {
    /// What the user said about the columns of pairs.
    fn pair_columns(&self) -> PairColumns {
        let [src, dst, time] = [&self.pairs_src, &self.pairs_dst, &self.pairs_time];
        PairColumns { src: src.clone(), dst: dst.clone(), time: time.clone() }
    }

    /// Refuses flags that would change nothing, and two readers of one pipe.
    fn refuse_what_does_nothing(&self, session: &dyn TrainingRun) -> Result<(), Failure> {
        let task = session.task();
        if self.logits && matches!(task, TaskName::NodeRegression | TaskName::EdgeRegression) {
            let task = task.name();
            let message = format!("--logits is for links and classes, but this is {task}");
            return Err(
                Failure::usage(message).hint("leave it out: numbers are written as they are")
            );
        }
        let data = &session.config().data.path;
        let pairs = self.pairs.as_ref().map(|pairs| name_of(pairs.as_os_str()));
        match pairs.filter(|pairs| pairs == data && is_read_once(pairs)) {
            None => Ok(()),
            Some(_) => Err(Failure::usage("the data and the pairs cannot both be standard input")
                .hint("save one of them to a file")),
        }
    }
}

/// What the numbers are, in the plural.
fn kind_of_values(meaning: &Meaning, is_logits: bool) -> &'static str {
    match meaning {
        Meaning::Value => "values",
        _ if is_logits => "logits",
        _ => "probabilities",
    }
}

/// The parts whose own pairs are predicted: those asked for, the test part if nothing was said, and
/// everything if there is no test part.
fn parts(args: &PredictArgs, session: &dyn TrainingRun) -> Result<Vec<Part>, Failure> {
    let all = || {
        let parts = [Part::Train, Part::Validation, Part::Test].into_iter();
        parts.filter(|&part| session.has(part)).collect()
    };
    match args.split.as_deref() {
        Some("all") => Ok(all()),
        None if !session.has(Part::Test) => Ok(all()),
        named => {
            let name = named.unwrap_or("test");
            if session.has(eval::part(name)) {
                Ok(vec![eval::part(name)])
            } else {
                Err(Failure::usage(format!("the split has no {name} part"))
                    .hint("choose another --split, or set data.split"))
            }
        }
    }
}
