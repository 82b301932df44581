//! A list of columns, by number or by name.

use std::fmt;

use toml::Value;

use super::setting::Setting;

/// A column of a table of features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// By its place, from 0.
    Number(usize),
    /// By its name in the file.
    Name(String),
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// Columns, written as `[0, "delay"]` or, on the command line, as `0,delay`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns(
    /// The columns as given.
    pub Vec<Column>,
);

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(Column::to_string).collect();
        f.write_str(&names.join(", "))
    }
}

impl Columns {
    /// Whether none is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers of the columns, ascending and each once, given their names; the first column
    /// that is not there otherwise.
    ///
    /// # Errors
    /// The column that is not among them.
    pub fn numbers(&self, width: usize, names: &[String]) -> Result<Vec<usize>, Column> {
        let mut numbers = Vec::with_capacity(self.0.len());
        for column in &self.0 {
            let found = match column {
                Column::Number(number) => Some(*number).filter(|&number| number < width),
                Column::Name(wanted) => names.iter().position(|name| name == wanted),
            };
            numbers.push(found.ok_or_else(|| column.clone())?);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}

/// A column of a list: on the command line a comma separates two of them.
fn listed(value: &Value) -> Option<Column> {
    match value {
        Value::String(name) => named(name),
        value => Column::read(value),
    }
}

fn named(text: &str) -> Option<Column> {
    let fine = !text.trim().is_empty() && !text.contains(',') && text.trim() == text;
    fine.then(|| Column::Name(text.to_owned()))
}

impl Setting for Columns {
    fn expected() -> String {
        "columns by number from 0 or by name, for example [0, \"delay\"]".into()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Array(columns) => columns.iter().map(listed).collect::<Option<_>>().map(Self),
            value => listed(value).map(|column| Self(vec![column])),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.starts_with('[') || text.starts_with(['"', '\'']) {
            return Self::read(&text.parse().ok()?);
        }
        if text.is_empty() {
            return Some(Self::default());
        }
        let column = |part: &str| match part.trim().parse::<i64>() {
            Ok(number) => Column::read(&Value::Integer(number)),
            Err(_) => named(part.trim()),
        };
        text.split(',').map(column).collect::<Option<_>>().map(Self)
    }

    fn write(&self) -> Value {
        Value::Array(self.0.iter().map(Column::write).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_by_number_and_by_name() {
        let both = Columns(vec![Column::Number(3), Column::Name("delay".into())]);
        assert_eq!(Columns::parse("[3, \"delay\"]"), Some(both.clone()));
        assert_eq!(Columns::parse(" 3, delay "), Some(both.clone()));
        assert_eq!(Columns::read(&both.write()), Some(both));
        assert_eq!(Columns::parse(""), Some(Columns::default()));
        for wrong in ["-1", "[1.5]", "a,,b", "[\"\"]", "[[1]]"] {
            assert_eq!(Columns::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn columns_that_are_not_there_are_named() {
        let names = ["speed".to_owned(), "delay".to_owned()];
        let columns = |text| Columns::parse(text).unwrap();
        assert_eq!(columns("delay,0,1").numbers(2, &names), Ok(vec![0, 1]));
        assert_eq!(columns("2").numbers(2, &names), Err(Column::Number(2)));
        assert_eq!(columns("dealy").numbers(2, &names), Err(Column::Name("dealy".into())));
    }
}
