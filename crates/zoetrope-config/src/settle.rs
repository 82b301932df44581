//! Values that the data decides if nobody gave them.

use toml::Value;

use super::problem::ConfigProblem;
use super::setting::Given;
use super::{Choice, Config, DataConfig, ModelConfig, ModelName, check};
use crate::error::ConfigError;

impl Config {
    /// Whether somebody asked for the value of a key, `section.key`: a layer set it, or a program
    /// changed it from the default.
    pub fn is_given(&self, key: &str) -> bool {
        if self.provenance.given.contains(key) {
            return true;
        }
        let default = match key {
            // A model differs from its own defaults by nothing.
            "model.name" => Self::default(),
            _ => Self::defaults_of(self.model.name, self.model.variant),
        };
        self.value(key) != default.value(key)
    }

    /// Whether somebody asks for another value of a key than the default: it is not what the data
    /// decided, and not what a run that is continued or used was once told.
    pub fn is_asked(&self, key: &str) -> bool {
        let default = Self::defaults_of(self.model.name, self.model.variant);
        let decided = self.provenance.chosen.iter().any(|choice| choice.key == key)
            || self.provenance.of_run.contains(key);
        !decided && self.value(key) != default.value(key)
    }

    /// The value of a key as a file has it.
    pub(super) fn shown(&self, key: &str) -> String {
        self.value(key).map_or_else(String::new, |value| value.to_string())
    }

    /// What the data decided of this tree.
    pub fn chosen(&self) -> &[Choice] {
        &self.provenance.chosen
    }

    /// Notes that the data decided a value, which is in place already: from now on it is as if it
    /// had been given.
    pub fn settle(&mut self, key: &str, value: impl ToString, because: String) {
        let (key, value) = (key.to_owned(), value.to_string());
        self.provenance.given.insert(key.clone());
        self.provenance.chosen.push(Choice { key, value, because });
    }

    /// The same wishes with another model: its defaults under everything that was given. The data
    /// stays the one that was named, or the one that the first defaults named.
    pub fn with_model(&self, model: ModelName) -> Self {
        let variant = format!("{}.variant", ModelConfig::NAME);
        let mut config = if self.is_given(&variant) {
            Self::defaults_of(model, self.model.variant)
        } else {
            Self::defaults_for(model)
        };
        config.provenance = self.provenance.clone();
        let kept = [format!("{}.name", ModelConfig::NAME), format!("{}.path", DataConfig::NAME)];
        for (section, entries) in Self::SECTIONS.into_iter().zip(self.entries()) {
            for (name, value) in entries {
                let key = format!("{section}.{name}");
                if key == kept[0] || !(key == kept[1] || self.is_given(&key)) {
                    continue;
                }
                let put = config.section_mut(section).map(|to| to.put(name, &Given::Value(value)));
                debug_assert!(matches!(put, Some(Ok(()))), "{key} was accepted before");
            }
        }
        config
    }

    /// The same, if it has no contradictions.
    pub(super) fn free_of_contradictions(self) -> Result<Self, ConfigError> {
        if !self.suits_a_model() {
            self.check()?;
        }
        Ok(self)
    }

    /// Whether nobody named a model and at least one kind of models takes what was given.
    fn suits_a_model(&self) -> bool {
        let kinds = [ModelName::DEFAULT_OF_EVENTS, ModelName::DEFAULT_OF_SNAPSHOTS];
        !self.is_given("model.name")
            && kinds.into_iter().any(|model| self.with_model(model).problems().is_empty())
    }

    /// What stands against this tree.
    pub fn problems(&self) -> Vec<ConfigProblem> {
        check::contradictions(self)
    }

    fn value(&self, key: &str) -> Option<Value> {
        let (section, name) = key.split_once('.')?;
        let place = Self::SECTIONS.into_iter().position(|known| known == section)?;
        let entries = self.entries();
        entries[place].iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }
}
