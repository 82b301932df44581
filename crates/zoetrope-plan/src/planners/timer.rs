//! Who knows how long a plan takes: a simulator above this crate.

use super::Candidate;
use crate::plan::Plan;

/// How long a plan takes, and what its time goes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// Seconds of an epoch.
    pub seconds: f64,
    /// What its time goes to most.
    pub binds: String,
}

/// Times plans on the machine that they are for.
pub trait Timer {
    /// The machine, and where its numbers come from.
    fn machine(&self) -> String;

    /// How long an epoch of a plan takes there; None if that cannot be said.
    fn time(&self, plan: &Plan) -> Option<Timed>;
}

/// Puts simulated seconds in the place of predicted ones, if there are several candidates and all can be timed: times
/// of two kinds could not be compared. Returns the machine that they are of.
pub(super) fn apply(timer: Option<&dyn Timer>, candidates: &mut [Candidate]) -> Option<String> {
    let timer = timer.filter(|_| candidates.len() > 1)?;
    let all: Vec<Timed> =
        candidates.iter().map(|candidate| timer.time(&candidate.plan)).collect::<Option<_>>()?;
    for (candidate, timed) in candidates.iter_mut().zip(all) {
        candidate.seconds = timed.seconds;
        candidate.binds = Some(timed.binds);
    }
    Some(timer.machine())
}
