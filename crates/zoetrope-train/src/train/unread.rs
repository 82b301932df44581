//! Keys that the data, or the plan that was made for it, gives nothing to act on.

use zoetrope_config::{Config, ConfigError, ConfigProblem};
use zoetrope_data::Dataset;
use zoetrope_plan::FramePlan;

use crate::error::TrainError;

/// How events become snapshots.
const OF_CUTTING: [&str; 3] = ["data.merge", "data.until_removed", "data.undirected"];

/// What becomes of the features that data has.
const OF_FEATURES: [&str; 2] = ["data.feature_scaling", "data.missing_features"];

/// Refuses keys about cutting events if the data holds snapshots, and keys about features if it has none.
///
/// # Errors
/// [`TrainError::Config`] with every key that was changed in vain.
pub(super) fn by_data(config: &Config, dataset: &Dataset) -> Result<(), TrainError> {
    let Dataset::Snapshots(data) = dataset else { return Ok(()) };
    let steps = data.sequence.steps();
    let cut = format!("the data holds {steps} snapshots, and only events are cut into them");
    let mut problems = asked(config, &OF_CUTTING, &cut);
    if data.features.is_none() {
        problems.extend(asked(config, &OF_FEATURES, "the data has no features of its own"));
    }
    refuse(problems)
}

/// Refuses an order of products that no layer of the plan can take.
///
/// # Errors
/// [`TrainError::Config`] if it was asked for.
pub(super) fn by_plan(config: &Config, plan: &FramePlan) -> Result<(), TrainError> {
    let Some(wanted) = config.wished_order().filter(|_| !config.names_plan_file()) else {
        return Ok(());
    };
    if plan.orders.iter().any(|layer| layer.order == wanted) {
        return Ok(());
    }
    let (reason, advice) = if plan.reuse.first_aggregation && !plan.orders.is_empty() {
        (
            "the aggregation of the first layer is kept",
            "leave plan.order out, or set plan.reuse = false",
        )
    } else {
        ("the model has no layer whose products can change places", "leave plan.order out")
    };
    let problem = ConfigProblem::Conflict {
        keys: format!("plan.order and model.name = \"{}\"", config.model.name),
        reason: reason.to_owned(),
        advice: advice.to_owned(),
    };
    refuse(config.is_asked("plan.order").then_some(problem).into_iter().collect())
}

fn asked(config: &Config, keys: &[&str], reason: &str) -> Vec<ConfigProblem> {
    let problem = |key: &&str| ConfigProblem::Conflict {
        keys: format!("{key} and {}", config.data.path),
        reason: reason.to_owned(),
        advice: format!("leave {key} out"),
    };
    keys.iter().filter(|key| config.is_asked(key)).map(problem).collect()
}

fn refuse(problems: Vec<ConfigProblem>) -> Result<(), TrainError> {
    Ok(ConfigError::refuse(problems)?)
}
