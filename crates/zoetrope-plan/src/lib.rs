//! The plan of an epoch: who computes what, where and when.
//!
//! A [`Plan`] is a plain value that can be printed, saved and read back. [`planners`] propose plans: pure
//! functions of what is known of the graph, the model and the machine ([`workload`]) and of what the user
//! asked for ([`Wishes`]); they touch no device and no file. One chooser takes one. The trainer executes
//! plans and decides nothing.
//!
//! For many ranks, [`partition`] spreads vertices, [`placement`] says who has which cells and which
//! rows move, [`volume`] counts them, and [`strategy`] puts a way to share cells into numbers. For
//! batches of events [`dispatch`] finds what has to be read and written once.
//!
//! ```
//! use zoetrope_plan::planners::Workload;
//! use zoetrope_plan::strategy::Machine;
//! use zoetrope_plan::{BatchRule, BatchWorkload, Plan, Question, Wishes, choose};
//!
//! let facts = BatchWorkload {
//!     data: "messages".to_owned(),
//!     model: "tgn".to_owned(),
//!     vertices: 100,
//!     events: 1_000,
//!     batches: vec![400, 400, 200],
//!     steps: 3,
//!     whole_times: false,
//!     layers: 1,
//!     sampling: "the 10 most recent".to_owned(),
//!     questions_of_an_event: 3,
//!     measured: None,
//! };
//! let batches = BatchRule { events: 400, chunks: None, whole_times: false };
//! let wishes = Wishes { batches, ..Wishes::default() };
//! let machine = Machine {
//!     memory_bytes_per_second: 8e9,
//!     link_bytes_per_second: 4e9,
//!     message_seconds: 5e-6,
//!     is_measured: false,
//! };
//! let question = Question {
//!     workload: Workload::Batches(&facts),
//!     machine,
//!     timer: None,
//!     divider: None,
//!     gpu: None,
//!     wishes: &wishes,
//! };
//! let plan = choose(&question)?;
//!
//! // What was chosen is a plain value: saved, it repeats the run.
//! assert_eq!(plan.head().planner, "batches");
//! assert_eq!(Plan::from_json(&plan.to_json())?, plan);
//! # Ok::<(), zoetrope_plan::PlanError>(())
//! ```
#![forbid(unsafe_code)]

pub mod checkpoint;
pub mod dispatch;
pub mod error;
pub mod partition;
pub mod placement;
pub mod plan;
pub mod planners;
pub mod program;
pub mod strategy;
pub mod volume;
pub mod wishes;
pub mod workload;

pub use dispatch::{Dispatch, Redundancy, UniqueVertices};
pub use error::PlanError;
pub use partition::{Partition, Renaming};
pub use placement::grid::Grid;
pub use placement::halo::{Halo, SnapshotHalo};
pub use placement::route::{Leg, Route, Rows};
pub use placement::{Placement, Placements, Share};
pub use plan::Plan;
pub use plan::batch_plan::{BatchPlan, BatchRule};
pub use plan::contradiction::Contradiction;
pub use plan::device_memory::DeviceMemory;
pub use plan::frame::{Frame, FrameRule, MAX_GROUPS, groups};
pub use plan::frame_plan::{Blocks, FramePlan, LayerOrder, OperatorOrder, Reuse, Update};
pub use plan::gpu::{BatchesOnGpu, Coding, FramesOnGpu, Precision, Residency, Transport};
pub use plan::head::Head;
pub use plan::memory::{LaidOut, Memory};
pub use plan::sharing::{CellSharing, Overlap, Sharing};
pub use planners::{GpuFacts, Proposal, Question, choose};
pub use program::{
    BatchFacts, CopySizes, FrameFacts, ModelStage, StageRole, Task, TaskGraph, TaskKind,
};
pub use strategy::Strategy;
pub use wishes::{OverlapWish, StrategyWish, Wishes};
pub use workload::{
    ActivationCost, BatchCost, BatchWorkload, BlockCost, FrameWorkload, MeasuredBatches,
};
