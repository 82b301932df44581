//! A TOML file taken apart into values with their lines.

use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::Deserialize;
use toml::Value;
use toml::de::{DeTable, ValueDeserializer};
use zoetrope_data::regular_file;

use super::problem::ConfigProblem;

/// More bytes than this are not a configuration.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// A key with its value and line. `section` is absent for keys above the first header.
pub(super) struct Entry {
    pub(super) section: Option<String>,
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) line: usize,
}

/// Reads the whole file, unless it is larger than any configuration.
pub(super) fn read(path: &Path) -> Result<String, ConfigProblem> {
    let unreadable = |reason: String| ConfigProblem::Unreadable { path: path.into(), reason };
    let fail = |error: std::io::Error| match error.kind() {
        ErrorKind::InvalidInput => {
            unreadable(format!("{error}; expected a TOML file, or a YAML file of TGL"))
        }
        _ => unreadable(error.to_string()),
    };
    let file = regular_file::open(path).map_err(fail)?;
    let bytes = file.metadata().map_err(fail)?.len();
    if bytes > MOST_BYTES {
        return Err(unreadable(format!("{bytes} bytes are too many for a configuration")));
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(fail)?;
    Ok(text)
}

/// The entries in the order of the file.
pub(super) fn entries(text: &str, path: &Path) -> Result<Vec<Entry>, ConfigProblem> {
    let syntax = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let (line, column) = position(text, at);
        let reason = error.message().lines().collect::<Vec<_>>().join("; ");
        ConfigProblem::Syntax { path: path.into(), line, column, reason }
    };
    let table = DeTable::parse(text).map_err(syntax)?.into_inner();
    let mut entries = Vec::new();
    for (section, content) in table {
        let line = position(text, section.span().start).0;
        let name = section.get_ref().to_string();
        if content.get_ref().as_table().is_none() {
            let value = Value::deserialize(ValueDeserializer::from(content)).map_err(syntax)?;
            entries.push(Entry { section: None, key: name, value, line });
            continue;
        }
        let toml::de::DeValue::Table(keys) = content.into_inner() else { continue };
        if keys.is_empty() {
            // A header alone gives nothing, but its name may still be wrong.
            let value = Value::Table(toml::Table::new());
            entries.push(Entry { section: Some(name), key: String::new(), value, line });
            continue;
        }
        for (key, content) in keys {
            let line = position(text, key.span().start).0;
            let key = key.get_ref().to_string();
            let value = Value::deserialize(ValueDeserializer::from(content)).map_err(syntax)?;
            entries.push(Entry { section: Some(name.clone()), key, value, line });
        }
    }
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

/// Line and column, both from 1, of a byte.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (line, before[start..].chars().count() + 1)
}
