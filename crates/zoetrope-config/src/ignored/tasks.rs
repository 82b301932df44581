//! Keys that the chosen task does not read.

use super::unread_if;
use crate::problem::ConfigProblem;
use crate::{Config, NegativePool, TaskName};

/// Keys that only link prediction reads.
const OF_LINKS: [&str; 6] =
    ["task.theta", "task.negatives", "task.candidates", "task.hits", "task.all_pairs", "task.pool"];

/// Every key that was changed and that this task does not read: the one that was given, or that the data decided.
pub(crate) fn by_task(config: &Config, task: TaskName) -> Vec<ConfigProblem> {
    let other = task != TaskName::LinkPrediction;
    let chooser = format!("task.name = \"{task}\"");
    let of_links = |key| {
        let reason = "only link-prediction draws edges that did not happen";
        unread_if(other, config, (key, &chooser, reason, &leave_out(key)))
    };
    let mut found: Vec<ConfigProblem> = OF_LINKS.into_iter().filter_map(of_links).collect();
    let halved = config.task.pool == NegativePool::Mixed && config.task.negatives == 1;
    found.extend(unread_if(
        halved && !other,
        config,
        (
            "task.pool",
            "task.negatives = 1",
            "half of one is none, so that nothing comes from the training part",
            "use task.negatives = 2, or task.pool = \"historical\"",
        ),
    ));
    found
}

fn leave_out(key: &str) -> String {
    format!("leave {key} out, or use task.name = \"link-prediction\"")
}
