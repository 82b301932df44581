//! Everything that can be wrong with a file, and where.

use std::fmt;
use std::path::PathBuf;

use zoetrope_graph::GraphError;

use crate::format::Format;
use crate::roles::ColumnNote;

/// A place in a file. Parts that make no sense for the format are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location {
    /// The file; for a member of an archive, `archive/member`.
    pub path: PathBuf,
    /// Line, from 1 (row, from 0, for Parquet).
    pub line: Option<u64>,
    /// Byte offset in the uncompressed content.
    pub byte: Option<u64>,
    /// Column name or number, JSON key, array name.
    pub column: Option<String>,
}

impl Location {
    /// A whole file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// The same place with a line.
    pub fn line(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }

    /// The same place with a byte offset.
    pub fn byte(self, byte: u64) -> Self {
        Self { byte: Some(byte), ..self }
    }

    /// The same place with a column, key or array name.
    pub fn column(self, column: impl Into<String>) -> Self {
        Self { column: Some(column.into()), ..self }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(byte) = self.byte {
            write!(f, ", byte {byte}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", `{}`", shorten(column))?;
        }
        Ok(())
    }
}

/// One thing wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub at: Location,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl Problem {
    /// A problem at a place. Long texts are cut: a hostile file must not fill the terminal.
    pub fn new(at: Location, expected: impl Into<String>, found: impl AsRef<str>) -> Self {
        Self { at, expected: expected.into(), found: shorten(found.as_ref()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.at, self.expected, self.found)
    }
}

/// At most 80 characters of a text, control characters escaped.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        short.push('…');
    }
    short
}

/// A failure to read, write, split, sample or generate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The content is wrong at one or several places.
    #[error("{}", list_problems(problems, *total))]
    Invalid {
        /// The first problems, up to the limit in the options.
        problems: Vec<Problem>,
        /// How many there are in all.
        total: u64,
    },
    /// No reader recognises the file.
    #[error("{}: not recognised as any format: {}. Name it with --format ({})", path.display(), reasons.join("; "), Format::list())]
    Unrecognised {
        /// The file or folder.
        path: PathBuf,
        /// What was tried and why it did not fit.
        reasons: Vec<String>,
    },
    /// Several columns of a table could be its vertices or its time.
    #[error("{}: it is uncertain which column is what: {what}\n{}  if this is right, add: {confirm}", path.display(), table_of(columns))]
    Uncertain {
        /// The file.
        path: PathBuf,
        /// Why it is uncertain.
        what: String,
        /// The columns and what they are probably.
        columns: Vec<ColumnNote>,
        /// The flags that confirm the guess.
        confirm: String,
    },
    /// The content passes a limit that protects memory and time.
    #[error("{at}: {what} passes the limit of {limit}; {advice}")]
    Limit {
        /// Where.
        at: Location,
        /// What grew too large.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// How to raise the limit or mend the file.
        advice: &'static str,
    },
    /// The content is readable, but not something Zoetrope takes.
    #[error("{at}: {what} is not supported; {advice}")]
    Unsupported {
        /// Where.
        at: Location,
        /// What was met.
        what: String,
        /// What to do instead.
        advice: String,
    },
    /// A format that cannot hold this kind of data was asked for.
    #[error("{format} cannot hold {what}; {advice}")]
    CannotHold {
        /// The format.
        format: Format,
        /// What it cannot hold.
        what: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// A `synthetic:` name, a split, a negative sampler or a column was given a wrong parameter.
    #[error("{parameter} = {value}: expected {expected}")]
    BadParameter {
        /// The name of the parameter.
        parameter: String,
        /// The value given.
        value: String,
        /// What would have been accepted.
        expected: String,
    },
    /// It would take more memory than there is.
    #[error(transparent)]
    Memory(#[from] zoetrope_heap::TooLarge),
    /// The columns make no graph.
    #[error("{}: {source}", path.display())]
    Graph {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: GraphError,
    },
}

impl DataError {
    /// Content that is wrong at one place.
    pub fn invalid(at: Location, expected: impl Into<String>, found: impl AsRef<str>) -> Self {
        Self::Invalid { problems: vec![Problem::new(at, expected, found)], total: 1 }
    }

    /// A failure of a stream: our own error if [`Source`](crate::source::Source) carries one
    /// inside, otherwise what the operating system said.
    pub fn reading(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        source.downcast::<Self>().unwrap_or_else(|source| Self::io(path, source))
    }

    /// An operating-system failure on a path.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// Columns as lines of equal width: name, first values, role, reason.
fn table_of(columns: &[ColumnNote]) -> String {
    let cells = |note: &ColumnNote| {
        [note.name.clone(), note.values.clone(), note.role.to_owned(), note.why.clone()]
    };
    let heading = ["column", "first values", "probably", "because of"].map(str::to_owned);
    let rows: Vec<[String; 4]> =
        std::iter::once(heading).chain(columns.iter().map(cells)).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut text = String::new();
    for [name, values, role, why] in &rows {
        let [one, two, three] = widths;
        let line = format!("  {name:one$}  {values:two$}  {role:three$}  {why}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn list_problems(problems: &[Problem], total: u64) -> String {
    let mut lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    let more = total.saturating_sub(problems.len() as u64);
    if more > 0 {
        lines.push(format!("… and {more} more; --lenient skips bad rows and counts them"));
    }
    lines.join("\n")
}
