//! What sending the matrices of a sequence piece by piece will take, told without a GPU.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::coded::Coded;
use super::packets::{Packets, whole_bytes};
use super::sides;
use crate::cuda::gpu::lock;
use crate::sparse::{Difference, Side, SparseGroup, SparseMatrix};

/// The bytes of pieces of a sequence that is [streamed](SparseGroup::stream), as they are sent one after the
/// other to a GPU that has none of them.
#[derive(Debug)]
pub struct SentForecast {
    sides: Vec<SideForecast>,
    /// Whether what is on the GPU is not sent again.
    keeps: bool,
}

/// The same of one side.
#[derive(Debug)]
struct SideForecast {
    members: Arc<[Arc<SparseMatrix>]>,
    side: Side,
    /// If it is sent as differences.
    packets: Option<Arc<Mutex<Packets>>>,
    /// The snapshot whose entries are on the GPU.
    latest: Option<usize>,
}

impl SentForecast {
    /// Of a sequence as it is streamed now, with transposes if `backward`; None if it stays on the GPU.
    pub fn new(group: &SparseGroup, backward: bool) -> Option<Self> {
        let (sequence, _) = group.origin();
        let at_once = sequence.at_once()?.min(sequence.members().len());
        let difference = sequence.difference();
        let of_side = |&side: &Side| SideForecast {
            members: Arc::clone(sequence.shared_members()),
            side,
            packets: Coded::is_used(sequence, side, at_once).then(|| sequence.packets(side)),
            latest: None,
        };
        let sides = sides(backward).iter().map(of_side).collect();
        Some(Self { sides, keeps: difference != Difference::Off })
    }

    /// The GPU has none of the matrices from here on.
    pub fn restart(&mut self) {
        self.sides.iter_mut().for_each(|side| side.latest = None);
    }

    /// The bytes that are sent for some snapshots of the sequence if those `here` were entered before.
    pub fn send(&mut self, here: &Range<usize>, steps: &Range<usize>) -> u64 {
        let kept = if here.contains(&steps.start) && self.keeps {
            here.end.min(steps.end)
        } else {
            steps.start
        };
        let new = kept..steps.end;
        self.sides.iter_mut().map(|side| side.send(&new)).sum()
    }
}

impl SideForecast {
    fn send(&mut self, new: &Range<usize>) -> u64 {
        let Some(packets) = &self.packets else {
            return whole_bytes(&self.members[new.clone()], self.side);
        };
        let (bytes, latest) = lock(packets).bytes(self.latest, new);
        self.latest = latest;
        bytes
    }
}
