//! Reports in the terminal: numbers for people, tables, bars, sparklines.
//!
//! Everything here turns values into text; nothing here reads, measures or prints.

pub(crate) mod bars;
pub(crate) mod dataset;
pub(crate) mod human;
pub(crate) mod snapshots;
pub(crate) mod sparkline;
pub(crate) mod table;
