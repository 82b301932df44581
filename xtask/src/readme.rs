//! The commands that README.md and docs/tour.md show are run, and what they print is compared.
//!
//! A fenced block marked `console` holds commands (`$ zoetrope …`) and their output. Those of one page
//! run in order in one fresh folder, with the built binary on the path. Blocks with another mark are
//! not run.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::validate::{self, Profile};

/// The pages whose commands are run.
const PAGES: [&str; 2] = ["README.md", "docs/tour.md"];

/// A command of a page and the output shown below it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    line: usize,
    command: String,
    output: String,
}

/// Runs the commands of all pages and compares what they print; true if all of it agrees.
pub(crate) fn check(root: &Path) -> bool {
    with_binary(root, check_page)
}

/// Runs the commands of all pages and puts what they print into the pages.
pub(crate) fn update(root: &Path) -> bool {
    with_binary(root, update_page)
}

/// Builds the binary and does something with every page; true if it succeeded with each.
fn with_binary(root: &Path, page: impl Fn(&Path, &str, &Path) -> bool) -> bool {
    let Some(binary) = validate::build_binary(root, Profile::Dev) else { return false };
    let all = PAGES.map(|name| page(root, name, &binary));
    all.into_iter().all(|succeeded| succeeded)
}

fn check_page(root: &Path, page: &str, binary: &Path) -> bool {
    let Some(text) = read(root, page) else { return false };
    let shown = commands(&text);
    let mut wrong = 0;
    let Some(found) = run_all(&shown, binary) else { return false };
    for (shown, found) in shown.iter().zip(found) {
        let agrees = matches!(&found, Ok(output) if lasting(output) == lasting(&shown.output));
        let verdict = if agrees { "ok" } else { "DIFFERS" };
        println!("{page}:{}: {verdict} $ {}", shown.line, shown.command);
        if !agrees {
            wrong += 1;
            match found {
                Ok(output) => println!("{output}"),
                Err(message) => println!("{message}"),
            }
        }
    }
    println!("{page}: {} commands, {wrong} differ (cargo xtask readme --update)", shown.len());
    wrong == 0
}

fn update_page(root: &Path, page: &str, binary: &Path) -> bool {
    let Some(text) = read(root, page) else { return false };
    let shown = commands(&text);
    let Some(found) = run_all(&shown, binary) else { return false };
    let mut outputs = Vec::new();
    for (shown, found) in shown.iter().zip(found) {
        match found {
            Ok(output) => outputs.push(output),
            Err(message) => {
                println!("{page}:{}: $ {}\n{message}", shown.line, shown.command);
                return false;
            }
        }
    }
    fs::write(root.join(page), with_outputs(&text, &outputs)).is_ok()
}

fn read(root: &Path, page: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(page));
    text.map_err(|error| println!("{page}: {error}")).ok()
}

fn run_all(shown: &[Shown], binary: &Path) -> Option<Vec<Result<String, String>>> {
    let folder = std::env::temp_dir().join(format!("zoetrope-readme-{}", std::process::id()));
    if let Err(error) = fs::create_dir_all(&folder) {
        println!("{}: {error}", folder.display());
        return None;
    }
    let found = shown.iter().map(|shown| run(&shown.command, &folder, binary)).collect();
    // The folder is in the system's place for such things: a failure to remove it harms nobody.
    let _ = fs::remove_dir_all(&folder);
    Some(found)
}

fn run(command: &str, folder: &Path, binary: &Path) -> Result<String, String> {
    let mut paths = vec![binary.parent().unwrap_or(Path::new(".")).to_owned()];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(paths).map_err(|error| error.to_string())?;
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", path)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// What of an output stays the same from run to run: all but times, rates and trailing blanks.
fn lasting(output: &str) -> Vec<String> {
    output.trim_end().lines().map(|line| without_times(line.trim_end())).collect()
}

/// The line with `#` for each number that a clock decided.
fn without_times(line: &str) -> String {
    let is_number =
        |word: &str| word.trim_start_matches('(').starts_with(|first: char| first.is_ascii_digit());
    let is_unit = |word: &str| matches!(word.trim_end_matches([',', ')']), "s" | "ms" | "µs");
    let is_rate = line.contains(" a second");
    // A faster machine reads millions a second where a slower one reads thousands.
    let words: Vec<&str> =
        line.split(' ').filter(|word| !(is_rate && *word == "million")).collect();
    let shown = (0..words.len()).map(|at| {
        let timed = words.get(at + 1).is_some_and(|next| is_unit(next));
        match words[at] {
            number if is_number(number) && (timed || is_rate) => "#",
            // A faster machine shows milliseconds where a slower one shows seconds.
            unit if is_unit(unit) && at > 0 && is_number(words[at - 1]) => "s",
            word => word,
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn commands(text: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            shown.push(Shown {
                line: number + 1,
                command: command.to_owned(),
                output: String::new(),
            });
        } else if let (true, Some(last)) = (inside, shown.last_mut()) {
            last.output.push_str(line);
            last.output.push('\n');
        }
    }
    shown
}

fn with_outputs(text: &str, outputs: &[String]) -> String {
    let mut outputs = outputs.iter();
    let mut inside = false;
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
            lines.push(line);
        } else if inside && line.starts_with("$ ") {
            lines.push(line);
            lines.extend(
                outputs.next().map_or("", |output| output.trim_end()).lines().map(str::trim_end),
            );
        } else if !inside {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_exists_and_shows_commands() {
        let root = crate::repository::root();
        for page in PAGES {
            assert!(!commands(&read(&root, page).unwrap()).is_empty(), "{page}");
        }
    }

    const TEXT: &str = "Intro\n```console\n$ a\none\ntwo\n$ b\n```\n```sh\n$ c\n```\nEnd\n";

    #[test]
    fn commands_and_their_output_are_found_in_console_blocks_only() {
        let found = commands(TEXT);
        let pairs: Vec<_> =
            found.iter().map(|it| (it.line, it.command.as_str(), it.output.as_str())).collect();
        assert_eq!(pairs, [(3, "a", "one\ntwo\n"), (6, "b", "")]);
    }

    #[test]
    fn new_outputs_replace_the_old_ones_and_nothing_else() {
        let updated = with_outputs(TEXT, &["three\n".into(), "four  \n".into()]);
        assert_eq!(
            updated,
            "Intro\n```console\n$ a\nthree\n$ b\nfour\n```\n```sh\n$ c\n```\nEnd\n"
        );
    }

    #[test]
    fn times_may_differ_and_counts_may_not() {
        let fast = without_times("read in 16 ms (1.2 million events a second)");
        assert_eq!(fast, without_times("read in 29 ms (691,619 events a second)"));
        assert_eq!(lasting("12 events in 1.5 s"), lasting("12 events in 2.25 s"));
        assert_eq!(lasting("12 events in 1.5 s"), lasting("12 events in 31 ms"));
        assert_ne!(lasting("12 events in 1.5 s"), lasting("13 events in 1.5 s"));
        let rate = |rate: &str| lasting(&format!("made in 87 ms ({rate} edges a second)"));
        assert_eq!(rate("915,570"), rate("9"));
    }

    #[test]
    fn a_failing_command_is_an_error_with_its_message() {
        let folder = std::env::temp_dir();
        let failed = run("echo no >&2; exit 3", &folder, Path::new("target/zoetrope"));
        assert!(failed.unwrap_err().contains("no"));
    }
}
