//! Whether a model beats the simple rules that it is compared with, and what to try if not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::number::or_nan;
use super::summary::Metrics;
use crate::config::{Config, ModelName};
use crate::training_run::TrainingRun;

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
    /// The verdict of a run that is over; None if no rule was measured by the metric.
    pub(crate) fn of(
        course: &dyn TrainingRun,
        test: &Metrics,
        baselines: &BTreeMap<String, Metrics>,
    ) -> Option<Self> {
        let learner = course.learner();
        let lower = learner.watched().is_error();
        let best = learner.best_epoch().map(|(epoch, _)| epoch);
        let mut verdict = Self::compare(learner.watched_key(), lower, test, baselines)?;
        if !verdict.beats {
            verdict.advice = advice(course.config(), best, course.epochs().len());
        }
        Some(verdict)
    }

    /// The model against the best of the rules.
    fn compare(
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

/// With one digit, which is as much as a rate to try needs.
fn round(rate: f64) -> f64 {
    format!("{rate:.0e}").parse().unwrap_or(rate)
}

/// Flags that may help, the most promising first.
fn advice(config: &Config, best: Option<usize>, epochs: usize) -> Vec<String> {
    let mut advice = Vec::new();
    let late = best.is_none_or(|best| 5 * best >= 4 * epochs);
    let rate = config.train.lr;
    if late {
        advice.push(format!("--epochs {} (it was still learning)", 3 * epochs));
        advice.push(format!("--lr {} (faster steps)", round(3.0 * rate)));
    } else {
        advice.push(format!("--lr {} (the best epoch came early)", round(rate / 3.0)));
    }
    let name = config.model.name;
    let others: &[ModelName] = if name.is_stream() {
        &[ModelName::Jodie, ModelName::Tgn, ModelName::Tgat]
    } else {
        &[ModelName::GcLstm, ModelName::Tgcn, ModelName::EvolveGcnO]
    };
    let other = others.iter().find(|other| **other != name);
    advice.extend(other.map(|other| format!("--model {other}")));
    advice
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

    #[test]
    fn advice_names_flags_that_exist() {
        let config = Config::defaults_for(ModelName::Tgn);
        let late = advice(&config, Some(10), 10);
        assert!(late[0].starts_with("--epochs 30"), "{late:?}");
        let early = advice(&config, Some(1), 10);
        assert!(early[0].starts_with("--lr "), "{early:?}");
        assert_eq!(early.last().unwrap(), "--model jodie");
    }
}
