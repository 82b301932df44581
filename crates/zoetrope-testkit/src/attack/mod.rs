//! Attacks by mutation: honest inputs of every kind are changed at random, and the real program must
//! decide about each within its limits.
//!
//! The inputs are made by the program itself (`honest`) and taken from the committed corpus
//! (`attacks/`); they are changed as bytes and as text (`mutate`), and beneath their checksums and
//! compression (`seal`). Input number `n` of a seed is the same on every machine, whatever the
//! number of threads.

mod campaign;
mod commands;
mod honest;
mod mutate;
mod seal;
mod tally;

pub use campaign::{Campaign, Report};
pub use tally::Tally;
