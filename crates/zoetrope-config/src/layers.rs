//! The layers of a configuration: flag over environment over file over default.
//!
//! Every layer is checked as a whole, also what a stronger one overrides, and all problems are
//! reported at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::file::{self, Entry};
use super::paths;
use super::problem::{ConfigProblem, Origin};
use super::section::{Refusal, accept};
use super::setting::{Given, shorten};
use super::tgl::{self, Translation};
use super::{Config, ModelConfig, ModelName, Variant};
use crate::error::ConfigError;
use zoetrope_data::given::lasting;
use zoetrope_graph::spelling::nearest;

/// What the names of environment variables start with: `ZOETROPE_TRAIN_EPOCHS`.
const PREFIX: &str = "ZOETROPE_";

/// Layers in the making; the order of the calls does not matter between kinds of layers, and
/// within a kind the later call wins.
#[derive(Debug, Default)]
pub struct ConfigBuilder {
    files: Vec<Wish>,
    variables: Vec<Wish>,
    flags: Vec<Wish>,
    problems: Vec<ConfigProblem>,
    notes: Vec<String>,
}

/// One value that a layer asks for.
#[derive(Debug)]
struct Wish {
    section: Option<String>,
    key: String,
    given: Given,
    origin: Origin,
    /// Whether it is what the run was told that is continued or used.
    of_run: bool,
}

impl ConfigBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a file. Relative paths in it start at its own folder.
    pub fn file(mut self, path: &Path) -> Self {
        match file::read(path) {
            Ok(text) => self.text(&text, path),
            Err(problem) => {
                self.problems.push(problem);
                self
            }
        }
    }

    /// Adds the text of a file; `path` is for messages, and a name that ends in `.yml` or `.yaml`
    /// says that it is a configuration of TGL.
    pub fn text(mut self, text: &str, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if tgl::is_tgl(&path) {
            return self.translated(text, &path);
        }
        match file::entries(text, &path) {
            Ok(entries) => {
                self.files.extend(entries.into_iter().map(
                    |Entry { section, key, value, line }| {
                        let value = paths::beside(&path, section.as_deref(), &key, value);
                        let origin = Origin::File { path: path.clone(), line };
                        Wish { section, key, given: Given::Value(value), origin, of_run: false }
                    },
                ));
            }
            Err(problem) => self.problems.push(problem),
        }
        self
    }

    fn translated(mut self, text: &str, path: &Path) -> Self {
        let Translation { wishes, notes, problems } = tgl::translate(text, path);
        self.files.extend(wishes.into_iter().map(|(section, key, value, line)| Wish {
            section: Some(section.to_owned()),
            key: key.to_owned(),
            given: Given::Value(value),
            origin: Origin::File { path: path.into(), line },
            of_run: false,
        }));
        self.notes.extend(notes);
        self.problems.extend(problems);
        self
    }

    /// What a user should know of the layers although nothing is wrong with it.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Says that the files so far are what a run was told that is continued or used. It was accepted then:
    /// what this call does not read of it is no error.
    pub fn of_run(mut self) -> Self {
        self.files.iter_mut().for_each(|wish| wish.of_run = true);
        self
    }

    /// Adds environment variables: `ZOETROPE_SECTION_KEY`. Others are none of ours.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        for (variable, value) in variables {
            let Some(rest) = variable.strip_prefix(PREFIX) else { continue };
            let lower = rest.to_ascii_lowercase();
            let Some((section, key)) = lower.split_once('_') else { continue };
            if !Config::SECTIONS.contains(&section) {
                continue;
            }
            let (section, key) = (Some(section.to_owned()), key.to_owned());
            let origin = Origin::Environment { variable };
            self.variables.push(Wish {
                section,
                key,
                given: Given::Text(value),
                origin,
                of_run: false,
            });
        }
        // The order in which a system lists variables must not decide anything.
        self.variables.sort_by(|left, right| left.key.cmp(&right.key));
        self
    }

    /// Adds `section.key=value` from the command line.
    pub fn set(mut self, setting: &str) -> Self {
        let origin = Origin::Flag { flag: "--set".into() };
        let parts = setting.split_once('=').and_then(|(name, value)| {
            name.trim().split_once('.').map(|(section, key)| (section, key, value))
        });
        match parts {
            Some((section, key, value)) => self.flags.push(Wish {
                section: Some(section.to_owned()),
                key: key.to_owned(),
                given: Given::Text(value.to_owned()),
                origin,
                of_run: false,
            }),
            None => {
                self.problems.push(ConfigProblem::NotASetting { origin, got: shorten(setting) });
            }
        }
        self
    }

    /// Adds the value of a flag of its own, for example `flag("--lr", "train.lr", "0.1")`.
    pub fn flag(mut self, flag: &str, key: &str, value: impl Into<String>) -> Self {
        let (section, name) = match key.split_once('.') {
            Some((section, name)) => (Some(section.to_owned()), name.to_owned()),
            None => (None, key.to_owned()),
        };
        self.flags.push(Wish {
            section,
            key: name,
            given: Given::Text(value.into()),
            origin: Origin::Flag { flag: flag.to_owned() },
            of_run: false,
        });
        self
    }

    /// Who decided each key that a layer gave, by `section.key`.
    pub fn origins(&self) -> BTreeMap<String, Origin> {
        let layers = self.files.iter().chain(&self.variables).chain(&self.flags);
        layers
            .filter_map(|wish| {
                let key = format!("{}.{}", wish.section.as_ref()?, wish.key);
                Some((key, wish.origin.clone()))
            })
            .collect()
    }

    /// The tree, without looking for contradictions: the caller may fill in what the data
    /// decides and call [`Config::check`] itself.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`] with every problem of every layer.
    pub fn build_unchecked(mut self) -> Result<Config, ConfigError> {
        let mut config = self.defaults();
        config.provenance = super::Provenance::default();
        for wish in self.files.into_iter().chain(self.variables).chain(self.flags) {
            let key = wish.section.as_ref().map(|section| format!("{section}.{}", wish.key));
            let of_run = wish.of_run;
            match put(&mut config, wish) {
                Ok(()) => config.provenance.note(key, of_run),
                Err(problem) => self.problems.push(problem),
            }
        }
        config.data.path = lasting(&config.data.path);
        if self.problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError::Wrong { problems: self.problems })
        }
    }

    /// What holds if no layer says anything, which depends on the model and on the source that
    /// it follows. A name that is wrong is reported when it is put in place.
    fn defaults(&self) -> Config {
        let chosen =
            |key: &str| {
                self.files.iter().chain(&self.variables).chain(&self.flags).rfind(|wish| {
                    wish.section.as_deref() == Some(ModelConfig::NAME) && wish.key == key
                })
            };
        let model = chosen("name")
            .and_then(|wish| accept::<ModelName>(&wish.given, &[]).ok())
            .unwrap_or(ModelConfig::default().name);
        let usual = Config::defaults_for(model);
        match chosen("variant").and_then(|wish| accept::<Variant>(&wish.given, &[]).ok()) {
            Some(variant) => Config::defaults_of(model, variant),
            None => usual,
        }
    }

    /// The tree, free of contradictions. If no model is named, the data decides between the kinds
    /// of models, and what suits either of them may stay.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`] with every problem of every layer, or with every contradiction.
    pub fn build(self) -> Result<Config, ConfigError> {
        self.build_unchecked()?.free_of_contradictions()
    }

    /// The same for a run that is continued. What differs from the run is told before what it
    /// contradicts: whoever gives another model should hear of that and not of keys that the run's
    /// model had.
    ///
    /// # Errors
    /// As [`build`](Self::build), and as for settings that are not those of the run.
    pub fn build_to_continue(self, saved: &Config) -> Result<Config, ConfigError> {
        let origins = self.origins();
        let config = self.build_unchecked()?;
        config.continues(saved, &origins)?;
        config.free_of_contradictions()
    }
}

fn put(config: &mut Config, wish: Wish) -> Result<(), ConfigProblem> {
    let Wish { section, key, given, origin, of_run: _ } = wish;
    let Some(name) = section else {
        let nearest = nearest_key("", &key);
        return Err(ConfigProblem::UnknownSection { origin, got: shorten(&key), nearest });
    };
    let Some(section) = config.section_mut(&name) else {
        let nearest = nearest(&name, Config::SECTIONS).map(str::to_owned);
        return Err(ConfigProblem::UnknownSection { origin, got: shorten(&name), nearest });
    };
    if key.is_empty() && matches!(&given, Given::Value(value) if value.is_table()) {
        return Ok(());
    }
    match section.put(&key, &given) {
        Ok(()) => Ok(()),
        Err(Refusal::Unknown) => {
            let nearest = nearest_key(&name, &key);
            Err(ConfigProblem::UnknownKey {
                origin,
                key: shorten(&format!("{name}.{key}")),
                nearest,
            })
        }
        Err(Refusal::Value { expected, names }) => {
            let text = match &given {
                Given::Value(value) => value.as_str().unwrap_or_default(),
                Given::Text(text) => text,
            };
            let nearest = nearest(text, names).map(str::to_owned);
            let key = format!("{name}.{key}");
            Err(ConfigProblem::BadValue { origin, key, expected, got: given.shown(), nearest })
        }
    }
}

/// The key that was probably meant: of the same name in another section, else spelt alike in this
/// one, else spelt alike anywhere.
fn nearest_key(section: &str, wanted: &str) -> Option<String> {
    let keys = Config::keys();
    let full = |key: &super::Key| format!("{}.{}", key.section, key.name);
    let of = |name: &str, home: Option<&str>| {
        keys.iter()
            .find(|key| key.name == name && home.is_none_or(|home| home == key.section))
            .map(full)
    };
    let inside = keys.iter().filter(|key| key.section == section).map(|key| key.name);
    of(wanted, None)
        .or_else(|| nearest(wanted, inside).and_then(|name| of(name, Some(section))))
        .or_else(|| {
            nearest(wanted, keys.iter().map(|key| key.name)).and_then(|name| of(name, None))
        })
}
