//! Data that changed under a run, and that its user accepted.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::summary::DataSummary;

/// A run went on with other data than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataChange {
    /// Epochs that were finished on the data before.
    pub after_epochs: usize,
    /// What differs, a line each.
    pub differences: Vec<String>,
}

impl fmt::Display for DataChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let differences = self.differences.join(", ");
        write!(f, "the data changed after epoch {} ({differences})", self.after_epochs)
    }
}

/// What differs between two data sets; nothing if their contents are the same, wherever they lie.
pub fn differences(was: &DataSummary, now: &DataSummary) -> Vec<String> {
    if was.sha256 == now.sha256 {
        return Vec::new();
    }
    let mut lines = vec![format!("sha256 {}, was {}", now.sha256, was.sha256)];
    let counts = [
        ("vertices", was.vertices, now.vertices),
        ("events", was.events, now.events),
        ("snapshots", was.snapshots, now.snapshots),
        ("edges", was.edges, now.edges),
        ("features", was.features, now.features),
    ];
    let other = counts.iter().filter(|(_, was, now)| was != now);
    lines.extend(other.map(|(what, was, now)| format!("{now} {what}, were {was}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_decide_and_every_difference_is_listed() {
        let was = DataSummary { sha256: "a".into(), events: 7, vertices: 3, ..Default::default() };
        let moved = DataSummary { name: "elsewhere".into(), ..was.clone() };
        assert!(differences(&was, &moved).is_empty());
        let now = DataSummary { sha256: "b".into(), events: 8, ..was.clone() };
        assert_eq!(differences(&was, &now), ["sha256 b, was a", "8 events, were 7"]);
        let change = DataChange { after_epochs: 2, differences: differences(&was, &now) };
        assert_eq!(
            change.to_string(),
            "the data changed after epoch 2 (sha256 b, was a, 8 events, were 7)"
        );
    }
}
