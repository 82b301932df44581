//! `docs/configuration.md` lists every key as the program knows it.
//!
//! `ZOETROPE_WRITE_DOCS=1 cargo test -p zoetrope-config --test documented_keys` writes the page.

use std::fmt::Write;
use std::path::Path;

use zoetrope_config::Config;
use zoetrope_config::{Key, ModelName};

const INTRODUCTION: &str = "\
# Configuration of `zoetrope train`

Every key below can be given in four places; the later one wins:

1. the default,
2. a TOML file: `zoetrope train run.toml`,
3. an environment variable: `ZOETROPE_TRAIN_LR=0.001`,
4. the command line: `--lr 0.001` if there is such a flag, `--set train.lr=0.001` for any key.

Unknown keys, values out of range and contradictions are errors (exit code 2, nothing is trained) that
name the place, what is expected and the closest valid name. A value that the chosen
model, optimiser or schedule would not read is an error, too. `\"none\"` takes back an optional value.
The tree that was in force is saved as `config.toml` in the run folder and can be given to
`zoetrope train` again.

Snapshot models and event models (`tgn`, `jodie`, `apan`, `tgat`) read different keys. A default in
brackets is that of event models, if it differs.

What you do not set, the data may decide: the model, the task, the length of a frame that does not fit,
fewer epochs of a long stream. Every such choice is a line `chosen: KEY = VALUE because …` in the
report, in `plan` and at the top of `config.toml`, and an entry of `chosen` in `summary.json`; what you
set is never changed. See docs/models.md, \"What is chosen if nothing is said\".
";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for section in Config::SECTIONS {
        write!(page, "\n## `[{section}]`\n\n| key | default | meaning | takes |\n").unwrap();
        page.push_str("| --- | --- | --- | --- |\n");
        for key in Config::keys().into_iter().filter(|key| key.section == section) {
            let takes = key.expected.replace('|', "\\|");
            let default = format!("`{}`{}", key.default, of_events(&key));
            writeln!(page, "| `{}` | {default} | {} | {takes} |", key.name, key.summary).unwrap();
        }
    }
    page
}

/// The defaults of event models in brackets, if they differ from those of the others.
fn of_events(key: &Key) -> String {
    let of = |model: &ModelName| {
        let keys = Config::keys_for(*model).into_iter();
        keys.filter(|other| (other.section, other.name) == (key.section, key.name))
            .map(|other| other.default)
            .collect::<String>()
    };
    let models: Vec<&ModelName> = ModelName::ALL.iter().filter(|model| model.is_stream()).collect();
    let mut defaults: Vec<(String, Vec<&str>)> = Vec::new();
    for model in models.iter().filter(|_| key.name != "name") {
        let default = of(model);
        match defaults.iter_mut().find(|(known, _)| *known == default) {
            Some((_, names)) => names.push(model.name()),
            None => defaults.push((default, vec![model.name()])),
        }
    }
    defaults.retain(|(default, _)| *default != key.default);
    let text = |(default, names): &(String, Vec<&str>)| {
        if names.len() == models.len() {
            format!("`{default}`")
        } else {
            format!("{}: `{default}`", names.join(", "))
        }
    };
    if defaults.is_empty() {
        String::new()
    } else {
        format!(" ({})", defaults.iter().map(text).collect::<Vec<_>>().join("; "))
    }
}

#[test]
fn the_page_of_keys_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    if std::env::var_os("ZOETROPE_WRITE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/configuration.md is not what the program takes; \
         ZOETROPE_WRITE_DOCS=1 cargo test -p zoetrope-config --test documented_keys writes it"
    );
}
