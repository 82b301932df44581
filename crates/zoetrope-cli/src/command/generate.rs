//! `zoetrope data generate`: a synthetic data set on file, and the catalogue of generators.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use zoetrope_data::parts::DatasetPart;
use zoetrope_data::save::format_of_name;
use zoetrope_data::synthetic::{Generator, Range, catalogue, generate, stream};
use zoetrope_data::{Dataset, Format};

use super::{document, prepare};
use crate::args::Running;
use crate::exit::Failure;
use crate::input::may_write;
use crate::output;
use crate::progress::{Bars, Unit};
use crate::reading::parse_format;
use crate::report::human::{bytes, elapsed, plural, whole};
use crate::report::table::{Align, Table};
use crate::terminal::{Style, WIDTH, wrap};

/// Flags of `data generate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zoetrope data generate --list
  zoetrope data generate --list power-law
  zoetrope data generate power-law vertices=10k steps=50 --out graph.npz
  zoetrope data generate bipartite events=5M --out stream.zoe
  zoetrope data generate 'synthetic:uniform?vertices=1000' --seed 7 --out graph.npz")]
pub(crate) struct GenerateArgs {
    /// Name of a generator, or a whole synthetic:NAME?key=value&…
    #[arg(value_name = "NAME|synthetic:…", required_unless_present = "list")]
    name: Option<String>,
    /// Parameters of the generator
    #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
    parameters: Vec<String>,
    /// List the generators, or describe the one that is named
    #[arg(long, conflicts_with_all = ["parameters", "out", "to", "seed", "force"])]
    list: bool,
    /// File to write
    #[arg(long, value_name = "PATH", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// Format of the file; from its name if not given
    #[arg(long, value_name = "FORMAT", value_parser = parse_format())]
    to: Option<Format>,
    /// Seed; the same as the parameter seed=N
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    running: Running,
}

fn parse_pair(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.is_empty() => Ok(text.to_owned()),
        _ => Err("expected KEY=VALUE".into()),
    }
}

/// What was written, or the catalogue.
pub(crate) fn run(args: &GenerateArgs) -> Result<String, Failure> {
    prepare(&args.running)?;
    let (Some(name), Some(out)) = (&args.name, &args.out) else {
        return list(args.name.as_deref(), args.running.json);
    };
    may_write(out, args.force)?;
    let name = full_name(name, &args.parameters, args.seed);
    let start = Instant::now();
    let made = make(&name, out, args)?;
    let seconds = start.elapsed().as_secs_f64();
    let size = std::fs::metadata(out).map_or(0, |metadata| metadata.len());
    if args.running.json {
        return document(&json!({
            "schema": 1,
            "name": name,
            "out": out.display().to_string(),
            "format": made.format.name(),
            "vertices": made.vertices,
            "events": made.events,
            "snapshots": made.snapshots,
            "dropped": made.dropped.iter().map(DatasetPart::to_string).collect::<Vec<_>>(),
            "bytes": size,
            "seconds": seconds,
        }));
    }
    let contents = match made.snapshots {
        None => plural(made.events, "event"),
        Some(count) => {
            format!("{} in {}", plural(made.events, "edge"), plural(count, "snapshot"))
        }
    };
    let left_out = match made.dropped[..] {
        [] => String::new(),
        _ => format!("left out: {}\n", output::list(&made.dropped)),
    };
    Ok(format!(
        "wrote {} ({}, {}): {} vertices, {contents}, in {}\n{left_out}",
        out.display(),
        made.format,
        bytes(size),
        whole(made.vertices),
        elapsed(seconds),
    ))
}

/// What was written.
struct Made {
    format: Format,
    vertices: u64,
    events: u64,
    snapshots: Option<u64>,
    dropped: Vec<DatasetPart>,
}

/// Generates and writes; a store of events is written as it is made, so that it need not fit into
/// memory.
fn make(name: &str, out: &Path, args: &GenerateArgs) -> Result<Made, Failure> {
    let bars = Bars::new(Unit::Events, args.running.quiet);
    let format = match args.to {
        Some(format) => format,
        None => format_of_name(out)?,
    };
    if format == Format::Store
        && let Ok(events) = stream(name)
    {
        let (vertices, count) = (events.names.len() as u64, events.events);
        events.write_store(out, &bars)?;
        return Ok(Made { format, vertices, events: count, snapshots: None, dropped: Vec::new() });
    }
    let dataset = generate(name, &bars)?.dataset;
    bars.finish();
    // What the format cannot hold was never on file: it is left out and named.
    let written = output::write(dataset, out, Some(format), true, args.running.quiet)?;
    let dataset = written.dataset;
    let (events, snapshots) = match &dataset {
        Dataset::Events(store) => (store.len(), None),
        Dataset::Snapshots(data) => {
            (data.sequence.stored_edges(), Some(data.sequence.steps() as u64))
        }
    };
    let (vertices, events) = (dataset.vertices().into(), events as u64);
    Ok(Made { format, vertices, events, snapshots, dropped: written.dropped })
}

/// Joins name, parameters and seed to one `synthetic:` name; the library checks it.
fn full_name(name: &str, parameters: &[String], seed: Option<u64>) -> String {
    let mut full =
        if name.starts_with("synthetic:") { name.to_owned() } else { format!("synthetic:{name}") };
    let seed = seed.map(|seed| format!("seed={seed}"));
    for pair in parameters.iter().chain(&seed) {
        full.push(if full.contains('?') { '&' } else { '?' });
        full.push_str(pair);
    }
    full
}

fn list(name: Option<&str>, json: bool) -> Result<String, Failure> {
    let bare = name.map(|name| name.strip_prefix("synthetic:").unwrap_or(name));
    let chosen: Vec<&Generator> = catalogue()
        .iter()
        .filter(|generator| bare.is_none_or(|bare| generator.name == bare))
        .collect();
    if chosen.is_empty() {
        let known: Vec<&str> = catalogue().iter().map(|generator| generator.name).collect();
        return Err(Failure::usage(format!("no generator `{}`", bare.unwrap_or_default()))
            .hint(format!("there are {}", known.join(", "))));
    }
    if json {
        let generators: Vec<_> = chosen.into_iter().map(describe).collect();
        return document(&json!({ "schema": 1, "generators": generators }));
    }
    let style = Style::stdout();
    Ok(match bare {
        Some(_) => chosen.into_iter().map(|generator| page(generator, style)).collect(),
        None => overview(&chosen, style),
    })
}

fn overview(generators: &[&Generator], style: Style) -> String {
    let widest = generators.iter().map(|generator| generator.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for generator in generators {
        for (index, line) in wrap(generator.summary, WIDTH - widest - 4).iter().enumerate() {
            let name = if index == 0 { generator.name } else { "" };
            let blanks = " ".repeat(widest - name.len());
            text.push_str(&format!("  {}{blanks}  {line}\n", style.bold(name)));
        }
    }
    let advice = "zoetrope data generate --list NAME shows the parameters of one.";
    format!("{text}\n{}\n", style.dim(advice))
}

fn page(generator: &Generator, style: Style) -> String {
    let mut text = format!("{}\n", style.bold(generator.name));
    for line in wrap(generator.summary, WIDTH - 2) {
        text.push_str(&format!("  {line}\n"));
    }
    for paragraph in [generator.model, generator.source] {
        text.push('\n');
        for line in wrap(paragraph, WIDTH - 2) {
            text.push_str(&format!("  {}\n", style.dim(&line)));
        }
    }
    let mut table =
        Table::new(&[("parameter", Align::Left), ("accepts", Align::Left), ("", Align::Left)]);
    for parameter in generator.parameters {
        let pair = format!("{}={}", parameter.name, parameter.default);
        table.row([pair, range(parameter.range), parameter.meaning.to_owned()]);
    }
    text.push_str(&format!("\n{}", table.render(style)));
    text.push_str(&format!("\n  {} '{}'\n", style.dim("example:"), generator.example));
    text
}

fn describe(generator: &Generator) -> serde_json::Value {
    let parameters: Vec<_> = generator
        .parameters
        .iter()
        .map(|parameter| {
            json!({
                "name": parameter.name,
                "default": parameter.default,
                "accepts": parameter.range.to_string(),
                "meaning": parameter.meaning,
            })
        })
        .collect();
    json!({
        "name": generator.name,
        "summary": generator.summary,
        "model": generator.model,
        "source": generator.source,
        "example": generator.example,
        "parameters": parameters,
    })
}

/// A range in few letters.
fn range(range: Range) -> String {
    match range {
        Range::Integer { min, max: u64::MAX } => format!("{min}…"),
        Range::Integer { min, max } => format!("{}…{}", whole(min), whole(max)),
        Range::Real { min, max } => format!("{min}…{max}"),
        Range::Choice(words) => words.join("|"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_seed_join_the_name() {
        let pairs = ["a=1".to_owned()];
        assert_eq!(full_name("uniform", &pairs, Some(7)), "synthetic:uniform?a=1&seed=7");
        assert_eq!(full_name("synthetic:uniform?b=2", &pairs, None), "synthetic:uniform?b=2&a=1");
        assert_eq!(full_name("uniform", &[], None), "synthetic:uniform");
    }
}
