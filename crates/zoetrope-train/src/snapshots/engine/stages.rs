//! The stages of a model, found by running it over a miniature: nothing about a model is written down twice.

use std::cell::RefCell;
use std::time::Instant;

use zoetrope_config::{Config, TaskName};
use zoetrope_nn::forward::Updates;
use zoetrope_nn::{Forward, Stage, StageKind, StageListener, State};
use zoetrope_plan::{ModelStage, StageRole};
use zoetrope_tensor::{Device, Tape};

use super::miniature::small_graph;
use super::{FrameRunner, Layout, Network, Piece};
use crate::error::TrainError;
use crate::snapshots::material::SnapshotInput;

/// Keeps what it is told.
#[derive(Debug, Default)]
struct Recorder(RefCell<Vec<ModelStage>>);

impl StageListener for Recorder {
    fn stage(&self, stage: Stage, _: Instant) {
        let role = match stage.kind {
            StageKind::Structure => StageRole::Structure,
            StageKind::InParts => StageRole::InParts,
            StageKind::InPieces => StageRole::InPieces,
            StageKind::Time => StageRole::Time,
            StageKind::Gather => StageRole::Halo,
            StageKind::ToTime => StageRole::ToTime,
            StageKind::ToStructure => StageRole::ToStructure,
            StageKind::GatherInTime => StageRole::HaloInTime,
            StageKind::ToAll => StageRole::ToAll,
            StageKind::Statistics => StageRole::Statistics,
            StageKind::Sum => StageRole::Sum,
            StageKind::Draw | StageKind::Loss | StageKind::Embed | StageKind::Remember => return,
        };
        let Stage { layer, inputs, outputs, needs_gradient, .. } = stage;
        self.0.borrow_mut().push(ModelStage { role, layer, inputs, outputs, needs_gradient });
    }
}

/// The stages of the model of a run in a layout, over `steps` snapshots.
///
/// # Errors
/// As building and running the network.
pub fn stages(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    outputs: usize,
    layout: Layout,
    steps: usize,
) -> Result<Vec<ModelStage>, TrainError> {
    let small = small_graph(config, task, material, outputs, steps)?;
    let (width, vertices) = (small.width(), small.vertices());
    let network = Network::new(config, task, width, outputs, steps, vertices)?;
    let model = network.model.as_ref();
    let (sequence, features) = (&small.sequence, &small.features);
    let mut runner = FrameRunner::new(sequence, features, model, layout, &Device::Cpu, None)?
        .learning(network.vertex_embedding);
    let (mut tape, mut updates, recorder) = (Tape::new(), Updates::default(), Recorder::default());
    let (seed, parameters) = (config.train.seed, &network.parameters);
    let mut forward =
        Forward::training(&mut tape, parameters, &mut updates, seed, 0).telling(Some(&recorder));
    runner.embed(&mut forward, model, &Piece::whole(0..steps, steps), State::default())?;
    Ok(recorder.0.into_inner())
}
