//! One side of a sequence, sent to the GPU as differences ([`packets`](super::packets)) and rebuilt there.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use zoetrope_graph::Difference as GraphDifference;

use super::difference::{Arrived, Rebuild, Room};
use super::locked::Lock;
use super::packet::Sizes;
use super::packets::{Packet, Packets, Run, changes_of};
use crate::cuda::gpu::lock;
use crate::cuda::{Gpu, Scratch, View};
use crate::sparse::{Difference, Sequence, Side};

/// How often, and at how many snapshots, a sequence is looked at to tell whether differences pay.
const SAMPLES: usize = 4;
const SAMPLE_STEPS: usize = 8;

/// Bytes that the differences of a group have to save to be worth their five launches: what the bus moves
/// in the 40 µs that these take on an H200.
const SAVED_BYTES_MIN: usize = 2 << 20;

/// A packet whose pages are locked for as long as the GPU copies from them.
#[derive(Debug)]
struct LockedPacket {
    _lock: Option<Lock>,
    packet: Arc<Packet>,
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
    packets: Arc<Mutex<Packets>>,
    /// Those that were sent, with what keeps their pages locked, by their snapshots and whether they follow
    /// the one before.
    locked: HashMap<(Range<usize>, bool), LockedPacket>,
    rebuild: Rebuild,
    /// The snapshot whose entries are on the GPU, and the packet that brought them.
    latest: Option<(usize, Place)>,
    /// Packets of the latest group and of the one that comes.
    staging: [Scratch<u32>; 2],
    area: usize,
}

impl Coded {
    pub(super) fn new(gpu: &Gpu, sequence: &Sequence, side: Side) -> Self {
        let rows = sequence.members().first().map_or(0, |member| member.rows());
        Self {
            gpu: gpu.clone(),
            packets: sequence.packets(side),
            locked: HashMap::new(),
            rebuild: Rebuild::new(gpu, side, Room { rows, ..Room::default() }),
            latest: None,
            staging: [0, 1].map(|_| gpu.take_of(0)),
            area: 0,
        }
    }

    /// Whether a side that is streamed is sent as differences.
    pub(super) fn is_used(sequence: &Sequence, side: Side, at_once: usize) -> bool {
        match sequence.difference() {
            Difference::Auto => Self::pay(sequence, side, at_once),
            Difference::On => true,
            Difference::Off => false,
        }
    }

    /// Whether sending differences is faster than sending blocks, going by a few snapshots of the
    /// sequence: taking all differences of one that changes wholly would be for nothing.
    fn pay(sequence: &Sequence, side: Side, at_once: usize) -> bool {
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
        saved * at_once.min(GraphDifference::STEPS_MAX) > SAVED_BYTES_MIN * asked.count()
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
            // With some slack, because groups grow.
            let room = packets().fold(room, |room, place| room.with(&place.sizes));
            if !fits {
                self.rebuild.grow(room.with_slack());
            }
            if words > self.staging[self.area].len() {
                self.grow_staging(words + words / 4);
            }
        }
    }

    /// Makes room for longer packets. The one that came last moves along.
    fn grow_staging(&mut self, words: usize) {
        self.gpu.mark_copies().wait();
        for area in &mut self.staging {
            let mut longer = self.gpu.take_of(words.max(area.len()));
            self.gpu.copy(area.view(), longer.view_mut().slice(0..area.len()));
            *area = longer;
        }
        // These copies are on the queue of computing.
        self.gpu.wait();
    }

    /// From now on nothing counts as being on the GPU.
    pub(super) fn forget(&mut self) {
        self.latest = None;
    }

    fn parts(&mut self, steps: &Range<usize>) -> Vec<SentRun> {
        let latest = self.latest.as_ref().map(|(step, _)| *step);
        let (mut parts, mut at) = (Vec::new(), 0);
        for Run { steps, follows, packet } in lock(&self.packets).runs(latest, steps) {
            let place = packet.map(|packet| {
                let (sizes, len) = (packet.sizes, packet.words.words().len());
                let lock = || Lock::new(&self.gpu, packet.words.pages());
                self.locked
                    .entry((steps.clone(), follows))
                    .or_insert_with(|| LockedPacket { _lock: lock(), packet: Arc::clone(&packet) });
                let words = at..at + len;
                at = words.end;
                Place { sizes, area: self.area, words }
            });
            parts.push(SentRun { steps, follows, packet: place });
        }
        parts
    }

    /// The words to copy for a part that is not whole, and where to.
    pub(super) fn piece(&self, part: &SentRun) -> Option<(&[u32], View<'_, u32>)> {
        let place = part.packet.as_ref()?;
        let sent = self.locked.get(&(part.steps.clone(), part.follows))?;
        Some((
            sent.packet.words.words(),
            self.staging[place.area].view().slice(place.words.clone()),
        ))
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
