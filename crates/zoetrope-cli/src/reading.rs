//! The flags that say how a file is read, the same for every command that reads one.

use clap::Args;
use zoetrope_config::{Config, Delimiter, name_of_unit, unit_named};
use zoetrope_data::options::ColumnRef;
use zoetrope_data::{Format, ReadOptions};
use zoetrope_graph::TimeUnit;

use crate::exit::Failure;

/// What the user may say about the data to read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Format of the input; detected if not given
    #[arg(long, value_name = "FORMAT", value_parser = parse_format())]
    format: Option<Format>,
    /// Column of the source vertex, by name or by position from 0
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    src: Option<ColumnRef>,
    /// Column of the destination vertex
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    dst: Option<ColumnRef>,
    /// Column of the time
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    time: Option<ColumnRef>,
    /// No column is the time; the rows are in order of time
    #[arg(long, conflicts_with = "time")]
    no_time: bool,
    /// Column of the weight
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    weight: Option<ColumnRef>,
    /// No column is the weight
    #[arg(long, conflicts_with = "weight")]
    no_weight: bool,
    /// Column of the label
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    label: Option<ColumnRef>,
    /// No column is the label
    #[arg(long, conflicts_with = "label")]
    no_label: bool,
    /// Column that says whether an event adds or removes its edge
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    kind: Option<ColumnRef>,
    /// Column of a feature; repeat for several, or separate with commas
    #[arg(long, value_name = "COLUMN", value_parser = parse_column, value_delimiter = ',')]
    feature: Vec<ColumnRef>,
    /// Take no column as a feature
    #[arg(long, conflicts_with = "feature")]
    no_features: bool,
    /// Field separator: comma, tab, semicolon, bar, space (any blanks) or one character
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<Delimiter>,
    /// The first row names the columns
    #[arg(long)]
    header: bool,
    /// The first row is data
    #[arg(long, conflicts_with = "header")]
    no_header: bool,
    /// Unit of integer times: s, ms, us, ns or step
    #[arg(long, value_name = "UNIT", value_parser = parse_time_unit)]
    time_unit: Option<TimeUnit>,
    /// Sources and destinations are different vertices, even if their identifiers are equal
    #[arg(long)]
    bipartite: bool,
    /// Equal identifiers of a source and a destination are the same vertex
    #[arg(long, conflicts_with = "bipartite")]
    no_bipartite: bool,
    /// Vertex identifiers are text, even if the first rows look like integers
    #[arg(long)]
    text_ids: bool,
    /// Skip and count bad rows instead of failing
    #[arg(long)]
    lenient: bool,
    /// List at most this many problems of a file; 20 if not given
    #[arg(long, value_name = "N", value_parser = parse_count)]
    max_problems: Option<usize>,
}

impl Reading {
    /// The same as options of the readers.
    pub(crate) fn options(&self) -> Result<ReadOptions, Failure> {
        let mut builder = Config::builder();
        for (flag, key, value) in self.flags() {
            builder = builder.flag(flag, key, value);
        }
        Ok(builder.build_unchecked()?.data.read_options())
    }

    /// The same as settings of a configuration: flag, key, value.
    pub(crate) fn flags(&self) -> Vec<(&'static str, &'static str, String)> {
        let yes = |given: bool| given.then(|| "true".to_owned());
        let both = |yes, no| either(yes, no).map(|value| value.to_string());
        let column = |column: &Option<ColumnRef>| column.as_ref().map(shown);
        let features = (self.no_features || !self.feature.is_empty()).then(|| {
            let list: Vec<String> = self.feature.iter().map(shown).collect();
            format!("[{}]", list.join(", "))
        });
        let unit = self.time_unit.map(|unit| name_of_unit(unit).to_owned());
        let role = |column: &Option<ColumnRef>, absent: bool| {
            if absent { Some("false".to_owned()) } else { column.as_ref().map(shown) }
        };
        let flag = |absent, no, yes| if absent { no } else { yes };
        let feature = flag(self.no_features, "--no-features", "--feature");
        [
            ("--format", "data.format", self.format.map(|format| format.name().to_owned())),
            ("--src", "data.src", column(&self.src)),
            ("--dst", "data.dst", column(&self.dst)),
            (
                flag(self.no_time, "--no-time", "--time"),
                "data.time",
                role(&self.time, self.no_time),
            ),
            (
                flag(self.no_weight, "--no-weight", "--weight"),
                "data.weight",
                role(&self.weight, self.no_weight),
            ),
            (
                flag(self.no_label, "--no-label", "--label"),
                "data.label",
                role(&self.label, self.no_label),
            ),
            ("--kind", "data.kind", column(&self.kind)),
            (feature, "data.feature", features),
            ("--delimiter", "data.delimiter", self.delimiter.map(Delimiter::name)),
            ("--header", "data.header", both(self.header, self.no_header)),
            ("--time-unit", "data.time_unit", unit),
            ("--bipartite", "data.bipartite", both(self.bipartite, self.no_bipartite)),
            ("--text-ids", "data.text_ids", yes(self.text_ids)),
            ("--lenient", "data.lenient", yes(self.lenient)),
            ("--max-problems", "data.max_problems", self.max_problems.map(|n| n.to_string())),
        ]
        .into_iter()
        .filter_map(|(flag, key, value)| Some((flag, key, value?)))
        .collect()
    }
}

/// A column as the value of a setting: a name in quotes, so that no name is taken for a number.
fn shown(column: &ColumnRef) -> String {
    match column {
        ColumnRef::Absent => "false".to_owned(),
        ColumnRef::Position(position) => position.to_string(),
        ColumnRef::Name(name) => serde_json::Value::from(name.as_str()).to_string(),
    }
}

fn either(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Accepts a path of any bytes as the name of data.
pub(crate) fn data_name() -> impl clap::builder::TypedValueParser<Value = String> {
    use clap::builder::{OsStringValueParser, TypedValueParser};
    OsStringValueParser::new().map(|path| zoetrope_data::given::name_of(&path))
}

/// Accepts the names of the formats, with suggestions for slips.
pub(crate) fn parse_format() -> impl clap::builder::TypedValueParser<Value = Format> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| name.parse::<Format>().map_err(|error| error.to_string()))
}

pub(crate) fn parse_column(text: &str) -> Result<ColumnRef, String> {
    match text.parse() {
        Ok(position) => Ok(ColumnRef::Position(position)),
        Err(_) if text.is_empty() => Err("a column needs a name or a position".into()),
        Err(_) => Ok(ColumnRef::Name(text.into())),
    }
}

fn parse_delimiter(text: &str) -> Result<Delimiter, String> {
    Delimiter::named(text).ok_or_else(|| format!("expected {}", Delimiter::EXPECTED))
}

fn parse_time_unit(text: &str) -> Result<TimeUnit, String> {
    unit_named(text).ok_or_else(|| "expected s, ms, us, ns or step".into())
}

fn parse_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("expected a whole number from 1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_by_position_where_they_are_numbers() {
        assert_eq!(parse_column("3"), Ok(ColumnRef::Position(3)));
        assert_eq!(parse_column("ts"), Ok(ColumnRef::Name("ts".into())));
        assert!(parse_column("").is_err());
    }

    #[test]
    fn delimiters_go_by_name_or_character() {
        assert_eq!(parse_delimiter("tab"), Ok(Delimiter(b'\t')));
        assert_eq!(parse_delimiter("bar"), Ok(Delimiter(b'|')));
        assert_eq!(parse_delimiter("|"), Ok(Delimiter(b'|')));
        assert!(parse_delimiter("ab").is_err());
        assert!(parse_delimiter("é").is_err());
    }
}
