//! Predictions of event models: of pairs that are named, or of a part's own events.

use serde_json::json;
use zoetrope_data::candidates::{self, Known};
use zoetrope_data::numbers_file::Column;
use zoetrope_graph::{Time, VertexId};
use zoetrope_train::events::{Candidate, EventSession, OwnAnswers};
use zoetrope_train::training_run::TrainingRun;

use super::{PredictArgs, Predicted, parts};
use crate::answer_file::{identifiers, times, times_of};
use crate::exit::Failure;
use crate::progress::{Bars, Unit};
use crate::saved_model::MemoryNote;

/// The answers of a session.
pub(super) fn predict(args: &PredictArgs, mut session: EventSession) -> Result<Predicted, Failure> {
    if args.units.is_some() {
        return Err(Failure::usage("--units is for numbers that a snapshot model predicts")
            .hint("leave it out"));
    }
    match &args.pairs {
        Some(path) => named(args, path, &mut session),
        None => own(args, &mut session),
    }
}

/// Scores of candidate pairs, after the events before each.
fn named(
    args: &PredictArgs,
    path: &std::path::Path,
    session: &mut EventSession,
) -> Result<Predicted, Failure> {
    let store = &session.material().store;
    let bars = Bars::new(Unit::Bytes, args.model.is_silent(args.json));
    let columns = session.candidate_columns();
    let config = session.config();
    let (said, named) = (config.data.read_options(), args.pair_columns());
    let known = Known::of(store, config.provenance.reading.as_ref(), &said, &named);
    let read = candidates::read(path, known, &columns, &bars)?;
    bars.finish();
    let after = store.time().last().map_or(0, |last| last.saturating_add(1));
    let time = |row: usize| read.time.get(row).copied().unwrap_or(after);
    let ends = read.src.iter().zip(&read.dst).enumerate();
    let asked: Vec<Candidate> =
        ends.map(|(row, (&src, &dst))| Candidate { src, dst, time: time(row) }).collect();
    let values = rayon::scope(|_| session.predict(&asked, &read.features))?;
    let time = asked.iter().map(|asked| asked.time).collect();
    // Pairs of different times may have answers from memory of different kinds.
    let by_memory: serde_json::Map<String, serde_json::Value> = session
        .memory_use()
        .iter()
        .map(|(source, pairs)| (source.name().to_owned(), json!(pairs)))
        .collect();
    let mut about = format!(" of pairs in {}", path.display());
    if by_memory.len() > 1 {
        let uses = session.memory_use().iter();
        let uses =
            uses.map(|(source, pairs)| format!("memory of {pairs} pairs: {}", source.describe()));
        about.push_str(&format!("; {}", uses.collect::<Vec<_>>().join(", ")));
    }
    let fields = json!({ "pairs": path.display().to_string(), "pairs_by_memory": by_memory });
    let warnings = read.warnings;
    let subjects = subjects(session, read.src, read.dst, time);
    let predicted = predicted(session, subjects, values, about, fields);
    Ok(Predicted { warnings, ..predicted })
}

/// Scores of a part's own events, as evaluation asks about them.
fn own(args: &PredictArgs, session: &mut EventSession) -> Result<Predicted, Failure> {
    let parts = parts(args, session)?;
    let (mut all, mut measured) = (OwnAnswers::default(), None);
    for &part in &parts {
        let (answers, metrics) = rayon::scope(|_| session.predict_part(part))?;
        all.src.extend(answers.src);
        all.dst.extend(answers.dst);
        all.time.extend(answers.time);
        all.truth.extend(answers.truth);
        all.values.extend(answers.values);
        measured = (parts.len() == 1).then_some(metrics);
    }
    let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
    let about = format!(" of the events in the {} part", names.join(", "));
    let fields = json!({ "split": names, "metrics": measured });
    let subjects = subjects(session, all.src, all.dst, all.time);
    let predicted = predicted(session, subjects, all.values, about, fields);
    Ok(Predicted { truth: Some(all.truth), ..predicted })
}

fn subjects(
    session: &EventSession,
    src: Vec<VertexId>,
    dst: Vec<VertexId>,
    time: Vec<Time>,
) -> Vec<Column> {
    let store = &session.material().store;
    let names = store.names();
    let mut columns = vec![identifiers("src", names, src), identifiers("dst", names, dst)];
    columns.extend(times(time, times_of(session.config(), store.scale())));
    columns
}

fn predicted(
    session: &EventSession,
    subjects: Vec<Column>,
    values: Vec<f32>,
    about: String,
    fields: serde_json::Value,
) -> Predicted {
    let answers = (session.meaning(), session.outputs());
    let memory = MemoryNote::of(session);
    Predicted { memory, ..Predicted::new(answers, values, subjects, about, fields) }
}
