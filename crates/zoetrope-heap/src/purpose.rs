//! What the process is doing, so that its message says so if memory runs out.

use std::sync::atomic::{AtomicPtr, Ordering};

/// A stage of a command.
#[derive(Debug)]
pub struct Purpose {
    /// What is being done, after "while": `reading the data`.
    pub doing: &'static str,
    /// What takes less, behind "raise the limit, or".
    pub advice: &'static str,
}

static AT_FIRST: Purpose = Purpose { doing: "working", advice: "give less data" };

static NOW: AtomicPtr<Purpose> = AtomicPtr::new(std::ptr::null_mut());

/// The stage lasts as long as this does; then the one before goes on.
#[derive(Debug)]
pub struct During(*mut Purpose);

/// Begins a stage of the process.
pub fn during(purpose: &'static Purpose) -> During {
    During(NOW.swap(std::ptr::from_ref(purpose).cast_mut(), Ordering::AcqRel))
}

impl Drop for During {
    fn drop(&mut self) {
        NOW.store(self.0, Ordering::Release);
    }
}

/// The stage that the process is in.
#[allow(unsafe_code)]
pub(crate) fn now() -> &'static Purpose {
    // SAFETY: only references to purposes that live for ever are stored, and none is written through.
    unsafe { NOW.load(Ordering::Acquire).as_ref() }.unwrap_or(&AT_FIRST)
}
