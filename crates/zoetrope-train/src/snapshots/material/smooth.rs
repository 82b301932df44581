//! Snapshots that are smoothed over time.

use std::sync::Arc;

use zoetrope_config::DataConfig;
use zoetrope_graph::smooth::Smoothing;
use zoetrope_graph::{GraphError, SnapshotSequence};

/// How snapshots are smoothed, if they are.
pub(super) fn smoothing(config: &DataConfig) -> Option<Smoothing> {
    match (config.edge_life, config.m_product) {
        (Some(life), _) => Some(Smoothing::EdgeLife(life)),
        (_, Some(window)) => Some(Smoothing::MProduct(window)),
        (None, None) => None,
    }
}

/// The snapshots as models see them, and as they happened.
pub(super) fn apply(
    sequence: SnapshotSequence,
    config: &DataConfig,
) -> Result<(Arc<SnapshotSequence>, Arc<SnapshotSequence>), GraphError> {
    let smoothed = smoothing(config).map(|smoothing| smoothing.apply(&sequence)).transpose()?;
    let happened = Arc::new(sequence);
    let seen = smoothed.map_or_else(|| Arc::clone(&happened), Arc::new);
    Ok((seen, happened))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_config::Config;

    fn edges(settings: &[&str]) -> [Vec<usize>; 2] {
        // 0 → 1, then 1 → 2, then nothing.
        let graph =
            SnapshotSequence::new(3, vec![0, 1, 2, 2], vec![0, 1], vec![1, 2], None).unwrap();
        let config = settings.iter().fold(Config::builder(), |builder, text| builder.set(text));
        let (seen, happened) = apply(graph, &config.build().unwrap().data).unwrap();
        [seen, happened].map(|sequence| sequence.iter().map(|view| view.len()).collect())
    }

    #[test]
    fn models_see_smoothed_snapshots_and_what_is_predicted_stays_as_it_happened() {
        assert_eq!(edges(&["data.edge_life=2"]), [vec![1, 2, 1], vec![1, 1, 0]]);
        assert_eq!(edges(&["data.m_product=3"]), [vec![1, 2, 2], vec![1, 1, 0]]);
        assert_eq!(edges(&[]), [vec![1, 1, 0], vec![1, 1, 0]]);
    }

    #[test]
    fn two_ways_of_smoothing_contradict_each_other() {
        let both = Config::builder().set("data.edge_life=2").set("data.m_product=2").build();
        assert!(both.unwrap_err().to_string().contains("leave one of them out"));
    }
}
