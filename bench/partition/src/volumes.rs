//! Volumes by model, strategy and ranks: the shape of Table 2 of ESDG.
//!
//! As there: TM-GCN on the graph smoothed by the M-product, CD-GCN on the graph as it is, EvolveGCN with
//! edge-life; layers six wide, two of them, in- and outdegree as features, the first aggregation kept.
//! CD-GCN's structure encoder hands on its input beside its output. Volumes are numbers that move in one
//! step, forward and backward, without gradients of weights. Rows of the last layer stay where they
//! are under either strategy: who asks for them is the task's affair.

use serde::Serialize;
use zoetrope_graph::{GraphError, SnapshotSequence};
use zoetrope_plan::partition::{Hypergraph, Options, nets, partition, visit_renamed};
use zoetrope_plan::placement::grid::{Grid, blocks};
use zoetrope_plan::{Partition, volume};

use crate::clock::cpu_seconds;
use crate::graphs::snapshots;

/// Numbers of one row of features between layers.
const HIDDEN: u64 = 6;
/// Numbers of a vertex's features.
const FEATURES: u64 = 2;
/// Forward and backward.
const PASSES: u64 = 2;

/// A model: how its graph is smoothed, and what its two layers exchange.
struct Model {
    name: &'static str,
    smoothing: Option<&'static str>,
    /// Numbers of a row on its way to the first time encoder, back, and to the second; 0 if
    /// those work on weights.
    exchanged: u64,
}

const MODELS: [Model; 3] = [
    Model { name: "tm-gcn", smoothing: Some("m-product"), exchanged: 3 * HIDDEN },
    Model {
        name: "cd-gcn",
        smoothing: None,
        exchanged: (FEATURES + HIDDEN) + HIDDEN + (HIDDEN + HIDDEN),
    },
    Model { name: "evolvegcn-o", smoothing: Some("edge-life"), exchanged: 0 },
];

/// One line of the table; `table2.py` knows the same fields.
#[derive(Debug, Serialize)]
struct Line {
    model: &'static str,
    ranks: u32,
    steps: usize,
    vertices: u32,
    edges: usize,
    snapshot_units: u64,
    hyper_units: u64,
    snapshot: u64,
    hyper: u64,
    imbalance: f64,
    /// Of the processor, for the partition.
    seconds: f64,
}

pub(crate) fn run(data: &str, windows: &str, life: usize, ranks: &[u32]) {
    let mut known: Vec<Parted> = Vec::new();
    for model in &MODELS {
        let smoothing = model.smoothing.map_or("raw".to_owned(), |kind| format!("{kind}:{life}"));
        let graph = snapshots(data, windows, &smoothing);
        let rows = nets::of_rows(&graph, 0..graph.steps(), nets::MAX_PINS);
        let rows = rows.expect("snapshots");
        // The M-product and edge-life have the same edges with other weights.
        let at = known.iter().position(|parted| parted.rows == rows).unwrap_or_else(|| {
            known.push(Parted::new(rows, ranks));
            known.len() - 1
        });
        for (found, seconds) in &known[at].found {
            let ranks = found.parts;
            let (snapshot_units, hyper_units) =
                (redistributed(&graph, ranks), gathered(&graph, found));
            let line = Line {
                model: model.name,
                ranks,
                steps: graph.steps(),
                vertices: graph.vertices(),
                edges: graph.stored_edges(),
                snapshot_units,
                hyper_units,
                snapshot: snapshot_units * model.exchanged * PASSES,
                // The first layer's rows are gathered once, before training.
                hyper: hyper_units * HIDDEN * PASSES,
                imbalance: found.imbalance(found.of.iter().map(|_| 1)),
                seconds: *seconds,
            };
            println!("{}", serde_json::to_string(&line).expect("numbers"));
        }
    }
}

/// A graph's nets with their partitions by ranks and what each took.
struct Parted {
    rows: Hypergraph,
    found: Vec<(Partition, f64)>,
}

impl Parted {
    fn new(rows: Hypergraph, ranks: &[u32]) -> Self {
        let timed = |&ranks: &u32| {
            let begin = cpu_seconds();
            let found = partition(&rows, &Options::new(ranks));
            (found, cpu_seconds() - begin)
        };
        let found = ranks.iter().map(timed).collect();
        Self { rows, found }
    }
}

/// Units of one redistribution under snapshot partitioning.
fn redistributed(graph: &SnapshotSequence, ranks: u32) -> u64 {
    let (vertices, steps) = (graph.vertices(), graph.steps());
    let placed = Grid::by_snapshot(ranks).placements(&[0, vertices], &blocks(steps, 1), true);
    volume::redistribution(&placed.structure, &placed.time, vertices, 0..steps, ranks).total()
}

/// Units that a structure layer gathers under a partition of the vertices.
fn gathered(graph: &SnapshotSequence, partition: &Partition) -> u64 {
    let renaming = partition.renaming();
    let (vertices, steps) = (graph.vertices(), graph.steps());
    let grid = Grid::by_vertex(partition.parts);
    let placed = grid.placements(renaming.starts(), &blocks(steps, 1), true);
    let mut total = 0;
    visit_renamed(graph, Some(&renaming), 0..steps, |_, view| {
        total += volume::halo(&placed.structure, vertices, 0..1, partition.parts, |_| view).total();
        Ok::<_, GraphError>(())
    })
    .expect("a partition of this graph");
    total
}
