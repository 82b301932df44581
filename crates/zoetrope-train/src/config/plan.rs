//! `[plan]`: how the work is laid out.

use super::names::names;
use super::rule::{Filled, Whole};
use super::section::section;

section! {
    /// How the work is laid out.
    PlanConfig = "plan" {
        /// Name of a planner, or the file of a saved plan.
        name: String = "auto".into(), Filled("the name of a planner or a file");
        /// Whether the aggregation of the first layer is computed once and kept.
        reuse: bool = true;
        /// Snapshots that one call of a structure encoder takes; chosen by the planner where not
        /// set.
        group: Option<usize> = None, Whole(1, 1 << 30);
        /// Whether a layer multiplies with the graph or with the weights first.
        order: OperatorOrder = OperatorOrder::Auto;
    }
}

names! {
    /// Whether a layer multiplies with the graph or with the weights first.
    OperatorOrder {
        /// What is cheaper.
        Auto = "auto",
        /// `(ÂX)W`.
        AggregateFirst = "aggregate-first",
        /// `Â(XW)`.
        UpdateFirst = "update-first",
    }
}
