//! `zoetrope data generate`: a synthetic data set on file, and the catalogue of generators.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use zoetrope_data::synthetic::{Generator, Range, catalogue, generate};
use zoetrope_data::{Dataset, Format, save};

use super::{document, prepare};
use crate::args::{Running, parse_format};
use crate::exit::Failure;
use crate::input::may_write;
use crate::progress::{Bars, Unit};
use crate::report::human::{bytes, elapsed, plural, whole};
use crate::report::table::{Align, Table};
use crate::terminal::{Style, WIDTH, wrap};

/// Flags of `data generate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zoetrope data generate --list
  zoetrope data generate power-law vertices=10k steps=50 --out graph.npz
  zoetrope data generate 'synthetic:uniform?vertices=1000' --seed 7 --out graph.npz")]
pub(crate) struct GenerateArgs {
    /// Name of a generator, or a whole synthetic:NAME?key=value&…
    #[arg(value_name = "NAME|synthetic:…", required_unless_present = "list")]
    name: Option<String>,
    /// Parameters of the generator
    #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
    parameters: Vec<String>,
    /// Print the generators and their parameters
    #[arg(long, conflicts_with_all = ["name", "parameters", "out", "to", "seed", "force"])]
    list: bool,
    /// File to write
    #[arg(long, value_name = "PATH", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// Format of the file; from its name where absent
    #[arg(long, value_name = "FORMAT", value_parser = parse_format())]
    to: Option<Format>,
    /// Seed; the same as the parameter seed=N
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Replace the file where it exists
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
        return list(args.running.json);
    };
    may_write(out, args.force)?;
    let name = full_name(name, &args.parameters, args.seed);
    let bars = Bars::new(Unit::Events, args.running.quiet);
    let start = Instant::now();
    let loaded = generate(&name, &bars)?;
    let made = start.elapsed().as_secs_f64();
    let format = save(out, args.to, &loaded.dataset, &bars)?;
    bars.finish();
    let seconds = start.elapsed().as_secs_f64();
    let size = std::fs::metadata(out).map_or(0, |metadata| metadata.len());
    let (kind, edges, snapshots) = match &loaded.dataset {
        Dataset::Events(store) => ("event", store.len() as u64, None),
        Dataset::Snapshots(data) => {
            ("edge", data.sequence.stored_edges() as u64, Some(data.sequence.steps() as u64))
        }
    };
    if args.running.json {
        return document(&json!({
            "schema": 1,
            "name": name,
            "out": out.display().to_string(),
            "format": format.name(),
            "vertices": loaded.dataset.vertices(),
            "events": edges,
            "snapshots": snapshots,
            "bytes": size,
            "seconds": { "generate": made, "write": seconds - made },
        }));
    }
    let in_snapshots = snapshots.map(|count| format!(" in {}", plural(count, "snapshot")));
    Ok(format!(
        "wrote {} ({format}, {}): {} vertices, {}{}, in {}\n",
        out.display(),
        bytes(size),
        whole(loaded.dataset.vertices().into()),
        plural(edges, kind),
        in_snapshots.unwrap_or_default(),
        elapsed(seconds),
    ))
}

/// Joins name, parameters and seed to one `synthetic:` name; the library checks it.
fn full_name(name: &str, parameters: &[String], seed: Option<u64>) -> String {
    let mut full = match name.starts_with("synthetic:") {
        true => name.to_owned(),
        false => format!("synthetic:{name}"),
    };
    let seed = seed.map(|seed| format!("seed={seed}"));
    for pair in parameters.iter().chain(&seed) {
        full.push(if full.contains('?') { '&' } else { '?' });
        full.push_str(pair);
    }
    full
}

fn list(json: bool) -> Result<String, Failure> {
    if json {
        let generators: Vec<_> = catalogue().iter().map(describe).collect();
        return document(&json!({ "schema": 1, "generators": generators }));
    }
    let style = Style::stdout();
    let mut text = String::new();
    for (index, generator) in catalogue().iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text.push_str(&format!("{}  {}\n", style.bold(generator.name), generator.summary));
        for line in wrap(&format!("{} ({})", generator.model, generator.source), WIDTH - 2) {
            text.push_str(&format!("  {}\n", style.dim(&line)));
        }
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Left)]);
        for parameter in generator.parameters {
            let pair = format!("{}={}", parameter.name, parameter.default);
            table.row([pair, style.dim(&range(parameter.range)), parameter.meaning.to_owned()]);
        }
        text.push_str(&table.render(style));
        text.push_str(&format!("  {} '{}'\n", style.dim("example:"), generator.example));
    }
    Ok(text)
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
