//! `zoetrope data inspect`: what is in a data set.

use clap::Args;
use serde::Serialize;
use zoetrope_data::Dataset;
use zoetrope_data::inspect::{
    Report, Topology, WindowReport, describe_snapshots, describe_windows, inspect,
};
use zoetrope_graph::{Windowing, suggest_cut};

use super::{document, prepare};
use crate::args::Running;
use crate::exit::Failure;
use crate::input::{self, Opened};
use crate::reading::{Reading, data_name};
use crate::report::{dataset, snapshots};
use crate::terminal::Style;

/// Flags of `data inspect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zoetrope data inspect wikipedia.csv.gz
  zoetrope data inspect messages.txt --window 1d
  zoetrope data inspect trades.csv --src buyer --dst seller --time date --window month
  zoetrope data inspect graph.json --json
  zoetrope data inspect 'synthetic:power-law?vertices=10k'

Windows: 30s 15m 6h 1d 2w, hour day week month (UTC calendar, for Unix times),
'1000 events', '50 parts', or a number of ticks.")]
pub(crate) struct InspectArgs {
    /// File, folder, - for standard input, or synthetic:NAME?key=value&…
    #[arg(value_name = "PATH|synthetic:…", value_parser = data_name())]
    source: String,
    /// Cut events into snapshots and show them: 1d, 6h, month, '1000 events', …
    #[arg(long, value_name = "WINDOW", value_parser = parse_window)]
    window: Option<Windowing>,
    /// Show at most this many snapshots in the table; 0 shows none
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    running: Running,
}

/// Rows of the snapshot table if the user asks for windows but not for a number of rows.
const DEFAULT_ROWS: usize = 16;

pub(super) fn parse_window(text: &str) -> Result<Windowing, String> {
    text.parse::<Windowing>().map_err(|error| error.to_string())
}

/// The JSON document: the report of the library plus what only the binary knows.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    name: &'a str,
    #[serde(flatten)]
    report: &'a Report,
    suggested_window: Option<String>,
    window: Option<&'a WindowReport>,
    bytes: Option<u64>,
    seconds: f64,
}

/// The report.
pub(crate) fn run(args: &InspectArgs) -> Result<String, Failure> {
    prepare(&args.running)?;
    let opened = input::open(&args.source, &args.reading.options()?, args.running.quiet)?;
    let report = inspect(&opened.loaded.dataset, &opened.loaded.notes);
    let suggested = suggestion(&opened.loaded.dataset);
    let window = windows(&opened.loaded.dataset, args, suggested.as_ref())?;
    if args.running.json {
        return document(&Document {
            schema: 1,
            name: &opened.name,
            report: &report,
            suggested_window: suggested.map(|window| window.to_string()),
            window: window.as_ref(),
            bytes: opened.bytes,
            seconds: opened.seconds,
        });
    }
    Ok(render(&opened, &report, window.as_ref(), args))
}

fn suggestion(dataset: &Dataset) -> Option<Windowing> {
    match dataset {
        Dataset::Events(store) if store.len() > 1 => Some(suggest_cut(store).windowing),
        _ => None,
    }
}

fn windows(
    dataset: &Dataset,
    args: &InspectArgs,
    suggested: Option<&Windowing>,
) -> Result<Option<WindowReport>, Failure> {
    match dataset {
        Dataset::Events(store) => match (&args.window, suggested) {
            (Some(window), _) => Ok(Some(describe_windows(store, window)?)),
            // Nobody asked for this one, so if it cannot be had there is just no picture.
            (None, Some(window)) => Ok(describe_windows(store, window).ok()),
            (None, None) => Ok(None),
        },
        Dataset::Snapshots(_) if args.window.is_some() => Err(Failure::usage(format!(
            "{}: has snapshots already, --window cuts events",
            args.source
        ))
        .hint("leave --window out; --rows N lists the snapshots as they are")),
        Dataset::Snapshots(data) if data.sequence.is_constant() => Ok(None),
        Dataset::Snapshots(data) => Ok(Some(describe_snapshots(&data.sequence))),
    }
}

fn render(
    opened: &Opened,
    report: &Report,
    window: Option<&WindowReport>,
    args: &InspectArgs,
) -> String {
    let style = Style::stdout();
    let mut text = dataset::summary(opened, report, style);
    text.push_str(&dataset::degrees(report, style));
    if let Some(window) = window {
        let asked = args.window.is_some() || report.topology == Topology::Changing;
        text.push_str(&snapshots::pictures(window, asked, style));
        let rows = match (args.rows, &args.window) {
            (Some(rows), _) => rows,
            (None, Some(_)) => DEFAULT_ROWS,
            (None, None) => 0,
        };
        text.push_str(&snapshots::table(window, report.time.scale(), rows, style));
    }
    text.push_str(&dataset::warnings(report, style));
    text
}
