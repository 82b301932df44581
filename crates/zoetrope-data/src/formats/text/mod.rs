//! Events as delimited text: edge lists and JODIE tables.
//!
//! Writing only; reading text is the business of the table scanner.

pub mod edge_list_writer;
pub mod jodie_writer;
pub(crate) mod rows;
pub(crate) mod times;

pub use times::TimeStyle;
