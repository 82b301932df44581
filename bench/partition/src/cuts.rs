//! Both partitions of one graph, and the hypergraphs for others to partition.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use zoetrope_plan::partition::{Hypergraph, Options, nets, partition};

use crate::clock::cpu_seconds;
use crate::graphs::snapshots;

/// One partition; `compare.py` knows the same fields.
#[derive(Debug, Serialize)]
struct Line {
    objective: &'static str,
    parts: u32,
    /// Of the processor.
    seconds: f64,
    /// The weight of cut edges of the union.
    cut: i64,
    /// Rows between parts over all snapshots.
    volume: i64,
    imbalance: f64,
}

pub(crate) fn run(data: &str, windows: &str, smoothing: &str, folder: &Path, parts: &[u32]) {
    let sequence = snapshots(data, windows, smoothing);
    let begin = cpu_seconds();
    let edges = nets::of_edges(&sequence, 0..sequence.steps()).expect("snapshots");
    let edges_seconds = cpu_seconds() - begin;
    let rows = nets::of_rows(&sequence, 0..sequence.steps(), nets::MAX_PINS).expect("snapshots");
    let rows_seconds = cpu_seconds() - begin - edges_seconds;
    let about = serde_json::json!({
        "vertices": sequence.vertices(), "steps": sequence.steps(), "snapshot_edges": sequence.stored_edges(),
        "edges": edges.nets(), "nets": rows.nets(), "pins": rows.pins(),
        "edges_seconds": edges_seconds, "nets_seconds": rows_seconds,
    });
    println!("{about}");
    write(&edges, &folder.join("edges"));
    write(&rows, &folder.join("rows"));
    for &parts in parts {
        for (objective, graph) in [("edge-cut", &edges), ("connectivity", &rows)] {
            let begin = cpu_seconds();
            let found = partition(graph, &Options::new(parts));
            let seconds = cpu_seconds() - begin;
            let (cut, volume) = (edges.cost(&found.of), rows.cost(&found.of));
            let imbalance = found.imbalance(found.of.iter().map(|_| 1));
            let line = Line { objective, parts, seconds, cut, volume, imbalance };
            println!("{}", serde_json::to_string(&line).expect("numbers"));
        }
    }
}

/// Offsets, pins (both 64 bits) and weights of the nets, little-endian, a file each.
fn write(graph: &Hypergraph, stem: &Path) {
    let file = |kind: &str, values: &mut dyn Iterator<Item = i64>| {
        let path = stem.with_extension(kind);
        let file = std::fs::File::create(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut file = std::io::BufWriter::new(file);
        values.for_each(|value| file.write_all(&value.to_le_bytes()).expect("space on the disk"));
    };
    let nets = 0..graph.nets() as u32;
    let mut end = 0;
    let ends = nets.clone().map(|net| {
        end += graph.pins_of(net).len() as i64;
        end
    });
    file("offsets", &mut std::iter::once(0).chain(ends));
    file("pins", &mut nets.clone().flat_map(|net| graph.pins_of(net)).map(|&pin| i64::from(pin)));
    file("weights", &mut nets.map(|net| graph.net_weight(net)));
}
