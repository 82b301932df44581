//! How the ranks of a run share it: the strategy, the partition of vertices, what cannot be shared.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_data::split::Part;
use zoetrope_dist::Ranks;
use zoetrope_nn::model::Model;
use zoetrope_plan::partition::{Objective, Options};
use zoetrope_plan::placement::grid::even_starts;
use zoetrope_plan::strategy::{LayerTraffic, Traffic};
use zoetrope_plan::{Partition, Plan, Renaming, SharedWork, Strategy};

use crate::config::{Config, StrategyName, TaskName};
use crate::engine::Team;
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
            time_on_features: self.work.time_on_features,
            blocks: plan.blocks,
            overlap,
            ranks,
        }
    }
}

/// What a model exchanges, as planners take it.
pub(crate) fn traffic(
    model: &dyn Model,
    reuse: bool,
    state_bytes: u64,
    vertices: usize,
) -> Option<Traffic> {
    let sharing = model.sharing(&[])?;
    let layer = |(at, layer): (usize, &zoetrope_nn::SharedLayer)| LayerTraffic {
        gathered: layer.gathered,
        gathered_once: at == 0 && reuse && model.can_reuse(),
        to_time: layer.to_time,
        from_time: layer.from_time,
    };
    Some(Traffic {
        layers: sharing.layers.iter().enumerate().map(layer).collect(),
        time_on_features: sharing.time_on_features,
        state_bytes_per_vertex: state_bytes / vertices.max(1) as u64,
    })
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
    unfit(
        model.sharing(&[]).is_none(),
        format!("{} cannot be shared by ranks", model.name()),
        format!("use --ranks 1, or one of {SHARED_MODELS}"),
    )?;
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

/// The steps that a partition of the vertices is made for.
fn partitioned(material: &Material, task: TaskName) -> Range<usize> {
    material.steps_of(Part::Train, task)
}

/// Decides how ranks share a run. All of them call it; the first one partitions.
pub(super) fn decide(
    config: &Config,
    task: TaskName,
    material: &Material,
    model: &dyn Model,
    steps: usize,
    given: Option<&Plan>,
    ranks: &Ranks,
) -> Result<Decided, TrainError> {
    let (size, vertices) = (ranks.size() as u32, material.vertices());
    refuse(config, model, vertices, ranks.size())?;
    let sharing = model.sharing(&[]).expect("refused above");
    let blocks = config.plan.blocks.unwrap_or(1);
    let (strategy, reason) = match (given.and_then(|plan| plan.strategy), named(config, size)?) {
        (Some(strategy), _) => {
            (strategy, format!("{size} ranks share it as the plan says: {}", strategy.name()))
        }
        (None, Some(strategy)) => {
            (strategy, format!("{size} ranks share it as asked: {}", strategy.name()))
        }
        // Every rank has a snapshot of every block: nothing else is as even, and moves as little.
        (None, None) if steps / blocks.min(steps) >= size as usize => (
            Strategy::Snapshot,
            format!(
                "{size} ranks share it by snapshot: each block of a frame has one for everybody"
            ),
        ),
        (None, None) => (
            Strategy::Vertex { objective: Objective::Connectivity },
            format!(
                "{size} ranks share its vertices: a block of a frame has fewer snapshots than that"
            ),
        ),
    };
    let renaming = match strategy.objective() {
        Some(objective) if strategy.grid(size).members > 1 => {
            let members = strategy.grid(size).members;
            let options = Options { seed: config.train.seed, ..Options::new(members) };
            let mut of = vec![0; vertices];
            if ranks.rank() == 0 {
                let steps = partitioned(material, task);
                let partition = || objective.partition(&material.sequence, steps, &options).of;
                of = ranks.while_waited_for(partition)?;
            } else {
                ranks.wait_for_work()?;
            }
            ranks.broadcast(0, &mut of)?;
            Some(Arc::new(Partition { parts: members, of }.renaming()))
        }
        _ => None,
    };
    let starts = match &renaming {
        Some(renaming) => renaming.starts().to_vec(),
        None => even_starts(vertices as u32, 1),
    };
    let work = SharedWork {
        ranks: size,
        in_process: if ranks.engine() == "threads" { size } else { 1 },
        strategy,
        reason,
        starts,
        time_on_features: sharing.time_on_features,
    };
    Ok(Decided { work, renaming })
}
