//! A run over events: the network, the state of vertices, and where the run stands.

use std::sync::Arc;

use zoetrope_config::{Config, TaskName};
use zoetrope_data::negatives::{NegativeList, NegativeOptions};
use zoetrope_data::split::Part;
use zoetrope_graph::VertexNames;
use zoetrope_nn::Parameters;
use zoetrope_nn::forward::{Still, Updates};
use zoetrope_nn::memory::{Updated, VertexState};
use zoetrope_plan::{BatchPlan, Plan, dispatch};
use zoetrope_run::{DataSummary, Redundancy, Timeline};
use zoetrope_tensor::{Device, Tape};

use super::best::{Grown, Kept};
use super::cost::Cost;
use super::judge::{FixedNegatives, StreamProtocol, training_pool};
use super::material::EventInput;
use super::memory_source::MemoryUse;
use super::network::StreamNetwork;
use super::own_answers::OwnAnswers;
use super::prepare::Rules;
use super::schedule::Schedule;
use super::target::Target;
use crate::answers::texts;
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::scaling::Scaled;
use crate::task_log::TaskLog;
use crate::train::RunClasses;
use crate::training_run::{Collectives, TrainingRun};

/// A run over events in progress.
pub struct EventSession {
    pub(super) config: Config,
    pub(super) material: Arc<EventInput>,
    pub(super) task_name: TaskName,
    pub(super) target: Arc<Target>,
    pub(super) cost: Cost,
    pub(super) network: StreamNetwork,
    pub(super) state: Option<VertexState>,
    /// How many events the state knows, if it grew with the weights in place or was built with
    /// them.
    pub(super) known: Option<usize>,
    /// Whether the state in place grew while the weights were learnt, up to the end of training.
    pub(super) grew: bool,
    /// What the training of the best epoch left.
    pub(super) kept: Option<Kept>,
    /// A state to be overwritten, or what the training of the epoch left while it is validated.
    pub(super) spare: Option<VertexState>,
    /// The memory that grew with the weights in place.
    pub(super) grown: Option<Grown>,
    /// The weights of memory, while they stand still.
    pub(super) still: Option<Still>,
    /// Whether replay rebuilds the memory that belongs to the weights in place.
    pub(super) settled: bool,
    /// Why there is none, if a run's was looked for.
    pub(super) without_run: Option<String>,
    /// With which memory questions were answered.
    pub(super) used: MemoryUse,
    pub(super) learner: Learner,
    pub(super) schedule: Schedule,
    pub(super) rules: Rules,
    pub(super) fixed_negatives: Option<(NegativeList, FixedNegatives)>,
    pub(super) redundancy: dispatch::Redundancy,
    pub(super) tape: Tape,
    pub(super) updates: Updates,
    pub(super) updated: Updated,
    pub(super) timeline: Timeline,
    pub(super) tasks: TaskLog,
    /// Says that validation should end.
    pub(super) interrupt: Interrupt,
    /// How the epochs are laid out.
    pub(super) plan: BatchPlan,
    /// Where the answers of evaluation are kept, while somebody wants them.
    pub(super) own_answers: Option<OwnAnswers>,
}

impl std::fmt::Debug for EventSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventSession")
            .field("network", &self.network)
            .field("epoch", &self.learner.epochs().len())
            .finish_non_exhaustive()
    }
}

impl EventSession {
    /// The data set.
    pub fn material(&self) -> &EventInput {
        &self.material
    }

    /// The network with its parameters.
    pub fn network(&self) -> &StreamNetwork {
        &self.network
    }

    /// The plan that is executed.
    pub fn plan(&self) -> &BatchPlan {
        &self.plan
    }

    /// The names of the features of a judged event that are part of the question; none if the head
    /// reads the embeddings only.
    pub fn own_features(&self) -> &[String] {
        if self.rules.own_features { self.material.feature_names() } else { &[] }
    }

    /// The bytes of events, of their index by vertex, and of all states that a run keeps.
    pub(super) fn data_bytes(&self) -> [u64; 3] {
        let material = &self.material;
        // An entry of the index is a vertex, an event and a time; an event is in two entries.
        let index = material.store.len() * 2 * 16;
        // What an epoch left is set aside while it is validated, beside that of the best epoch.
        let states = match (material.split.validation.is_empty(), self.config.train.epochs) {
            (true, _) => 1,
            (false, 1) => 2,
            (false, _) => 3,
        };
        [material.store.column_bytes() as u64, index as u64, states * self.state_bytes()]
    }

    /// How negatives are drawn, `per_event` of them.
    pub(super) fn negative_options(&self, per_event: usize) -> NegativeOptions {
        NegativeOptions {
            strategy: self.config.task.pool.into(),
            per_event,
            seed: self.config.train.seed,
            avoid_positives: true,
        }
    }

    /// How negatives are drawn for training.
    pub(super) fn training_negatives(&self, per_event: usize) -> NegativeOptions {
        let options = self.negative_options(per_event);
        NegativeOptions { strategy: training_pool(options.strategy), ..options }
    }

    /// The bytes of memory and mailbox, with what they need behind the training part.
    pub(super) fn state_bytes(&self) -> u64 {
        let split = &self.material.split;
        let goes_on = !(split.validation.is_empty() && split.test.is_empty());
        self.state.as_ref().map_or(0, |state| {
            // Rows that evaluation has computed, with their time and their mail.
            let rows = state.vertices() * (4 * state.options().width + 16);
            let more = if goes_on { state.bytes_of_kept_mails() + rows } else { 0 };
            (state.bytes() + more) as u64
        })
    }

    /// Forgets all events.
    pub(super) fn forget(&mut self) {
        self.state.iter_mut().for_each(VertexState::reset);
        self.network.model.begin_pass();
        (self.known, self.grew) = (Some(0), false);
    }
}

impl TrainingRun for EventSession {
    fn config(&self) -> &Config {
        &self.config
    }

    fn task(&self) -> TaskName {
        self.task_name
    }

    fn learner(&self) -> &Learner {
        &self.learner
    }

    fn parameters(&self) -> &Parameters {
        &self.network.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        (self.known, self.grown) = (None, None);
        self.used = MemoryUse::default();
        &mut self.network.parameters
    }

    fn choose_best(&mut self) {
        self.take_best();
    }

    fn data(&self) -> DataSummary {
        self.material.summary()
    }

    fn size(&self) -> String {
        let material = &self.material;
        format!(
            "{} vertices, {} events, {} features",
            material.vertices(),
            material.store.len(),
            material.feature_width()
        )
    }

    fn vertex_names(&self) -> &VertexNames {
        self.material.store.names()
    }

    fn classes(&self) -> RunClasses {
        let store = &self.material.store;
        RunClasses { events: texts(&store.label_names), vertices: texts(&store.vertex_label_names) }
    }

    fn scaled(&self) -> &Scaled {
        &self.material.scaled
    }

    fn warnings(&self) -> &[String] {
        &self.material.warnings
    }

    fn layout(&self) -> serde_json::Value {
        serde_json::to_value(Plan::from(self.plan.clone())).unwrap_or_default()
    }

    fn steps_per_epoch(&self) -> usize {
        let material = &self.material;
        let clock = material.clock(Part::Train);
        let batches = self.schedule.epoch(material.training_events(), 0, clock);
        batches.iter().map(|batch| batch.steps().count()).sum()
    }

    fn stop_on(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    fn protocol(&self) -> serde_json::Value {
        let material = &self.material;
        let declared = StreamProtocol {
            config: &self.config,
            task: self.task_name,
            split: &material.split,
            training_events: material.training_events(),
            held_out: material.held_out.len(),
            unseen: material.unseen.iter().filter(|&&unseen| unseen).count(),
            batch_size: self.schedule.batch,
            fixed: self.fixed_negatives.as_ref().map(|(_, declared)| declared),
            own_features: self.own_features(),
            class_weights: self.cost.declare(),
        };
        let mut declared = declared.declare();
        if let Some(events) = material.run_events() {
            declared["split"]["run_events"] = events.into();
        }
        if let Some(source) = self.used.source() {
            declared["memory_source"] = source.name().into();
        }
        declared
    }

    fn redundancy(&self) -> Option<Redundancy> {
        (self.redundancy.sampled > 0).then(|| Redundancy {
            dispatch: self.redundancy.eta1(),
            aggregation: self.redundancy.eta2(),
        })
    }

    fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    fn device(&self) -> &Device {
        self.tape.device()
    }
}

/// One rank trains on events.
impl Collectives for EventSession {}
