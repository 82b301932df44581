//! Edges from a dense matrix of weights or distances.

use std::collections::HashMap;
use std::path::Path;

use super::table::Table;
use crate::error::{DataError, Location, Problem};

/// Distances are divided by this before the kernel.
pub const KERNEL_METRES: f64 = 10_000.0;
/// The divisor of the squared distance in the kernel.
pub const KERNEL_VARIANCE: f64 = 0.1;
/// Kernel weights below this are no edges.
pub const KERNEL_KEPT: f64 = 0.5;

pub(super) type Edges = (Vec<u32>, Vec<u32>, Vec<f32>);

/// The edges of a square matrix; says in `warnings` if it took it for distances.
///
/// # Errors
/// [`DataError::Invalid`] if an entry is missing.
pub(super) fn edges(
    matrix: &Table,
    path: &Path,
    warnings: &mut Vec<String>,
) -> Result<Edges, DataError> {
    let size = matrix.columns;
    let missing = matrix.values.iter().enumerate().filter(|(_, value)| value.is_nan());
    let problems: Vec<Problem> = missing
        .take(20)
        .map(|(at, _)| {
            let column = format!("row {}, column {}", at / size + 1, at % size + 1);
            Problem::new(Location::file(path).column(column), "a number", "no value")
        })
        .collect();
    if !problems.is_empty() {
        return Err(DataError::Invalid { problems, total: matrix.missing });
    }
    let distances = is_distances(size, &matrix.values);
    if distances {
        warnings.push(kernel_note("the matrix"));
    }
    let (mut src, mut dst, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    for (at, &entry) in matrix.values.iter().enumerate() {
        let (from, to) = (at / size, at % size);
        let value = if !distances {
            entry
        } else if from == to {
            0.0
        } else {
            kernel(entry)
        };
        if value != 0.0 {
            src.push(from as u32);
            dst.push(to as u32);
            weight.push(value as f32);
        }
    }
    Ok((src, dst, weight))
}

/// Numbers the ends of edges as the table numbers its sensors, if both say what they are called.
///
/// # Errors
/// [`DataError::Invalid`] if the matrix names a sensor that the table does not have.
pub(super) fn rename(
    edges: &mut Edges,
    matrix: &Table,
    sensors: &Option<Vec<String>>,
    path: &Path,
) -> Result<(), DataError> {
    let (Some(columns), Some(sensors)) = (&matrix.header, sensors) else { return Ok(()) };
    let number: HashMap<&str, u32> = sensors.iter().map(String::as_str).zip(0..).collect();
    let numbers = |names: &[String]| -> Result<Vec<u32>, DataError> {
        let found = |name: &String| {
            number.get(name.as_str()).copied().ok_or_else(|| {
                let found = format!("sensor {name}");
                DataError::invalid(Location::file(path), "a sensor of the table", found)
            })
        };
        names.iter().map(found).collect()
    };
    let to = numbers(columns)?;
    // Rows without names of sensors are in the order of the columns.
    let named = matrix.index.iter().all(|name| number.contains_key(name.as_str()));
    let from = if named && matrix.index.len() == matrix.rows {
        numbers(&matrix.index)?
    } else {
        to.clone()
    };
    edges.0.iter_mut().for_each(|vertex| *vertex = from[*vertex as usize]);
    edges.1.iter_mut().for_each(|vertex| *vertex = to[*vertex as usize]);
    Ok(())
}

/// Says that distances went through the kernel.
pub(super) fn kernel_note(what: &str) -> String {
    format!(
        "{what} holds distances: edges weigh exp(-(d / {KERNEL_METRES})^2 / {KERNEL_VARIANCE}) \
         if that is at least {KERNEL_KEPT}"
    )
}

pub(super) fn kernel(distance: f64) -> f64 {
    let weight = (-(distance / KERNEL_METRES).powi(2) / KERNEL_VARIANCE).exp();
    if weight >= KERNEL_KEPT { weight } else { 0.0 }
}

/// Whether entries are distances: none from a vertex to itself, some almost everywhere else (at
/// least nine in ten), and not all within 1.
pub(super) fn is_distances(size: usize, values: &[f64]) -> bool {
    let diagonal = (0..size).all(|vertex| values[vertex * size + vertex] == 0.0);
    let positive = values.iter().filter(|&&value| value > 0.0).count();
    let others = size * size.saturating_sub(1);
    diagonal && others > 0 && 10 * positive >= 9 * others && values.iter().any(|&value| value > 1.0)
}
