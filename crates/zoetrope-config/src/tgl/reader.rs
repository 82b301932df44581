//! The part of YAML that TGL's files use, with the line of every key.
//!
//! Sections at the margin, under each a list with one entry, in it `key: value` lines whose values
//! are numbers, truths, texts or lists of these. Anchors, tags, several documents and deeper nesting
//! are errors: a file that needs them is not one of TGL's.

use std::path::Path;

use toml::Value;

use crate::problem::ConfigProblem;

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) line: usize,
}

/// A line without its comment.
struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

/// What is wrong, and in which line and column.
type Wrong = (usize, usize, String);

/// The entries in the order of the file.
pub(super) fn entries(text: &str, path: &Path) -> Result<Vec<Entry>, ConfigProblem> {
    read(text).map_err(|(line, column, reason)| ConfigProblem::Syntax {
        path: path.into(),
        line,
        column,
        reason,
    })
}

fn read(text: &str) -> Result<Vec<Entry>, Wrong> {
    let mut document = Document::default();
    for line in lines(text)? {
        let (item, indent, rest) = dashed(&line);
        let key = split_key(rest);
        if key.is_none() && item && document.continues_list(&line) {
            document.list_item(scalar(rest, &line)?);
            continue;
        }
        document.close()?;
        match key {
            None => return Err((line.number, line.indent + 1, "expected `key: value`".into())),
            Some((name, value)) if line.indent == 0 && !item => {
                document.begin(name, value, line.number)?;
            }
            Some((key, value)) => {
                document.place(key, item, indent).map_err(|why| (line.number, indent + 1, why))?;
                document.put(key, value, indent, &line)?;
            }
        }
    }
    document.close()?;
    Ok(document.entries)
}

/// What was read so far.
#[derive(Default)]
struct Document {
    entries: Vec<Entry>,
    /// The sections met; the last one is being read.
    sections: Vec<String>,
    /// Where the keys of the section's entry stand, once that has begun.
    column: Option<usize>,
    /// The entry whose list may follow, and where its key stands.
    open: Option<(Entry, usize)>,
}

impl Document {
    fn continues_list(&self, line: &Line<'_>) -> bool {
        self.open.as_ref().is_some_and(|(_, at)| line.indent >= *at)
    }

    fn list_item(&mut self, value: Value) {
        if let Some((Entry { value: Value::Array(values), .. }, _)) = &mut self.open {
            values.push(value);
        }
    }

    /// Begins a section.
    fn begin(&mut self, name: &str, value: &str, number: usize) -> Result<(), Wrong> {
        if !value.is_empty() {
            let reason = format!("expected a section with a list, got a value for `{name}`");
            return Err((number, 1, reason));
        }
        if self.sections.iter().any(|known| known == name) {
            return Err((number, 1, format!("duplicate section `{name}`")));
        }
        self.sections.push(name.to_owned());
        self.column = None;
        Ok(())
    }

    /// Whether a key may stand where it stands.
    fn place(&mut self, key: &str, item: bool, indent: usize) -> Result<(), String> {
        let Some(section) = self.sections.last() else {
            return Err("a key outside any section".into());
        };
        match (item, self.column) {
            (true, None) => self.column = Some(indent),
            (true, Some(_)) => {
                return Err(format!(
                    "`{section}` has a second entry, of which TGL takes no notice"
                ));
            }
            (false, None) => return Err(format!("expected `- {key}:`: `{section}` is a list")),
            (false, Some(at)) if at == indent => {}
            (false, Some(at)) => return Err(format!("expected a key in column {}", at + 1)),
        }
        if self.entries.iter().any(|entry| entry.section == *section && entry.key == key) {
            Err(format!("duplicate key `{key}`"))
        } else {
            Ok(())
        }
    }

    fn put(&mut self, key: &str, value: &str, indent: usize, line: &Line<'_>) -> Result<(), Wrong> {
        let section = self.sections.last().cloned().unwrap_or_default();
        let entry = |value| Entry { section, key: key.to_owned(), value, line: line.number };
        if value.is_empty() {
            self.open = Some((entry(Value::Array(Vec::new())), indent))
        } else {
            self.entries.push(entry(value_of(value, line)?))
        }
        Ok(())
    }

    /// Ends a key whose list could have followed.
    fn close(&mut self) -> Result<(), Wrong> {
        let Some((entry, indent)) = self.open.take() else { return Ok(()) };
        if entry.value.as_array().is_some_and(Vec::is_empty) {
            return Err((entry.line, indent + 1, format!("`{}` has no value", entry.key)));
        }
        self.entries.push(entry);
        Ok(())
    }
}

/// The lines that say something.
fn lines(text: &str) -> Result<Vec<Line<'_>>, Wrong> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let content = without_comment(line).trim_end();
        let text = content.trim_start_matches(' ');
        if text.is_empty() || (text == "---" && lines.is_empty()) {
            continue;
        }
        let indent = content.len() - text.len();
        if text.starts_with('\t') {
            return Err((number, indent + 1, "a tab cannot indent".into()));
        }
        lines.push(Line { number, indent, text });
    }
    Ok(lines)
}

/// A `#` at the start or after a space begins a comment, unless it is within quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') if before.is_whitespace() => return &line[..at],
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        before = letter;
    }
    line
}

/// Whether a line begins an item, where its content stands, and the content.
fn dashed<'a>(line: &Line<'a>) -> (bool, usize, &'a str) {
    match line.text.strip_prefix("- ") {
        Some(rest) => {
            let content = rest.trim_start_matches(' ');
            (true, line.indent + line.text.len() - content.len(), content)
        }
        None => (false, line.indent, line.text),
    }
}

/// `key: value` or `key:`.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let fine = !key.is_empty() && key.chars().all(plain);
    (fine && (value.is_empty() || value.starts_with(' '))).then(|| (key, value.trim()))
}

/// A scalar or a list in brackets.
fn value_of(text: &str, line: &Line<'_>) -> Result<Value, Wrong> {
    match text.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
        None => scalar(text, line),
        Some(Some(inside)) => {
            let items = inside.split(',').map(|item| scalar(item.trim(), line));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        Some(None) => Err(unreadable(text, line)),
    }
}

fn scalar(text: &str, line: &Line<'_>) -> Result<Value, Wrong> {
    for quote in ['\'', '"'] {
        if let Some(rest) = text.strip_prefix(quote) {
            let inside = rest.strip_suffix(quote).filter(|inside| !inside.contains([quote, '\\']));
            let inside = inside.ok_or_else(|| unreadable(text, line))?;
            return Ok(Value::String(inside.to_owned()));
        }
    }
    match text {
        "True" | "true" | "TRUE" => return Ok(Value::Boolean(true)),
        "False" | "false" | "FALSE" => return Ok(Value::Boolean(false)),
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(Value::Integer(number));
    }
    let is_number = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    if let (true, Ok(number)) = (is_number, text.parse::<f64>()) {
        return Ok(Value::Float(number));
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        Ok(Value::String(text.to_owned()))
    } else {
        Err(unreadable(text, line))
    }
}

fn unreadable(text: &str, line: &Line<'_>) -> Wrong {
    let shown = crate::setting::shorten(text);
    let reason =
        format!("expected a number, True, False, a text or a list of these, got `{shown}`");
    (line.number, line.indent + 1, reason)
}
