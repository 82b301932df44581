//! Whether a model beats the simple rules that it is compared with, and what to try if not.

use std::collections::BTreeMap;

use zoetrope_config::{Config, ModelName};
use zoetrope_run::{Metrics, Verdict};

use crate::training_run::TrainingRun;

/// The verdict of a run that is over; None if no rule was measured by the metric.
pub(super) fn verdict(
    session: &dyn TrainingRun,
    test: &Metrics,
    baselines: &BTreeMap<String, Metrics>,
) -> Option<Verdict> {
    let learner = session.learner();
    let lower = learner.watched().is_error();
    let best = learner.best_epoch().map(|(epoch, _)| epoch);
    let mut verdict = Verdict::compare(learner.watched_key(), lower, test, baselines)?;
    if !verdict.beats {
        verdict.advice = advice(session.config(), best, session.epochs().len());
    }
    Some(verdict)
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
