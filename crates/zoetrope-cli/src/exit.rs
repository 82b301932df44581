//! How a command ends: exit codes, the error block on standard error, the error document.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use serde_json::{Value, json};
use zoetrope_config::ConfigError;
use zoetrope_data::{DataError, Location, Problem};
use zoetrope_graph::GraphError;
use zoetrope_run::{FailureKind, RunError};
use zoetrope_train::TrainError;

use crate::terminal::{Style, WIDTH, harmless, wrap};

/// Why a command failed, as its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nothing failed: help or version was asked for.
    Finished = 0,
    /// Anything that fits nowhere else, bugs included.
    Other = 1,
    /// Wrong usage or configuration.
    Usage = 2,
    /// Bad input data.
    Input = 3,
    /// A resource is missing: memory, disk, GPU, library.
    Resource = 4,
    /// A rank failed, and the others with it.
    Rank = 5,
}

impl Cause {
    /// What the exit code means, for help.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Finished => "done",
            Self::Other => "anything else, such as an interrupted or diverged run, or a bug",
            Self::Usage => "wrong usage or configuration",
            Self::Input => "bad input data",
            Self::Resource => "a resource is missing: memory, disk, GPU, library",
            Self::Rank => "a rank failed, and the others ended with it",
        }
    }
}

/// A failure as the user sees it; boxed, because every command returns one or a report.
#[derive(Debug)]
pub(crate) struct Failure(Box<Details>);

#[derive(Debug)]
struct Details {
    cause: Cause,
    kind: &'static str,
    message: String,
    problems: Vec<Problem>,
    total: u64,
    hint: Option<String>,
    /// Text that is complete already, with and without colour (from the flag parser).
    rendered: Option<(String, String)>,
    /// A report in spite of the failure, printed instead of the error document.
    report: Option<String>,
}

impl Failure {
    fn new(cause: Cause, kind: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            cause,
            kind,
            message: message.into(),
            problems: Vec::new(),
            total: 0,
            hint: None,
            rendered: None,
            report: None,
        }))
    }

    /// Wrong usage.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Cause::Usage, "usage", message)
    }

    /// Bad input data.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(Cause::Input, "input", message)
    }

    /// A resource is missing.
    pub(crate) fn resource(message: impl Into<String>) -> Self {
        Self::new(Cause::Resource, "resource", message)
    }

    /// What fits nowhere else.
    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::new(Cause::Other, "other", message)
    }

    /// Whether a resource is missing.
    pub(crate) fn is_resource(&self) -> bool {
        self.0.cause == Cause::Resource
    }

    /// Help or version, printed as if it were the report.
    pub(crate) fn finished(coloured: String, plain: String) -> Self {
        let mut failure = Self::new(Cause::Finished, "finished", String::new());
        failure.0.rendered = Some((coloured, plain));
        failure
    }

    /// A command line that the flag parser rejects.
    pub(crate) fn rejected(coloured: String, plain: String) -> Self {
        let first = plain.lines().next().unwrap_or_default();
        let mut failure = Self::usage(first.strip_prefix("error: ").unwrap_or(first));
        failure.0.rendered = Some((coloured, plain));
        failure
    }

    /// The same failure with advice.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same failure with the report that shows it, for standard output.
    pub(crate) fn report(mut self, report: String) -> Self {
        self.0.report = Some(report);
        self
    }

    /// A failure to write a report, a file or a folder.
    pub(crate) fn writing(path: &std::path::Path, error: io::Error) -> Self {
        Self::resource(format!("{}: cannot be written: {error}", path.display()))
    }
}

impl Details {
    /// The error document for `--json`.
    fn document(&self) -> Value {
        let mut error = json!({
            "code": self.cause as u8,
            "kind": self.kind,
            "message": self.message,
        });
        if !self.problems.is_empty() {
            error["problems"] = self.problems.iter().map(problem_document).collect();
            error["total"] = self.total.into();
        }
        if let Some(hint) = &self.hint {
            error["hint"] = hint.as_str().into();
        }
        json!({ "schema": 1, "error": error })
    }

    /// The block for standard error.
    fn block(&self, style: Style) -> String {
        if let Some((coloured, plain)) = &self.rendered {
            return if style.has_colour() { coloured.clone() } else { plain.clone() };
        }
        let mut text = String::new();
        if self.problems.is_empty() {
            text.push_str(&format!("{} {}\n", style.red("error:"), self.message));
        }
        for problem in &self.problems {
            text.push_str(&format!("{} {}\n", style.red("error:"), problem.at));
            text.push_str(&format!("  {} {}\n", style.dim("expected"), problem.expected));
            text.push_str(&format!("  {} {}\n", style.dim("found   "), problem.found));
        }
        let more = self.total.saturating_sub(self.problems.len() as u64);
        if more > 0 {
            text.push_str(&format!("… and {more} more\n"));
        }
        if let Some(hint) = &self.hint {
            for (index, line) in wrap(hint, WIDTH - 6).iter().enumerate() {
                let label = if index == 0 { style.green("hint:") } else { "     ".into() };
                text.push_str(&format!("{label} {line}\n"));
            }
        }
        text
    }
}

fn problem_document(problem: &Problem) -> Value {
    let Location { path, line, byte, column } = &problem.at;
    json!({
        "path": path.display().to_string(),
        "line": line,
        "byte": byte,
        "column": column,
        "expected": problem.expected,
        "found": problem.found,
    })
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        let message = error.to_string();
        match error {
            DataError::Io { source, .. } => match source.kind() {
                ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
                | ErrorKind::FileTooLarge
                | ErrorKind::ReadOnlyFilesystem
                | ErrorKind::OutOfMemory => Self::new(Cause::Resource, "resource", message),
                _ => Self::new(Cause::Input, "io", message),
            },
            DataError::Invalid { problems, total } => {
                let bad_rows = problems.iter().any(|problem| problem.at.line.is_some());
                let mut failure = Self::new(Cause::Input, "invalid", message);
                (failure.0.problems, failure.0.total) = (problems, total);
                if bad_rows {
                    failure.hint("--lenient skips bad rows and counts them")
                } else {
                    failure
                }
            }
            DataError::Uncertain { .. } => {
                let failure = Self::new(Cause::Input, "uncertain", message);
                failure.hint("if it is not right, name the right columns with the same flags")
            }
            DataError::Unrecognised { .. } => Self::new(Cause::Input, "unrecognised", message),
            DataError::Limit { .. } => Self::new(Cause::Input, "limit", message),
            DataError::Unsupported { .. } => Self::new(Cause::Input, "unsupported", message),
            DataError::Graph { .. } => Self::new(Cause::Input, "graph", message),
            DataError::CannotHold { .. } => Self::new(Cause::Usage, "cannot-hold", message),
            DataError::BadParameter { .. } => Self::usage(message),
            DataError::Memory(_) => Self::resource(message),
            _ => Self::new(Cause::Other, "other", message),
        }
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        let error = match error {
            TrainError::Data(error) | TrainError::Run(RunError::Sink(error)) => {
                return error.into();
            }
            TrainError::Graph(error) => return error.into(),
            other => other,
        };
        let message = error.to_string();
        match error.kind() {
            FailureKind::Configuration => Self::usage(message),
            FailureKind::Data => Self::input(message),
            FailureKind::Resource => Self::resource(message),
            FailureKind::Rank => Self::new(Cause::Rank, "rank", message),
            FailureKind::NonFinite => Self::new(Cause::Other, "diverged", message),
            _ => Self::new(Cause::Other, "other", message),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        TrainError::from(error).into()
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        TrainError::from(error).into()
    }
}

impl From<GraphError> for Failure {
    fn from(error: GraphError) -> Self {
        let message = error.to_string();
        match error {
            GraphError::BadParameter { .. } | GraphError::TooManyWindows { .. } => {
                Self::usage(message)
            }
            GraphError::TooMany { .. } | GraphError::Memory(_) => Self::resource(message),
            _ => Self::new(Cause::Input, "graph", message),
        }
    }
}

/// Runs the program: prints the report or the failure, and turns either into an exit code.
///
/// A panic is a bug in Zoetrope; it ends with code 1 and still leaves one JSON document.
pub(crate) fn guard(
    run: impl FnOnce() -> Result<String, Failure> + std::panic::UnwindSafe,
) -> ExitCode {
    zoetrope_heap::answer_in_json(wants_json());
    let outcome = std::panic::catch_unwind(run).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map_or("", String::as_str);
        // The libraries start threads in places that cannot return an error.
        Err(if said.contains("failed to spawn thread") {
            Failure::resource("the system gives no more threads")
                .hint("allow the process more memory or threads (ulimit -v, ulimit -u)")
        } else {
            Failure::new(Cause::Other, "bug", "this is a bug in Zoetrope, please report it")
        })
    });
    let details = match outcome {
        Ok(report) => return print(&report, Cause::Finished),
        Err(failure) => failure.0,
    };
    if details.cause == Cause::Finished {
        return print(&details.block(Style::stdout()), Cause::Finished);
    }
    // Nothing sensible can be done if standard error is gone.
    let style = Style::stderr();
    let _ = io::stderr().write_all(harmless(&details.block(style), style).as_bytes());
    if let Some(report) = &details.report {
        return print(report, details.cause);
    }
    if wants_json() {
        print(&format!("{:#}\n", details.document()), details.cause)
    } else {
        ExitCode::from(details.cause as u8)
    }
}

/// Whether the command line asks for JSON, even if it does not parse.
fn wants_json() -> bool {
    std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// Writes to standard output. A reader that has gone away (`| head`) is no failure.
fn print(text: &str, cause: Cause) -> ExitCode {
    let text = if wants_json() { Cow::Borrowed(text) } else { harmless(text, Style::stdout()) };
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::from(cause as u8),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::from(cause as u8),
        Err(error) => {
            let failure = Failure::resource(format!("standard output: {error}"));
            let _ = io::stderr().write_all(failure.0.block(Style::stderr()).as_bytes());
            ExitCode::from(Cause::Resource as u8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_is_shown_with_place_expectation_and_finding() {
        let at = Location::file("a.csv").line(3).column("ts");
        let failure = Failure::from(DataError::invalid(at, "a time", "\"x\""));
        let block = failure.0.block(Style::PLAIN);
        assert!(block.starts_with("error: a.csv:3, `ts`\n  expected a time\n"), "{block}");
        assert!(block.ends_with("hint: --lenient skips bad rows and counts them\n"), "{block}");
        assert_eq!(failure.0.document()["error"]["problems"][0]["line"], 3);
        assert_eq!(failure.0.cause as u8, 3);
    }

    #[test]
    fn a_full_disk_is_a_missing_resource() {
        let full = io::Error::from(ErrorKind::StorageFull);
        assert_eq!(Failure::from(DataError::io("out", full)).0.cause, Cause::Resource);
        let absent = io::Error::from(ErrorKind::NotFound);
        assert_eq!(Failure::from(DataError::io("in", absent)).0.cause, Cause::Input);
    }
}
