//! What labels and targets say: classes with their counts, or a quantity with its range.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;
use zoetrope_graph::{EventStore, Targets, TextTable};

use super::numbers::{self, NumberSummary};

/// Whole numbers with more distinct values than this are a quantity, not classes.
const MOST_CLASSES: usize = 64;

/// The labels of a data set, by what carries them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Labels {
    /// One label an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<LabelSummary>,
    /// One label a vertex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertex: Option<LabelSummary>,
    /// One target a vertex and step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<LabelSummary>,
}

/// A column of labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelSummary {
    /// Each class and how often it occurs; absent if the label is a quantity.
    pub classes: Option<Vec<ClassCount>>,
    /// The label as numbers.
    pub numbers: NumberSummary,
}

/// A class and how often it occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    /// The name in the data, or the class number.
    pub name: String,
    /// How often it occurs.
    pub count: u64,
}

impl Labels {
    pub(super) fn of_events(store: &EventStore) -> Option<Self> {
        let labels = Self {
            event: store.label().map(|values| summarise(values, &store.label_names)),
            vertex: store
                .vertex_labels
                .as_ref()
                .map(|values| summarise(values, &store.vertex_label_names)),
            step: None,
        };
        (labels.event.is_some() || labels.vertex.is_some()).then_some(labels)
    }

    pub(super) fn of_targets(targets: Option<&Targets>) -> Option<Self> {
        let targets = targets?;
        let classes = targets
            .classes()
            .and_then(|_| classes(targets.values(), usize::MAX, &TextTable::default()));
        let summary = LabelSummary { classes, numbers: numbers::summarise(targets.values()) };
        Some(match targets.steps() {
            1 => Self { event: None, vertex: Some(summary), step: None },
            _ => Self { event: None, vertex: None, step: Some(summary) },
        })
    }
}

fn summarise(values: &[f32], names: &TextTable) -> LabelSummary {
    let most = if names.is_empty() { MOST_CLASSES } else { usize::MAX };
    LabelSummary { classes: classes(values, most, names), numbers: numbers::summarise(values) }
}

/// Counts classes, or `None` if a value is no whole number or there are more than `most`.
fn classes(values: &[f32], most: usize, names: &TextTable) -> Option<Vec<ClassCount>> {
    let parts: Option<Vec<BTreeMap<i64, u64>>> =
        values.par_chunks(1 << 16).map(|chunk| count_whole(chunk, most)).collect();
    let mut counts = BTreeMap::new();
    for part in parts? {
        for (class, count) in part {
            *counts.entry(class).or_insert(0) += count;
        }
    }
    if counts.len() > most || counts.is_empty() {
        return None;
    }
    let name = |class: i64| match usize::try_from(class) {
        Ok(index) if index < names.len() => String::from_utf8_lossy(names.get(index)).into_owned(),
        _ => class.to_string(),
    };
    Some(counts.into_iter().map(|(class, count)| ClassCount { name: name(class), count }).collect())
}

fn count_whole(values: &[f32], most: usize) -> Option<BTreeMap<i64, u64>> {
    let mut counts = BTreeMap::new();
    for &value in values.iter().filter(|value| !value.is_nan()) {
        // Above 2^24 neighbouring whole numbers share a float: such values are no class numbers.
        if value.fract() != 0.0 || value.abs() > 16_777_216.0 {
            return None;
        }
        *counts.entry(value as i64).or_insert(0) += 1;
        if counts.len() > most {
            return None;
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_whole_numbers_are_classes_with_counts() {
        let summary = summarise(&[0.0, 1.0, 0.0, f32::NAN], &TextTable::default());
        let classes = summary.classes.unwrap();
        assert_eq!(classes.iter().map(|class| class.count).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(summary.numbers.missing, 1);
    }

    #[test]
    fn fractions_are_a_quantity() {
        assert_eq!(summarise(&[0.5, 1.0], &TextTable::default()).classes, None);
    }

    #[test]
    fn named_classes_keep_their_names() {
        let names = TextTable::from_iter(["call", "text"]);
        let classes = summarise(&[1.0, 1.0], &names).classes.unwrap();
        assert_eq!(classes, [ClassCount { name: "text".into(), count: 2 }]);
    }
}
