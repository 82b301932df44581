//! What executes a run sees a plan, not wishes: the section `[plan]` of a configuration is read by the
//! configuration itself, which turns it into what planners are asked.

use super::Finding;
use super::rust_code::code_only;
use crate::repository::SourceFile;

/// Where the section may be read.
const READERS: &str = "crates/zoetrope-config/src/";

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let executes = |file: &&SourceFile| {
        file.path.starts_with("crates/")
            && file.path.contains("/src/")
            && !file.path.starts_with(READERS)
            && file.extension() == "rs"
    };
    files.iter().filter(executes).flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Finding> {
    let code = code_only(&file.text);
    let lines = code.lines().enumerate();
    let reads = lines.filter(|(_, line)| line.replace(' ', "").contains("config.plan."));
    reads
        .map(|(number, _)| {
            let message = format!(
                "reads [plan] of the configuration; only {READERS}wishes.rs does, and planners decide"
            );
            Finding::line(&file.path, number + 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_trainer_that_reads_wishes_is_found() {
        let reads = "fn f(config: &Config) -> bool {\n    config.plan.record\n}\n";
        let found = check(&[file("crates/zoetrope-train/src/snapshots/session/epoch.rs", reads)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(2));
    }

    #[test]
    fn the_configuration_may_read_itself_and_plans_may_be_read_by_all() {
        let reads = "fn f() { config.plan.record; }\n";
        let plan = "fn f(plan: &FramePlan) { plan.frames.len(); } // config.plan.record\n";
        let files = [
            file("crates/zoetrope-config/src/wishes.rs", reads),
            file("crates/zoetrope-train/tests/ranks.rs", reads),
            file("crates/zoetrope-train/src/snapshots/session/epoch.rs", plan),
        ];
        assert!(check(&files).is_empty());
    }
}
