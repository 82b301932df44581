//! Times plans on machines that are described, not there.
#![forbid(unsafe_code)]

pub mod machine;

pub use machine::{Machine, MachineError};
