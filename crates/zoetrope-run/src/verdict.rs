//! Whether a model beats the simple rules that it is compared with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::number::or_nan;
use super::summary::Metrics;

/// The model against the best rule, by the metric that chose the weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The metric.
    pub metric: String,
    /// Whether less of it is better.
    pub lower_is_better: bool,
    /// What the model reaches on the test part.
    #[serde(deserialize_with = "or_nan")]
    pub model: f64,
    /// The best rule.
    pub rule: String,
    /// What it reaches.
    pub rule_value: f64,
    /// Whether the model is better than the rule.
    pub beats: bool,
    /// What to try, if it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "try")]
    pub advice: Vec<String>,
}

impl Verdict {
    /// The model against the best of the rules, without advice; None if no rule was measured by the metric.
    pub fn compare(
        metric: &str,
        lower_is_better: bool,
        test: &Metrics,
        baselines: &BTreeMap<String, Metrics>,
    ) -> Option<Self> {
        let model = *test.get(metric)?;
        let better = |a: f64, b: f64| if lower_is_better { a < b } else { a > b };
        let measured = baselines.iter().filter_map(|(name, metrics)| {
            let value = *metrics.get(metric)?;
            value.is_finite().then_some((name, value))
        });
        let (rule, rule_value) =
            measured.reduce(|best, other| if better(other.1, best.1) { other } else { best })?;
        Some(Self {
            metric: metric.to_owned(),
            lower_is_better,
            model,
            rule: rule.clone(),
            rule_value,
            beats: better(model, rule_value),
            advice: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(name: &str, value: f64) -> Metrics {
        [(name.to_owned(), value)].into()
    }

    #[test]
    fn the_best_rule_is_the_one_to_beat() {
        let rules: BTreeMap<String, Metrics> = [
            ("a".to_owned(), metrics("mse", 2.0)),
            ("b".to_owned(), metrics("mse", 1.0)),
            ("c".to_owned(), metrics("mse", f64::NAN)),
        ]
        .into();
        let verdict = Verdict::compare("mse", true, &metrics("mse", 1.5), &rules).unwrap();
        assert_eq!((verdict.rule.as_str(), verdict.beats), ("b", false));
        let verdict = Verdict::compare("mse", true, &metrics("mse", 0.5), &rules).unwrap();
        assert!(verdict.beats);
        let rules = [("a".to_owned(), metrics("ap", 0.7))].into();
        let verdict = Verdict::compare("ap", false, &metrics("ap", 0.7), &rules).unwrap();
        assert!(!verdict.beats, "as good is not better");
        let verdict = Verdict::compare("ap", false, &metrics("ap", f64::NAN), &rules).unwrap();
        assert!(!verdict.beats, "what is undefined beats nothing");
        assert_eq!(Verdict::compare("auc", false, &metrics("ap", 0.7), &rules), None);
    }
}
