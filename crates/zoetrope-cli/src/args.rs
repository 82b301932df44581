//! The command line: the tree of commands and the flags that several of them share.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use zoetrope_data::options::ColumnRef;
use zoetrope_data::{ColumnMap, Format, ReadOptions};
use zoetrope_graph::TimeUnit;

use crate::command::{
    completions, convert, doctor, embed, eval, generate, inspect, man, negatives, plan, predict,
    train,
};
use crate::exit::Failure;

/// Train neural networks on graphs that change over time.
#[derive(Debug, Parser)]
#[command(name = "zoetrope", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope train                                 a first run on a built-in graph
  zoetrope train --data england_covid.json       train on a file
  zoetrope data inspect events.csv.gz            what is in a file
  zoetrope data inspect events.csv --window 1d   its daily snapshots as a picture
  zoetrope data convert events.csv events.zoe    a store that opens at once
  zoetrope doctor                                what this machine offers

Exit codes: 0 done, 2 wrong usage, 3 bad input data, 4 resource missing (memory,
disk, library), 1 anything else.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train a model and measure it against simple rules
    Train(Box<train::TrainArgs>),
    /// Measure a trained model on a part of the data
    Eval(Box<eval::EvalArgs>),
    /// Write predictions as a NumPy array
    Predict(Box<predict::PredictArgs>),
    /// Write the embeddings of vertices at a time
    Embed(Box<embed::EmbedArgs>),
    /// Show how a run would be laid out, what it takes, and why
    Plan(Box<plan::PlanArgs>),
    /// Look at data, convert it, generate it
    #[command(subcommand)]
    Data(Box<DataCommand>),
    /// Say what this machine offers: CPU, memory, disk, GPU, MPI
    Doctor(doctor::DoctorArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write the pages of all commands to a folder
    Man(man::ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Describe a data set: counts, time range, degrees, repeats, warnings
    Inspect(inspect::InspectArgs),
    /// Write a data set in another format, or cut events into snapshots
    Convert(convert::ConvertArgs),
    /// Write a synthetic data set to a file
    Generate(generate::GenerateArgs),
    /// Write fixed negative samples for evaluation to a file
    Negatives(negatives::NegativesArgs),
}

/// What the user may say about the data to read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Format of the input; detected where absent
    #[arg(long, value_name = "FORMAT", value_parser = parse_format())]
    pub(crate) format: Option<Format>,
    /// Column of the source vertex, by name or by position from 0
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    pub(crate) src: Option<ColumnRef>,
    /// Column of the destination vertex
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    pub(crate) dst: Option<ColumnRef>,
    /// Column of the time
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    pub(crate) time: Option<ColumnRef>,
    /// Column of the weight
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    pub(crate) weight: Option<ColumnRef>,
    /// Column of the label
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    pub(crate) label: Option<ColumnRef>,
    /// Column that says whether an event adds or removes its edge
    #[arg(long, value_name = "COLUMN", value_parser = parse_column)]
    pub(crate) kind: Option<ColumnRef>,
    /// Column of a feature; repeat for several, or separate with commas
    #[arg(long, value_name = "COLUMN", value_parser = parse_column, value_delimiter = ',')]
    pub(crate) feature: Vec<ColumnRef>,
    /// Take no column as a feature
    #[arg(long, conflicts_with = "feature")]
    pub(crate) no_features: bool,
    /// Field separator: comma, tab, semicolon, space (any blanks) or one character
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// The first row names the columns
    #[arg(long)]
    pub(crate) header: bool,
    /// The first row is data
    #[arg(long, conflicts_with = "header")]
    pub(crate) no_header: bool,
    /// Unit of integer times: s, ms, us, ns or step
    #[arg(long, value_name = "UNIT", value_parser = parse_time_unit)]
    pub(crate) time_unit: Option<TimeUnit>,
    /// Source and destination number their vertices separately
    #[arg(long)]
    pub(crate) bipartite: bool,
    /// Source and destination share one numbering
    #[arg(long, conflicts_with = "bipartite")]
    pub(crate) no_bipartite: bool,
    /// Vertex identifiers are text, also where the first rows look like integers
    #[arg(long)]
    pub(crate) text_ids: bool,
    /// Skip and count bad rows instead of failing
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Collect this many problems before giving up on a file
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = parse_count)]
    pub(crate) max_problems: usize,
}

impl Reading {
    /// The same as options of the readers.
    pub(crate) fn options(&self) -> ReadOptions {
        let features = match (self.no_features, self.feature.is_empty()) {
            (true, _) => Some(Vec::new()),
            (false, true) => None,
            (false, false) => Some(self.feature.clone()),
        };
        ReadOptions {
            format: self.format,
            columns: ColumnMap {
                src: self.src.clone(),
                dst: self.dst.clone(),
                time: self.time.clone(),
                weight: self.weight.clone(),
                label: self.label.clone(),
                kind: self.kind.clone(),
                features,
            },
            delimiter: self.delimiter,
            header: either(self.header, self.no_header),
            time_unit: self.time_unit,
            bipartite: either(self.bipartite, self.no_bipartite),
            text_ids: self.text_ids.then_some(true),
            lenient: self.lenient,
            max_problems: self.max_problems,
            ..ReadOptions::default()
        }
    }
}

fn either(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// How to run and what to print.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub(crate) struct Running {
    /// Print one JSON document instead of the report
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress bars
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Use this many threads; as many as there are cores where absent
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Where a command writes its file.
#[derive(Debug, Args)]
pub(crate) struct Destination {
    /// File or folder to write
    #[arg(long, value_name = "PATH")]
    pub(crate) out: PathBuf,
    /// Replace what stands there
    #[arg(long)]
    pub(crate) force: bool,
}

/// Parses the command line. Help and version are printed here and end the process.
pub(crate) fn parse() -> Result<Cli, Failure> {
    Cli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Failure::finished(error.render().ansi().to_string(), error.render().to_string())
        }
        _ => Failure::rejected(error.render().ansi().to_string(), error.render().to_string()),
    })
}

/// Accepts the names of the formats, with suggestions for slips.
pub(crate) fn parse_format() -> impl clap::builder::TypedValueParser<Value = Format> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| name.parse::<Format>().map_err(|error| error.to_string()))
}

fn parse_column(text: &str) -> Result<ColumnRef, String> {
    match text.parse() {
        Ok(position) => Ok(ColumnRef::Position(position)),
        Err(_) if text.is_empty() => Err("a column needs a name or a position".into()),
        Err(_) => Ok(ColumnRef::Name(text.into())),
    }
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text {
        "comma" => Ok(b','),
        "tab" | "\\t" => Ok(b'\t'),
        "semicolon" => Ok(b';'),
        "space" | "blank" | "blanks" => Ok(b' '),
        _ => match text.as_bytes() {
            &[byte] if byte.is_ascii() => Ok(byte),
            _ => Err("expected comma, tab, semicolon, space or one ASCII character".into()),
        },
    }
}

fn parse_time_unit(text: &str) -> Result<TimeUnit, String> {
    match text {
        "s" | "second" | "seconds" => Ok(TimeUnit::Second),
        "ms" | "millisecond" | "milliseconds" => Ok(TimeUnit::Millisecond),
        "us" | "µs" | "microsecond" | "microseconds" => Ok(TimeUnit::Microsecond),
        "ns" | "nanosecond" | "nanoseconds" => Ok(TimeUnit::Nanosecond),
        "step" | "steps" => Ok(TimeUnit::Step),
        _ => Err("expected s, ms, us, ns or step".into()),
    }
}

fn parse_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("expected a whole number from 1".into()),
    }
}

/// More threads than this are a slip of the keyboard and could exhaust the machine.
const MOST_THREADS: usize = 4_096;

fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(threads) if threads.get() <= MOST_THREADS => Ok(threads),
        _ => Err(format!("expected a whole number from 1 to {MOST_THREADS}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_tree_of_commands_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn columns_go_by_position_where_they_are_numbers() {
        assert_eq!(parse_column("3"), Ok(ColumnRef::Position(3)));
        assert_eq!(parse_column("ts"), Ok(ColumnRef::Name("ts".into())));
        assert!(parse_column("").is_err());
    }

    #[test]
    fn delimiters_go_by_name_or_character() {
        assert_eq!(parse_delimiter("tab"), Ok(b'\t'));
        assert_eq!(parse_delimiter("|"), Ok(b'|'));
        assert!(parse_delimiter("ab").is_err());
        assert!(parse_delimiter("é").is_err());
    }
}
