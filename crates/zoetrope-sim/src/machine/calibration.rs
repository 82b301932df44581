//! What was measured of a machine: how near operators come to their floors, by their sizes.
//!
//! A table holds fractions of the floor on a grid of sizes. Between its points the logarithm of the fraction is
//! linear in the logarithms of the sizes; beyond the largest it stays as it is; below the fewest rows the time of an
//! operator does, because what it costs to begin is all that is left.

use zoetrope_tensor::{Family, Floor, Operation};

use super::Device;

/// What was measured, when, and of what.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// When it was measured, as a date of UTC.
    pub date: String,
    /// The version of the program whose kernels were measured.
    pub program: String,
    /// The machine, in words that are the same as long as it is.
    pub host: String,
    /// How far a measured time may be from what the tables say: half of the width of the interval, as a part.
    pub spread: f64,
    /// The operators.
    pub tables: Vec<(Family, Table)>,
    /// Products with matrices whose degrees are skewed, if they were measured.
    pub skew: Option<Curve>,
    /// Seconds to draw a pair that a loss asks about, if they were measured.
    pub pair_seconds: Option<f64>,
    /// Seconds of a step of Adam, by the number of weights.
    pub optimiser: Option<Curve>,
    /// Messages between ranks of one node, if they were measured.
    pub messages: Option<Messages>,
}

/// Seconds of messages between ranks of a node, by the bytes that a rank sends.
#[derive(Debug, Clone, PartialEq)]
pub struct Messages {
    /// From one rank to another.
    pub point_to_point: Curve,
    /// From every rank to every other.
    pub all_to_all: Curve,
    /// Sums.
    pub all_reduce: Curve,
}

/// A function of one number, known at some points.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Where it is known, ascending.
    pub at: Vec<f64>,
    /// What it is there, above 0.
    pub is: Vec<f64>,
}

impl Curve {
    /// The value, and beyond the largest point in proportion: of something that takes time by its size.
    pub fn along(&self, at: f64) -> f64 {
        let most = self.at.last().copied().unwrap_or(1.0);
        self.value(at) * (at / most).max(1.0)
    }

    /// The value, along straight lines between logarithms; beyond the ends that of the end.
    pub fn value(&self, at: f64) -> f64 {
        let (place, part) = place(&self.at, at);
        let next = (place + 1).min(self.is.len() - 1);
        let (low, high) = (self.is[place].ln(), self.is[next].ln());
        (low + part * (high - low)).exp()
    }
}

/// Fractions of the floor on a grid, the width changing fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Rows.
    pub rows: Vec<f64>,
    /// What a row meets.
    pub inner: Vec<f64>,
    /// Values of a row.
    pub width: Vec<f64>,
    /// Of the forward pass.
    pub forward: Vec<f64>,
    /// Of the backward pass.
    pub backward: Vec<f64>,
    /// How many times as fast several threads are.
    pub scaling: Vec<Scaling>,
}

/// How many times as fast a number of threads is, by the seconds that one takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Threads.
    pub threads: usize,
    /// By seconds of one thread.
    pub gain: Curve,
}

/// The last point that is not above a value, and how far the value is towards the next one.
fn place(points: &[f64], value: f64) -> (usize, f64) {
    let last = points.len() - 1;
    let after = points.partition_point(|&point| point <= value);
    match after {
        0 => (0, 0.0),
        after if after > last => (last, 0.0),
        after => {
            let (low, high) = (points[after - 1].ln(), points[after].ln());
            (after - 1, (value.ln() - low) / (high - low))
        }
    }
}

impl Table {
    /// How many points it has.
    pub fn points(&self) -> usize {
        self.rows.len() * self.inner.len() * self.width.len()
    }

    /// The fraction of the floor at a size, of one of the lists of this table.
    pub fn fraction(&self, of: &[f64], size: [f64; 3]) -> f64 {
        let axes = [&self.rows, &self.inner, &self.width];
        let places = [0, 1, 2].map(|axis| place(axes[axis], size[axis].max(1e-9)));
        let mut sum = 0.0;
        for corner in 0..8_usize {
            let (mut index, mut weight) = (0, 1.0);
            for (axis, &(place, part)) in places.iter().enumerate() {
                let up = corner >> axis & 1;
                weight *= if up == 1 { part } else { 1.0 - part };
                index = index * axes[axis].len() + (place + up).min(axes[axis].len() - 1);
            }
            if weight > 0.0 {
                sum += weight * of[index].ln();
            }
        }
        // Fewer rows than the fewest take as long as those.
        sum.exp() * (size[0] / self.rows[0]).min(1.0)
    }
}

impl Device {
    /// Seconds of a floor.
    pub fn floor_seconds(&self, floor: Floor) -> f64 {
        floor.bytes / self.memory_bytes_per_second + floor.flops / self.flops_per_second
    }
}

impl Calibration {
    /// The table of a family.
    pub fn table(&self, family: Family) -> Option<&Table> {
        self.tables.iter().find(|(known, _)| *known == family).map(|(_, table)| table)
    }

    /// Seconds of the forward pass or of the backward pass of an operator on so many threads; None if its
    /// family was not measured.
    pub fn seconds(
        &self,
        device: &Device,
        operation: &Operation,
        backward: bool,
        threads: usize,
    ) -> Option<f64> {
        let table = self.table(operation.family)?;
        let (floor, of) = if backward {
            (operation.backward, &table.backward)
        } else {
            (operation.forward, &table.forward)
        };
        let floor = device.floor_seconds(floor);
        if floor <= 0.0 {
            return Some(0.0);
        }
        let size = [operation.rows, operation.inner, operation.width];
        let alone = floor / table.fraction(of, size).max(1e-12);
        Some(alone / table.gain(alone, threads))
    }
}

impl Table {
    /// How many times as fast so many threads are as one that takes `seconds`; that of the nearest number of
    /// threads that was measured, in proportion.
    fn gain(&self, seconds: f64, threads: usize) -> f64 {
        let most = self.scaling.iter().filter(|one| one.threads <= threads);
        most.max_by_key(|one| one.threads).map_or(1.0, |one| one.gain.value(seconds))
    }
}
