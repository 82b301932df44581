//! Memory that does not come from the allocator: mapped files.

use crate::need::{TooLarge, need};
use crate::{count, limit};

/// Counts as held as long as it lives.
#[derive(Debug)]
pub struct Held(usize);

/// Counts bytes that become resident without being allocated.
///
/// # Errors
/// If they break the limit on memory; without one nothing is refused, because the system can drop such
/// pages and read them again.
pub fn hold(what: &str, bytes: usize, advice: &str) -> Result<Held, TooLarge> {
    if limit::limit().is_some() {
        need(what, bytes as u64, advice)?;
    }
    count::add(bytes);
    Ok(Held(bytes))
}

impl Drop for Held {
    fn drop(&mut self) {
        count::remove(self.0);
    }
}
