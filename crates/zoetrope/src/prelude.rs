//! What most programs need: `use zoetrope::prelude::*`.
//!
//! | to | there is |
//! | --- | --- |
//! | say what is wanted | [`Config`], [`ModelName`], [`TaskName`] |
//! | train | [`train_unobserved`] |
//! | evaluate, predict | [`open_run`], [`Run`], [`TrainingRun`], [`Part`] |
//! | read what a run left | [`RunFolder`], [`read_metrics`], [`Summary`], [`CheckpointStore`] |
//! | have data | [`Dataset`], [`SnapshotInput`], [`EventStore`], [`SnapshotSequence`] |
//! | write a model | [`Model`], [`Stack`], [`Builder`], [`Parameters`], [`Forward`], [`Frame`], [`PreparedGraph`] |
//! | write a training loop | [`Tape`], [`Updates`], [`Gradients`], [`Optimiser`], [`Loss`] |
//! | compute with ranks | [`threads`], [`Ranks`], [`Reduction`], [`Exchange`] |

pub use zoetrope_config::{Config, ConfigError, ModelName, TaskName};
pub use zoetrope_data::split::Part;
pub use zoetrope_data::{DataError, Dataset, Quiet, ReadOptions};
pub use zoetrope_dist::{DistError, Exchange, ExchangePlan, Ranks, Reduction, Timeouts, threads};
pub use zoetrope_graph::{EventStore, GraphError, SnapshotSequence};
pub use zoetrope_nn::decoder::{VertexDecoder, VertexRule};
pub use zoetrope_nn::forward::Updates;
pub use zoetrope_nn::layer::Linear;
pub use zoetrope_nn::model::Stack;
pub use zoetrope_nn::optimiser::{Gradients, Method, Optimiser, clip_norm};
pub use zoetrope_nn::structure::{Gcn, Sage};
pub use zoetrope_nn::time::{Gru, Lstm};
pub use zoetrope_nn::{
    Adjacency, Builder, Embedding, Forward, Frame, Initialise, Model, NnError, Parameters,
    PreparedGraph, Sequence, State, StructureEncoder, TimeEncoder,
};
pub use zoetrope_run::checkpoint::CheckpointStore;
pub use zoetrope_run::{RunError, RunFolder, Summary, Timeline, read_metrics};
pub use zoetrope_tensor::{Activation, Device, Loss, Matrix, SparseGroup, Tape, TensorError, Var};
pub use zoetrope_train::snapshots::material::{Goal, SnapshotInput};
pub use zoetrope_train::train::{Finished, Opened, Run};
pub use zoetrope_train::training_run::TrainingRun;
pub use zoetrope_train::{TrainError, open_run, train_unobserved};
