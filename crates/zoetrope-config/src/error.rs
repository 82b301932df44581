//! Why there is no configuration to run with.

use crate::{ConfigProblem, MetricName};

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The configuration is wrong at one or several places.
    #[error("{}", lines(problems))]
    Wrong {
        /// All problems found, in the order of the layers.
        problems: Vec<ConfigProblem>,
    },
    /// The metric that is watched does not exist for the classes of the data.
    #[error(
        "task.metric = \"{metric}\" is not defined for this many classes; use one of {}",
        names(defined)
    )]
    UndefinedMetric {
        /// The metric that was asked for.
        metric: MetricName,
        /// The metrics that there are.
        defined: Vec<MetricName>,
    },
}

impl ConfigError {
    /// Nothing if there are no problems, all of them otherwise.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`] if there is a problem.
    pub fn refuse(problems: Vec<ConfigProblem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self::Wrong { problems }) }
    }
}

fn lines(problems: &[ConfigProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ConfigProblem::to_string).collect();
    lines.join("\n")
}

fn names(metrics: &[MetricName]) -> String {
    let names: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_is_not_defined_is_told_with_those_that_are() {
        let defined = vec![MetricName::Auc, MetricName::Ap];
        let error = ConfigError::UndefinedMetric { metric: MetricName::Mrr, defined };
        assert_eq!(
            error.to_string(),
            "task.metric = \"mrr\" is not defined for this many classes; use one of auc, ap"
        );
    }
}
