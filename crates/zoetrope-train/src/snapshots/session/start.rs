//! Bringing a run into being: the task, the network, the plan.

use std::sync::Arc;

use zoetrope_config::{Config, PlannedRanks};
use zoetrope_data::split::Part;
use zoetrope_dist::Ranks;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::state::Carried;
use zoetrope_plan::FramePlan;
use zoetrope_run::{Phase, Timeline};
use zoetrope_tensor::{Matrix, Tape};

use super::block_states::BlockStates;
use super::collectives::OwnFrames;
use super::planning::Draft;
use super::{CudaGraphs, Session};
use crate::device;
use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::planned_machine;
use crate::snapshots::engine::{
    FrameRunner, FrameSharing, Layout, Piece, SentBytes, block_states, stages,
};
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::task;
use crate::task_log::TaskLog;
use crate::transport;

impl Session {
    /// Chooses the task, builds the network, makes or takes the plan, and prepares the graph.
    ///
    /// # Errors
    /// If the data does not fit the task or the model, no plan can be made, or the plan that is
    /// given does not fit.
    pub fn start(
        config: Config,
        material: SnapshotInput,
        given: Option<FramePlan>,
        timeline: Timeline,
    ) -> Result<Self, TrainError> {
        Self::start_shared(config, material, given, timeline, None)
    }

    /// The same as one of several ranks, which all call it.
    ///
    /// # Errors
    /// As [`Session::start`], and if ranks cannot share the run or one is lost.
    pub fn start_shared(
        mut config: Config,
        material: SnapshotInput,
        given: Option<FramePlan>,
        timeline: Timeline,
        ranks: Option<Ranks>,
    ) -> Result<Self, TrainError> {
        let span = timeline.phase(Phase::Plan);
        let device = device::open(&config, &timeline, ranks.as_ref())?;
        let linked = match &ranks {
            Some(ranks) => transport::link(&config, given.as_ref(), &device, ranks)?,
            None => Err("one rank has nobody to send to".to_owned()),
        };
        let planned_ranks = planned_ranks(ranks.as_ref());
        let draft = Draft::new(&mut config, &material, given, planned_ranks)?;
        let draft = draft.on(planned_machine::of(&device));
        let plan = draft.plan_together(&material, &device, linked.clone(), ranks.as_ref())?;
        let (task_name, network) = (draft.task_name, draft.network);
        drop(span);
        let span = timeline.phase(Phase::Load);
        device::obey(&device, plan.gpu.map(|gpu| gpu.precision));
        let device_transport = transport::declare(&config, &plan, &linked)?;
        let model = network.model.as_ref();
        let sharing = ranks.as_ref().and_then(|ranks| FrameSharing::of(&plan, ranks));
        let (sequence, features, layout) = (&material.sequence, material.rows(), Layout::of(&plan));
        let runner = FrameRunner::new(sequence, features, model, layout, &device, sharing)?
            .learning(network.vertex_embedding);
        let task = task::make(&config, task_name, &material)?;
        drop(span);
        let embeddings = Arc::new(Matrix::zeros(material.vertices(), model.width()));
        let classes = task::outputs(&config, task_name, &material)?;
        let metrics = task_name.metrics(classes);
        config.check_watched(metrics)?;
        let learner = Learner::new(&config, metrics[0], &network.parameters, &device);
        let tasks = TaskLog::new(&timeline, ranks.as_ref());
        let tape_steps = plan.frames[0].steps.div_ceil(plan.blocks.count.max(1));
        let mut session = Self {
            config,
            material,
            task_name,
            plan,
            ranks,
            network,
            task,
            runner,
            tape: Tape::on(device.clone()),
            tape_steps,
            judge_tape: Tape::on(device),
            updates: Updates::default(),
            carried: Carried::default(),
            hidden_of_ranks: Vec::new(),
            block_states: BlockStates::default(),
            learner,
            recorded: CudaGraphs::default(),
            own_losses: Vec::new(),
            own_frames: OwnFrames::default(),
            embeddings,
            tasks,
            timeline,
            interrupt: Interrupt::new(),
            sent: [0; 2],
            baselines_ahead: None,
            baselines_beside: None,
            found_beside: None,
            forecast: None,
            device_transport,
        };
        let pieces = session.all_pieces();
        session.runner.expect_pieces(&pieces);
        session.send_graph()?;
        Ok(session)
    }

    /// What tells the bytes that are sent to a GPU piece by piece; nothing if none are, or they are not known.
    pub(super) fn forecast(&self) -> Result<Option<SentBytes>, TrainError> {
        let sent = self.runner.sent_bytes();
        let frame = self.plan.longest_frame();
        if self.plan.stored_states(frame).is_empty() {
            return Ok(sent);
        }
        let outputs = task::outputs(&self.config, self.task_name, &self.material)?;
        let blocks = self.plan.blocks.of(0..frame);
        let states = block_states(&self.config, self.task_name, &self.material, outputs, &blocks)?;
        Ok(Some(sent.unwrap_or_default().with_states(states)))
    }

    /// On a GPU: prepares what is sent to it as the plan says.
    fn send_graph(&mut self) -> Result<(), TrainError> {
        let Some(gpu) = self.tape.device().gpu().cloned() else { return Ok(()) };
        let _span = self.timeline.phase(Phase::Load);
        let mut pieces = Vec::new();
        for frame in &self.plan.frames {
            if self.works_in_blocks() {
                pieces.extend(self.pieces(frame.range(), frame.group));
            } else {
                pieces.push(Piece::whole(frame.range(), frame.group));
            }
        }
        let training = pieces.len();
        for part in [Part::Validation, Part::Test] {
            pieces.extend(self.pieces_of_part(part));
        }
        self.runner.send(&gpu, &pieces, training)?;
        if self.streams() {
            let outputs = task::outputs(&self.config, self.task_name, &self.material)?;
            let steps = self.plan.miniature_steps();
            let (config, task, layout) = (&self.config, self.task_name, Layout::of(&self.plan));
            let found = stages(config, task, &self.material, outputs, layout, steps)?;
            self.runner.expect(&found);
        }
        self.forecast = self.forecast()?;
        if self.ranks.is_none() && self.forecast.is_some() {
            self.plan.head.sent_bytes = vec![self.sent_in_epoch(&self.plan.frames)];
        }
        Ok(())
    }
}

/// The ranks that there are, as planners want to know them.
fn planned_ranks(ranks: Option<&Ranks>) -> PlannedRanks {
    let Some(ranks) = ranks else { return PlannedRanks::ALONE };
    let all = ranks.size() as u32;
    PlannedRanks { all, in_process: if ranks.engine() == "threads" { all } else { 1 } }
}
