//! What a long operation reports while it runs.

/// Listens to a long operation. Called from several threads.
pub trait Progress: Send + Sync {
    /// A phase starts; `total` is in the unit that [`advance`](Self::advance) counts (bytes of
    /// the file when reading, events when generating), if it is known.
    fn begin(&self, phase: &str, total: Option<u64>);

    /// The phase has come `amount` further.
    fn advance(&self, amount: u64);
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: &str, _: Option<u64>) {}

    fn advance(&self, _: u64) {}
}
