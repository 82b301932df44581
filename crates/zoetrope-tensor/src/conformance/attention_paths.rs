//! Shapes of attention that a GPU's kernels take in different ways: rooms that fit into shared
//! memory and rooms that do not, rows that are cut, more heads than a warp has lanes.

use std::sync::Arc;

use crate::{AttentionOptions, Dropout, DropoutKey, GatOptions, SparseGroup, SparseMatrix};

use super::attention::{layer, parameters};
use super::graphs::csr;
use super::neighbours::{Layout, attention, inputs};
use super::{Case, Kind, List, mask, numbers, plain};

/// The cases.
pub(super) fn attention_paths() -> Vec<Case> {
    let mut list = List::default();
    over_time(&mut list);
    over_edges(&mut list);
    over_neighbours(&mut list);
    list.0
}

fn dropout() -> Option<Dropout> {
    Some(Dropout { p: 0.3, key: DropoutKey { seed: 9, stream: 3, step: 2 } })
}

fn over_time(list: &mut List) {
    // Steps, vertices, heads, width of a head: several vertices a tile and some left over; some of
    // the heads a tile; more shared memory than any GPU has unasked; more than any has.
    let shapes = [(7, 70, 5, 3), (20, 2, 9, 20), (64, 2, 1, 128), (300, 1, 1, 4)];
    for (steps, n, heads, width) in shapes {
        for (options, causal) in [("all", false), ("causal", true)] {
            let dropout = if causal { dropout() } else { None };
            let mut inputs = vec![plain(steps * n, heads * width); 3];
            inputs.push(mask(steps * n, 1));
            let settings =
                AttentionOptions { steps, heads, causal, scale: 0.4, dropout, numbers: None };
            let name = format!("temporal_attention/path/{options}/{steps}x{n}x{heads}x{width}");
            list.add(name, &inputs, move |t, v| {
                t.temporal_attention([v[0], v[1], v[2]], Some(v[3]), settings)
            });
        }
    }
    // More columns than a block has threads.
    let mut inputs = layer(2, 5, 260);
    inputs.push(mask(10, 1));
    let settings = AttentionOptions {
        steps: 2,
        heads: 4,
        causal: true,
        scale: 0.004,
        dropout: dropout(),
        numbers: None,
    };
    list.add("temporal_layer/path/2x5x260", &inputs, move |t, v| {
        let parameters = parameters(t, v);
        t.temporal_layer(v[0], parameters, v.get(7).copied(), settings)
    });
}

/// Snapshots in which one vertex has almost all others as sources, and another almost all as
/// destinations.
fn hubs(steps: usize, vertices: u32) -> SparseGroup {
    let member = |step: usize| {
        let step = step as u32;
        let into = (1..vertices).map(|at| (step % vertices, at));
        let from = (0..vertices - 2).map(|at| (at, (step + 2) % vertices));
        let mut pairs: Vec<(u32, u32)> = into.chain(from).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let values = numbers(&format!("hubs/{step}"), Kind::Plain, pairs.len());
        Arc::new(SparseMatrix::for_attention(csr(vertices, &pairs, values)))
    };
    SparseGroup::new((0..steps).map(member).collect())
}

fn over_edges(list: &mut List) {
    // Snapshots, vertices, heads, width of a head: rows in segments; more columns than a warp adds at
    // once, and twice that; more heads than lanes; more snapshots than a launch takes.
    let shapes = [
        (2, 700, 2, 5),
        (1, 300, 16, 8),
        (1, 40, 1, 64),
        (2, 30, 3, 50),
        (1, 280, 40, 1),
        (40, 4, 2, 3),
    ];
    for (steps, vertices, heads, width) in shapes {
        let group = hubs(steps, vertices);
        let rows = steps * vertices as usize;
        let inputs = [plain(rows, heads * width), plain(rows, heads), plain(rows, heads)];
        let settings = GatOptions { heads, slope: 0.2, weighted: true, dropout: dropout() };
        let name = format!("gat/path/{steps}x{vertices}x{heads}x{width}");
        list.add(name, &inputs, move |t, v| t.gat(&group, v[0], v[1], v[2], settings));
    }
}

fn over_neighbours(list: &mut List) {
    // Few rows that many slots read, wider than a warp adds at once.
    let offsets = [0, 9, 40, 40, 90];
    let source: Vec<u32> = (0..90).map(|slot| slot % 3 / 2).collect();
    let event: Vec<u32> = (0..90).map(|slot| slot % 7).collect();
    let read_often = Layout::new(&offsets, &[0, 1, 1, 2], &source, &event, [3, 2, 7]);
    // Rows that are wider than shared memory; whole groups of four values are copied at once.
    let shapes = [
        ("often", read_often, 2, [132, 8, 12]),
        ("wide", Layout::named("shared"), 2, [3000, 3000, 1000]),
    ];
    for (name, layout, heads, widths) in shapes {
        let inputs = inputs(&layout, heads, widths);
        list.add(format!("neighbour_attention/path/{name}"), &inputs, move |t, v| {
            attention(t, v, &layout, heads, widths, Some(0.2), dropout())
        });
    }
}
