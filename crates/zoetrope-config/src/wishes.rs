//! What `[plan]` asks of planners, in their words.
//!
//! The only place that reads the section: what executes a run sees a plan, not wishes. (The limit on memory
//! is also kept by allocators, and the patience of ranks is no matter of plans: both are handed on here.)

use std::time::Duration;

use zoetrope_plan::{
    BatchRule, Coding, FrameRule, OperatorOrder as PlannedOrder, OverlapWish,
    Precision as PlannedPrecision, Residency as PlannedResidency, StrategyWish, Transport, Wishes,
};

use super::plan::{
    DeviceTransport, DifferenceRule, OperatorOrder, OverlapRule, PartitionerName, Residency,
    StrategyName,
};
use super::{Config, EqualTimesRule, Precision};

/// The residency that was asked for; None if the planner decides.
fn planned_residency(asked: Residency) -> Option<PlannedResidency> {
    match asked {
        Residency::Auto => None,
        Residency::Resident => Some(PlannedResidency::Resident),
        Residency::Stream => Some(PlannedResidency::Stream),
    }
}

/// The ranks that a plan is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedRanks {
    /// All of them.
    pub all: u32,
    /// Those of one process.
    pub in_process: u32,
}

impl PlannedRanks {
    /// One rank.
    pub const ALONE: Self = Self { all: 1, in_process: 1 };
}

impl Config {
    /// What planners are asked. `compare` says whether to look at everything that there is to choose from.
    pub fn wishes(&self, ranks: PlannedRanks, rule: FrameRule, compare: bool) -> Wishes {
        let plan = &self.plan;
        // A run of several ranks is asked questions by one, who shares with nobody.
        let shares = ranks.all > 1;
        let named = !self.names_plan_file() && plan.name != "auto";
        let planner = named && (shares || self.train.ranks == 1);
        Wishes {
            planner: planner.then(|| plan.name.clone()),
            ranks: ranks.all,
            in_process: ranks.in_process,
            strategy: match plan.strategy {
                _ if !shares => None,
                StrategyName::Auto => None,
                StrategyName::Frames => Some(StrategyWish::Frames),
                StrategyName::Snapshot => Some(StrategyWish::Snapshot),
                StrategyName::Vertex => Some(StrategyWish::Vertex),
                StrategyName::Hypergraph => Some(StrategyWish::Hypergraph),
                StrategyName::Hybrid => Some(StrategyWish::Hybrid),
            },
            members: plan.members.filter(|_| shares).map(|members| members as u32),
            metis: plan.partitioner == PartitionerName::Metis && shares,
            overlap: match plan.overlap {
                OverlapRule::Always if shares => OverlapWish::Always,
                OverlapRule::IfItGains if shares => OverlapWish::IfItGains,
                _ => OverlapWish::Never,
            },
            rule,
            batches: BatchRule {
                events: self.train.batch_size,
                chunks: self.train.chunks,
                whole_times: self.task.equal_times == EqualTimesRule::Future,
            },
            group: plan.group,
            order: self.wished_order(),
            reuse: plan.reuse,
            blocks: plan.blocks,
            recompute: plan.recompute,
            deduplicate: plan.deduplicate,
            prefetch: plan.prefetch,
            precision: match self.train.precision {
                Precision::F32 => PlannedPrecision::F32,
                Precision::Tf32 => PlannedPrecision::Tf32,
                Precision::Bf16 => PlannedPrecision::Bf16,
            },
            residency: planned_residency(plan.residency),
            block_states: planned_residency(plan.block_states),
            coding: match plan.difference {
                DifferenceRule::Auto => Coding::Auto,
                DifferenceRule::On => Coding::Differences,
                DifferenceRule::Off => Coding::Whole,
            },
            record: plan.record,
            transport: match plan.device_transport {
                DeviceTransport::Auto => None,
                DeviceTransport::Nccl => Some(Transport::Nccl),
                DeviceTransport::Host => Some(Transport::Host),
            },
            memory_limit: self.memory_limit(),
            seed: self.train.seed,
            compare,
        }
    }

    /// Which of the two products of a structure layer is to come first, if that is asked for.
    pub fn wished_order(&self) -> Option<PlannedOrder> {
        match self.plan.order {
            OperatorOrder::Auto => None,
            OperatorOrder::AggregateFirst => Some(PlannedOrder::AggregateFirst),
            OperatorOrder::UpdateFirst => Some(PlannedOrder::UpdateFirst),
        }
    }

    /// Whether `plan.name` names the file of a saved plan rather than a planner.
    pub fn names_plan_file(&self) -> bool {
        let path = std::path::Path::new(&self.plan.name);
        path.extension().is_some_and(|extension| extension == "json")
            || self.plan.name.contains(std::path::MAIN_SEPARATOR)
            || path.is_file()
    }

    /// The file of a saved plan, if one is named.
    pub fn plan_file(&self) -> Option<&std::path::Path> {
        self.names_plan_file().then(|| std::path::Path::new(&self.plan.name))
    }

    /// The most memory that the process may take, or the GPU if it computes on one.
    pub fn memory_limit(&self) -> Option<u64> {
        self.plan.memory_limit.map(|limit| limit.0)
    }

    /// Whether batches of events may be prepared ahead.
    pub fn prefetches(&self) -> bool {
        self.plan.prefetch
    }

    /// Whether aggregations of the first layer may be kept.
    pub fn keeps_aggregations(&self) -> bool {
        self.plan.reuse
    }

    /// How long a rank may wait for others before one of them counts as hung.
    pub fn rank_timeout(&self) -> Duration {
        // Longer than a century is for ever, and a time that far away can be reckoned with.
        Duration::from_secs_f64(self.plan.timeout.min(1e9 * 3.2))
    }
}
