//! What the class of an edge is.
//!
//! Snapshot data sets carry no column of edge classes, so a class is read off the weights of a
//! sequence, by an explicit rule:
//!
//! - [`EdgeClassRule::WeightSign`]: a weight above 0 is class 1, any other class 0, as EvolveGCN
//!   reads the ratings of bitcoin-otc (trust or distrust). The weights then *are* the answer: a
//!   model must be given the graph without them ([`hide_weights`]).
//! - [`EdgeClassRule::WeightIsClass`]: the weight is the number of the class.
//!   [`label_snapshots`] makes such a sequence from events that have labels; it is a second
//!   sequence beside the graph, whose own weights stay.

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{
    DiscretiseOptions, EventStore, GraphError, Merge, SnapshotSequence, SnapshotView, Windows,
    discretise,
};

use super::pairs::Pairs;

/// How the weight of an edge tells its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdgeClassRule {
    /// Above 0 is class 1, anything else class 0.
    WeightSign,
    /// The weight is the number of the class; NaN if an edge has none.
    WeightIsClass,
}

const TWO_CLASSES: &str = "edges of at least two classes";

fn bad(value: String, expected: &'static str) -> GraphError {
    GraphError::BadParameter { parameter: "edge classes", value, expected }
}

impl EdgeClassRule {
    /// The number of classes in a sequence.
    ///
    /// # Errors
    /// [`GraphError::BadParameter`] if the edges have no weights, a weight is not a class, or
    /// all edges are of one class.
    pub fn classes(self, sequence: &SnapshotSequence) -> Result<u32, GraphError> {
        match self.found(sequence)? {
            Some((least, most)) if least < most => Ok(most + 1),
            Some((only, _)) => Err(bad(format!("class {only} only"), TWO_CLASSES)),
            None => Err(bad("no edge with a class".into(), TWO_CLASSES)),
        }
    }

    /// The least and the greatest class in a sequence; None if no edge has a class.
    ///
    /// # Errors
    /// [`GraphError::BadParameter`] if the edges have no weights, or a weight is not a class.
    pub fn found(self, sequence: &SnapshotSequence) -> Result<Option<(u32, u32)>, GraphError> {
        let Some(weight) = sequence.weight() else {
            let expected = "edges whose weights tell their classes";
            return Err(bad("edges without weights".into(), expected));
        };
        let whole = |weight: &&f32| {
            weight.is_nan() || (**weight >= 0.0 && **weight < 65_536.0 && weight.fract() == 0.0)
        };
        if self == Self::WeightIsClass
            && let Some(wrong) = weight.iter().find(|weight| !whole(weight))
        {
            let expected = "whole numbers from 0 to 65535 as edge weights";
            return Err(bad(wrong.to_string(), expected));
        }
        let known = || weight.iter().filter_map(|&weight| self.class(weight));
        Ok(known().min().zip(known().max()))
    }

    /// The class of an edge of this weight; `None` if it has none.
    pub fn class(self, weight: f32) -> Option<u32> {
        match self {
            _ if weight.is_nan() => None,
            Self::WeightSign => Some(u32::from(weight > 0.0)),
            Self::WeightIsClass => Some(weight as u32),
        }
    }

    /// Replaces `pairs` by the edges of a snapshot that have a class, self-loops and parallel
    /// edges among them, with their classes as labels.
    pub fn fill(self, snapshot: SnapshotView<'_>, pairs: &mut Pairs) {
        pairs.clear();
        for edge in 0..snapshot.len() {
            if let Some(class) = self.class(snapshot.weight_of(edge)) {
                pairs.push(snapshot.src[edge], snapshot.dst[edge], class as f32);
            }
        }
    }

    /// The same with all edges; the label of those without a class is NaN.
    pub fn fill_all(self, snapshot: SnapshotView<'_>, pairs: &mut Pairs) {
        pairs.clear();
        for edge in 0..snapshot.len() {
            let class = self.class(snapshot.weight_of(edge));
            let label = class.map_or(f32::NAN, |class| class as f32);
            pairs.push(snapshot.src[edge], snapshot.dst[edge], label);
        }
    }
}

/// The same snapshots without weights.
///
/// # Errors
/// None that a valid sequence can cause.
pub fn hide_weights(sequence: &SnapshotSequence) -> Result<SnapshotSequence, GraphError> {
    sequence.with_weight(None)
}

/// Snapshots whose weights are the classes of their edges, from the labels of events: the class of
/// an edge is the label of its latest event in the window, of several at that time the greatest.
///
/// # Errors
/// [`GraphError::BadParameter`] if the events have no labels, and if they cannot be cut.
pub fn label_snapshots(
    store: &EventStore,
    windows: &Windows,
    options: &DiscretiseOptions,
) -> Result<SnapshotSequence, GraphError> {
    let Some(labels) = store.columns().label.clone() else {
        return Err(GraphError::BadParameter {
            parameter: "edge classes",
            value: "events without labels".into(),
            expected: "events with a label column",
        });
    };
    let kind = store.columns().kind.clone();
    let columns = EventColumns { weight: Some(labels), kind, ..EventColumns::default() };
    let labelled = store.clone().with_columns(columns)?;
    let options = DiscretiseOptions { merge: Merge::Last, weighted: true, ..*options };
    discretise(&labelled, windows, &options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_graph::{TimeScale, VertexNames, Windowing};

    fn weighted(weight: Vec<f32>) -> SnapshotSequence {
        let edges = weight.len() as u32;
        let offsets = vec![0, u64::from(edges)];
        let src = (0..edges).collect();
        SnapshotSequence::new(9, offsets, src, vec![0; edges as usize], Some(weight)).unwrap()
    }

    #[test]
    fn a_rating_above_zero_is_trust() {
        let ratings = weighted(vec![-10.0, 0.0, 3.0, f32::NAN]);
        let rule = EdgeClassRule::WeightSign;
        assert_eq!(rule.classes(&ratings).unwrap(), 2);
        let mut pairs = Pairs::default();
        rule.fill(ratings.at(0), &mut pairs);
        assert_eq!((pairs.src, pairs.label), (vec![0, 1, 2], vec![0.0, 0.0, 1.0]));
        assert_eq!(hide_weights(&ratings).unwrap().weight(), None);
    }

    #[test]
    fn data_that_tells_no_classes_is_refused() {
        let refused =
            |rule: EdgeClassRule, weight| rule.classes(&weighted(weight)).unwrap_err().to_string();
        assert!(refused(EdgeClassRule::WeightSign, vec![1.0, 2.0]).contains("class 1 only"));
        assert!(refused(EdgeClassRule::WeightIsClass, vec![0.5]).contains("0.5"));
        assert!(refused(EdgeClassRule::WeightIsClass, vec![f32::NAN]).contains("no edge"));
        let bare = hide_weights(&weighted(vec![1.0])).unwrap();
        assert!(EdgeClassRule::WeightSign.classes(&bare).is_err());
    }

    #[test]
    fn the_label_of_the_latest_event_is_the_class_of_its_edge() {
        let columns = EventColumns {
            label: Some(vec![2.0, 0.0, 1.0].into()),
            weight: Some(vec![7.0, 8.0, 9.0].into()),
            ..EventColumns::default()
        };
        let store = EventStore::new(
            vec![0, 0, 1],
            vec![1, 1, 0],
            vec![5, 6, 7],
            columns,
            TimeScale::SECONDS,
            VertexNames::identity(2),
        )
        .unwrap();
        let windows = Windows::cut(&store, &Windowing::Boundaries(vec![5, 6, 8])).unwrap();
        let options = DiscretiseOptions { merge: Merge::Sum, ..DiscretiseOptions::default() };
        let classes = label_snapshots(&store, &windows, &options).unwrap();
        assert_eq!(classes.at(0).weight, Some(&[2.0][..]));
        assert_eq!(classes.at(1).weight, Some(&[1.0, 0.0][..]));
        assert_eq!(EdgeClassRule::WeightIsClass.classes(&classes).unwrap(), 3);
        let one = Windows::cut(&store, &Windowing::Boundaries(vec![5, 8])).unwrap();
        let classes = label_snapshots(&store, &one, &options).unwrap();
        assert_eq!(classes.weight(), Some(&[1.0, 0.0][..]));
    }
}
