//! Predictions of snapshot models: of vertices, of pairs that are named, or of a part's own pairs.

use std::path::Path;

use serde_json::json;
use zoetrope_config::{Config, TaskName};
use zoetrope_data::candidates::{self, Known};
use zoetrope_data::numbers_file::{Column, Values};
use zoetrope_graph::{Boundaries, TextTable, TimeScale, VertexId};
use zoetrope_train::snapshots::session::{PairQuestion, Session};
use zoetrope_train::training_run::TrainingRun;

use super::{PredictArgs, Predicted, Units, parts};
use crate::answer_file::{identifiers, side, times, times_of};
use crate::command::eval;
use crate::exit::Failure;
use crate::progress::{Bars, Unit};

/// The answers of a session.
pub(super) fn predict(args: &PredictArgs, mut session: Session) -> Result<Predicted, Failure> {
    if args.units.is_some() && session.task() != TaskName::NodeRegression {
        let task = session.task().name();
        return Err(Failure::usage(format!("--units is for predicted numbers, not for {task}"))
            .hint("leave it out"));
    }
    match (session.predicts_pairs(), &args.pairs) {
        (true, Some(path)) => named(args, path, &mut session),
        (true, None) => own(args, &mut session),
        (false, None) => vertices(args, &mut session),
        (false, Some(_)) => {
            let task = session.task().name();
            Err(Failure::usage(format!("--pairs is for tasks about pairs, but this is {task}"))
                .hint("leave it out: every vertex is predicted"))
        }
    }
}

/// Answers for every vertex at the last snapshot of each frame.
fn vertices(args: &PredictArgs, session: &mut Session) -> Result<Predicted, Failure> {
    let part = args.split.as_deref().filter(|&name| name != "all").map(eval::part);
    let (mut answers, metrics) = session.predict(part)?;
    let units = units(args, session);
    let scale = session.material().scaled.own_units.as_ref();
    if let (Units::Own, TaskName::NodeRegression, Some(scale)) = (units, session.task(), scale) {
        scale.undo(&mut answers.values);
    }
    let mut shape = vec![answers.steps.len(), answers.vertices];
    if answers.per_vertex > 1 {
        shape.push(answers.per_vertex);
    }
    let material = session.material();
    let rows = |count: usize| (0..count as VertexId).collect::<Vec<_>>();
    let everyone = rows(answers.vertices).repeat(answers.steps.len());
    let steps: Vec<usize> =
        answers.steps.iter().flat_map(|&step| vec![step; answers.vertices]).collect();
    let numbers: Vec<usize> = answers.steps.iter().map(|&step| material.number(step)).collect();
    let (starts, config) = (material.starts(), session.config());
    let mut subjects = when(starts, config, &steps, |step| material.number(step));
    subjects.extend(side(&material.names, &everyone));
    subjects.push(identifiers("vertex", &material.names, everyone));
    let about = match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) => format!(", snapshots {first} to {last}"),
        _ => String::new(),
    };
    let fields = json!({
        "snapshots": numbers,
        "units": units.name(),
        "metrics": metrics,
        "scaling": material.scaled.summary(),
    });
    let (meaning, outputs) = (session.meaning(), answers.per_vertex);
    let values = answers.values;
    let predicted = Predicted::new((meaning, outputs), values, subjects, about, fields);
    Ok(Predicted { shape, units, ..predicted })
}

/// Answers about the pairs of a file.
fn named(args: &PredictArgs, path: &Path, session: &mut Session) -> Result<Predicted, Failure> {
    let material = session.material();
    let bars = Bars::new(Unit::Bytes, args.model.is_silent(args.json));
    let scale = material.scale.filter(|_| material.boundaries.is_some());
    let unnamed = TextTable::default();
    let config = session.config();
    let (said, named) = (config.data.read_options(), args.pair_columns());
    let known = Known {
        names: &material.names,
        scale,
        feature_names: &unnamed,
        reading: config.provenance.reading.as_ref(),
        said: &said,
        named: &named,
    };
    let read = candidates::read_pairs(path, known, &[], &bars)?;
    bars.finish();
    let askable = session.askable();
    let snapshot = |row: usize| match read.time.get(row) {
        None => Ok(*askable.end()),
        Some(&number) if read.by_snapshot => usize::try_from(number).map_err(|_| {
            Failure::input(format!("{}: there is no snapshot {number}", path.display()))
                .hint(format!("snapshots are counted from 0; the last is {}", material.steps() - 1))
        }),
        Some(&time) => {
            // A time before the first window has no snapshot; one in the window after the last is
            // asked about as soon as it can be, and nothing is known of later ones.
            let starts = material.boundaries.as_ref();
            let end = starts.and_then(Boundaries::end_of_next);
            let of_pair = |what: &str| {
                let shown = scale.map_or_else(|| time.to_string(), |scale| scale.format_time(time));
                let (path, pair) = (path.display(), row + 1);
                Failure::input(format!("{path}: the time of pair {pair}, {shown}, {what}"))
            };
            match starts.map_or(0, |starts| starts.up_to(time)).checked_sub(1) {
                _ if end.is_some_and(|end| time >= end) => {
                    let end = end.unwrap_or(time);
                    let end = scale.map_or_else(|| end.to_string(), |scale| scale.format_time(end));
                    let what = "lies beyond the snapshot that follows the data";
                    Err(of_pair(what).hint(format!(
                        "ask about times before {end}, or leave the column of times out to ask about \
                         what follows the data; an event model can be asked about any time"
                    )))
                }
                Some(window) => Ok(window.min(*askable.end())),
                None => Err(of_pair("lies before the data")),
            }
        }
    };
    let ends = read.src.iter().zip(&read.dst).enumerate();
    let asked = ends
        .map(|(row, (&src, &dst))| Ok(PairQuestion { src, dst, snapshot: snapshot(row)? }))
        .collect::<Result<Vec<_>, Failure>>()?;
    let values = session.predict_pairs(&asked)?;
    let about = format!(" of pairs in {}", path.display());
    let fields = json!({ "pairs": path.display().to_string() });
    // Times as they were asked for stand beside the snapshots that they fall into.
    let asked_times = scale.filter(|_| !read.by_snapshot && !read.time.is_empty());
    let warnings = read.warnings;
    let mut subjects = pair_columns(session, &asked);
    if let Some(scale) = asked_times {
        subjects.retain(|column| column.name != "time" && column.name != "date");
        subjects.extend(times(read.time, times_of(session.config(), scale)));
    }
    Ok(Predicted { warnings, ..of_pairs(session, subjects, values, about, fields) })
}

/// Answers about the pairs that parts are judged by.
fn own(args: &PredictArgs, session: &mut Session) -> Result<Predicted, Failure> {
    let parts = parts(args, session)?;
    let (mut asked, mut truth) = (Vec::new(), Vec::new());
    for &part in &parts {
        let (questions, labels) = session.own_pairs(part);
        asked.extend(questions);
        truth.extend(labels);
    }
    let values = session.predict_pairs(&asked)?;
    let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
    let about = format!(" of the pairs that the {} part is judged by", names.join(", "));
    let fields = json!({ "split": names });
    let subjects = pair_columns(session, &asked);
    let predicted = of_pairs(session, subjects, values, about, fields);
    Ok(Predicted { truth: Some(truth), ..predicted })
}

fn pair_columns(session: &Session, asked: &[PairQuestion]) -> Vec<Column> {
    let material = session.material();
    let src = asked.iter().map(|pair| pair.src).collect();
    let dst = asked.iter().map(|pair| pair.dst).collect();
    let steps: Vec<usize> = asked.iter().map(|pair| pair.snapshot).collect();
    let names = &material.names;
    let mut columns = vec![identifiers("src", names, src), identifiers("dst", names, dst)];
    let starts = material.boundaries.as_ref().zip(material.scale);
    columns.extend(when(starts, session.config(), &steps, |step| step));
    columns
}

/// The numbers of the snapshots, and when each begins if that is known.
fn when(
    starts: Option<(&Boundaries, TimeScale)>,
    config: &Config,
    steps: &[usize],
    number: impl Fn(usize) -> usize,
) -> Vec<Column> {
    let numbers = steps.iter().map(|&step| number(step) as i64).collect();
    let mut columns = vec![Column::new("snapshot", Values::Whole(numbers))];
    if let Some((starts, scale)) = starts {
        // The snapshot after the last begins where the last ends.
        let starts = steps.iter().map(|&step| starts.at(step)).collect();
        columns.extend(times(starts, times_of(config, scale)));
    }
    columns
}

fn of_pairs(
    session: &Session,
    subjects: Vec<Column>,
    values: Vec<f32>,
    about: String,
    fields: serde_json::Value,
) -> Predicted {
    Predicted::new((session.meaning(), session.outputs()), values, subjects, about, fields)
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
