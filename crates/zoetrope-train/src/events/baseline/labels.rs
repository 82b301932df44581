//! Baselines for classes and numbers that come with events.
//!
//! The most frequent class and the mean value are those of the training part; the last class or
//! value of a vertex (or pair) is that of its last event before the question, and what the training
//! part suggests if there is none.

use std::collections::BTreeMap;
use std::ops::Range;

use hashbrown::HashMap;
use zoetrope_config::EqualTimesRule;
use zoetrope_graph::Time;
use zoetrope_run::Metrics;

use crate::events::judge::{ClassJudge, ValueJudge};

/// What events say, in the order of the stream.
#[derive(Debug, Clone, Copy)]
pub struct LabelStream<'a> {
    /// The time of each event.
    pub time: &'a [Time],
    /// The class or number of each event; NaN if it has none.
    pub truth: &'a [f32],
    /// Whose class or number it is: the vertex, or the pair as one number.
    pub key: &'a [u64],
    /// What events at the very time of a question are to it.
    pub equal_times: EqualTimesRule,
}

/// The majority class of the training events and the last class of the same key, on the events
/// that are `asked`.
///
/// # Panics
/// If columns differ in length, or a class is not below `classes`.
pub fn compare_classes(
    stream: LabelStream<'_>,
    training: Range<usize>,
    asked: Range<usize>,
    classes: usize,
) -> BTreeMap<String, Metrics> {
    let mut counts = vec![0u64; classes];
    for class in stream.truth[training].iter().filter(|class| !class.is_nan()) {
        counts[*class as usize] += 1;
    }
    // The lowest-numbered of those that are as frequent.
    let majority = (0..classes).rev().max_by_key(|&class| counts[class]).unwrap_or(0) as f32;
    let mut always = ClassJudge::new(classes);
    let mut last = ClassJudge::new(classes);
    let (mut rows, mut constant) = (Vec::new(), Vec::new());
    let truth = &stream.truth[asked.clone()];
    last_known(stream, asked, |known| {
        one_hot(&mut rows, classes, known.unwrap_or(majority));
        one_hot(&mut constant, classes, majority);
    });
    always.add(&constant, truth);
    last.add(&rows, truth);
    BTreeMap::from([
        ("majority_class".to_owned(), always.metrics()),
        ("last_label".to_owned(), last.metrics()),
    ])
}

/// The mean of the training events and the last value of the same key, on the events that are
/// `asked`.
///
/// # Panics
/// If columns differ in length.
pub fn compare_values(
    stream: LabelStream<'_>,
    training: Range<usize>,
    asked: Range<usize>,
) -> BTreeMap<String, Metrics> {
    let known = stream.truth[training].iter().filter(|value| !value.is_nan());
    let (sum, count) =
        known.fold((0.0, 0u64), |(sum, count), &value| (sum + f64::from(value), count + 1));
    let mean = if count == 0 { 0.0 } else { (sum / count as f64) as f32 };
    let mut predicted = Vec::new();
    let truth = &stream.truth[asked.clone()];
    last_known(stream, asked, |known| predicted.push(known.unwrap_or(mean)));
    let (mut always, mut last) = (ValueJudge::default(), ValueJudge::default());
    always.add(&vec![mean; truth.len()], truth);
    last.add(&predicted, truth);
    BTreeMap::from([
        ("historical_mean".to_owned(), always.metrics()),
        ("last_value".to_owned(), last.metrics()),
    ])
}

/// Calls `visit` for each asked event with the last known truth of its key.
fn last_known(stream: LabelStream<'_>, asked: Range<usize>, mut visit: impl FnMut(Option<f32>)) {
    let LabelStream { time, truth, key, equal_times } = stream;
    assert!(time.len() == truth.len() && time.len() == key.len(), "columns of events");
    let mut latest: HashMap<u64, f32> = HashMap::new();
    let mut told = 0;
    for event in asked {
        let is_past = |other: usize| match equal_times {
            EqualTimesRule::Future | EqualTimesRule::Batch => time[other] < time[event],
            EqualTimesRule::Past => other < event,
        };
        while told < time.len() && is_past(told) {
            if !truth[told].is_nan() {
                latest.insert(key[told], truth[told]);
            }
            told += 1;
        }
        visit(latest.get(&key[event]).copied());
    }
}

fn one_hot(rows: &mut Vec<f32>, classes: usize, class: f32) {
    rows.extend((0..classes).map(|other| f32::from(u8::from(other as f32 == class))));
}
