//! Edges from a list of pairs of sensors, with a weight or a distance.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::matrix::{self, Edges};
use super::pair::{Pair, Shape};
use crate::error::{DataError, Location};
use crate::options::{ColumnMap, ReadOptions};
use crate::progress::Quiet;
use crate::roles;
use crate::source::{Source, bare_name};
use crate::table::{self, Preset, dialect};

/// Bytes of a file that are looked at.
const HEAD_BYTES: usize = 64 << 10;

/// A table of sensors and the one list of edges between them, among the files of a folder without
/// a matrix.
pub(super) fn find(files: &[PathBuf], shapes: &[Shape], options: &ReadOptions) -> Option<Pair> {
    if shapes.iter().any(|shape| shape.is_matrix()) {
        return None;
    }
    let mut pairs = Vec::new();
    for table in shapes.iter().filter(|shape| shape.columns >= super::LEAST_SENSORS) {
        let sensors = numbers(table.names.as_deref(), table.columns);
        for list in files.iter().filter(|file| **file != table.path) {
            if lists_edges(list, &sensors, options) {
                pairs.push((list, table));
            }
        }
    }
    let [(list, table)] = pairs[..] else { return None };
    Some(Pair {
        adjacency: list.clone(),
        values: table.path.clone(),
        vertices: table.columns,
        list: true,
        named: false,
    })
}

/// The number of each sensor: by its name, or by its place if there are no names.
fn numbers(names: Option<&[String]>, sensors: usize) -> HashMap<String, u32> {
    match names {
        Some(names) => names.iter().cloned().zip(0..).collect(),
        None => (0..sensors).map(|sensor| (sensor.to_string(), sensor as u32)).collect(),
    }
}

/// Whether the first rows of a file are edges, and all their ends are sensors.
fn lists_edges(path: &Path, sensors: &HashMap<String, u32>, options: &ReadOptions) -> bool {
    let mut head = vec![0; HEAD_BYTES];
    let Ok(filled) =
        Source::open(path, &options.limits, &Quiet).and_then(|mut source| source.fill(&mut head))
    else {
        return false;
    };
    let Ok(layout) = dialect::sniff(&head[..filled], filled < HEAD_BYTES, None, None) else {
        return false;
    };
    if !(2..=4).contains(&layout.kinds.len()) {
        return false;
    }
    let header = layout.header.as_deref();
    let names = header.map(<[String]>::to_vec);
    let map = ends_of(names.as_deref(), options);
    roles::judge(path, header, &layout.kinds, &layout.sample, &map).is_ok_and(|judged| {
        let ends = [judged.roles.src, judged.roles.dst];
        !layout.sample.is_empty()
            && layout
                .sample
                .iter()
                .all(|row| ends.iter().all(|&end| sensors.contains_key(&row[end])))
    })
}

/// Lists without a header start with the two ends.
fn ends_of(header: Option<&[String]>, options: &ReadOptions) -> ColumnMap {
    use crate::options::ColumnRef::Position;
    match header {
        Some(_) => options.columns.clone(),
        None => ColumnMap {
            src: Some(Position(0)),
            dst: Some(Position(1)),
            weight: None,
            ..ColumnMap::default()
        },
    }
}

/// Reads the edges between the sensors that a table names.
///
/// # Errors
/// If the list is no table of edges, or names a sensor that the table does not have.
pub(super) fn edges(
    path: &Path,
    header: Option<&[String]>,
    sensors: usize,
    options: &ReadOptions,
    warnings: &mut Vec<String>,
) -> Result<Edges, DataError> {
    let read = ReadOptions { header: None, bipartite: Some(false), ..options.clone() };
    let list = table::read(path, &Preset::default(), &read, &Quiet)?;
    let store = &list.store;
    let numbers = numbers(header, sensors);
    let mut of_vertex = Vec::with_capacity(store.vertices() as usize);
    for vertex in 0..store.vertices() {
        let name = store.names().name(vertex).to_string();
        let Some(&number) = numbers.get(&name) else {
            let found = format!("sensor {name}");
            return Err(DataError::invalid(Location::file(path), "a sensor of the table", found));
        };
        of_vertex.push(number);
    }
    let third = match (store.weight(), store.features()) {
        (Some(weight), _) => Some(weight.to_vec()),
        (None, Some(features)) if store.feature_width() == 1 => Some(features.to_vec()),
        _ => None,
    };
    let named =
        list.columns.iter().any(|column| is_distance(&column.name)) || is_distance(bare_name(path));
    let far = third.as_ref().is_some_and(|values| values.iter().any(|&value| value > 1.0));
    let distances = named && far;
    if distances {
        warnings.push(matrix::kernel_note("the list"));
    }
    let mut edges: Edges = Default::default();
    for event in 0..store.len() {
        let value = third.as_ref().map_or(1.0, |values| f64::from(values[event]));
        let weight = if distances { matrix::kernel(value) } else { value };
        if weight.is_finite() && weight != 0.0 {
            edges.0.push(of_vertex[store.src()[event] as usize]);
            edges.1.push(of_vertex[store.dst()[event] as usize]);
            edges.2.push(weight as f32);
        }
    }
    Ok(edges)
}

/// Whether a name speaks of a distance.
fn is_distance(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    words.any(|word| ["dist", "distance", "distances", "cost", "length"].contains(&word))
}
