//! How the ranks of a run share it: the strategy, the partition of vertices, what cannot be shared.

use std::sync::Arc;

use zoetrope_dist::Ranks;
use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::model::Model;
use zoetrope_nn::optimiser::Gradients;
use zoetrope_nn::{Parameters, SharedLayer};
use zoetrope_plan::partition::Objective;
use zoetrope_plan::placement::grid::even_starts;
use zoetrope_plan::strategy::{Comparison, LayerTraffic, Machine, Question, Traffic, compare};
use zoetrope_plan::{
    Frame, Partition, Placement, Plan, Renaming, SharedWork, Strategy, Workload, volume,
};
use zoetrope_tensor::cuda::ParameterBlock;

use crate::config::{self, Config, StrategyName};
use crate::engine::{Layout, Team};
use crate::error::TrainError;
use crate::material::Material;

/// Models that ranks can share, for messages.
const SHARED_MODELS: &str = "tgcn, cd-gcn, wd-gcn, tm-gcn and evolvegcn-o";

/// What was decided, before there is a plan.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) work: SharedWork,
    renaming: Option<Arc<Renaming>>,
}

impl Decided {
    /// The team that executes a plan.
    pub(super) fn team(self, ranks: Ranks, plan: &Plan, overlap: bool) -> Team {
        Team {
            grid: self.work.strategy.grid(self.work.ranks),
            starts: self.work.starts,
            renaming: self.renaming,
            time_on_features: self.work.traffic.time_on_features,
            blocks: plan.blocks,
            overlap,
            ranks,
        }
    }
}

/// Those who share a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sharers<'a> {
    /// Ranks that are here.
    Here(&'a Ranks),
    /// As many as a plan is made for, each in a process of its own.
    Planned(u32),
}

impl Sharers<'_> {
    pub(super) fn size(self) -> u32 {
        match self {
            Self::Here(ranks) => ranks.size() as u32,
            Self::Planned(ranks) => ranks,
        }
    }

    fn in_process(self) -> u32 {
        match self {
            Self::Here(ranks) if ranks.engine() == "threads" => ranks.size() as u32,
            Self::Here(_) | Self::Planned(_) => 1,
        }
    }

    /// What the first rank finds, on all of them.
    fn told(
        self,
        length: usize,
        find: impl FnOnce() -> Result<Vec<u32>, TrainError>,
    ) -> Result<Vec<u32>, TrainError> {
        let Self::Here(ranks) = self else { return find() };
        let mut found = vec![0; length];
        if ranks.rank() == 0 {
            ranks.take_time();
            found = find()?;
        }
        ranks.broadcast(0, &mut found)?;
        Ok(found)
    }
}

/// What is shared.
#[derive(Clone, Copy)]
pub(super) struct Shareable<'a> {
    pub(super) config: &'a Config,
    pub(super) material: &'a Material,
    pub(super) model: &'a dyn Model,
    pub(super) parameters: &'a Parameters,
    pub(super) workload: &'a Workload,
    /// Bytes of the state that a frame leaves.
    pub(super) state_bytes: u64,
    /// How one rank would do it: frames, orders, reuse.
    pub(super) alone: &'a Plan,
}

impl Shareable<'_> {
    /// What the model exchanges.
    fn traffic(&self) -> Option<Traffic> {
        let layout = Layout::of(self.alone);
        let sharing = self.model.sharing(layout.orders())?;
        let reuse = self.alone.reuse.first_aggregation;
        let layer = |(at, layer): (usize, &SharedLayer)| LayerTraffic {
            gathered: layer.gathered,
            gathered_once: at == 0 && reuse,
            gathered_needs_gradient: layer.gathered_needs_gradient,
            to_time: layer.to_time,
            to_time_needs_gradient: layer.to_time_needs_gradient,
            from_time: layer.from_time,
        };
        Some(Traffic {
            layers: sharing.layers.iter().enumerate().map(layer).collect(),
            answered: self.model.width(),
            summed: self.summed(),
            time_on_features: sharing.time_on_features,
            state_bytes_per_vertex: self.state_bytes / self.material.vertices().max(1) as u64,
        })
    }

    /// The frame with most edges.
    fn frame(&self) -> Frame {
        let graph = &self.material.sequence;
        let edges = |frame: &&Frame| frame.range().map(|step| graph.at(step).len()).sum::<usize>();
        *self.alone.frames.iter().max_by_key(edges).expect("a plan has frames")
    }

    /// Values that are added up in a step: gradients and which parameters they reached, as they lie on the
    /// device.
    fn summed(&self) -> usize {
        match self.config.train.device {
            config::Device::Cpu => Gradients::packed(self.parameters),
            config::Device::Cuda(_) => {
                let lengths = self.parameters.iter().map(|(_, one)| one.matrix.shape().len());
                ParameterBlock::shared_len(lengths)
            }
        }
    }

    /// The ways to share it among so many ranks, side by side.
    ///
    /// # Errors
    /// Where the model cannot be shared.
    pub(super) fn compare(&self, ranks: u32) -> Result<Comparison, TrainError> {
        let (config, graph) = (self.config, &self.material.sequence);
        let traffic = self.traffic().ok_or_else(|| unshared(self.model))?;
        let may_choose = self.model.works_in_blocks() && config.plan.recompute;
        Ok(compare(&Question {
            workload: self.workload,
            traffic: &traffic,
            graph,
            frame: self.frame(),
            ranks,
            blocks: config.plan.blocks.or((!may_choose).then_some(1)),
            recompute: config.plan.recompute,
            memory_limit: config.plan.memory_limit.map(|limit| limit.0),
            machine: Machine::one_host(),
            seed: config.train.seed,
        })?)
    }
}

/// The error of a model that ranks cannot share.
fn unshared(model: &dyn Model) -> TrainError {
    TrainError::Unfit {
        what: format!("{} cannot be shared by ranks", model.name()),
        advice: format!("use --ranks 1, or one of {SHARED_MODELS}"),
    }
}

/// Refuses what several ranks cannot compute to the same result as one.
fn refuse(
    config: &Config,
    model: &dyn Model,
    vertices: usize,
    ranks: usize,
) -> Result<(), TrainError> {
    let unfit = |holds: bool, what: String, advice: String| match holds {
        true => Err(TrainError::Unfit { what, advice }),
        false => Ok(()),
    };
    let with = format!("with {ranks} ranks");
    if model.sharing(&[]).is_none() {
        return Err(unshared(model));
    }
    unfit(
        config.model.dropout > 0.0,
        format!(
            "model.dropout = {} {with}: what is dropped would depend on them",
            config.model.dropout
        ),
        "set model.dropout = 0".to_owned(),
    )?;
    unfit(
        config.train.carry_state,
        format!("train.carry_state {with}: every frame is spread over all of them anew"),
        "leave train.carry_state out".to_owned(),
    )?;
    unfit(
        config.train.truncate.is_some(),
        format!("train.truncate {with}"),
        "leave it out; plan.blocks saves memory".to_owned(),
    )?;
    unfit(
        vertices < ranks,
        format!("{ranks} ranks for {vertices} vertices"),
        "choose fewer ranks".to_owned(),
    )?;
    Ok(())
}

/// The strategy that the configuration names.
fn named(config: &Config, ranks: u32) -> Result<Option<Strategy>, TrainError> {
    let vertex = |objective| Some(Strategy::Vertex { objective });
    Ok(match config.plan.strategy {
        StrategyName::Auto => None,
        StrategyName::Snapshot => Some(Strategy::Snapshot),
        StrategyName::Vertex => vertex(Objective::EdgeCut),
        StrategyName::Hypergraph => vertex(Objective::Connectivity),
        StrategyName::Hybrid => {
            let smallest = || (2..=ranks).find(|&members| ranks.is_multiple_of(members));
            let members = config.plan.members.map(|members| members as u32).or_else(smallest);
            let members = members.unwrap_or(1);
            if !ranks.is_multiple_of(members) {
                return Err(TrainError::Unfit {
                    what: format!("plan.members = {members} with {ranks} ranks"),
                    advice: "choose a number that divides the ranks".to_owned(),
                });
            }
            Some(Strategy::Hybrid { members })
        }
    })
}

/// Rows that members of a group gather from each other over a frame.
fn gathered_rows(
    graph: &SnapshotSequence,
    renaming: &Renaming,
    frame: &Frame,
) -> Result<u64, TrainError> {
    let renamed = renaming.snapshots(graph).map_err(zoetrope_nn::NnError::from)?;
    let starts = renaming.starts().to_vec();
    let members = starts.len() as u32 - 1;
    let group = Placement::ByVertex { starts, ranks: (0..members).collect() };
    let at = |step: usize| renamed.at(frame.start + step);
    Ok(volume::halo(&group, graph.vertices(), 0..frame.steps, members, at).total())
}

/// Decides how ranks share a run. All of them call it; the first one compares and partitions.
pub(super) fn decide(
    shareable: &Shareable<'_>,
    given: Option<&Plan>,
    sharers: Sharers<'_>,
) -> Result<Decided, TrainError> {
    let &Shareable { config, material, model, alone, .. } = shareable;
    let (size, vertices) = (sharers.size(), material.vertices());
    refuse(config, model, vertices, size as usize)?;
    let traffic = shareable.traffic().ok_or_else(|| unshared(model))?;
    let steps = alone.frames[0].steps;
    let blocks = config.plan.blocks.unwrap_or(1).min(steps);
    let (strategy, reason) = match (given.and_then(|plan| plan.strategy), named(config, size)?) {
        (Some(strategy), _) => {
            (strategy, format!("{size} ranks share it as the plan says: {}", strategy.name()))
        }
        (None, Some(strategy)) => {
            (strategy, format!("{size} ranks share it as asked: {}", strategy.name()))
        }
        // Every rank has a snapshot of every block: that is even, and needs no partition.
        (None, None) if steps / blocks >= size as usize => (
            Strategy::Snapshot,
            format!(
                "{size} ranks share it by snapshot: each block of a frame has one for everybody"
            ),
        ),
        (None, None) => {
            let best = sharers.told(1, || Ok(vec![shareable.compare(size)?.recommended as u32]))?;
            let strategy = Strategy::all(size)[best[0] as usize];
            let why = "a block of a frame has fewer snapshots than that, and this is predicted to be \
                       fastest";
            (strategy, format!("{size} ranks share it by {}: {why}", strategy.name()))
        }
    };
    let members = strategy.grid(size).members;
    let (renaming, gathered) = match strategy.objective().filter(|_| members > 1) {
        None => (None, 0),
        Some(_) => {
            let (graph, training) = (&material.sequence, shareable.workload.training.clone());
            // Parts of all vertices, and last how many rows they gather.
            let mut of = sharers.told(vertices + 1, || {
                let partition = strategy.partition(graph, training, size, config.train.seed);
                let partition = partition.expect("there are several members");
                let gathered = gathered_rows(graph, &partition.renaming(), &shareable.frame())?;
                let mut told = partition.of;
                told.push(u32::try_from(gathered).unwrap_or(u32::MAX));
                Ok(told)
            })?;
            let gathered = of.pop().unwrap_or(0);
            (Some(Arc::new(Partition { parts: members, of }.renaming())), gathered.into())
        }
    };
    let starts = match &renaming {
        Some(renaming) => renaming.starts().to_vec(),
        None => even_starts(vertices as u32, 1),
    };
    let work = SharedWork {
        ranks: size,
        in_process: sharers.in_process(),
        strategy,
        reason,
        starts,
        traffic,
        gathered,
    };
    Ok(Decided { work, renaming })
}
