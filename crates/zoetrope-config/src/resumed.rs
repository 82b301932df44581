//! What may differ from the saved configuration when a run continues.

use std::collections::BTreeMap;

use super::Config;
use super::problem::{ConfigProblem, Origin};
use crate::error::ConfigError;

/// Keys that may change without making it another run: how long it goes on, how fast it learns, where
/// the same data lies, and what does not change the result. With the flag that sets each, if there is
/// one.
const ALLOWED: [(&str, Option<&str>); 21] = [
    ("train.epochs", Some("--epochs")),
    ("train.lr", Some("--lr")),
    ("train.threads", Some("--threads")),
    ("train.device", Some("--device")),
    ("train.ranks", Some("--ranks")),
    ("train.checkpoint_every", Some("--checkpoint-every")),
    ("output.trace", Some("--trace")),
    ("data.path", Some("--data")),
    ("plan.memory_limit", Some("--memory-limit")),
    ("train.checkpoint_share", None),
    ("train.min_lr", None),
    ("train.patience", None),
    ("train.keep_checkpoints", None),
    ("output.tensorboard", None),
    ("plan.timeout", None),
    ("plan.device_transport", None),
    ("plan.residency", None),
    ("plan.block_states", None),
    ("plan.difference", None),
    ("plan.record", None),
    ("plan.prefetch", None),
];

/// Keys that say how this call goes on and are not part of the run.
const OF_THE_CALL: [&str; 4] =
    ["train.resume", "train.accept_changed_data", "train.weights", "output.dir"];

/// What may differ, for a message.
pub(super) fn allowed() -> String {
    let flags = ALLOWED.iter().filter_map(|(_, flag)| *flag);
    let keys = ALLOWED.iter().filter(|(_, flag)| flag.is_none()).map(|(key, _)| *key);
    let flags: Vec<&str> = flags.collect();
    let keys: Vec<&str> = keys.collect();
    format!("{}, and with --set {}", flags.join(" "), keys.join(" "))
}

impl Config {
    /// Refuses to continue the run `saved` with other settings than its own, but for those that may
    /// differ. `origins` says who set what.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`] that names every flag, variable or line that differs.
    pub(super) fn continues(
        &self,
        saved: &Self,
        origins: &BTreeMap<String, Origin>,
    ) -> Result<(), ConfigError> {
        let mut problems = Vec::new();
        // The same file may be named from two folders.
        let [was, now] = [saved, self].map(|config| config.with_absolute_paths().entries());
        let sections = Self::SECTIONS.into_iter().zip(was.into_iter().zip(now));
        for (section, (was, now)) in sections {
            for ((name, was), (_, now)) in was.into_iter().zip(now) {
                let key = format!("{section}.{name}");
                let free = ALLOWED.iter().any(|(allowed, _)| *allowed == key)
                    || OF_THE_CALL.contains(&key.as_str());
                // A key that no layer gave follows from another one that did.
                let Some(origin) = origins.get(&key) else { continue };
                if was != now && !free {
                    let (was, now) = (was.to_string(), now.to_string());
                    problems.push(ConfigProblem::Fixed { origin: origin.clone(), key, was, now });
                }
            }
        }
        ConfigError::refuse(problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_may_differ_exists() {
        let keys: Vec<String> =
            Config::keys().iter().map(|key| format!("{}.{}", key.section, key.name)).collect();
        for (key, _) in ALLOWED {
            assert!(keys.iter().any(|known| known == key), "{key}");
        }
    }

    #[test]
    fn a_setting_that_differs_is_named_by_its_flag() {
        let saved = Config::default();
        let builder = Config::builder()
            .flag("--seed", "train.seed", "5")
            .flag("--epochs", "train.epochs", "99")
            .set("model.hidden=7");
        let origins = builder.origins();
        let config = builder.build().unwrap();
        let message = config.continues(&saved, &origins).unwrap_err().to_string();
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines.len(), 2, "{message}");
        assert!(
            lines[0].starts_with("--set model.hidden: the run has model.hidden = "),
            "{message}"
        );
        assert!(lines[1].starts_with("--seed: the run has train.seed = 0 and cannot go on with 5"));
        assert!(lines.iter().all(|line| line.contains("--epochs --lr")), "{message}");
        let same = Config::builder().flag("--seed", "train.seed", "0");
        let origins = same.origins();
        assert!(same.build().unwrap().continues(&saved, &origins).is_ok());
    }
}
