//! What a data set looks like: counts, time range, degrees, repeats, values, warnings.
//!
//! Pure computation on a [`Dataset`] and the [`Notes`] of its reader; the result is a value that
//! serialises, nothing is printed here. All reductions have a fixed order, so a report does not
//! depend on the number of threads.

mod labels;
mod numbers;
mod report;
mod structure;
mod timeline;
mod warnings;
mod windows;

pub use labels::{ClassCount, LabelSummary, Labels};
pub use numbers::{FeatureSummary, NumberSummary};
pub use report::{Bipartite, Counts, DegreeBin, Degrees, Report, SignalSummary, Topology, Widths};
pub use timeline::{Gap, TimeReport};
pub use windows::{SnapshotRow, WindowReport, describe_snapshots, describe_windows};

use zoetrope_graph::{EventKind, EventStore};

use crate::dataset::{Dataset, Notes, SnapshotDataset, Standardise};

/// Describes a data set.
///
/// Linear in the number of events but for sorting the neighbours of each vertex; needs four
/// bytes an event beside the data.
pub fn inspect(dataset: &Dataset, notes: &Notes) -> Report {
    let mut report = match dataset {
        Dataset::Events(store) => of_events(store, notes),
        Dataset::Snapshots(data) => of_snapshots(data, notes),
    };
    report.warnings = warnings::collect(&report, notes);
    report
}

fn of_events(store: &EventStore, notes: &Notes) -> Report {
    let structure = structure::Structure::of(store.vertices(), store.src(), store.dst());
    let names = |index: usize| {
        if index < store.feature_names.len() {
            Some(String::from_utf8_lossy(store.feature_names.get(index)).into_owned())
        } else {
            None
        }
    };
    let edge_features = store
        .features()
        .map(|values| numbers::summarise_rows(values, store.feature_width(), names));
    let node_features = store
        .vertex_features
        .as_ref()
        .map(|(width, values)| numbers::summarise_rows(values, *width, |_| None));
    let removals = store
        .kind()
        .map(|kinds| kinds.iter().filter(|&&kind| kind == EventKind::Remove as u8).count() as u64);
    Report {
        format: notes.format.name(),
        reason: notes.reason.clone(),
        columns: notes.columns.clone(),
        vertices: store.vertices(),
        events: store.len() as u64,
        snapshots: None,
        topology: Topology::Events,
        time: timeline::of_events(store, notes.sorted),
        features: Widths {
            node: node_features.as_ref().map_or(0, |features| features.width),
            edge: store.feature_width(),
        },
        labels: Labels::of_events(store),
        weight: store.weight().map(numbers::summarise),
        edge_features,
        node_features,
        signal: None,
        removals,
        counts: structure.counts(store.vertices(), store.len() as u64, 1),
        bipartite: structure.bipartite(),
        degrees: structure.degrees(),
        skipped_rows: notes.skipped_rows,
        missing_values: notes.missing_values,
        warnings: Vec::new(),
    }
}

fn of_snapshots(data: &SnapshotDataset, notes: &Notes) -> Report {
    let sequence = &data.sequence;
    let structure = structure::Structure::of(sequence.vertices(), sequence.src(), sequence.dst());
    let node_features = data
        .features
        .as_ref()
        .map(|features| numbers::summarise_rows(features.values(), features.width(), |_| None));
    let signal = data.signal.as_ref().map(|signal| SignalSummary {
        values: numbers::summarise_rows(signal.values.values(), signal.values.width(), |_| None),
        lags: signal.lags,
        standardise: match signal.standardise {
            Standardise::No => "no",
            Standardise::ByVertex { .. } => "by vertex",
            Standardise::Overall => "overall",
        },
    });
    let width = |summary: &FeatureSummary| summary.width;
    let topology = if sequence.is_constant() { Topology::Static } else { Topology::Changing };
    let stored = sequence.ranges().len() as u64;
    Report {
        format: notes.format.name(),
        reason: notes.reason.clone(),
        columns: notes.columns.clone(),
        vertices: sequence.vertices(),
        events: sequence.stored_edges() as u64,
        snapshots: Some(sequence.steps() as u64),
        topology,
        time: timeline::of_snapshots(sequence, notes.sorted),
        features: Widths {
            node: node_features
                .as_ref()
                .map(width)
                .or(signal.as_ref().map(|signal| signal.values.width))
                .unwrap_or(0),
            edge: 0,
        },
        labels: Labels::of_targets(data.targets.as_ref()),
        weight: sequence.weight().map(numbers::summarise),
        edge_features: None,
        node_features,
        signal,
        removals: None,
        counts: structure.counts(sequence.vertices(), sequence.stored_edges() as u64, stored),
        bipartite: structure.bipartite(),
        degrees: structure.degrees(),
        skipped_rows: notes.skipped_rows,
        missing_values: notes.missing_values,
        warnings: Vec::new(),
    }
}
