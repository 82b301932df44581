//! `docs/configuration.md` lists every key as the program knows it.
//!
//! `ZOETROPE_WRITE_DOCS=1 cargo test -p zoetrope-train --test documented_keys` writes the page.

use std::fmt::Write;
use std::path::Path;

use zoetrope_train::Config;

const INTRODUCTION: &str = "\
# Configuration of `zoetrope train`

Every key below can be given in four places; the later one wins:

1. the default,
2. a TOML file: `zoetrope train run.toml`,
3. an environment variable: `ZOETROPE_TRAIN_LR=0.001`,
4. the command line: `--lr 0.001` where there is such a flag, `--set train.lr=0.001` for any key.

Unknown keys, values out of range and contradictions are errors that name the place, what is
expected and the nearest known name; nothing is trained then (exit code 2). A value that the chosen
model, optimiser or schedule would not read is an error, too. `\"none\"` takes back an optional value.
The tree that was in force is saved as `config.toml` in the run folder and can be given to
`zoetrope train` again.
";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for section in Config::SECTIONS {
        write!(page, "\n## `[{section}]`\n\n| key | default | meaning | takes |\n").unwrap();
        page.push_str("| --- | --- | --- | --- |\n");
        for key in Config::keys().into_iter().filter(|key| key.section == section) {
            let takes = key.expected.replace('|', "\\|");
            writeln!(page, "| `{}` | `{}` | {} | {takes} |", key.name, key.default, key.summary)
                .unwrap();
        }
    }
    page
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
         ZOETROPE_WRITE_DOCS=1 cargo test -p zoetrope-train --test documented_keys writes it"
    );
}
