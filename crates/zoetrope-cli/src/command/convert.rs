//! `zoetrope data convert`: a data set in another format, or events cut into snapshots.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::json;
use zoetrope_data::parts::DatasetPart;
use zoetrope_data::{Dataset, Format, SnapshotDataset};
use zoetrope_graph::degree::{Degree, degree_features};
use zoetrope_graph::{
    DiscretiseOptions, EventStore, Lifetime, Merge, Targets, VertexFeatures, Windowing, Windows,
    discretise,
};

use super::inspect::parse_window;
use super::{document, prepare};
use crate::args::Running;
use crate::exit::Failure;
use crate::input::{self, may_write};
use crate::output;
use crate::reading::{Reading, data_name, parse_format};
use crate::report::human::{bytes, elapsed, plural, whole};

/// Flags of `data convert`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zoetrope data convert events.csv.gz events.zoe            opens at once from then on
  zoetrope data convert events.csv events.parquet
  zoetrope data convert events.csv days.npz --window 1d     one snapshot a day
  zoetrope data convert trades.csv months.npz --window month --features degree --drop
  zoetrope data convert england_covid.json graph.npz --lags 8    features and targets

The format comes from the name: .zoe store, .parquet, .npz snapshots, .json
PyG-Temporal, .csv .tsv .txt edge list; .gz, .zst or .xz after it compresses.")]
pub(crate) struct ConvertArgs {
    /// File, folder, - for standard input, or synthetic:NAME?key=value&…
    #[arg(value_name = "IN", value_parser = data_name())]
    source: String,
    /// File or folder to write
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Format to write; from the name of OUT if not given
    #[arg(long, value_name = "FORMAT", value_parser = parse_format())]
    to: Option<Format>,
    /// Cut events into snapshots: 1d, 6h, month, '1000 events', …
    #[arg(long, value_name = "WINDOW", value_parser = parse_window)]
    window: Option<Windowing>,
    /// How several events of one pair in one snapshot are combined
    #[arg(long, value_enum, requires = "window", default_value_t = MergeRule::Sum)]
    merge: MergeRule,
    /// Features of vertices in each snapshot
    #[arg(long, value_enum, requires = "window", default_value_t = FeatureRule::None)]
    features: FeatureRule,
    /// Keep an edge in all later snapshots until an event removes it
    #[arg(long, requires = "window")]
    until_removed: bool,
    /// Make an edge in each direction of every event
    #[arg(long, requires = "window")]
    undirected: bool,
    /// Turn a measured series into targets and features, the features being the last N values; scaled
    /// over all steps, as PyG-Temporal's loaders do
    #[arg(long, value_name = "N", conflicts_with = "window")]
    lags: Option<usize>,
    /// Leave out what the format cannot hold, instead of refusing
    #[arg(long)]
    drop: bool,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    running: Running,
}

/// How several events of one pair in one snapshot are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MergeRule {
    /// One edge, weights added
    Sum,
    /// One edge, weights averaged
    Mean,
    /// One edge, the latest weight
    Last,
    /// One edge, weight is the number of events
    Count,
    /// Parallel edges
    None,
}

/// Features of vertices in each snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FeatureRule {
    /// Those of the input, if it has any
    None,
    /// In-degree and out-degree
    Degree,
}

impl From<MergeRule> for Merge {
    fn from(rule: MergeRule) -> Self {
        match rule {
            MergeRule::Sum => Self::Sum,
            MergeRule::Mean => Self::Mean,
            MergeRule::Last => Self::Last,
            MergeRule::Count => Self::Count,
            MergeRule::None => Self::Keep,
        }
    }
}

/// What was written.
pub(crate) fn run(args: &ConvertArgs) -> Result<String, Failure> {
    prepare(&args.running)?;
    not_the_same(&zoetrope_data::given::path_of(&args.source), &args.out)?;
    may_write(&args.out, args.force)?;
    let start = Instant::now();
    let opened = input::open(&args.source, &args.reading.options()?, args.running.quiet)?;
    let mut dropped = Vec::new();
    let dataset = match (&args.window, args.lags) {
        (None, None) => opened.loaded.dataset,
        (None, Some(lags)) => lagged(opened.loaded.dataset, lags, args)?,
        (Some(window), _) => cut(opened.loaded.dataset, window, args, &mut dropped)?,
    };
    let written = output::write(dataset, &args.out, args.to, args.drop, args.running.quiet)?;
    let (dataset, format) = (written.dataset, written.format);
    dropped.extend(written.dropped);
    let seconds = start.elapsed().as_secs_f64();
    let size = size_of(&args.out);
    let (kind, edges, snapshots) = match &dataset {
        Dataset::Events(store) => ("event", store.len() as u64, None),
        Dataset::Snapshots(data) => {
            ("edge", data.sequence.stored_edges() as u64, Some(data.sequence.steps() as u64))
        }
    };
    if args.running.json {
        let dropped: Vec<String> = dropped.iter().map(DatasetPart::to_string).collect();
        return document(&json!({
            "schema": 1,
            "in": args.source,
            "out": args.out.display().to_string(),
            "from": opened.loaded.notes.format.name(),
            "format": format.name(),
            "vertices": dataset.vertices(),
            "events": edges,
            "snapshots": snapshots,
            "dropped": dropped,
            "warnings": opened.loaded.notes.warnings,
            "bytes": size,
            "seconds": seconds,
        }));
    }
    let mut text = format!(
        "wrote {} ({format}, {}): {} vertices, {}{}, in {}\n",
        args.out.display(),
        bytes(size),
        whole(dataset.vertices().into()),
        plural(edges, kind),
        snapshots.map(|count| format!(" in {}", plural(count, "snapshot"))).unwrap_or_default(),
        elapsed(seconds),
    );
    if !dropped.is_empty() {
        text.push_str(&format!("left out: {}\n", output::list(&dropped)));
    }
    for warning in &opened.loaded.notes.warnings {
        text.push_str(&format!("note: {warning}\n"));
    }
    Ok(text)
}

/// Reading and writing the same file at once would destroy it.
fn not_the_same(source: &Path, out: &Path) -> Result<(), Failure> {
    match (source.canonicalize(), out.canonicalize()) {
        (Ok(source), Ok(out)) if source == out => {
            Err(Failure::usage(format!("{}: input and output are the same file", out.display()))
                .hint("write to another name, then replace the input yourself"))
        }
        _ => Ok(()),
    }
}

fn size_of(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok()?.metadata().ok())
            .map(|metadata| metadata.len())
            .sum(),
        Err(_) => std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
    }
}

/// What training sees of a measured series: features and targets, one sample a step.
fn lagged(dataset: Dataset, lags: usize, args: &ConvertArgs) -> Result<Dataset, Failure> {
    match dataset {
        Dataset::Snapshots(data) => Ok(Dataset::Snapshots(data.with_lags(Some(lags))?)),
        Dataset::Events(_) => Err(Failure::usage(format!(
            "{}: has events and no series to take lags of",
            args.source
        ))),
    }
}

/// Cuts events into snapshots. What snapshots cannot hold is left out only if the user said
/// so.
fn cut(
    dataset: Dataset,
    window: &Windowing,
    args: &ConvertArgs,
    dropped: &mut Vec<DatasetPart>,
) -> Result<Dataset, Failure> {
    let Dataset::Events(store) = &dataset else {
        return Err(Failure::usage(format!(
            "{}: has snapshots already, --window cuts events",
            args.source
        )));
    };
    let mut lost = vec![DatasetPart::Labels, DatasetPart::EventFeatures];
    if args.features == FeatureRule::Degree {
        lost.push(DatasetPart::VertexFeatures);
    }
    lost.retain(|part| part.is_in(&dataset));
    if !lost.is_empty() && !args.drop {
        return Err(Failure::usage(format!("snapshots cannot hold {}", output::list(&lost)))
            .hint("--drop leaves them out"));
    }
    dropped.extend(lost);
    let options = DiscretiseOptions {
        merge: args.merge.into(),
        lifetime: if args.until_removed { Lifetime::UntilRemoved } else { Lifetime::Window },
        undirected: args.undirected,
        ..DiscretiseOptions::default()
    };
    let windows = Windows::cut(store, window)?;
    let sequence = discretise(store, &windows, &options)?;
    let features = match args.features {
        FeatureRule::Degree => Some(degree_features(&sequence, Degree::Edges)?),
        FeatureRule::None => given_features(store)?,
    };
    let targets = vertex_targets(store)?;
    let names = store.names().clone();
    Ok(Dataset::Snapshots(SnapshotDataset { sequence, names, features, targets, signal: None }))
}

fn given_features(store: &EventStore) -> Result<Option<VertexFeatures>, Failure> {
    let Some((width, values)) = &store.vertex_features else { return Ok(None) };
    let features = VertexFeatures::new(1, store.vertices() as usize, *width, values.to_vec())?;
    Ok(Some(features))
}

fn vertex_targets(store: &EventStore) -> Result<Option<Targets>, Failure> {
    let Some(values) = &store.vertex_labels else { return Ok(None) };
    let classes = store.vertex_label_names.len() as u32;
    let classes = (classes > 0).then_some(classes);
    Ok(Some(Targets::new(1, store.vertices() as usize, classes, values.to_vec())?))
}
