//! Copies from the host to a GPU, and the memory of the GPU.

use std::time::{Duration, Instant};

use zoetrope_tensor::{Device, Tape, TensorError};

/// Bytes of a copy that shows the rate, and of one that shows the latency.
const SIZES: [usize; 2] = [64 << 20, 256];
const ROUNDS: usize = 6;

/// A link as it was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeasuredLink {
    pub(crate) latency: f64,
    pub(crate) rate: f64,
}

/// Copies to a GPU.
///
/// # Errors
/// If a matrix is refused, which is a bug.
pub(crate) fn link(device: &Device) -> Result<MeasuredLink, TensorError> {
    let mut best = [f64::INFINITY; 2];
    for (size, best) in SIZES.iter().zip(&mut best) {
        let values = vec![1.0_f32; size / 4];
        let mut tape = Tape::on(device.clone());
        for round in 0..ROUNDS {
            tape.reset();
            device.wait();
            let timer = Instant::now();
            tape.copied(values.len(), 1, &values)?;
            device.wait();
            if round > 0 {
                *best = best.min(timer.elapsed().as_secs_f64());
            }
        }
    }
    let moved = (SIZES[0] - SIZES[1]) as f64;
    Ok(MeasuredLink { latency: best[1], rate: moved / (best[0] - best[1]).max(1e-9) })
}

/// Bytes a second of an operator that reads two large matrices and writes a third.
///
/// # Errors
/// As [`link`].
pub(crate) fn memory_of_gpu(device: &Device, budget: Duration) -> Result<f64, TensorError> {
    let count = SIZES[0] / 4;
    let values = vec![1.0_f32; count];
    let (begun, mut best, mut rounds) = (Instant::now(), f64::INFINITY, 0);
    let mut tape = Tape::on(device.clone());
    while rounds < ROUNDS || begun.elapsed() < budget {
        tape.reset();
        let x = tape.copied(count, 1, &values)?;
        let y = tape.copied(count, 1, &values)?;
        device.wait();
        let timer = Instant::now();
        tape.add(x, y)?;
        device.wait();
        best = best.min(timer.elapsed().as_secs_f64());
        rounds += 1;
    }
    Ok(3.0 * SIZES[0] as f64 / best)
}
