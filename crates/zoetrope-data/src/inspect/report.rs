//! The report as a value; its serialised form is the contract of `data inspect --json`.

use serde::Serialize;

use super::labels::Labels;
use super::numbers::{FeatureSummary, NumberSummary};
use super::timeline::TimeReport;
use crate::roles::ColumnNote;

/// Everything that inspection finds out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The name of the format read.
    pub format: &'static str,
    /// Why that format was chosen.
    pub reason: String,
    /// The columns of a table, what they were taken for and why.
    pub columns: Vec<ColumnNote>,
    /// The number of vertices.
    pub vertices: u32,
    /// Events; edges over all snapshots; or the edges of the one topology that holds for all.
    pub events: u64,
    /// The number of snapshots; absent for a stream of events.
    pub snapshots: Option<u64>,
    /// What kind of dynamic graph it is.
    pub topology: Topology,
    /// When.
    pub time: TimeReport,
    /// How many features there are.
    pub features: Widths,
    /// Labels of events, vertices and steps.
    pub labels: Option<Labels>,
    /// The weights of events or edges.
    pub weight: Option<NumberSummary>,
    /// The features of events.
    pub edge_features: Option<FeatureSummary>,
    /// The features of vertices.
    pub node_features: Option<FeatureSummary>,
    /// A measured series that features and targets are cut from.
    pub signal: Option<SignalSummary>,
    /// How many events remove their edge, if events have a kind.
    pub removals: Option<u64>,
    /// Pairs, repeats, self-loops, density.
    #[serde(flatten)]
    pub counts: Counts,
    /// The two sides, if no vertex is both a source and a destination.
    pub bipartite: Option<Bipartite>,
    /// How many others a vertex meets.
    pub degrees: Degrees,
    /// Bad rows that lenient reading skipped.
    pub skipped_rows: u64,
    /// Missing values that the reader met.
    pub missing_values: u64,
    /// What a user should know.
    pub warnings: Vec<String>,
}

/// What kind of dynamic graph it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Topology {
    /// A stream of events.
    Events,
    /// Snapshots of one topology.
    Static,
    /// Snapshots whose edges change.
    Changing,
}

/// Features per vertex and per event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Widths {
    /// Features per vertex (channels, if the data is a measured series).
    pub node: usize,
    /// Features per event.
    pub edge: usize,
}

/// What the edges add up to. A pair is an ordered (source, destination).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Counts {
    /// Distinct pairs.
    pub pairs: u64,
    /// Vertices that occur in an event.
    pub active_vertices: u64,
    /// Events from a vertex to itself.
    pub self_loops: u64,
    /// Events whose pair was seen before, as a share of all.
    pub repeats: f64,
    /// Distinct pairs whose reverse occurs too, as a share; self-loops not counted.
    pub reciprocity: f64,
    /// Distinct pairs without self-loops, as a share of those possible, over the whole time.
    pub density: f64,
    /// Edges of an average snapshot as a share of the possible pairs; equals the edges of the
    /// whole stream over the possible pairs if there are no snapshots.
    pub mean_density: f64,
}

/// The two sides of a bipartite graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bipartite {
    /// Vertices that are only ever sources.
    pub sources: u64,
    /// Vertices that are only ever destinations.
    pub destinations: u64,
}

/// How many others a vertex meets over the whole time: distinct pairs in plus out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Degrees {
    /// The least.
    pub min: u64,
    /// Half of the vertices have at most this many.
    pub median: u64,
    /// The average.
    pub mean: f64,
    /// The most.
    pub max: u64,
    /// The average number of events that touch a vertex.
    pub events_mean: f64,
    /// Half of the vertices are touched by at most this many events.
    pub events_median: u64,
    /// The most events that touch one vertex.
    pub events_max: u64,
    /// Vertices by degree, in bins that double: 0, 1, 2–3, 4–7, …
    pub histogram: Vec<DegreeBin>,
}

/// How many vertices have a degree in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DegreeBin {
    /// The least degree of the bin.
    pub from: u64,
    /// The greatest degree of the bin.
    pub to: u64,
    /// How many vertices.
    pub vertices: u64,
}

/// A measured series and how the reference loader cuts features from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SignalSummary {
    /// Its values, by channel.
    #[serde(flatten)]
    pub values: FeatureSummary,
    /// Lags that the reference loader takes as features.
    pub lags: usize,
    /// How the reference loader scales the series: not at all, each vertex, or overall.
    pub standardise: &'static str,
}
