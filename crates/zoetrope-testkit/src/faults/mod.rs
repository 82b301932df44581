//! Faults of real runs: for each, what is promised, whether it holds, and how long it takes.
//!
//! Processes of `zoetrope train` are killed at random times and at every named fault point, the file
//! layer fails under them, their checkpoints are damaged, their disk is full, ranks end, hang or
//! disagree. A run that was disturbed must end bit-identical to one that was not.
//!
//! Fault points are in programs that were built with the feature `faults`; without it they are left
//! out, and the table says so. So are ranks over MPI if there is no launcher or the program was built
//! without the feature `mpi`.

mod damage;
mod disk;
mod job;
mod kill;
mod ranks;
mod table;
mod training;

use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use table::{Row, Table};

/// What to disturb, how often, and where.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The program.
    pub program: PathBuf,
    /// Kills of processes: half at random times, half at fault points (if there are any).
    pub kills: usize,
    /// Damaged checkpoints, full disks and faults of ranks: how often each way is tried.
    pub rounds: usize,
    /// Nothing new is begun after this time.
    pub limit: Option<Duration>,
    /// The seed of times and places.
    pub seed: u64,
    /// Where runs are made and thrown away.
    pub scratch: PathBuf,
    /// Where run folders that broke a promise are kept.
    pub kept: PathBuf,
}

impl Campaign {
    /// Tries everything; the table says what held.
    ///
    /// # Errors
    /// If the program does not start or an undisturbed run fails.
    pub fn run(&self) -> Result<Table, String> {
        let begun = Instant::now();
        let mut table = Table::new(begun, self.limit);
        kill::try_all(self, &mut table)?;
        damage::try_all(self, &mut table)?;
        disk::try_all(self, &mut table)?;
        ranks::try_all(self, &mut table)?;
        Ok(table)
    }
}
