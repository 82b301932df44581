//! A message between ranks: which links its bytes cross, and how long it takes whatever their number.
//!
//! The bytes of each rank are those that its program says. They are spread evenly over the ranks that the
//! message is between, or along a ring.

use zoetrope_plan::program::Purpose;
use zoetrope_plan::{Task, TaskKind};

use crate::classes::Circle;
use crate::machine::{AllReduce, Machine};

/// A sum of no more bytes is made by everyone from the values of all (`zoetrope_dist::Ranks::all_reduce`); of a
/// larger one each rank makes a part, which it sends to all others.
pub(crate) const ONE_ROUND_BYTES: usize = 4096;

/// Bytes of one rank by where they go.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Moved {
    pub(crate) out_inside: f64,
    pub(crate) in_inside: f64,
    pub(crate) out_between: f64,
    pub(crate) in_between: f64,
}

/// Which ranks a task is between.
pub(crate) fn circle(task: &Task) -> Circle {
    match (task.kind, task.purpose) {
        (TaskKind::Exchange, Some(Purpose::Halo | Purpose::Answers)) => Circle::SameSnapshots,
        (TaskKind::Exchange, Some(Purpose::ToTime | Purpose::ToStructure)) => Circle::SameVertices,
        _ => Circle::All,
    }
}

/// A message among ranks whose nodes and bytes these are.
#[derive(Debug)]
pub(crate) struct Message<'m> {
    pub(crate) machine: &'m Machine,
    /// Whether values are added up.
    pub(crate) is_sum: bool,
    /// Whether they are added up in parts.
    pub(crate) sums_parts: bool,
    /// The node of each rank, ascending.
    pub(crate) nodes: &'m [usize],
    /// Bytes that leave each rank.
    pub(crate) bytes: &'m [f64],
}

impl Message<'_> {
    fn ranks(&self) -> usize {
        self.nodes.len()
    }

    fn algorithm(&self) -> AllReduce {
        if self.sums_parts { self.machine.all_reduce } else { AllReduce::Direct }
    }

    fn nodes_used(&self) -> usize {
        let changes = self.nodes.windows(2).filter(|pair| pair[0] != pair[1]).count();
        changes + 1
    }

    /// Seconds from the moment that all ranks are there until bytes flow unhindered.
    pub(crate) fn latency(&self) -> f64 {
        let (ranks, nodes) = (self.ranks() as f64, self.nodes_used() as f64);
        let inside = &self.machine.inside;
        let wide = self.machine.between.as_ref().filter(|_| nodes > 1.0).unwrap_or(inside);
        if ranks < 2.0 {
            return 0.0;
        }
        if let Some(latency) = self.measured_latency().filter(|_| nodes < 2.0) {
            return latency + (ranks - 2.0) * inside.gap_seconds;
        }
        match self.algorithm() {
            AllReduce::Direct => {
                let rounds = if self.sums_parts { 2.0 } else { 1.0 };
                rounds * (wide.latency_seconds + (ranks - 2.0) * wide.gap_seconds)
            }
            AllReduce::Ring => 2.0 * (ranks - 1.0) * wide.latency_seconds,
            AllReduce::Hierarchical => {
                let of_node = (ranks / nodes).ceil();
                2.0 * (of_node - 1.0) * inside.latency_seconds
                    + 2.0 * (nodes - 1.0) * wide.latency_seconds
            }
        }
    }

    /// What a message of this size took between two ranks of a node, less what its bytes take at the rate of
    /// the link; None if it was not measured.
    fn measured_latency(&self) -> Option<f64> {
        let measured = self.machine.calibration.as_ref()?.messages.as_ref()?;
        let curve = if self.is_sum { &measured.all_reduce } else { &measured.all_to_all };
        let bytes = self.bytes.iter().copied().fold(1.0, f64::max);
        let flows = 2.0 * bytes / self.machine.inside.bytes_per_second;
        Some((curve.along(bytes) - flows).max(0.0))
    }

    /// The bytes of each rank by where they go.
    pub(crate) fn moved(&self) -> Vec<Moved> {
        let count = self.ranks();
        if count < 2 {
            return vec![Moved::default(); count];
        }
        let all: f64 = self.bytes.iter().sum();
        let (others, mean) = ((count - 1) as f64, all / count as f64);
        let nodes = self.nodes_used() as f64;
        let mut moved = Vec::with_capacity(count);
        for node in self.nodes.chunk_by(PartialEq::eq) {
            let bytes = &self.bytes[moved.len()..moved.len() + node.len()];
            let here: f64 = bytes.iter().sum();
            let (own, apart) = (node.len() as f64, (count - node.len()) as f64);
            let part = |bytes: f64, leaves: f64| Moved {
                out_inside: bytes * (1.0 - leaves),
                in_inside: mean * (1.0 - leaves),
                out_between: bytes * leaves,
                in_between: mean * leaves,
            };
            moved.extend(bytes.iter().map(|&bytes| match self.algorithm() {
                AllReduce::Direct => Moved {
                    out_inside: bytes * (own - 1.0) / others,
                    in_inside: (here - bytes) / others,
                    out_between: bytes * apart / others,
                    in_between: (all - here) / others,
                },
                // One rank of a node sends to the next node.
                AllReduce::Ring => part(bytes, if apart > 0.0 { 1.0 / own } else { 0.0 }),
                AllReduce::Hierarchical => part(bytes, (nodes - 1.0) / others),
            }));
        }
        moved
    }
}
