//! Locks that outlive a panic: a rank that panics is reported as such, and the others must be able to
//! read what it left.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value behind a lock, whoever panicked while holding it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
