//! The file that `predict` and `embed` write: its kind, and what its columns hold.

use std::path::Path;

use zoetrope_config::Config;
use zoetrope_data::numbers_file::{Column, FileKind, Values, write_array, write_table};
use zoetrope_data::table::TimeReading;
use zoetrope_graph::{Time, TimeScale, VertexId, VertexNames};
use zoetrope_train::answers::Meaning;

use crate::exit::Failure;
use crate::input::may_write;

/// The column of predicted numbers.
pub(crate) const PREDICTION: &str = "prediction";

/// A file that may be written, of a kind that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerFile<'a> {
    path: &'a Path,
    kind: FileKind,
}

impl<'a> AnswerFile<'a> {
    /// Looks at the name before any work is done.
    pub(crate) fn new(path: &'a Path, force: bool) -> Result<Self, Failure> {
        let Some(kind) = FileKind::of(path) else {
            let suffixes = FileKind::ALL.map(FileKind::suffix).join(", ");
            let message = format!("{}: the name must end in one of {suffixes}", path.display());
            return Err(Failure::usage(message).hint(
                ".npy holds the numbers alone, .parquet and .csv also the vertices and times that \
                 they are about",
            ));
        };
        may_write(path, force)?;
        Ok(Self { path, kind })
    }

    /// Writes the numbers, with `subjects` before them and `extra` behind them in a table. Returns
    /// the names of the columns, none for an array.
    pub(crate) fn write(
        self,
        shape: &[usize],
        values: &[f32],
        columns: impl FnOnce() -> Vec<Column>,
    ) -> Result<Vec<String>, Failure> {
        if self.kind == FileKind::Npy {
            write_array(self.path, shape, values)?;
            return Ok(Vec::new());
        }
        let columns = columns();
        write_table(self.path, self.kind, &columns)?;
        Ok(columns.into_iter().map(|column| column.name).collect())
    }
}

/// The identifiers of some vertices as the data spells them.
pub(crate) fn identifiers(name: &str, names: &VertexNames, rows: Vec<VertexId>) -> Column {
    let texts = (0..names.len() as VertexId).map(|vertex| names.name(vertex).into_owned());
    Column::new(name, Values::names(texts.collect(), rows))
}

/// On which side of bipartite data vertices are: a source and a destination may have the same identifier.
pub(crate) fn side(names: &VertexNames, rows: &[VertexId]) -> Option<Column> {
    names.second.as_ref()?;
    let first = names.first.len() as VertexId;
    let rows = rows.iter().map(|&vertex| u32::from(vertex >= first)).collect();
    let sides = vec!["source".to_owned(), "destination".to_owned()];
    Some(Column::new("side", Values::names(sides, rows)))
}

/// Times as numbers, as the data has them, and as dates if they count from 1970.
pub(crate) fn times(ticks: Vec<Time>, times: TimeReading) -> Vec<Column> {
    let scale = times.scale();
    let dates =
        scale.unix.then(|| Column::new("date", Values::Dates { ticks: ticks.clone(), scale }));
    let numbers = match times.digits {
        0 => Values::Whole(ticks),
        digits => Values::Decimals { ticks, digits },
    };
    std::iter::once(Column::new("time", numbers)).chain(dates).collect()
}

/// How the data of a session has its times, whose ticks mean `scale`.
pub(crate) fn times_of(config: &Config, scale: TimeScale) -> TimeReading {
    let read = config.provenance.reading.as_ref().and_then(|reading| reading.times);
    read.filter(|read| read.scale() == scale).unwrap_or(TimeReading::ticks(scale))
}

/// The numbers of a prediction by what they mean: a probability or score, one of each class with the
/// likeliest class, or a value.
pub(crate) fn answers(
    meaning: &Meaning,
    is_logits: bool,
    outputs: usize,
    values: &[f32],
) -> Vec<Column> {
    let numbers = |name: String, values: Vec<f32>| Column::new(name, Values::Numbers(values));
    let classes = match meaning {
        Meaning::Link if is_logits => return vec![numbers("logit".into(), values.to_vec())],
        Meaning::Link => return vec![numbers("probability".into(), values.to_vec())],
        Meaning::Value => return vec![numbers(PREDICTION.into(), values.to_vec())],
        Meaning::Classes(classes) => classes,
    };
    let of = |class: usize| values.iter().skip(class).step_by(outputs.max(1)).copied();
    let prefix = if is_logits { "logit" } else { "p" };
    let mut columns: Vec<Column> = match outputs {
        // One number for two classes is about the second.
        1 if is_logits => vec![numbers(format!("{prefix}_{}", classes[1]), values.to_vec())],
        1 => vec![
            numbers(format!("{prefix}_{}", classes[0]), of(0).map(|p| 1.0 - p).collect()),
            numbers(format!("{prefix}_{}", classes[1]), values.to_vec()),
        ],
        outputs => (0..outputs)
            .map(|class| numbers(format!("{prefix}_{}", classes[class]), of(class).collect()))
            .collect(),
    };
    let even = if is_logits { 0.0 } else { 0.5 };
    let likeliest = |scores: &[f32]| match scores {
        [score] => u32::from(*score > even),
        scores => {
            let better = |best: usize, at: usize| if scores[at] > scores[best] { at } else { best };
            (1..scores.len()).fold(0, better) as u32
        }
    };
    let rows = values.chunks_exact(outputs.max(1)).map(likeliest).collect();
    columns.push(Column::new("class", Values::names(classes.clone(), rows)));
    columns
}

/// What is right, as the data has it; empty if it is not known.
pub(crate) fn truth(meaning: &Meaning, values: &[f32]) -> Column {
    match meaning {
        Meaning::Link => {
            let happened = values.iter().map(|&value| i64::from(value > 0.5)).collect();
            Column::new("happened", Values::Whole(happened))
        }
        Meaning::Classes(classes) => {
            let row = |&class: &f32| if class.is_nan() { Values::NO_NAME } else { class as u32 };
            let rows = values.iter().map(row).collect();
            Column::new("truth", Values::names(classes.clone(), rows))
        }
        Meaning::Value => Column::new("truth", Values::Numbers(values.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_classes_of_one_number_have_a_column_each() {
        let meaning = Meaning::Classes(vec!["ham".into(), "spam".into()]);
        let columns = answers(&meaning, false, 1, &[0.25, 0.75]);
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["p_ham", "p_spam", "class"]);
        assert_eq!(columns[0].values, Values::Numbers(vec![0.75, 0.25]));
        let classes = vec!["ham".to_owned(), "spam".to_owned()];
        assert_eq!(columns[2].values, Values::names(classes, vec![0, 1]));
        let logits = answers(&meaning, true, 1, &[-1.0, 1.0]);
        assert_eq!((logits[0].name.as_str(), logits.len()), ("logit_spam", 2));
    }

    #[test]
    fn the_likeliest_of_several_classes_is_named() {
        let meaning = Meaning::classes(3, &[]);
        let columns = answers(&meaning, false, 3, &[0.2, 0.5, 0.3, 0.4, 0.2, 0.4]);
        assert_eq!(columns[1].name, "p_1");
        let Values::Names { rows, .. } = &columns[3].values else { panic!("{columns:?}") };
        assert_eq!(rows, &[1, 0], "the lowest-numbered of equals");
    }
}
