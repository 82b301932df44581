//! Tables of all families: points of grids measured one after the other, within a budget.

use std::time::{Duration, Instant};

use rayon::ThreadPool;
use zoetrope_sim::machine::calibration::{Curve, Scaling, Table};
use zoetrope_tensor::cpu::optimiser::{Adam, adam_step};
use zoetrope_tensor::{Device, Family, Floor, TensorError};

use crate::grids::{Grid, SKEWS, grids};
use crate::operators::{Point, Taken};
use crate::stopwatch::Stopwatch;

/// Weights whose optimiser is timed.
const WEIGHTS: [usize; 3] = [1 << 8, 1 << 14, 1 << 20];

/// What floors are divided by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) memory: f64,
    pub(crate) compute: f64,
}

impl Rates {
    fn seconds(&self, floor: Floor) -> f64 {
        floor.bytes / self.memory + floor.flops / self.compute
    }
}

/// Threads to measure on.
pub(crate) struct Pools<'p> {
    pub(crate) one: &'p ThreadPool,
    pub(crate) several: Option<(usize, &'p ThreadPool)>,
}

/// What was found.
pub(crate) struct Found {
    pub(crate) tables: Vec<(Family, Table)>,
    pub(crate) skew: Option<Curve>,
    pub(crate) optimiser: Option<Curve>,
    pub(crate) spread: f64,
}

/// Shares the time that is left among the points that are.
struct Clock<'t> {
    until: Instant,
    done: u64,
    all: u64,
    tell: &'t mut dyn FnMut(&str, u64, u64),
}

impl Clock<'_> {
    fn next(&mut self, what: &str) -> Duration {
        (self.tell)(what, self.done, self.all);
        let left = self.until.saturating_duration_since(Instant::now());
        let budget = left / u32::try_from(self.all.saturating_sub(self.done).max(1)).unwrap_or(1);
        self.done += 1;
        budget
    }
}

/// Measures all tables.
///
/// # Errors
/// If an operator refuses its shapes, which is a bug.
pub(crate) fn measure(
    device: &Device,
    rates: Rates,
    pools: &Pools<'_>,
    budget: Duration,
    quick: bool,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<Found, TensorError> {
    // Threads of the host do not compute for a GPU.
    let several = pools.several.filter(|_| device.gpu().is_none());
    let of_grid = |grid: &Grid| {
        let columns = if several.is_some() { grid.column().len() } else { 0 };
        grid.points().len() + columns + 1
    };
    let grids = grids(quick);
    let all = grids.iter().map(of_grid).sum::<usize>() + SKEWS.len() + 1;
    let mut clock = Clock { until: Instant::now() + budget, done: 0, all: all as u64, tell };
    let mut take = |pool: &ThreadPool, point: &Point| {
        let budget = clock.next(point.family.name());
        pool.install(|| point.measure(device, budget))
    };
    let (mut tables, mut residuals) = (Vec::new(), Vec::new());
    for grid in &grids {
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        for point in grid.points() {
            let Taken { operation, seconds } = take(pools.one, &point)?;
            forward.push(fraction(rates.seconds(operation.forward), seconds[0]));
            backward.push(fraction(rates.seconds(operation.backward), seconds[1]));
        }
        let axis = |axis: &[usize]| axis.iter().map(|&size| size as f64).collect::<Vec<_>>();
        let mut table = Table {
            rows: axis(grid.rows),
            inner: axis(grid.inner),
            width: axis(grid.width),
            forward,
            backward,
            scaling: Vec::new(),
        };
        let check = take(pools.one, &grid.between())?;
        let operation = &check.operation;
        for (backward, taken) in [false, true].into_iter().zip(check.seconds) {
            let floor = if backward { operation.backward } else { operation.forward };
            let of = if backward { &table.backward } else { &table.forward };
            let size = [operation.rows, operation.inner, operation.width];
            let said = rates.seconds(floor) / table.fraction(of, size);
            if taken > 0.0 && said > 0.0 {
                residuals.push((said / taken).ln().abs());
            }
        }
        if let Some((threads, pool)) = several {
            let mut gains: Vec<(f64, f64)> = Vec::new();
            for point in grid.column() {
                let taken = take(pool, &point)?;
                let floors = [taken.operation.forward, taken.operation.backward];
                let of = [&table.forward, &table.backward];
                let size = [taken.operation.rows, taken.operation.inner, taken.operation.width];
                let alone: f64 =
                    (0..2).map(|at| rates.seconds(floors[at]) / table.fraction(of[at], size)).sum();
                let gain = alone / (taken.seconds[0] + taken.seconds[1]);
                gains.push((alone / 2.0, gain.clamp(0.2, threads as f64)));
            }
            gains.sort_by(|left, right| left.0.total_cmp(&right.0));
            gains.dedup_by(|later, earlier| later.0 <= earlier.0 * 1.01);
            let (at, is) = gains.into_iter().unzip();
            table.scaling.push(Scaling { threads, gain: Curve { at, is } });
        }
        tables.push((grid.family, table));
    }
    let skew = skew(&mut take, pools.one)?;
    let optimiser = device.gpu().is_none().then(|| pools.one.install(optimiser));
    residuals.sort_by(f64::total_cmp);
    // Three points of four are nearer than this.
    let spread = residuals.get(residuals.len() * 3 / 4).copied().unwrap_or(0.0);
    Ok(Found { tables, skew: Some(skew), optimiser, spread })
}

fn fraction(floor: f64, seconds: f64) -> f64 {
    (floor / seconds.max(1e-12)).clamp(1e-9, 1e9)
}

/// How many times as long products with skewed matrices take as those with even ones of as many entries.
fn skew(
    take: &mut dyn FnMut(&ThreadPool, &Point) -> Result<Taken, TensorError>,
    pool: &ThreadPool,
) -> Result<Curve, TensorError> {
    let point = |skew: f64| Point { family: Family::Sparse, rows: 8192, inner: 8, width: 32, skew };
    let per_byte = |taken: &Taken| {
        (taken.seconds[0] + taken.seconds[1])
            / (taken.operation.forward.bytes + taken.operation.backward.bytes)
    };
    let even = per_byte(&take(pool, &point(0.0))?);
    let (mut at, mut is) = (vec![1e-3], vec![1.0]);
    for skew in SKEWS {
        let point = point(skew);
        let deviation = point.deviation();
        let times = per_byte(&take(pool, &point)?) / even;
        if at.last().is_some_and(|&last| deviation > last) {
            at.push(deviation);
            is.push(times.clamp(0.1, 10.0));
        }
    }
    Ok(Curve { at, is })
}

/// Seconds of a step of Adam.
fn optimiser() -> Curve {
    let adam =
        Adam { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0, decoupled: false };
    let seconds = |&count: &usize| {
        let (mut weights, gradient) = (vec![0.1_f32; count], vec![0.01_f32; count]);
        let (mut mean, mut square) = (vec![0.0; count], vec![0.0; count]);
        let mut best = f64::INFINITY;
        for step in 1..=10 {
            let timer = Stopwatch::start(&Device::Cpu);
            adam_step(adam, step, &mut weights, &gradient, &mut mean, &mut square);
            best = best.min(timer.seconds());
        }
        best.max(1e-9)
    };
    let at = WEIGHTS.map(|count| count as f64).to_vec();
    Curve { at, is: WEIGHTS.iter().map(seconds).collect() }
}
