//! The memory of the process: how much it holds, the limit on it, and how the process ends if the limit
//! is too small.
//!
//! Three lines keep a run within `--memory-limit`. Plans tell what a run needs and choose what fits
//! (`zoetrope-plan`, `zoetrope-train`). [`need`] is asked before a stage allocates something large
//! whose size is known, and refuses with an error. [`Tracking`], the allocator of the program, counts
//! everything else, and ends the process with exit code 4 and a sentence rather than let it take more,
//! also if the system refuses: a program in Rust would abort there.
//!
//! The limit is on what the system counts as resident (`VmHWM`): the program's own pages, the memory
//! that the allocator keeps between uses, and mapped files ([`hold`]) are part of it.
//!
//! ```
//! use zoetrope_heap::need;
//!
//! // Asked before the allocation: who asks for too much is told so, and what takes less.
//! assert!(need("a small table", 1 << 10, "take fewer rows").is_ok());
//! let error = need("an index of all events", u64::MAX, "train on fewer events").unwrap_err();
//! assert!(error.to_string().starts_with("an index of all events would take "));
//! assert!(error.to_string().ends_with("; train on fewer events"));
//! ```

mod allocator;
mod bytes;
mod count;
mod gauge;
mod hold;
mod last_words;
mod limit;
mod need;
mod purpose;
mod resident;

pub use allocator::Tracking;
pub use bytes::Bytes;
pub use gauge::Gauge;
pub use hold::{Held, hold};
pub use last_words::answer_in_json;
pub use limit::{LimitError, held, keep_to, limit, room};
pub use need::{TooLarge, free, need};
pub use purpose::{During, Purpose, during};
