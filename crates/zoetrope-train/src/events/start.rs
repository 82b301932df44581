//! Bringing a run over events into being: the plan, the task, the network, the state of vertices.

use std::sync::Arc;

use zoetrope_config::{Config, EqualTimesRule, SamplingName, TaskName};
use zoetrope_data::negatives::NegativeList;
use zoetrope_data::options::Limits;
use zoetrope_data::progress::Quiet;
use zoetrope_graph::sampler::{Choice, EqualTimes, Sampler};
use zoetrope_nn::forward::Updates;
use zoetrope_nn::memory::{Delivery, Updated, VertexState};
use zoetrope_plan::{BatchPlan, dispatch};
use zoetrope_run::{Phase, Timeline};
use zoetrope_tensor::Tape;

use super::cost::Cost;
use super::judge::FixedNegatives;
use super::material::EventInput;
use super::memory_source::MemoryUse;
use super::network::StreamNetwork;
use super::planning;
use super::prepare::Rules;
use super::session::EventSession;
use super::target::Target;
use crate::device;
use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::task_log::TaskLog;

impl EventSession {
    /// Chooses the task and builds the network and the state.
    ///
    /// # Errors
    /// If the data does not fit the task or the model.
    pub fn start(
        mut config: Config,
        mut material: EventInput,
        given: Option<BatchPlan>,
        timeline: Timeline,
    ) -> Result<Self, TrainError> {
        let span = timeline.phase(Phase::Plan);
        let task_name = config.task.name.unwrap_or(TaskName::LinkPrediction);
        config.task.name = Some(task_name);
        config.check()?;
        if material.training_events() == 0 {
            return Err(TrainError::Unfit {
                what: "the training part has no event".to_owned(),
                advice: "change data.split or data.inductive".to_owned(),
            });
        }
        let device = device::open(&config, &timeline, None)?;
        let planned = given.is_some();
        let plan = planning::plan(&config, &material, &device, given)?;
        device::obey(&device, plan.gpu.map(|gpu| gpu.precision));
        if let Some(gpu) = plan.gpu {
            material.place_on(&device, gpu)?;
        }
        let target = Target::new(&config, task_name, &material)?;
        let own_features = own_features(&config, task_name, &material)?;
        let cost = Cost::new(&config, &target, &material)?;
        let network = StreamNetwork::new(&config, &material, &target, own_features)?;
        let options = network.model.state();
        let state = options
            .map(|state| VertexState::on(&device, state, material.vertices(), material.origin()));
        let rules = Rules {
            sampler: Sampler {
                choice: match config.model.sampling_in_force() {
                    SamplingName::Recent => Choice::Recent,
                    SamplingName::Uniform => Choice::Uniform,
                },
                neighbours: config.model.neighbours_in_force(),
                equal_times: match config.task.equal_times {
                    EqualTimesRule::Future | EqualTimesRule::Batch => EqualTimes::Future,
                    EqualTimesRule::Past => EqualTimes::Past,
                },
                seed: config.train.seed,
            },
            neighbours: config.task.neighbours,
            layers: network.model.layers(),
            deduplicate: plan.deduplicate,
            query_time: network.model.uses_query_time(),
            deliver: options.is_some_and(|options| options.delivery == Delivery::Neighbours),
            own_features,
        };
        let schedule = planning::schedule(&plan, config.train.seed);
        let fixed_negatives = match &config.task.negatives_file {
            Some(path) => {
                let list = NegativeList::read(path, &Limits::default(), &Quiet)?;
                list.check(&material.store, &material.split)?;
                let declared = FixedNegatives::new(path, &list.metadata)?;
                Some((list, declared))
            }
            None => None,
        };
        let metrics = task_name.stream_metrics(target.classes());
        config.check_watched(metrics)?;
        let learner = Learner::new(&config, metrics[0], &network.parameters, &device);
        drop(span);
        let mut session = Self {
            config,
            material: Arc::new(material),
            task_name,
            target: Arc::new(target),
            cost,
            network,
            state,
            known: None,
            grew: false,
            kept: None,
            spare: None,
            grown: None,
            still: None,
            settled: false,
            without_run: None,
            used: MemoryUse::default(),
            learner,
            schedule,
            rules,
            fixed_negatives,
            redundancy: dispatch::Redundancy::default(),
            tape: Tape::on(device),
            updates: Updates::default(),
            updated: Updated::default(),
            tasks: TaskLog::new(&timeline, None),
            timeline,
            interrupt: Interrupt::new(),
            plan,
            own_answers: None,
        };
        // A saved plan is executed as it is, within the limit.
        if zoetrope_heap::limit().is_some() && !planned {
            session.plan_memory()?;
        }
        Ok(session)
    }
}

/// Whether the features of judged events are part of the question.
///
/// # Errors
/// If they are to be, but events have none.
fn own_features(
    config: &Config,
    task: TaskName,
    material: &EventInput,
) -> Result<bool, TrainError> {
    let wanted = config.task.own_features;
    if wanted == Some(true) && material.feature_width() == 0 {
        return Err(TrainError::Unfit {
            what: "task.own_features = true, but these events have no features".to_owned(),
            advice: "leave task.own_features out".to_owned(),
        });
    }
    Ok(wanted.unwrap_or(task.sees_own_features()) && material.feature_width() > 0)
}
