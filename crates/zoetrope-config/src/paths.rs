//! Which keys are paths, and where relative ones start.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use toml::Value;
use zoetrope_data::facts_file;
use zoetrope_data::given::{STANDARD_INPUT, is_address, name_of};
use zoetrope_data::synthetic::is_synthetic;

use super::Config;

/// Keys whose text is always a path.
const PATHS: [(&str, &str); 4] =
    [("task", "negatives_file"), ("train", "weights"), ("train", "resume"), ("output", "dir")];

/// A value of a file: relative paths start at the folder of the file, so that a configuration means
/// the same wherever it is called from.
pub(super) fn beside(file: &Path, section: Option<&str>, key: &str, value: Value) -> Value {
    let (Some(section), Some(text)) = (section, value.as_str()) else { return value };
    let is_path = match (section, key) {
        ("data", "path") => is_file(text),
        ("plan", "name") => is_plan_file(text),
        named => PATHS.contains(&named) && text != "none",
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let facts = facts_file(text).filter(|_| (section, key) == ("data", "path"));
    match folder {
        Some(folder) if facts.as_ref().is_some_and(|path| path.is_relative()) => {
            let path = folder.join(facts.unwrap_or_default());
            Value::String(format!("facts:{}", name_of(path.as_os_str())))
        }
        Some(folder) if is_path && Path::new(text).is_relative() && !is_address(text) => {
            Value::String(name_of(folder.join(text).as_os_str()))
        }
        _ => value,
    }
}

/// Whether the source of data is the plain path of a file or folder, rather than a generator, a stream
/// that can be read once, or an address, which is absolute as it is.
pub fn is_file(source: &str) -> bool {
    let is_facts = facts_file(source).is_some();
    let is_other =
        is_facts || is_synthetic(source) || source == STANDARD_INPUT || is_address(source);
    !is_other && !["/dev/", "/proc/"].iter().any(|other| source.starts_with(other))
}

/// Whether the name of a plan is that of a file.
fn is_plan_file(name: &str) -> bool {
    name.ends_with(".json") || name.contains(MAIN_SEPARATOR)
}

impl Config {
    /// The same with every path absolute, and without the folder of the run: as it is saved there.
    pub fn with_absolute_paths(&self) -> Self {
        let mut config = self.clone();
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let text = |text: &str| name_of(whole(Path::new(text)).as_os_str());
        if is_file(&config.data.path) {
            config.data.path = text(&config.data.path);
        }
        if is_plan_file(&config.plan.name) {
            config.plan.name = text(&config.plan.name);
        }
        let place = |path: &mut Option<PathBuf>| {
            if let Some(path) = path {
                *path = whole(path);
            }
        };
        place(&mut config.task.negatives_file);
        place(&mut config.train.weights);
        config.output.dir = None;
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_of_a_file_start_at_its_folder() {
        let text = "[data]\npath = \"../e.csv\"\n[train]\nweights = \"w.safetensors\"\n\
                    [plan]\nname = \"plan.json\"\n[output]\ndir = \"run\"\n";
        let config = Config::from_toml(text, "jobs/job.toml").unwrap();
        assert_eq!(config.data.path, "jobs/../e.csv");
        assert_eq!(config.train.weights.unwrap(), Path::new("jobs/w.safetensors"));
        assert_eq!(config.plan.name, "jobs/plan.json");
        assert_eq!(config.output.dir.unwrap(), Path::new("jobs/run"));
    }

    #[test]
    fn what_is_no_relative_path_stays_as_it_is() {
        let text = "[data]\npath = \"synthetic:demo\"\n[plan]\nname = \"auto\"\n\
                    [train]\nweights = \"/w.safetensors\"\n[output]\ndir = \"none\"\n";
        let config = Config::from_toml(text, "jobs/job.toml").unwrap();
        assert_eq!(
            (config.data.path.as_str(), config.plan.name.as_str()),
            ("synthetic:demo", "auto")
        );
        assert_eq!(config.train.weights.unwrap(), Path::new("/w.safetensors"));
        assert_eq!(config.output.dir, None);
    }
}
