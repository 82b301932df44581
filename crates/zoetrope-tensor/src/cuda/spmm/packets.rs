//! How the snapshots of one side of a sequence are sent as differences: in which runs, and in which packets.
//!
//! A snapshot that follows the one on the GPU is sent as the difference to it; one that does not, as the
//! difference to an empty snapshot; and one whose difference is no smaller than itself, whole. That depends
//! on the snapshots alone, so that bytes can be told before anything is sent. Packets are made when they are
//! first needed and kept, because the same groups come again every epoch.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use zoetrope_graph::Difference;

use super::coded_rows::CodedRows;
use super::locked::PageWords;
use super::packet::{Sizes, pack};
use super::snapshot_changes::SnapshotChanges;
use crate::sparse::{Side, SparseMatrix};

/// The packets of one side of a sequence.
#[derive(Debug)]
pub(crate) struct Packets {
    members: Arc<[Arc<SparseMatrix>]>,
    side: Side,
    /// By their snapshots and whether they follow the one before; None for those sent as they are.
    made: HashMap<(Range<usize>, bool), Option<Arc<Packet>>>,
}

/// What is sent for some consecutive snapshots.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) words: PageWords,
    pub(super) sizes: Sizes,
}

/// Consecutive snapshots that are sent together.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) steps: Range<usize>,
    /// Whether the snapshot before them is on the GPU.
    pub(super) follows: bool,
    /// How they are sent, unless as they are.
    pub(super) packet: Option<Arc<Packet>>,
}

impl Packets {
    pub(crate) fn new(members: &Arc<[Arc<SparseMatrix>]>, side: Side) -> Self {
        Self { members: Arc::clone(members), side, made: HashMap::new() }
    }

    /// How some snapshots are sent if the GPU has the entries of `latest`.
    pub(super) fn runs(&mut self, mut latest: Option<usize>, steps: &Range<usize>) -> Vec<Run> {
        let (mut runs, mut from) = (Vec::new(), steps.start);
        while from < steps.end {
            // The first snapshots of a mean have no weights yet.
            let of_kind = |step: &usize| self.is_plain(*step) == self.is_plain(from);
            let most = from..steps.end.min(from + Difference::STEPS_MAX);
            let steps = from..from + most.take_while(of_kind).count();
            let follows = latest.is_some_and(|latest| latest + 1 == from && of_kind(&latest));
            let packet = self.packet(&steps, follows);
            latest = latest_after(&steps, packet.as_ref());
            from = steps.end;
            runs.push(Run { steps, follows, packet });
        }
        runs
    }

    /// The bytes of some snapshots, and of which one the GPU has the entries then.
    pub(super) fn bytes(
        &mut self,
        latest: Option<usize>,
        steps: &Range<usize>,
    ) -> (u64, Option<usize>) {
        let (mut bytes, mut after) = (0, latest);
        for run in self.runs(latest, steps) {
            bytes += match &run.packet {
                Some(packet) => size_of_val(packet.words.words()) as u64,
                None => whole_bytes(&self.members[run.steps.clone()], self.side),
            };
            after = latest_after(&run.steps, run.packet.as_ref());
        }
        (bytes, after)
    }

    /// Whether the values of a snapshot follow from its degrees alone.
    fn is_plain(&self, step: usize) -> bool {
        self.members[step].slices(self.side).is_factored()
    }

    fn packet(&mut self, steps: &Range<usize>, follows: bool) -> Option<Arc<Packet>> {
        let Self { members, side, made } = self;
        let made = made.entry((steps.clone(), follows)).or_insert_with(|| {
            let (rows, changes, whole) = changes_of(members, *side, steps.clone(), follows);
            let slices = members[steps.clone()].iter().map(|member| &**member.slices(*side));
            let snapshots: Vec<_> = slices.zip(&rows[usize::from(follows)..]).collect();
            let (words, sizes) = pack(&changes?, &snapshots);
            let shorter = words.len() < whole;
            shorter.then(|| Arc::new(Packet { words: PageWords::new(&words), sizes }))
        });
        made.clone()
    }
}

/// The snapshot whose entries a GPU has once a run was sent.
fn latest_after(steps: &Range<usize>, packet: Option<&Arc<Packet>>) -> Option<usize> {
    packet.map(|_| steps.end - 1)
}

/// The bytes of some matrices as they are.
pub(super) fn whole_bytes(members: &[Arc<SparseMatrix>], side: Side) -> u64 {
    members.iter().map(|member| member.slices(side).sent_bytes()).sum()
}

/// The rows of some snapshots (and before them those of the one that they follow), what turns them into each
/// other, and the words that they have as they are.
pub(super) fn changes_of(
    members: &[Arc<SparseMatrix>],
    side: Side,
    steps: Range<usize>,
    follows: bool,
) -> (Vec<CodedRows>, Option<SnapshotChanges>, usize) {
    let asked = &members[steps.start - usize::from(follows)..steps.end];
    // Before anything is parallel: a matrix makes its slices in parallel, and while it waits for them
    // must not be asked for them again.
    asked.iter().for_each(|member| drop(Arc::clone(member.slices(side))));
    let rows: Vec<CodedRows> = asked.par_iter().map(|member| CodedRows::of(member, side)).collect();
    let (before, new) = rows.split_at(usize::from(follows));
    let changes = SnapshotChanges::new(before.first(), &new.iter().collect::<Vec<_>>());
    let whole = members[steps].iter().map(|member| member.slices(side).essence().len()).sum();
    (rows, changes, whole)
}
