//! The phases of a run that the summary counts seconds of.

use serde::{Deserialize, Serialize};

/// What a run does at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Reading the data and making snapshots of it.
    Load,
    /// Choosing the plan.
    Plan,
    /// Moving bytes between host and device.
    Transfer,
    /// From features to loss.
    Forward,
    /// From loss to gradients.
    Backward,
    /// Moving bytes between ranks.
    Communicate,
    /// From gradients to new weights.
    Update,
    /// Measuring on held-out data.
    Evaluate,
}

impl Phase {
    /// The name in traces and summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Plan => "plan",
            Self::Transfer => "transfer",
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Communicate => "communicate",
            Self::Update => "update",
            Self::Evaluate => "evaluate",
        }
    }
}

/// Seconds spent in each phase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Reading the data and making snapshots of it.
    pub load: f64,
    /// Choosing the plan.
    pub plan: f64,
    /// Moving bytes between host and device.
    pub transfer: f64,
    /// From features to loss.
    pub forward: f64,
    /// From loss to gradients.
    pub backward: f64,
    /// Moving bytes between ranks.
    pub communicate: f64,
    /// From gradients to new weights.
    pub update: f64,
    /// Measuring on held-out data.
    pub evaluate: f64,
}

impl Seconds {
    /// Adds to a phase.
    pub fn add(&mut self, phase: Phase, seconds: f64) {
        *match phase {
            Phase::Load => &mut self.load,
            Phase::Plan => &mut self.plan,
            Phase::Transfer => &mut self.transfer,
            Phase::Forward => &mut self.forward,
            Phase::Backward => &mut self.backward,
            Phase::Communicate => &mut self.communicate,
            Phase::Update => &mut self.update,
            Phase::Evaluate => &mut self.evaluate,
        } += seconds;
    }
}
