//! The graphs that are partitioned: a data set, cut into snapshots and smoothed.

use zoetrope_data::{Dataset, Quiet, ReadOptions, open};
use zoetrope_graph::smooth::{edge_life, m_product};
use zoetrope_graph::{DiscretiseOptions, SnapshotSequence, Windowing, Windows, discretise};

/// Snapshots of a data set: `windows` cuts events (`month`, `20 parts`), `smoothing` is `raw`,
/// `edge-life:N` or `m-product:N`.
///
/// # Panics
/// If any of that is wrong: this is a benchmark.
pub(crate) fn snapshots(data: &str, windows: &str, smoothing: &str) -> SnapshotSequence {
    let loaded =
        open(data, &ReadOptions::default(), &Quiet).unwrap_or_else(|error| panic!("{error}"));
    let sequence = match loaded.dataset {
        Dataset::Snapshots(data) => data.sequence,
        Dataset::Events(store) => {
            let windowing: Windowing = windows.parse().expect("windows");
            let windows = Windows::cut(&store, &windowing).expect("windows");
            discretise(&store, &windows, &DiscretiseOptions::default()).expect("snapshots")
        }
    };
    let length = |text: &str| text.parse().expect("a number of snapshots");
    match smoothing.split_once(':') {
        Some(("edge-life", life)) => edge_life(&sequence, length(life)).expect("edge-life"),
        Some(("m-product", window)) => m_product(&sequence, length(window)).expect("M-product"),
        _ => sequence,
    }
}
