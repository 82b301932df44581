//! The keys of `[data]` that say how a file is read: values of their own kinds, and the options of
//! the readers that all of them together make.

use toml::Value;
use zoetrope_data::options::ColumnRef;
use zoetrope_data::{ColumnMap, ReadOptions};
use zoetrope_graph::TimeUnit;

use super::DataConfig;
use super::columns::Column;
use super::setting::Setting;

/// The byte between the fields of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delimiter(
    /// The byte; a blank stands for any run of blanks.
    pub u8,
);

/// The names of delimiters; each is written by its first one.
const NAMED: [(&str, u8); 8] = [
    ("comma", b','),
    ("tab", b'\t'),
    ("semicolon", b';'),
    ("bar", b'|'),
    ("space", b' '),
    ("\\t", b'\t'),
    ("blank", b' '),
    ("blanks", b' '),
];

impl Delimiter {
    /// What is taken, in words.
    pub const EXPECTED: &'static str =
        "comma, tab, semicolon, bar, space (any blanks) or one ASCII character";

    /// A delimiter by its name, or by itself.
    pub fn named(text: &str) -> Option<Self> {
        let named = NAMED.iter().find(|(name, _)| *name == text).map(|&(_, byte)| byte);
        let single = match text.as_bytes() {
            &[byte] if byte.is_ascii() => Some(byte),
            _ => None,
        };
        named.or(single).map(Self)
    }

    /// Its name, or itself if it has none.
    pub fn name(self) -> String {
        let named = NAMED.iter().find(|(_, byte)| *byte == self.0);
        named.map_or_else(|| char::from(self.0).into(), |(name, _)| (*name).into())
    }
}

impl Setting for Delimiter {
    fn expected() -> String {
        Self::EXPECTED.into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().and_then(Self::named)
    }

    fn parse(text: &str) -> Option<Self> {
        Self::read(&Value::String(text.to_owned()))
    }

    fn write(&self) -> Value {
        Value::String(self.name())
    }
}

/// The units of integer times by their names; each is written by its first one.
const UNITS: [(&str, TimeUnit); 15] = [
    ("s", TimeUnit::Second),
    ("ms", TimeUnit::Millisecond),
    ("us", TimeUnit::Microsecond),
    ("ns", TimeUnit::Nanosecond),
    ("step", TimeUnit::Step),
    ("second", TimeUnit::Second),
    ("seconds", TimeUnit::Second),
    ("millisecond", TimeUnit::Millisecond),
    ("milliseconds", TimeUnit::Millisecond),
    ("µs", TimeUnit::Microsecond),
    ("microsecond", TimeUnit::Microsecond),
    ("microseconds", TimeUnit::Microsecond),
    ("nanosecond", TimeUnit::Nanosecond),
    ("nanoseconds", TimeUnit::Nanosecond),
    ("steps", TimeUnit::Step),
];

/// The unit of integer times that has this name.
pub fn unit_named(text: &str) -> Option<TimeUnit> {
    UNITS.iter().find(|(name, _)| *name == text).map(|&(_, unit)| unit)
}

/// The name of a unit of integer times.
pub fn name_of_unit(unit: TimeUnit) -> &'static str {
    UNITS.iter().find(|(_, known)| *known == unit).map_or("step", |(name, _)| name)
}

impl Setting for TimeUnit {
    fn expected() -> String {
        "one of s, ms, us, ns, step".into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().and_then(unit_named)
    }

    fn write(&self) -> Value {
        Value::String(name_of_unit(*self).into())
    }
}

impl Setting for Column {
    fn expected() -> String {
        "a column by name, or by number from 0".into()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(number) => usize::try_from(*number).ok().map(Self::Number),
            Value::String(name) if !name.trim().is_empty() => Some(Self::Name(name.clone())),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text.trim().parse::<i64>() {
            Ok(number) => Self::read(&Value::Integer(number)),
            Err(_) => Self::read(&String::parse(text)?.write()),
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Number(number) => Value::Integer(*number as i64),
            Self::Name(name) => Value::String(name.clone()),
        }
    }
}

/// A column that a table need not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleColumn {
    /// No column has this role, whatever the names say.
    Absent,
    /// This one.
    At(Column),
}

impl Setting for RoleColumn {
    fn expected() -> String {
        format!("{}, or false for none", Column::expected())
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Boolean(false) => Some(Self::Absent),
            value => Column::read(value).map(Self::At),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "false" => Some(Self::Absent),
            text => Column::parse(text).map(Self::At),
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Absent => Value::Boolean(false),
            Self::At(column) => column.write(),
        }
    }
}

impl From<&RoleColumn> for ColumnRef {
    fn from(column: &RoleColumn) -> Self {
        match column {
            RoleColumn::Absent => Self::Absent,
            RoleColumn::At(column) => column.into(),
        }
    }
}

impl From<&Column> for ColumnRef {
    fn from(column: &Column) -> Self {
        match column {
            Column::Number(number) => Self::Position(*number),
            Column::Name(name) => Self::Name(name.clone()),
        }
    }
}

impl DataConfig {
    /// How the data is read, as the readers take it.
    pub fn read_options(&self) -> ReadOptions {
        let column = |column: &Option<Column>| column.as_ref().map(ColumnRef::from);
        let role = |column: &Option<RoleColumn>| column.as_ref().map(ColumnRef::from);
        let features = self.feature.as_ref();
        ReadOptions {
            format: self.format,
            columns: ColumnMap {
                src: column(&self.src),
                dst: column(&self.dst),
                time: role(&self.time),
                weight: role(&self.weight),
                label: role(&self.label),
                kind: column(&self.kind),
                features: features.map(|list| list.0.iter().map(ColumnRef::from).collect()),
            },
            delimiter: self.delimiter.map(|delimiter| delimiter.0),
            header: self.header,
            time_unit: self.time_unit,
            bipartite: self.bipartite,
            text_ids: self.text_ids,
            lenient: self.lenient,
            max_problems: self.max_problems,
            ..ReadOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_equal() {
        for text in ["comma", "tab", "semicolon", "bar", "space", "~", "\\t", "\t", " ", "|"] {
            let delimiter = Delimiter::parse(text).unwrap();
            // As a key, which may be absent, too.
            assert_eq!(Option::<Delimiter>::parse(text), Some(Some(delimiter)), "{text:?}");
            assert_eq!(Delimiter::read(&delimiter.write()), Some(delimiter), "{text}");
        }
        for (name, unit) in UNITS {
            assert_eq!(TimeUnit::parse(name), Some(unit));
            assert_eq!(TimeUnit::read(&unit.write()), Some(unit));
        }
        for text in ["3", "From Bank", "a,b"] {
            let column = Column::parse(text).unwrap();
            assert_eq!(Column::read(&column.write()), Some(column), "{text}");
        }
        for text in ["false", "3", "From Bank", "\"false\""] {
            let column = RoleColumn::parse(text).unwrap();
            assert_eq!(RoleColumn::read(&column.write()), Some(column), "{text}");
        }
        assert_eq!(RoleColumn::parse("false"), Some(RoleColumn::Absent));
        assert_eq!(Column::parse("-1"), None);
        assert_eq!(Column::parse(" "), None);
        assert_eq!(Delimiter::parse("é"), None);
    }
}
