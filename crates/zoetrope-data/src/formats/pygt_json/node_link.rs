//! The node-link layout (Montevideo bus): vertices with their series, links between their ids.

use std::fmt;

use hashbrown::HashMap;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::values::{Values, Weight};

/// The identifier of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum NodeId {
    Integer(i64),
    Text(String),
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(id) => write!(f, "{id}"),
            Self::Text(id) => f.write_str(id),
        }
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ids;

        impl Visitor<'_> for Ids {
            type Value = NodeId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a node id, a whole number or text")
            }

            fn visit_i64<E: Error>(self, id: i64) -> Result<NodeId, E> {
                Ok(NodeId::Integer(id))
            }

            fn visit_u64<E: Error>(self, id: u64) -> Result<NodeId, E> {
                match i64::try_from(id) {
                    Ok(id) => Ok(NodeId::Integer(id)),
                    Err(_) => Err(E::custom(format!("{id}, expected a node id below 2^63"))),
                }
            }

            fn visit_str<E: Error>(self, id: &str) -> Result<NodeId, E> {
                Ok(NodeId::Text(id.to_owned()))
            }
        }
        deserializer.deserialize_any(Ids)
    }
}

/// The nodes in the order of the file; each one's series end to end.
#[derive(Default, Debug)]
pub(super) struct Nodes {
    pub(super) ids: HashMap<NodeId, u32>,
    pub(super) order: Vec<NodeId>,
    /// Steps of each series.
    pub(super) steps: usize,
    /// `nodes × steps` input values (`X.y`).
    pub(super) inputs: Vec<f32>,
    /// `nodes × steps` targets (`y`).
    pub(super) targets: Vec<f32>,
    /// Whether some `X` had further series, which the loader does not read by default.
    pub(super) further_series: bool,
}

impl<'de> DeserializeSeed<'de> for Nodes {
    type Value = Self;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Nodes {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(node) = list.next_element::<Node>()? {
            self.add(node).map_err(A::Error::custom)?;
        }
        Ok(self)
    }
}

impl Nodes {
    fn add(&mut self, node: Node) -> Result<(), String> {
        let at = self.order.len();
        let id = node.stop.or(node.id).ok_or_else(|| {
            format!("node {at} without `bus_stop` and `id`, expected one of them")
        })?;
        let (Some(inputs), Some(targets)) = (node.inputs, node.targets) else {
            return Err(format!("node {id} without series, expected `X` with `y`, and `y`"));
        };
        if at == 0 {
            self.steps = targets.len();
        }
        for (name, series) in [("X.y", &inputs), ("y", &targets)] {
            if series.len() != self.steps {
                let (found, steps) = (series.len(), self.steps);
                return Err(format!(
                    "{found} values in `{name}` of node {id}, expected {steps} as in the first"
                ));
            }
        }
        if self.ids.insert(id.clone(), at as u32).is_some() {
            return Err(format!("node {id} again, expected each node once"));
        }
        self.order.push(id);
        self.inputs.extend(inputs);
        self.targets.extend(targets);
        self.further_series |= node.further_series;
        Ok(())
    }
}

#[derive(Default)]
struct Node {
    stop: Option<NodeId>,
    id: Option<NodeId>,
    inputs: Option<Vec<f32>>,
    targets: Option<Vec<f32>>,
    further_series: bool,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a node with `bus_stop`, `X` and `y`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut node = Node::default();
                while let Some(key) = map.next_key::<String>()? {
                    let fresh = match key.as_str() {
                        "bus_stop" => node.stop.replace(map.next_value()?).is_none(),
                        "id" => node.id.replace(map.next_value()?).is_none(),
                        "y" => node.targets.replace(map.next_value::<Values>()?.0).is_none(),
                        "X" => {
                            let Inputs { y, further } = map.next_value()?;
                            node.further_series |= further;
                            y.is_none() || node.inputs.replace(y.unwrap_or_default()).is_none()
                        }
                        _ => map.next_value::<IgnoredAny>().is_ok(),
                    };
                    if !fresh {
                        return Err(A::Error::custom(format!("`{key}` again, expected it once")));
                    }
                }
                Ok(node)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

struct Inputs {
    y: Option<Vec<f32>>,
    further: bool,
}

impl<'de> Deserialize<'de> for Inputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Series;

        impl<'de> Visitor<'de> for Series {
            type Value = Inputs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of series with `y`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Inputs, A::Error> {
                let mut inputs = Inputs { y: None, further: false };
                while let Some(key) = map.next_key::<String>()? {
                    if key != "y" {
                        map.next_value::<IgnoredAny>()?;
                        inputs.further = true;
                    } else if inputs.y.replace(map.next_value::<Values>()?.0).is_some() {
                        return Err(A::Error::custom("`X.y` again, expected it once"));
                    }
                }
                Ok(inputs)
            }
        }
        deserializer.deserialize_map(Series)
    }
}

/// A link between two nodes.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) source: NodeId,
    pub(super) target: NodeId,
    pub(super) weight: Option<f32>,
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Entries {
            source: NodeId,
            target: NodeId,
            weight: Option<Weight>,
        }
        let Entries { source, target, weight } = Entries::deserialize(deserializer)?;
        Ok(Self { source, target, weight: weight.map(|Weight(value)| value) })
    }
}
