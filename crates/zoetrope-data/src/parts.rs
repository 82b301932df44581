//! What a data set holds beside its topology, and how to leave parts of it out.
//!
//! Formats differ in what they can hold. A conversion that would lose something names the part
//! and leaves it out only if the user says so.

use std::fmt;

use zoetrope_graph::{EventStore, GraphError, TextTable, VertexNames};

use crate::dataset::Dataset;

/// A part of a data set that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatasetPart {
    /// Weights of events or edges.
    Weights,
    /// Labels of events.
    Labels,
    /// Features of events.
    EventFeatures,
    /// Whether events add or remove; without it every event adds, so removals go too.
    Kinds,
    /// Features of vertices.
    VertexFeatures,
    /// Labels of vertices, or targets of vertices and steps.
    Targets,
    /// A measured series.
    Series,
    /// Original identifiers of vertices.
    Names,
}

impl DatasetPart {
    /// All parts.
    pub const ALL: [Self; 8] = [
        Self::Weights,
        Self::Labels,
        Self::EventFeatures,
        Self::Kinds,
        Self::VertexFeatures,
        Self::Targets,
        Self::Series,
        Self::Names,
    ];

    /// The part that the message of [`DataError::CannotHold`](crate::DataError::CannotHold)
    /// speaks of, if it is one that can be left out.
    pub fn named_in(what: &str) -> Option<Self> {
        let words = [
            (Self::VertexFeatures, "vertex features"),
            (Self::VertexFeatures, "features of vertices"),
            (Self::Targets, "vertex labels"),
            (Self::Targets, "labels of vertices"),
            (Self::Targets, "targets"),
            (Self::Weights, "weight"),
            (Self::Kinds, "removal"),
            (Self::Kinds, "kind"),
            (Self::Series, "series"),
            (Self::EventFeatures, "features"),
            (Self::Labels, "label"),
            (Self::Names, "names"),
        ];
        words.into_iter().find(|(_, word)| what.contains(word)).map(|(part, _)| part)
    }

    /// Whether a data set has this part.
    pub fn is_in(self, dataset: &Dataset) -> bool {
        match dataset {
            Dataset::Events(store) => match self {
                Self::Weights => store.weight().is_some(),
                Self::Labels => store.label().is_some(),
                Self::EventFeatures => store.feature_width() > 0,
                Self::Kinds => store.kind().is_some(),
                Self::VertexFeatures => store.vertex_features.is_some(),
                Self::Targets => store.vertex_labels.is_some(),
                Self::Series => false,
                Self::Names => *store.names() != VertexNames::identity(store.vertices()),
            },
            Dataset::Snapshots(data) => match self {
                Self::Weights => data.sequence.weight().is_some(),
                Self::VertexFeatures => data.features.is_some(),
                Self::Targets => data.targets.is_some(),
                Self::Series => data.signal.is_some(),
                Self::Names => data.names != VertexNames::identity(data.sequence.vertices()),
                Self::Labels | Self::EventFeatures | Self::Kinds => false,
            },
        }
    }

    /// The data set without this part.
    ///
    /// # Errors
    /// If the rest makes no graph.
    pub fn left_out(self, dataset: Dataset) -> Result<Dataset, GraphError> {
        match dataset {
            Dataset::Events(store) => Ok(Dataset::Events(self.left_out_of_events(store)?)),
            Dataset::Snapshots(mut data) => {
                match self {
                    Self::Weights => data.sequence = data.sequence.with_weight(None)?,
                    Self::VertexFeatures => data.features = None,
                    Self::Targets => data.targets = None,
                    Self::Series => data.signal = None,
                    Self::Names => {
                        data.names = VertexNames::identity(data.sequence.vertices());
                    }
                    Self::Labels | Self::EventFeatures | Self::Kinds => {}
                }
                Ok(Dataset::Snapshots(data))
            }
        }
    }

    fn left_out_of_events(self, mut store: EventStore) -> Result<EventStore, GraphError> {
        match self {
            Self::VertexFeatures => store.vertex_features = None,
            Self::Targets => {
                store.vertex_labels = None;
                store.vertex_label_names = TextTable::default();
            }
            _ => return self.rebuilt(&store),
        }
        Ok(store)
    }

    fn rebuilt(self, store: &EventStore) -> Result<EventStore, GraphError> {
        let mut columns = store.columns().clone();
        let mut names = store.names().clone();
        let keeps = |index: &usize| {
            self != Self::Kinds
                || store
                    .kind()
                    .is_none_or(|kind| kind[*index] == zoetrope_graph::EventKind::Add as u8)
        };
        let kept: Vec<usize> = (0..store.len()).filter(keeps).collect();
        match self {
            Self::Weights => columns.weight = None,
            Self::Labels => columns.label = None,
            Self::EventFeatures => (columns.features, columns.feature_width) = (None, 0),
            Self::Kinds => columns.kind = None,
            Self::Names => names = VertexNames::identity(store.vertices()),
            Self::VertexFeatures | Self::Targets | Self::Series => {}
        }
        if kept.len() < store.len() {
            let width = columns.feature_width;
            let pick = |values: &[f32]| kept.iter().map(|&event| values[event]).collect::<Vec<_>>();
            columns.weight = columns.weight.map(|values| pick(&values).into());
            columns.label = columns.label.map(|values| pick(&values).into());
            columns.features = columns.features.map(|values| {
                let rows = kept.iter().flat_map(|&event| &values[event * width..][..width]);
                rows.copied().collect::<Vec<f32>>().into()
            });
        }
        let mut rest = EventStore::new(
            kept.iter().map(|&event| store.src()[event]).collect(),
            kept.iter().map(|&event| store.dst()[event]).collect(),
            kept.iter().map(|&event| store.time()[event]).collect(),
            columns,
            store.scale(),
            names,
        )?;
        if self != Self::Labels {
            rest.label_names = store.label_names.clone();
        }
        if self != Self::EventFeatures {
            rest.feature_names = store.feature_names.clone();
        }
        rest.vertex_features = store.vertex_features.clone();
        rest.vertex_labels = store.vertex_labels.clone();
        rest.vertex_label_names = store.vertex_label_names.clone();
        Ok(rest)
    }
}

impl fmt::Display for DatasetPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Weights => "weights",
            Self::Labels => "event labels",
            Self::EventFeatures => "event features",
            Self::Kinds => "removals",
            Self::VertexFeatures => "vertex features",
            Self::Targets => "vertex labels",
            Self::Series => "a measured series",
            Self::Names => "vertex names",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_graph::TimeScale;
    use zoetrope_graph::events::EventColumns;

    fn dataset() -> Dataset {
        let columns = EventColumns {
            weight: Some(vec![1.0, 2.0, 3.0].into()),
            label: Some(vec![0.0, 1.0, 0.0].into()),
            kind: Some(vec![0, 1, 0].into()),
            features: Some(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into()),
            feature_width: 2,
        };
        let mut store = EventStore::new(
            vec![0, 1, 0],
            vec![1, 0, 1],
            vec![5, 6, 7],
            columns,
            TimeScale::SECONDS,
            VertexNames { first: zoetrope_graph::NameTable::Integers(vec![10, 20]), second: None },
        )
        .unwrap();
        store.vertex_labels = Some(vec![0.0, 1.0].into());
        Dataset::Events(store)
    }

    #[test]
    fn every_part_that_is_there_can_be_left_out() {
        let mut rest = dataset();
        for part in DatasetPart::ALL {
            let present = part.is_in(&rest);
            let expected = !matches!(part, DatasetPart::VertexFeatures | DatasetPart::Series);
            assert_eq!(present, expected, "{part}");
            rest = part.left_out(rest).unwrap();
            assert!(!part.is_in(&rest), "{part}");
        }
        assert_eq!(rest.vertices(), 2);
    }

    #[test]
    fn leaving_out_kinds_leaves_out_the_removals_and_keeps_rows_together() {
        let Dataset::Events(rest) = DatasetPart::Kinds.left_out(dataset()).unwrap() else {
            panic!()
        };
        assert_eq!(rest.time(), [5, 7]);
        assert_eq!(rest.weight(), Some(&[1.0, 3.0][..]));
        assert_eq!(rest.features(), Some(&[1.0, 2.0, 5.0, 6.0][..]));
        assert!(rest.vertex_labels.is_some());
    }
}
