//! The classes of a run's labels, numbered once.
//!
//! A file numbers the names of its labels by itself, so a file without a class, or with one more, would
//! give the same name another number. A run keeps its classes by name in `classes.json`, and the labels
//! of other data are numbered by them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use zoetrope_config::{Config, TaskName};
use zoetrope_data::split::Split;
use zoetrope_data::table::TableReading;
use zoetrope_data::{Dataset, Loaded};
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{Column, EventStore, TextTable};
use zoetrope_run::{RunFolder, read_json};

use crate::answers::texts;
use crate::error::TrainError;

/// Whole numbers that an f32 tells apart.
const WHOLE_MAX: f32 = (1 << 24) as f32;

/// Labels that are collected before those that repeat are left out.
const LABELS_AT_ONCE: usize = 1 << 20;

/// The classes of a run by name, in the order of their numbers; empty if a class is its own number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunClasses {
    /// Of the labels of events.
    #[serde(default)]
    pub events: Vec<String>,
    /// Of the labels of vertices.
    #[serde(default)]
    pub vertices: Vec<String>,
}

impl RunClasses {
    /// Reads the classes of a run. In one without the file every class is its own number.
    ///
    /// # Errors
    /// [`TrainError::Run`] if the file cannot be read or is something
    /// else.
    pub(crate) fn read(root: &Path) -> Result<Self, TrainError> {
        Ok(read_json(&root.join(RunFolder::CLASSES))?.unwrap_or_default())
    }

    /// Whether every class is its own number.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.vertices.is_empty()
    }
}

/// Labels and the names of their classes.
struct Labels<'a> {
    values: &'a Column<f32>,
    names: Vec<String>,
    /// How many of the first labels are trained on.
    training: usize,
}

/// Labels by other numbers.
struct Numbered {
    values: Vec<f32>,
    names: Vec<String>,
    /// Labels whose class the run does not have.
    unknown: usize,
}

impl Labels<'_> {
    /// The name of a label's class; None for one that is missing.
    fn name(&self, label: f32) -> Option<String> {
        match (label.is_nan(), self.names.is_empty()) {
            (true, _) => None,
            (false, true) => Some(format!("{}", label as i64)),
            (false, false) => self.names.get(label as usize).cloned(),
        }
    }

    /// The labels by the numbers of a run.
    fn by(&self, run: &[String]) -> Numbered {
        let places: std::collections::HashMap<&str, usize> =
            run.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let mut unknown = 0;
        let values = self.values.iter().map(|&label| {
            let name = self.name(label);
            let place = name.as_deref().and_then(|name| places.get(name));
            unknown += usize::from(name.is_some() && place.is_none());
            place.map_or(f32::NAN, |&place| place as f32)
        });
        Numbered { values: values.collect(), names: run.to_vec(), unknown }
    }

    /// Numbers of their own, if those of the file will not do: names or whole numbers that are not
    /// 0, 1, 2 and so on. Of two names the rarer one is the second class, which precision is about.
    fn anew(&self) -> Option<Vec<String>> {
        if !self.names.is_empty() {
            let [first, second] = self.names.as_slice() else { return None };
            let share = &self.values[..self.training];
            let count = |class: f32| share.iter().filter(|&&label| label == class).count();
            return (count(1.0) > count(0.0)).then(|| vec![second.clone(), first.clone()]);
        }
        let is_whole = |label: &f32| label.fract() == 0.0 && label.abs() <= WHOLE_MAX;
        let (mut found, mut all_whole): (Vec<f32>, bool) = (Vec::new(), true);
        // Few of many events' labels differ: they are not copied.
        let distinct = |found: &mut Vec<f32>| {
            found.sort_unstable_by(f32::total_cmp);
            found.dedup();
        };
        let mut most = LABELS_AT_ONCE;
        self.values.scan(|some| {
            let known = some.iter().copied().filter(|label| !label.is_nan());
            let before = found.len();
            found.extend(known.take(if all_whole { some.len() } else { 0 }));
            all_whole &= found[before..].iter().all(is_whole);
            if found.len() > most {
                distinct(&mut found);
                most = 2 * found.len() + LABELS_AT_ONCE;
            }
        });
        if found.is_empty() || !all_whole {
            return None;
        }
        distinct(&mut found);
        let [first, .., last] = found.as_slice() else { return None };
        let dense = *first == 0.0 && (*last as usize) < 2 * found.len();
        (!dense).then(|| found.iter().map(|label| format!("{}", *label as i64)).collect())
    }

    /// As the run numbers them, or anew if need be; None if they can stay as they are.
    fn number(&self, run: Option<&[String]>) -> Option<Numbered> {
        match run {
            Some(run) if !run.is_empty() => (*run != self.names).then(|| self.by(run)),
            Some(_) => None,
            None => self.anew().map(|names| self.by(&names)),
        }
    }
}

/// Numbers the classes of labels: as a run did if there is one, else so that they are 0, 1, 2 and so on.
/// Returns what the user should know.
///
/// # Errors
/// If columns do not fit, which they do.
pub(super) fn number(
    loaded: &mut Loaded,
    config: &Config,
    run: Option<&RunClasses>,
) -> Result<Vec<String>, TrainError> {
    let Dataset::Events(store) = &mut loaded.dataset else { return Ok(Vec::new()) };
    let mut notes = Vec::new();
    let mut tell = |what: &str, unknown: usize| {
        if unknown > 0 {
            notes.push(format!(
                "{unknown} {what} have a label that the run was not trained on: they are not judged"
            ));
        }
    };
    let training = Split::by_time(store, config.data.split.fractions()).train.end;
    if let Some(values) = &store.columns().label {
        let labels = Labels { values, names: texts(&store.label_names), training };
        if let Some(numbered) = labels.number(run.map(|run| run.events.as_slice())) {
            tell("events", numbered.unknown);
            let columns =
                EventColumns { label: Some(numbered.values.into()), ..store.columns().clone() };
            *store = std::mem::replace(store, empty()?).with_columns(columns)?;
            store.label_names = numbered.names.iter().collect::<TextTable>();
        }
    }
    if let Some(values) = &store.vertex_labels {
        let (names, training) = (texts(&store.vertex_label_names), values.len());
        let labels = Labels { values, names, training };
        if let Some(numbered) = labels.number(run.map(|run| run.vertices.as_slice())) {
            tell("vertices", numbered.unknown);
            store.vertex_labels = Some(numbered.values.into());
            store.vertex_label_names = numbered.names.iter().collect::<TextTable>();
        }
    }
    Ok(notes)
}

/// Gives events of a run that learned from labels, or from weights, a column of which nothing is known,
/// if they have none: what else a column could mean was decided by the run. Returns what the user should
/// know.
///
/// # Errors
/// If columns do not fit, which they do.
pub(super) fn leave_unknown(
    loaded: &mut Loaded,
    config: &Config,
    reading: Option<&TableReading>,
) -> Result<Option<String>, TrainError> {
    let (Dataset::Events(store), Some(reading)) = (&mut loaded.dataset, reading) else {
        return Ok(None);
    };
    let columns = store.columns().clone();
    let unknown = || Some(vec![f32::NAN; store.len()].into());
    let (column, what, columns) = match config.task.name {
        Some(TaskName::EdgeClassification | TaskName::NodeClassification)
            if store.label().is_none() =>
        {
            (reading.label, "label", EventColumns { label: unknown(), ..columns })
        }
        Some(TaskName::EdgeRegression) if store.weight().is_none() => {
            (reading.weight, "weight", EventColumns { weight: unknown(), ..columns })
        }
        _ => return Ok(None),
    };
    let Some(column) = column else { return Ok(None) };
    let name = reading.name(column).map_or_else(|| column.to_string(), str::to_owned);
    *store = std::mem::replace(store, empty()?).with_columns(columns)?;
    Ok(Some(format!(
        "there is no {what} `{name}` as in the data of the run: nothing can be judged"
    )))
}

fn empty() -> Result<EventStore, TrainError> {
    let names = zoetrope_graph::VertexNames::identity(0);
    let scale = zoetrope_graph::TimeScale::SECONDS;
    Ok(EventStore::new(vec![], vec![], vec![], EventColumns::default(), scale, names)?)
}

/// Keeps the number of classes in the configuration, so that data without the last class makes no
/// other network.
pub(super) fn keep_count(config: &mut Config, loaded: &Loaded) {
    let Dataset::Events(store) = &loaded.dataset else { return };
    let labels = match config.task.name {
        Some(TaskName::EdgeClassification) => store.label(),
        Some(TaskName::NodeClassification) if config.model.name.is_stream() => store.label(),
        Some(TaskName::NodeClassification) => store.vertex_labels.as_deref(),
        _ => None,
    };
    let Some(labels) = labels.filter(|_| config.task.classes.is_none()) else { return };
    let is_class = |label: f32| label >= 0.0 && label.fract() == 0.0 && label <= WHOLE_MAX;
    let known = labels.iter().copied().filter(|label| !label.is_nan());
    // What is no class is refused with its place when the task is made.
    if known.clone().all(is_class) {
        let found = known.fold(0.0f32, f32::max) as usize + 1;
        config.task.classes = Some(found.max(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f32], names: &[&str]) -> Labels<'static> {
        let values: &'static Column<f32> = Box::leak(Box::new(values.to_vec().into()));
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Labels { values, names, training: values.len() }
    }

    #[test]
    fn numbers_that_are_not_in_a_row_become_classes() {
        let signs = labels(&[-1.0, 1.0, f32::NAN, -1.0], &[]).number(None).unwrap();
        assert_eq!(signs.names, ["-1", "1"]);
        assert_eq!(signs.values[..2], [0.0, 1.0]);
        assert!(signs.values[2].is_nan() && signs.unknown == 0);
        assert_eq!(labels(&[3.0, 5.0], &[]).number(None).unwrap().values, [0.0, 1.0]);
        assert_eq!(labels(&[2.0, 1.0], &[]).number(None).unwrap().values, [1.0, 0.0]);
        assert_eq!(labels(&[1e7, 1.0], &[]).number(None).unwrap().names, ["1", "10000000"]);
        for stay in [&[0.0, 1.0, 2.0][..], &[0.0, 2.0], &[0.5, 1.0], &[0.0], &[f32::NAN]] {
            assert!(labels(stay, &[]).number(None).is_none(), "{stay:?}");
        }
    }

    #[test]
    fn the_rarer_of_two_names_is_the_second_class() {
        let numbered = labels(&[0.0, 1.0, 1.0], &["fraud", "ok"]).number(None).unwrap();
        assert_eq!(
            (numbered.names, numbered.values),
            (vec!["ok".into(), "fraud".into()], vec![1.0, 0.0, 0.0])
        );
        assert!(labels(&[0.0, 0.0, 1.0], &["a", "b"]).number(None).is_none());
    }

    #[test]
    fn other_data_is_numbered_by_the_run() {
        let run = ["ok".to_owned(), "fraud".to_owned()];
        let only = labels(&[0.0, 0.0], &["ok"]).number(Some(&run)).unwrap();
        assert_eq!((only.values, only.names.len()), (vec![0.0, 0.0], 2));
        let other = labels(&[0.0, 1.0], &["ok", "scam"]).number(Some(&run)).unwrap();
        assert!(other.values[0] == 0.0 && other.values[1].is_nan() && other.unknown == 1);
        assert!(labels(&[0.0, 1.0], &[]).number(Some(&[])).is_none());
    }
}
