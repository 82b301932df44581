//! The JSON document: every key that some PyG-Temporal loader reads, in one pass.
//!
//! Keys may come in any order; which layout they make is decided afterwards. Keys that no loader
//! reads are skipped without being stored. While reading, a trail of keys says where the reader
//! stands, so that an error can name the key as well as the line.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use hashbrown::HashSet;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::extra::Extra;
use super::node_link::{Link, Nodes};
use super::values::{Edges, Table, Values, Weights, each};

/// The keys from the root to where the reader stands, and the most steps it takes.
pub(super) struct Trail {
    keys: RefCell<Vec<String>>,
    pub(super) most_steps: usize,
}

impl Trail {
    pub(super) fn new(most_steps: usize) -> Self {
        Self { keys: RefCell::default(), most_steps }
    }

    /// Runs `inside` under `key`. On failure the key stays, to be named in the error.
    pub(super) fn under<T, E>(
        &self,
        key: &str,
        inside: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.keys.borrow_mut().push(key.chars().take(80).collect());
        let result = inside();
        if result.is_ok() {
            self.keys.borrow_mut().pop();
        }
        result
    }

    /// The keys, joined by dots.
    pub(super) fn path(&self) -> String {
        self.keys.borrow().join(".")
    }
}

/// What stands under one number: the step of a graph, or a joint of the hand.
#[derive(Default, Debug)]
pub(super) struct Record {
    pub(super) edges: Option<Edges>,
    pub(super) weights: Option<Vec<f32>>,
    pub(super) x: Option<Table>,
    pub(super) y: Option<Vec<f32>>,
    /// x, y and z of each frame, in the order of the file.
    pub(super) points: Vec<[f32; 3]>,
}

/// Everything a loader may want.
#[derive(Default, Debug)]
pub(super) struct Document {
    pub(super) edges: Option<Edges>,
    pub(super) weights: Option<Vec<f32>>,
    /// `FX`, `X`, `block` or `y`: which, and its values.
    pub(super) series: Option<(&'static str, Table)>,
    pub(super) time_periods: Option<u64>,
    pub(super) node_ids: Option<Vec<(String, u64)>>,
    pub(super) edge_index: Option<Vec<(u64, Edges)>>,
    pub(super) edge_weight: Option<Vec<(u64, Weights)>>,
    pub(super) records: Vec<(u64, Record)>,
    /// The class of each frame, in the order of the file.
    pub(super) labels: Option<Vec<u64>>,
    pub(super) nodes: Option<Nodes>,
    pub(super) links: Option<Vec<Link>>,
    pub(super) extra: Option<Extra>,
}

impl<'de> DeserializeSeed<'de> for &Trail {
    type Value = Document;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Document, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &Trail {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the keys of a PyG-Temporal data set")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = Document::default();
        let mut numbers = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            self.under(&key, || self.entry(&key, &mut map, &mut document, &mut numbers))?;
        }
        Ok(document)
    }
}

impl Trail {
    fn entry<'de, A: MapAccess<'de>>(
        &self,
        key: &str,
        map: &mut A,
        document: &mut Document,
        numbers: &mut HashSet<u64>,
    ) -> Result<(), A::Error> {
        match key {
            "edges" => once(&mut document.edges, map.next_value()?),
            "weights" => once(&mut document.weights, map.next_value::<Weights>()?.0),
            "FX" => once(&mut document.series, ("FX", map.next_value()?)),
            "X" => once(&mut document.series, ("X", map.next_value()?)),
            "block" => once(&mut document.series, ("block", map.next_value()?)),
            "y" => once(&mut document.series, ("y", map.next_value()?)),
            "time_periods" => once(&mut document.time_periods, map.next_value()?),
            "node_ids" => once(&mut document.node_ids, map.next_value::<NodeIds>()?.0),
            "edge_mapping" => map.next_value_seed(Mapping { trail: self, document }),
            "LABEL" => once(&mut document.labels, map.next_value::<Labels>()?.0),
            "nodes" => once(&mut document.nodes, map.next_value_seed(Nodes::default())?),
            "links" => {
                let mut links = Vec::new();
                map.next_value_seed(EachOf(
                    "a list of links",
                    |link| links.push(link),
                    PhantomData,
                ))?;
                once(&mut document.links, links)
            }
            "zoetrope" => once(&mut document.extra, map.next_value()?),
            _ => match key.parse::<u64>() {
                Ok(number) => {
                    self.count(numbers, number)?;
                    let record = map.next_value_seed(RecordSeed(self))?;
                    document.records.push((number, record));
                    Ok(())
                }
                Err(_) => map.next_value::<IgnoredAny>().map(|_| ()),
            },
        }
    }

    /// Refuses a number that was met before, and more numbers than the limit.
    fn count<E: Error>(&self, numbers: &mut HashSet<u64>, number: u64) -> Result<(), E> {
        if !numbers.insert(number) {
            return Err(E::custom(format!("step {number} again, expected each step once")));
        }
        if numbers.len() > self.most_steps {
            let most = self.most_steps;
            Err(E::custom(format!("more steps than that, expected at most {most} steps")))
        } else {
            Ok(())
        }
    }
}

/// Fills an empty slot, or refuses a key that repeats.
fn once<T, E: Error>(slot: &mut Option<T>, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom("the key again, expected each key (and one series) once")),
    }
}

struct RecordSeed<'a>(&'a Trail);

impl<'de> DeserializeSeed<'de> for RecordSeed<'_> {
    type Value = Record;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Record, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RecordSeed<'_> {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `edges`, `weights`, `X` and `y`, or the points of a joint")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let mut record = Record::default();
        while let Some(key) = map.next_key::<String>()? {
            self.0.under(&key, || match key.as_str() {
                "edges" => once(&mut record.edges, map.next_value()?),
                "weights" => once(&mut record.weights, map.next_value::<Weights>()?.0),
                "X" => once(&mut record.x, map.next_value()?),
                "y" => once(&mut record.y, map.next_value::<Values>()?.0),
                _ if key.bytes().all(|byte| byte.is_ascii_digit()) => {
                    record.points.push(point(&map.next_value::<String>()?)?);
                    Ok(())
                }
                _ => map.next_value::<IgnoredAny>().map(|_| ()),
            })?;
        }
        Ok(record)
    }
}

/// A point written as text, `(x, y, z)`.
fn point<E: Error>(text: &str) -> Result<[f32; 3], E> {
    let mut coordinates = [0.0; 3];
    let mut parts = text.trim().trim_start_matches('(').trim_end_matches(')').split(',');
    for coordinate in &mut coordinates {
        *coordinate = parts
            .next()
            .and_then(|part| part.trim().parse::<f64>().ok())
            .map(|value| value as f32)
            .filter(|value| value.is_finite())
            .ok_or_else(|| E::custom(format!("{text:?}, expected a point \"(x, y, z)\"")))?;
    }
    match parts.next() {
        None => Ok(coordinates),
        Some(_) => Err(E::custom(format!("{text:?}, expected three coordinates"))),
    }
}

/// `edge_mapping`: edges and weights by step.
struct Mapping<'a> {
    trail: &'a Trail,
    document: &'a mut Document,
}

impl<'de> DeserializeSeed<'de> for Mapping<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Mapping<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `edge_index` and `edge_weight`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { trail, document } = self;
        while let Some(key) = map.next_key::<String>()? {
            trail.under(&key, || match key.as_str() {
                "edge_index" => {
                    once(&mut document.edge_index, map.next_value_seed(BySteps::new(trail))?)
                }
                "edge_weight" => {
                    once(&mut document.edge_weight, map.next_value_seed(BySteps::new(trail))?)
                }
                _ => map.next_value::<IgnoredAny>().map(|_| ()),
            })?;
        }
        Ok(())
    }
}

/// An object whose keys are step numbers.
struct BySteps<'a, T>(&'a Trail, PhantomData<T>);

impl<'a, T> BySteps<'a, T> {
    fn new(trail: &'a Trail) -> Self {
        Self(trail, PhantomData)
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for BySteps<'_, T> {
    type Value = Vec<(u64, T)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for BySteps<'_, T> {
    type Value = Vec<(u64, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object whose keys are steps")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut steps = Vec::new();
        let mut numbers = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            self.0.under(&key, || {
                let number = key
                    .parse::<u64>()
                    .map_err(|_| A::Error::custom(format!("key {key:?}, expected a step")))?;
                self.0.count(&mut numbers, number)?;
                steps.push((number, map.next_value()?));
                Ok(())
            })?;
        }
        Ok(steps)
    }
}

/// Hands the elements of a list to a function.
struct EachOf<F, T>(&'static str, F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: FnMut(T)> DeserializeSeed<'de> for EachOf<F, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        each(deserializer, self.0, |element| {
            self.1(element);
            Ok(())
        })
    }
}

/// `node_ids`: an object from name to number; a list of anything else is skipped.
struct NodeIds(Vec<(String, u64)>);

impl<'de> Deserialize<'de> for NodeIds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = NodeIds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object from names to vertices")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NodeIds, A::Error> {
                let mut names = Vec::new();
                while let Some(entry) = map.next_entry::<String, u64>()? {
                    names.push(entry);
                }
                Ok(NodeIds(names))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NodeIds, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(NodeIds(Vec::new()))
            }
        }
        deserializer.deserialize_any(Names)
    }
}

/// `LABEL`: an object from frame to class, in the order of the file.
struct Labels(Vec<u64>);

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Frames;

        impl<'de> Visitor<'de> for Frames {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object from frames to classes")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut classes = Vec::new();
                while let Some((_, class)) = map.next_entry::<IgnoredAny, u64>()? {
                    classes.push(class);
                }
                Ok(Labels(classes))
            }
        }
        deserializer.deserialize_map(Frames)
    }
}
