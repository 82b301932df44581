//! One side of a sequence, sent to the GPU as differences and rebuilt there.
//!
//! A snapshot that follows the one on the GPU is sent as the difference to it; one that does not, as the
//! difference to an empty snapshot; and one whose difference is no smaller than itself, whole. Packets are
//! made when they are first needed and kept, because the same groups come again every epoch.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use zoetrope_graph::Difference;

use super::coded_rows::CodedRows;
use super::difference::{Arrived, Rebuild, Room};
use super::locked::LockedWords;
use super::packet::{Sizes, pack};
use super::snapshot_changes::SnapshotChanges;
use crate::cuda::{Gpu, Scratch, View};
use crate::sparse::{Sequence, Side, SparseMatrix};

/// How often, and at how many snapshots, a sequence is looked at to tell whether differences pay.
const SAMPLES: usize = 4;
const SAMPLE_STEPS: usize = 8;

/// Bytes that the differences of a group have to save to be worth their five launches: what the bus moves
/// in the 40 µs that these take on an H200.
const SAVED_BYTES_MIN: usize = 2 << 20;

/// What is sent for some consecutive snapshots.
#[derive(Debug)]
struct Made {
    words: LockedWords,
    sizes: Sizes,
}

/// Consecutive snapshots that are sent together.
#[derive(Debug, Clone)]
pub(super) struct SentRun {
    pub(super) steps: Range<usize>,
    /// Whether the snapshot before them is on the GPU.
    follows: bool,
    /// How they are sent, unless as they are.
    packet: Option<Place>,
}

/// A packet on the GPU.
#[derive(Debug, Clone)]
struct Place {
    sizes: Sizes,
    area: usize,
    words: Range<usize>,
}

impl SentRun {
    /// Snapshots that are sent as they are.
    pub(super) fn whole(steps: Range<usize>) -> Self {
        Self { steps, follows: false, packet: None }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.packet.is_none()
    }
}

/// A side of a sequence whose blocks are made on the GPU.
#[derive(Debug)]
pub(super) struct Coded {
    gpu: Gpu,
    members: Arc<[Arc<SparseMatrix>]>,
    side: Side,
    /// By their snapshots and whether they follow the one before; None for those sent as they are.
    packets: HashMap<(Range<usize>, bool), Option<Made>>,
    rebuild: Rebuild,
    /// The snapshot whose entries are on the GPU, and the packet that brought them.
    latest: Option<(usize, Place)>,
    /// Packets of the latest group and of the one that comes.
    staging: [Scratch<u32>; 2],
    area: usize,
}

impl Coded {
    pub(super) fn new(gpu: &Gpu, sequence: &Sequence, side: Side) -> Self {
        let members: Arc<[_]> = sequence.members().into();
        let rows = members.first().map_or(0, |member| member.rows());
        Self {
            gpu: gpu.clone(),
            members,
            side,
            packets: HashMap::new(),
            rebuild: Rebuild::new(gpu, side, Room { rows, ..Room::default() }),
            latest: None,
            staging: [0, 1].map(|_| gpu.take_of(0)),
            area: 0,
        }
    }

    /// Whether sending differences is faster than sending blocks, going by a few snapshots of the
    /// sequence: taking all differences of one that changes wholly would be for nothing.
    pub(super) fn pay(sequence: &Sequence, side: Side, at_once: usize) -> bool {
        let members = sequence.members();
        let steps = SAMPLE_STEPS.min(members.len().saturating_sub(1));
        let between = members.len().div_ceil(SAMPLES).max(1);
        let asked =
            (1..members.len()).step_by(between).filter(|from| from + steps <= members.len());
        let saved = asked.clone().map(|from| {
            let (_, sent, whole) = changes_of(members, side, from..from + steps, true);
            whole.saturating_sub(sent.map_or(whole, |changes| changes.words())) / steps
        });
        let saved = saved.sum::<usize>() * size_of::<u32>();
        saved * at_once.min(Difference::STEPS_MAX) > SAVED_BYTES_MIN * asked.count()
    }

    /// What has to be sent for some consecutive snapshots that the GPU does not have, into room that is
    /// there: before anything of it is copied.
    pub(super) fn choose(&mut self, steps: Range<usize>) -> Vec<SentRun> {
        loop {
            // What the latest packet says of its entries is read once more by the next.
            self.area = self.latest.as_ref().map_or(0, |(_, place)| 1 - place.area);
            let parts = self.parts(&steps);
            let packets = || parts.iter().filter_map(|part| part.packet.as_ref());
            let room = self.rebuild.room();
            let words = packets().map(|place| place.words.end).max().unwrap_or(0);
            let fits = packets().all(|place| room.holds(&place.sizes));
            if fits && words <= self.staging[self.area].len() {
                return parts;
            }
            // With some slack, because groups grow; what is on the GPU goes.
            let room = packets().fold(room, |room, place| room.with(&place.sizes));
            if !fits {
                self.rebuild.grow(room.with_slack());
            }
            self.gpu.mark_copies().wait();
            let words = words.max(self.staging[0].len());
            self.staging = [0, 1].map(|_| self.gpu.take_of(words + words / 4));
            self.latest = None;
        }
    }

    fn parts(&mut self, steps: &Range<usize>) -> Vec<SentRun> {
        let mut latest = self.latest.as_ref().map(|(step, _)| *step);
        let (mut parts, mut from, mut at) = (Vec::new(), steps.start, 0);
        while from < steps.end {
            // The first snapshots of a mean have no weights yet.
            let of_kind = |step: &usize| self.is_plain(*step) == self.is_plain(from);
            let most = from..steps.end.min(from + Difference::STEPS_MAX);
            let steps = from..from + most.take_while(of_kind).count();
            let follows = latest.is_some_and(|latest| latest + 1 == from && of_kind(&latest));
            let packet =
                self.packet(&steps, follows).map(|made| (made.sizes, made.words.words().len()));
            let packet = packet.map(|(sizes, len)| {
                let words = at..at + len;
                at = words.end;
                Place { sizes, area: self.area, words }
            });
            latest = packet.as_ref().map(|_| steps.end - 1);
            from = steps.end;
            parts.push(SentRun { steps, follows, packet });
        }
        parts
    }

    /// Whether the values of a snapshot follow from its degrees alone.
    fn is_plain(&self, step: usize) -> bool {
        self.members[step].slices(self.side).is_factored()
    }

    fn packet(&mut self, steps: &Range<usize>, follows: bool) -> Option<&Made> {
        let Self { gpu, members, side, packets, .. } = self;
        let made = packets.entry((steps.clone(), follows)).or_insert_with(|| {
            let (rows, changes, whole) = changes_of(members, *side, steps.clone(), follows);
            let slices = members[steps.clone()].iter().map(|member| &**member.slices(*side));
            let snapshots: Vec<_> = slices.zip(&rows[usize::from(follows)..]).collect();
            let (words, sizes) = pack(&changes?, &snapshots);
            let shorter = words.len() < whole;
            shorter.then(|| Made { words: LockedWords::new(gpu, &[words]), sizes })
        });
        made.as_ref()
    }

    /// The words to copy for a part that is not whole, and where to.
    pub(super) fn piece(&self, part: &SentRun) -> Option<(&[u32], View<'_, u32>)> {
        let place = part.packet.as_ref()?;
        let made = self.packets.get(&(part.steps.clone(), part.follows))?.as_ref()?;
        Some((made.words.words(), self.staging[place.area].view().slice(place.words.clone())))
    }

    /// Makes the blocks of the snapshots of a part, after those that were sent before it, on the queue
    /// of copies.
    pub(super) fn rebuild(&mut self, part: &SentRun, blocks: &[View<'_, u32>]) {
        let latest = self.latest.take();
        let Some(place) = part.packet.clone() else { return };
        let before = latest.filter(|_| part.follows).map(|(_, place)| place);
        let Self { staging, rebuild, .. } = self;
        let arrived = |place: &Place| Arrived {
            sizes: place.sizes,
            words: staging[place.area].view().slice(place.words.clone()),
        };
        rebuild.apply(before.as_ref().map(arrived), arrived(&place), blocks);
        self.latest = Some((part.steps.end - 1, place));
    }
}

/// The rows of some snapshots (and before them those of the one that they follow), what turns them into each other, and the
/// words that they have as they are.
fn changes_of(
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
