//! What the planner is told by `[plan]` and `[train]`.

use zoetrope_plan::{Choice, FrameRule, OperatorOrder as Order};

use super::{Config, Frame, OperatorOrder};

impl Config {
    /// How frames are cut.
    pub fn frame_rule(&self) -> FrameRule {
        let frame = match self.train.frame {
            Frame::All => None,
            Frame::Steps(steps) => Some(steps),
        };
        FrameRule { frame, stride: self.train.stride, truncate: self.train.truncate }
    }

    /// What the user decided about the plan; `plan.name` may be a file instead of a planner, which
    /// the caller finds out first.
    pub fn choice(&self) -> Choice {
        Choice {
            planner: self.plan.name.clone(),
            rule: self.frame_rule(),
            group: self.plan.group,
            order: match self.plan.order {
                OperatorOrder::Auto => None,
                OperatorOrder::AggregateFirst => Some(Order::AggregateFirst),
                OperatorOrder::UpdateFirst => Some(Order::UpdateFirst),
            },
            reuse: self.plan.reuse,
            memory_limit: self.plan.memory_limit.map(|limit| limit.0),
        }
    }
}
