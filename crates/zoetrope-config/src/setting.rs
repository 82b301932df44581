//! How single values are read from TOML and from plain text, and written back.

use std::path::PathBuf;

use toml::Value;
use zoetrope_data::Format;
use zoetrope_data::given::{name_of, path_of};
use zoetrope_graph::Windowing;

/// A value as a layer gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given {
    /// From a file, with its type.
    Value(Value),
    /// From a flag or the environment, as text.
    Text(String),
}

impl Given {
    /// At most 80 characters of what was given, for messages.
    pub(super) fn shown(&self) -> String {
        let text = match self {
            Self::Value(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        };
        shorten(&text)
    }
}

/// At most 80 characters of a text, control characters escaped.
pub(super) fn shorten(text: &str) -> String {
    let mut short = String::new();
    for letter in text.chars().take(80) {
        if letter.is_control() { short.extend(letter.escape_debug()) } else { short.push(letter) }
    }
    if text.chars().nth(80).is_some() {
        short.push('…');
    }
    short
}

/// A type that keys may have.
pub(super) trait Setting: Sized {
    /// Whether "none" stands for no value.
    const OPTIONAL: bool = false;

    /// What is taken, in words.
    fn expected() -> String;

    /// The value of a TOML value, if it is one of this type.
    fn read(value: &Value) -> Option<Self>;

    /// The value of a flag's or variable's text. Numbers, booleans and quoted texts are read as
    /// TOML, anything else as a text.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::read(&text.parse().unwrap_or_else(|_| Value::String(text.to_owned())))
    }

    /// The value for the file; "none" if nothing is set.
    fn write(&self) -> Value;

    /// The names taken, if there is a list of them.
    fn names() -> Vec<&'static str> {
        Vec::new()
    }
}

impl Setting for bool {
    fn expected() -> String {
        "true or false".into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn write(&self) -> Value {
        Value::Boolean(*self)
    }
}

impl Setting for usize {
    fn expected() -> String {
        "a whole number".into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_integer().and_then(|number| number.try_into().ok())
    }

    fn write(&self) -> Value {
        Value::Integer(*self as i64)
    }
}

impl Setting for u64 {
    fn expected() -> String {
        "a whole number below 2^63".into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_integer().and_then(|number| number.try_into().ok())
    }

    fn write(&self) -> Value {
        Value::Integer(*self as i64)
    }
}

impl Setting for f64 {
    fn expected() -> String {
        "a finite number".into()
    }

    fn read(value: &Value) -> Option<Self> {
        let whole = || value.as_integer().map(|number| number as f64);
        value.as_float().or_else(whole).filter(|number| number.is_finite())
    }

    fn write(&self) -> Value {
        Value::Float(*self)
    }
}

impl Setting for String {
    fn expected() -> String {
        "a text".into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn parse(text: &str) -> Option<Self> {
        Some(unquoted(text))
    }

    fn write(&self) -> Value {
        Value::String(self.clone())
    }
}

impl Setting for PathBuf {
    fn expected() -> String {
        "a path".into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().filter(|path| !path.is_empty()).map(path_of)
    }

    fn parse(text: &str) -> Option<Self> {
        Some(unquoted(text)).filter(|path| !path.is_empty()).map(|path| path_of(&path))
    }

    fn write(&self) -> Value {
        Value::String(name_of(self.as_os_str()))
    }
}

impl Setting for Format {
    fn expected() -> String {
        format!("one of {}", Self::list())
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().and_then(|name| name.parse().ok())
    }

    fn write(&self) -> Value {
        Value::String(self.name().to_owned())
    }

    fn names() -> Vec<&'static str> {
        Self::ALL.map(Self::name).to_vec()
    }
}

impl Setting for Windowing {
    fn expected() -> String {
        "a width such as 1d, 6h or 30m, a number of ticks, one of hour, day, week and month, \
         \"500 events\" or \"20 parts\""
            .into()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(ticks) => ticks.to_string().parse().ok(),
            value => value.as_str().and_then(|text| text.parse().ok()),
        }
    }

    fn write(&self) -> Value {
        Value::String(self.to_string())
    }
}

impl<T: Setting> Setting for Option<T> {
    const OPTIONAL: bool = true;

    fn expected() -> String {
        T::expected()
    }

    fn read(value: &Value) -> Option<Self> {
        match value.as_str() {
            Some("none") => Some(None),
            _ => T::read(value).map(Some),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "none" => Some(None),
            // A blank is a value of its own if it separates fields.
            trimmed => T::parse(trimmed).or_else(|| T::parse(text)).map(Some),
        }
    }

    fn write(&self) -> Value {
        self.as_ref().map_or_else(|| Value::String("none".into()), T::write)
    }

    fn names() -> Vec<&'static str> {
        T::names()
    }
}

/// A text as it is, or without its quotes if it is a quoted TOML text.
fn unquoted(text: &str) -> String {
    if text.starts_with(['"', '\'']) {
        match text.parse() {
            Ok(Value::String(inner)) => inner,
            _ => text.to_owned(),
        }
    } else {
        text.to_owned()
    }
}
