//! Lists that a tape shares for one step and that are written again for the next.

use std::sync::Arc;

/// A vector that is lent to a tape and taken back once the tape was reset.
#[derive(Debug)]
pub(crate) struct Reused<T>(Arc<T>);

impl<T: Default> Default for Reused<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Default> Reused<T> {
    /// The value to be written; a fresh one if the last is still being read.
    pub(crate) fn open(&mut self) -> &mut T {
        if Arc::get_mut(&mut self.0).is_none() {
            self.0 = Arc::default();
        }
        Arc::get_mut(&mut self.0).expect("nobody shares a fresh one")
    }

    /// The value to be read.
    pub(crate) fn shared(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T> Reused<Vec<T>> {
    /// An empty vector to be filled.
    pub(crate) fn refill(&mut self) -> &mut Vec<T> {
        let values = self.open();
        values.clear();
        values
    }
}
