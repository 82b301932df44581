//! What the memory and the units that compute give at most: what floors are divided by.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use zoetrope_tensor::{Activation, Device, Tape, TensorError};

use crate::stopwatch::Stopwatch;

/// Bytes of each of the arrays that are streamed: several times the caches of most cores.
const STREAM_BYTES: usize = 64 << 20;
/// The side of the square matrices whose product says how fast a device computes.
const SIDE: usize = 512;
/// The same on a GPU.
const SIDE_OF_GPU: usize = 4096;

/// Bytes a second that a number of threads read and write together, in arrays larger than the caches.
pub(crate) fn memory(threads: usize, budget: Duration) -> f64 {
    let device = &Device::Cpu;
    let count = STREAM_BYTES / size_of::<f32>();
    let from: Vec<f32> = (0..count).map(|at| at as f32).collect();
    let mut to = vec![0.0_f32; count];
    let part = count.div_ceil(threads);
    let (begun, mut best) = (Instant::now(), f64::INFINITY);
    let mut rounds = 0;
    while rounds < 3 || begun.elapsed() < budget {
        let timer = Stopwatch::start(device);
        to.par_chunks_mut(part).zip(from.par_chunks(part)).for_each(|(to, from)| {
            for (to, from) in to.iter_mut().zip(from) {
                *to += 0.5 * from;
            }
        });
        best = best.min(timer.seconds());
        rounds += 1;
    }
    // Two are read, one is written.
    3.0 * STREAM_BYTES as f64 / best
}

/// Operations a second of a product of large matrices.
///
/// # Errors
/// If the product is refused, which is a bug.
pub(crate) fn compute(device: &Device, budget: Duration) -> Result<f64, TensorError> {
    let side = if device.gpu().is_some() { SIDE_OF_GPU } else { SIDE };
    let values = vec![0.5; side * side];
    let (begun, mut best, mut rounds) = (Instant::now(), f64::INFINITY, 0);
    let mut tape = Tape::on(device.clone());
    while rounds < 3 || begun.elapsed() < budget {
        tape.reset();
        let x = tape.copied(side, side, &values)?;
        let weight = tape.copied(side, side, &values)?;
        device.wait();
        let timer = Stopwatch::start(device);
        tape.linear(x, weight, None, Activation::Identity)?;
        device.wait();
        best = best.min(timer.seconds());
        rounds += 1;
    }
    Ok(2.0 * (side as f64).powi(3) / best)
}
