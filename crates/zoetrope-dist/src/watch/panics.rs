//! Panics of threads that work for a rank, noticed before they are printed.
//!
//! Printing a panic can take longer than others wait for a rank: a backtrace reads debug information,
//! and a busy machine makes that slow. The verdict is therefore written by a panic hook, which runs
//! before anything is printed, and not only once the panic has been caught. A hook belongs to the
//! whole process: it is set once, calls the hook that was there before it, and does nothing for threads
//! that no rank has claimed.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{set_hook, take_hook};
use std::sync::{Once, Weak};

use crate::communicator::Communicator;

thread_local! {
    /// The rank that this thread works for.
    static RANK: RefCell<Option<Weak<dyn Communicator>>> = const { RefCell::new(None) };
}

/// From now on a panic of this thread ends the rank, from the moment that it begins.
pub(crate) fn claim_thread(communicator: Weak<dyn Communicator>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            condemn_rank(panic.payload());
            report(panic);
        }));
    });
    RANK.set(Some(communicator));
}

fn condemn_rank(payload: &(dyn Any + Send)) {
    // No panic inside a hook: a thread that is being taken down has no rank any more.
    let rank = RANK.try_with(|rank| rank.try_borrow().ok()?.as_ref()?.upgrade());
    if let Ok(Some(rank)) = rank {
        rank.condemn(rank.board().ended(rank.rank(), describe(payload)));
    }
}

/// How a rank ended that panicked.
pub(crate) fn describe(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    format!("it panicked: {}", text.unwrap_or("without a message"))
}
