//! `zoetrope data negatives`: fixed negative samples for validation and test.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use zoetrope_data::Dataset;
use zoetrope_data::negatives::{NegativeList, NegativeOptions, Strategy};
use zoetrope_data::split::{Fractions, Split};

use super::{document, prepare};
use crate::args::{Destination, Running};
use crate::exit::Failure;
use crate::input::{self, may_write};
use crate::progress::{Bars, Unit};
use crate::reading::{Reading, data_name};
use crate::report::human::{bytes, plural, whole};
use crate::saved_model::add_warnings;

/// Flags of `data negatives`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zoetrope data negatives events.csv --out negatives.npz --k 20
  zoetrope data negatives events.csv --out hard.npz --strategy historical --seed 7

Strategies: random (any destination), all (any vertex), historical (edges of the
training part that have no event now), inductive (edges first seen later), mixed
(half historical, half random). The file is a NumPy archive without pickle.")]
pub(crate) struct NegativesArgs {
    /// File, folder, - for standard input, or synthetic:NAME?key=value&… with events
    #[arg(value_name = "PATH|synthetic:…", value_parser = data_name())]
    source: String,
    #[command(flatten)]
    destination: Destination,
    /// Where negatives come from
    #[arg(long, value_name = "NAME", default_value = "random", value_parser = strategy())]
    strategy: Strategy,
    /// Negatives for each event
    #[arg(long, value_name = "N", default_value_t = 1)]
    k: usize,
    /// The same seed draws the same negatives
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Share of the time before validation starts
    #[arg(long, value_name = "SHARE", default_value_t = 0.70)]
    train_end: f64,
    /// Share of the time before the test starts
    #[arg(long, value_name = "SHARE", default_value_t = 0.85)]
    validation_end: f64,
    /// Allow negatives that are edges of other events of the same time
    #[arg(long)]
    allow_positives: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    running: Running,
}

fn strategy() -> impl TypedValueParser<Value = Strategy> {
    PossibleValuesParser::new(Strategy::ALL.map(Strategy::name))
        .try_map(|name| name.parse::<Strategy>().map_err(|error| error.to_string()))
}

/// What was written.
pub(crate) fn run(args: &NegativesArgs) -> Result<String, Failure> {
    prepare(&args.running)?;
    let out = &args.destination.out;
    may_write(out, args.destination.force)?;
    let fractions = Fractions::new(args.train_end, args.validation_end)?;
    let opened = input::open(&args.source, &args.reading.options()?, args.running.quiet)?;
    let Dataset::Events(store) = &opened.loaded.dataset else {
        return Err(Failure::input(format!(
            "{}: has snapshots, negatives are drawn for events",
            args.source
        )));
    };
    let split = Split::by_time(store, fractions);
    let options = NegativeOptions {
        strategy: args.strategy,
        per_event: args.k,
        seed: args.seed,
        avoid_positives: !args.allow_positives,
    };
    let bars = Bars::new(Unit::Events, args.running.quiet);
    let list = NegativeList::make(store, &split, options, &bars)?;
    list.write(out, &bars)?;
    bars.finish();
    let size = std::fs::metadata(out).map_or(0, |metadata| metadata.len());
    if args.running.json {
        let mut written = json!({
            "schema": 1,
            "out": out.display().to_string(),
            "bytes": size,
            "list": list.metadata,
        });
        add_warnings(&mut written, &opened.loaded.notes.warnings);
        return document(&written);
    }
    let metadata = &list.metadata;
    let mut text = format!(
        "wrote {} ({}): {} for each of {} validation and {} test events ({})\n",
        out.display(),
        bytes(size),
        plural(metadata.per_event as u64, "negative"),
        whole(metadata.validation_events as u64),
        whole(metadata.test_events as u64),
        metadata.strategy,
    );
    if metadata.fallback > 0 {
        text.push_str(&format!(
            "note: {} are random destinations, because the pool was exhausted\n",
            whole(metadata.fallback)
        ));
    }
    if metadata.missing > 0 {
        text.push_str(&format!(
            "note: {} are missing (4294967295): there was no candidate left\n",
            whole(metadata.missing)
        ));
    }
    for warning in &opened.loaded.notes.warnings {
        text.push_str(&format!("note: {warning}\n"));
    }
    Ok(text)
}
