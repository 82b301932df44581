//! Keys that a run does not read.
//!
//! A value other than the default that nobody would read is an error: its user believes that it
//! changes the run. Of a run that is continued or used, only what is given anew is an error: whoever
//! predicts on the processor with a model of a GPU has asked for nothing that is not done.

mod inputs;
mod learning;
mod models;
mod runs;
mod tasks;

pub(super) use runs::by_ranks;
pub(super) use tasks::by_task;

use super::Config;
use super::problem::ConfigProblem;

/// Every key that was changed and is not read, whatever the data and the number of ranks.
pub(super) fn ignored(config: &Config) -> Vec<ConfigProblem> {
    let default = Config::defaults_of(config.model.name, config.model.variant);
    let mut all = models::kind(config, &default);
    if config.model.name.is_stream() {
        all.extend(models::parts(config, &default));
    } else {
        all.extend(models::model(config, &default));
    }
    all.extend(learning::optimiser(config, &default));
    all.extend(learning::schedule(config, &default));
    all.extend(inputs::by_input(config));
    all.extend(runs::by_device(config));
    all.extend(runs::by_blocks(config));
    all.extend(runs::by_plan_file(config));
    let mut found: Vec<ConfigProblem> = all.into_iter().flatten().collect();
    if let Some(task) = config.task.name {
        found.extend(by_task(config, task));
    }
    found
}

fn ignored_unless(
    fine: bool,
    (key, chooser, chosen, readers): (&str, &str, &str, &str),
) -> Option<ConfigProblem> {
    (!fine).then(|| ConfigProblem::Conflict {
        keys: format!("{key} and {chooser} = \"{chosen}\""),
        reason: format!("only {readers} would read it"),
        advice: format!("leave {key} out"),
    })
}

/// The same for a key that is not read if `holds`, with why and what to do about it.
fn unread_if(
    holds: bool,
    config: &Config,
    (key, chooser, reason, advice): (&str, &str, &str, &str),
) -> Option<ConfigProblem> {
    (holds && config.is_asked(key)).then(|| ConfigProblem::Conflict {
        keys: format!("{key} = {} and {chooser}", config.shown(key)),
        reason: reason.into(),
        advice: advice.into(),
    })
}
