//! What the numbers of a head mean, and how they become probabilities.

use zoetrope_graph::TextTable;

/// What the numbers that a network answers with mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// One score: whether a pair is linked.
    Link,
    /// Classes by name: one number each, or a single one for the second of two.
    Classes(Vec<String>),
    /// A number as it is.
    Value,
}

impl Meaning {
    /// Classes by their names; those without a name by their number.
    pub fn classes(count: usize, names: &[String]) -> Self {
        let name = |class: usize| names.get(class).cloned().unwrap_or_else(|| class.to_string());
        Self::Classes((0..count).map(name).collect())
    }

    /// Turns raw scores, `outputs` for each answer, into probabilities; values stay as they are.
    pub fn to_probabilities(&self, outputs: usize, scores: &mut [f32]) {
        match (self, outputs) {
            (Self::Value, _) => {}
            (_, 0 | 1) => scores.iter_mut().for_each(|score| *score = sigmoid(*score)),
            (_, outputs) => scores.chunks_exact_mut(outputs).for_each(softmax),
        }
    }
}

/// Names as text; bytes that are no UTF-8 are replaced.
pub(crate) fn texts(table: &TextTable) -> Vec<String> {
    table.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

fn sigmoid(score: f32) -> f32 {
    (1.0 / (1.0 + (-f64::from(score)).exp())) as f32
}

/// The largest score is subtracted first, so that nothing overflows.
fn softmax(scores: &mut [f32]) {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers = scores.iter().map(|&score| f64::from(score - most).exp());
    let sum: f64 = powers.sum();
    for score in scores {
        *score = (f64::from(*score - most).exp() / sum) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_become_probabilities_by_what_they_mean() {
        let mut scores = [0.0, 200.0, -200.0];
        Meaning::Link.to_probabilities(1, &mut scores);
        assert_eq!(scores, [0.5, 1.0, 0.0]);
        let mut scores = [1000.0, 1000.0, 1.0f32.ln(), 3.0f32.ln()];
        Meaning::classes(2, &[]).to_probabilities(2, &mut scores);
        assert_eq!(scores, [0.5, 0.5, 0.25, 0.75]);
        let mut scores = [-7.5];
        Meaning::Value.to_probabilities(1, &mut scores);
        assert_eq!(scores, [-7.5]);
    }

    #[test]
    fn classes_without_a_name_go_by_their_number() {
        let names = ["good".to_owned()];
        assert_eq!(Meaning::classes(2, &names), Meaning::Classes(vec!["good".into(), "1".into()]));
    }
}
