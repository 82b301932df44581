//! The plan of an epoch: who computes what, where and when.
//!
//! A [`Plan`] is a plain value that can be printed, saved and read back. Planners are pure
//! functions from a [`Workload`] (what the graph and the model look like) and a [`Choice`] (what
//! the user decided) to a plan: they touch no device and no file. The trainer executes plans and
//! decides nothing.
//!
//! For many ranks, [`partition`] spreads vertices, [`placement`] says who has which cells and which
//! rows move, [`volume`] counts them, and [`strategy`] compares the ways to share the work. For
//! batches of events [`dispatch`] finds what has to be read and written once.
#![forbid(unsafe_code)]

pub mod check;
pub mod checkpoint;
pub mod dispatch;
pub mod error;
pub mod frames;
pub mod memory;
pub mod partition;
pub mod placement;
pub mod plan;
pub mod planner;
pub mod strategy;
pub mod volume;
pub mod workload;

pub use dispatch::{Organised, Organiser, Redundancy};
pub use error::PlanError;
pub use frames::{Frame, FrameRule};
pub use memory::{LaidOut, Memory};
pub use partition::{Partition, Renaming};
pub use placement::grid::Grid;
pub use placement::halo::Halo;
pub use placement::route::{Leg, Route, Rows};
pub use placement::{Placement, Placements, Share};
pub use plan::{Blocks, Grouping, LayerOrder, MAX_GROUPS, OperatorOrder, Plan, Reuse};
pub use planner::{Choice, SharedWork, plan};
pub use strategy::Strategy;
pub use workload::{ActivationCost, BlockCost, Workload};
