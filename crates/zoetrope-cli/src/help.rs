//! How the help of every command ends: with its examples, and with the exit codes that it can have.
//!
//! Examples stand beside the flags of each command. Exit codes are added here from [`Cause`], so that help,
//! manual pages and what the program does cannot differ.

use clap::{Command, CommandFactory};

use crate::args::Cli;
use crate::exit::Cause;

/// The tree of commands, as help, manual pages and the parser of flags see it.
pub(crate) fn commands() -> Command {
    with_exit_codes(Cli::command(), "")
}

/// A command and those below it with their exit codes; `path` is its name without that of the program.
fn with_exit_codes(mut command: Command, path: &str) -> Command {
    let below: Vec<_> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in below {
        let path = format!("{path} {name}");
        command = command.mut_subcommand(name, |below| with_exit_codes(below, path.trim_start()));
    }
    let mut text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    text.push_str("\n\nExit codes:");
    for cause in causes(path) {
        text.push_str(&format!("\n  {}  {}", *cause as u8, cause.meaning()));
    }
    command.after_help(text)
}

/// How a command can end.
fn causes(path: &str) -> &'static [Cause] {
    use Cause::{Finished, Input, Other, Rank, Resource, Usage};
    match path {
        // Only these train, and so have ranks.
        "" | "train" => &[Finished, Other, Usage, Input, Resource, Rank],
        // These read no data.
        "doctor" | "calibrate" | "completions" | "man" | "data generate" | "bench"
        | "bench paper" | "bench paper esdg" => &[Finished, Other, Usage, Resource],
        _ => &[Finished, Other, Usage, Input, Resource],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `look` with the path and the help of every command.
    fn each_help(command: &mut Command, path: &str, look: &mut dyn FnMut(&str, &str)) {
        look(path, &command.render_long_help().to_string());
        for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
            each_help(below, &format!("{path} {}", below.get_name()), look);
        }
    }

    /// The command lines in the examples of a help, without their remarks, from `zoetrope` on and as far as
    /// the shell hands them to it.
    fn examples(help: &str) -> Vec<Vec<String>> {
        let help = help.replace("\\\n      ", "");
        let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
        let command = |line: &str| {
            let line = &line[line.find("zoetrope ").unwrap_or_else(|| panic!("{line}"))..];
            let shell = line.find(['|', '>']).unwrap_or(line.len());
            let remark = line.find("  ").unwrap_or(line.len());
            words(&line[..shell.min(remark)])
        };
        lines.take_while(|line| line.starts_with("  ")).map(command).collect()
    }

    /// The words of a command line; quotes are ' only.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (at, text) in line.split('\'').enumerate() {
            if at % 2 == 1 {
                words.push(text.to_owned());
            } else {
                words.extend(text.split_whitespace().map(str::to_owned));
            }
        }
        words
    }

    #[test]
    fn the_help_of_every_command_has_exit_codes() {
        let mut seen = 0;
        each_help(&mut commands(), "zoetrope", &mut |path, help| {
            let (_, codes) = help.split_once("Exit codes:\n").unwrap_or_else(|| panic!("{path}"));
            let codes: Vec<_> =
                codes.lines().filter_map(|line| line.trim().chars().next()).collect();
            assert!(codes.starts_with(&['0', '1', '2']), "{path}: {codes:?}");
            assert_eq!(
                codes.contains(&'5'),
                path == "zoetrope" || path == "zoetrope train",
                "{path}"
            );
            seen += 1;
        });
        assert!(seen > 15, "{seen} commands");
    }

    #[test]
    fn the_help_of_every_command_has_examples_that_parse() {
        each_help(&mut commands(), "zoetrope", &mut |path, help| {
            let examples = examples(help);
            let own = |words: &&Vec<String>| words.join(" ").starts_with(path);
            assert!(examples.iter().any(|example| own(&example)), "{path} has no example");
            for words in examples {
                let parsed = commands().try_get_matches_from(&words);
                parsed.unwrap_or_else(|error| panic!("{path}: {}: {error}", words.join(" ")));
            }
        });
    }
}
