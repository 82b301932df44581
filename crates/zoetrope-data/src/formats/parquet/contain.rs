//! Containment of a decoder that may panic on damaged input.
//!
//! The Parquet decoder is third-party code and asserts if a damaged file breaks its
//! assumptions. [`contain`] turns such a panic into a value and keeps its message off the
//! terminal; panics on other threads and outside the contained region are reported as usual.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on this thread and returns the message of its panic, if it panics.
///
/// `work` must own or rebuild everything it changes: after a panic its state is not looked at.
pub(crate) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    silence_contained_panics();
    let outer = CONTAINED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    result.map_err(|payload| message(payload.as_ref()))
}

fn silence_contained_panics() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !CONTAINED.get() {
                report(panic);
            }
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("damaged data ({})", text.unwrap_or("no further detail"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_message_and_the_next_call_works() {
        let failed: Result<(), String> = contain(|| panic!("index {} out of range", 7));
        assert_eq!(failed.unwrap_err(), "damaged data (index 7 out of range)");
        assert_eq!(contain(|| 3), Ok(3));
        assert!(!CONTAINED.get());
    }
}
