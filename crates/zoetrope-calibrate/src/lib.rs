//! Measures a machine, for the simulator: the kernels that models run, by size; memory; messages; the disk.
//!
//! [`calibrate`] gives the text of a machine file. Every operator is measured as it is recorded on a tape and walked
//! back ([`zoetrope_tensor::Operation`]), so that what is timed is what is trained with. [`kept`] has the file of this
//! machine in the user's cache folder.
//!
//! Not here: what a plan takes on that machine (the simulator says), models.
#![forbid(unsafe_code)]

mod copies;
mod grids;
pub mod host;
pub mod kept;
mod machine_text;
mod messages;
mod operators;
mod rates;
mod stopwatch;
mod storage;
mod tables;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use zoetrope_sim::Machine;
use zoetrope_sim::machine::{Calibration, MachineError};
use zoetrope_tensor::{Device, TensorError};

use machine_text::Measured;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where kernels run.
    pub device: Device,
    /// About how long it may take.
    pub budget: Duration,
    /// Where checkpoints would be written.
    pub folder: PathBuf,
    /// Seconds to draw a pair that a loss asks about, if the caller has a way to measure them.
    pub pair_seconds: Option<fn() -> Option<f64>>,
    /// The version of the program, for the file.
    pub program: String,
}

/// Why a machine was not measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// An operator refused its shapes: a bug.
    #[error("an operator that is measured refused its shapes: {0}")]
    Operator(#[from] TensorError),
    /// Threads cannot be started.
    #[error(
        "cannot start {threads} threads that compute ({reason}); end other programs or raise the limit on processes"
    )]
    Threads {
        /// How many.
        threads: usize,
        /// What the system said.
        reason: String,
    },
    /// Nothing can be written to a folder.
    #[error("cannot write to {}: {source}; choose another folder", folder.display())]
    Storage {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file that was made is wrong: a bug.
    #[error("what was measured is not a machine: {0}")]
    Machine(#[from] MachineError),
}

/// Measures this machine. `tell` is told what is measured, how many parts are done, and of how many.
///
/// # Errors
/// If threads cannot be started or the folder cannot be written to.
pub fn calibrate(
    options: &Options,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<Machine, CalibrateError> {
    Machine::parse(&text(options, tell)?, "what was measured").map_err(Into::into)
}

/// The same as the text of a machine file.
///
/// # Errors
/// As [`calibrate`].
pub fn text(
    options: &Options,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<String, CalibrateError> {
    let begun = Instant::now();
    let (device, threads) = (&options.device, host::threads());
    let quick = options.budget < Duration::from_secs(10);
    let part = options.budget / 40;
    let pool = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map_err(|error| CalibrateError::Threads { threads, reason: error.to_string() })
    };
    let (one, all) = (pool(1)?, pool(threads)?);
    tell("memory", 0, 1);
    let memory = match device.gpu() {
        Some(_) => copies::memory_of_gpu(device, part)?,
        None => one.install(|| rates::memory(1, part)),
    };
    let host_memory = all.install(|| rates::memory(threads, part)).max(memory.min(1e12));
    let compute = one.install(|| rates::compute(device, part))?;
    let copy = device.gpu().map(|_| copies::link(device)).transpose()?;
    let messages = (threads > 1 && device.gpu().is_none())
        .then(|| messages::between_threads(2, quick))
        .flatten();
    let checkpoint_rate = storage::rate(&options.folder, quick)
        .map_err(|source| CalibrateError::Storage { folder: options.folder.clone(), source })?;
    let rest = options.budget.saturating_sub(begun.elapsed());
    let rates = tables::Rates { memory, compute };
    let several = (threads > 1).then_some((threads, &all));
    let pools = tables::Pools { one: &one, several };
    let found = tables::measure(device, rates, &pools, rest, quick, tell)?;
    let calibration = Calibration {
        date: host::date(),
        program: options.program.clone(),
        host: host::name(device),
        spread: found.spread,
        tables: found.tables,
        skew: found.skew,
        pair_seconds: options.pair_seconds.and_then(|measure| one.install(measure)),
        optimiser: found.optimiser,
        messages,
    };
    let measured = Measured {
        device,
        threads,
        memory,
        host_memory,
        compute,
        copy,
        checkpoint_rate,
        calibration: &calibration,
    };
    Ok(measured.text())
}
