//! Reports in the terminal: numbers for people, tables, bars, sparklines.
//!
//! Everything here turns values into text; nothing here reads, measures or prints.

pub(crate) mod bars;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod curve;
pub(crate) mod dataset;
pub(crate) mod human;
pub(crate) mod plan;
pub(crate) mod sim;
pub(crate) mod snapshots;
pub(crate) mod sparkline;
pub(crate) mod table;
pub(crate) mod training;
