//! One side of a sequence as differences, and what makes its blocks on the card again.
//!
//! All differences lie one after another in locked memory, so that those of a group are one copy. A
//! snapshot that is not sent as a difference, because none before it is on the card or because
//! that would be longer, is sent by rows; those packets are made when they are first asked for.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::Slices;
use super::difference::{Rebuild, Room};
use super::locked::LockedWords;
use super::packet::Packet;
use super::patch::Patch;
use super::rows::Rows;
use crate::cuda::{Gpu, Scratch, View};
use crate::sparse::{Sequence, Side, SparseMatrix};

/// Snapshots whose rows are held at a time while differences are taken.
const AT_A_TIME: usize = 16;

/// Snapshots that are looked at to tell whether differences pay.
const SAMPLES: usize = 4;

/// Bytes that a difference has to save to be worth its four launches, about 10 µs on an H200: what
/// goes over the bus meanwhile.
const WORTH: usize = 512 << 10;

/// The differences of a side of a sequence.
#[derive(Debug)]
pub(super) struct Differences {
    words: LockedWords,
    /// Where in the words each snapshot's packet lies; None where it is sent by rows.
    packets: Vec<Option<(usize, Packet)>>,
    /// Words of each snapshot by rows, to within the rounding of lists.
    by_rows: Vec<usize>,
    room: Room,
}

impl Differences {
    pub(super) fn new(gpu: &Gpu, sequence: &Sequence, side: Side) -> Self {
        let members = sequence.members();
        let mut made = Vec::with_capacity(members.len());
        let mut room = Room { rows: members.first().map_or(0, |m| m.rows()), ..Room::default() };
        let mut by_rows = Vec::with_capacity(members.len());
        let mut before: Option<Arc<Rows>> = None;
        for some in members.chunks(AT_A_TIME) {
            // Before anything is parallel: a matrix makes its slices in parallel, and while it waits
            // for them must not be asked for them again.
            some.iter().for_each(|member| drop(Arc::clone(member.slices(side))));
            let rows: Vec<Arc<Rows>> =
                some.par_iter().map(|m| Arc::new(Rows::of(m, side))).collect();
            let olds = std::iter::once(before.clone()).chain(rows.iter().cloned().map(Some));
            let olds: Vec<_> = olds.take(rows.len()).collect();
            made.par_extend((olds, &rows, some).into_par_iter().map(|(old, new, member)| {
                let patch = Patch::between(old.as_deref()?, new)?;
                let mut words = Vec::new();
                let packet = Packet::patch(&mut words, member.slices(side), &patch, new.entries());
                (patch.words() < new.words()).then_some((words, packet))
            }));
            for rows in &rows {
                room.entries = room.entries.max(rows.entries());
                room.weighted |= rows.weights.is_some();
                room.by_vertex |= rows.vertices.is_some();
                by_rows.push(rows.words());
            }
            before = rows.last().cloned();
        }
        let mut parts = Vec::with_capacity(made.len());
        let mut end = 0;
        let packets = made.into_iter().map(|made: Option<(Vec<u32>, Packet)>| {
            let (words, packet) = made?;
            room.added = room.added.max(packet.added());
            parts.push(words);
            let at = end;
            end += packet.len;
            Some((at, packet))
        });
        let packets: Vec<_> = packets.collect();
        Self { words: LockedWords::new(gpu, &parts), packets, by_rows, room }
    }

    /// Whether sending differences is faster than sending blocks, going by a few snapshots of the
    /// sequence: taking all differences of one that changes wholly would be for nothing.
    pub(super) fn pay(sequence: &Sequence, side: Side) -> bool {
        let members = sequence.members();
        let between = members.len().div_ceil(SAMPLES).max(1);
        let asked = (1..members.len()).step_by(between);
        let saved = asked.clone().map(|step| {
            let [old, new] = [&members[step - 1], &members[step]].map(|m| Rows::of(m, side));
            let whole = members[step].slices(side).essence().len();
            let sent = Patch::between(&old, &new).map_or(whole, |patch| patch.words());
            whole.saturating_sub(sent) * size_of::<u32>()
        });
        saved.sum::<usize>() > WORTH * asked.len()
    }

    /// Words that go over the bus for a snapshot whose predecessor is on the card.
    fn words_of(&self, step: usize) -> usize {
        match &self.packets[step] {
            Some((_, packet)) => packet.len,
            None => self.by_rows[step],
        }
    }
}

/// Where a packet came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) step: usize,
    packet: Packet,
    /// Where it lies in the words that were copied.
    at: usize,
}

/// A part of a transfer: words on the host and their place among those of the group.
pub(super) type Piece<'a> = (&'a [u32], usize);

/// A side of a sequence whose blocks are made on the card.
#[derive(Debug)]
pub(super) struct Coded {
    differences: Differences,
    by_rows: HashMap<usize, (LockedWords, Packet)>,
    members: Arc<[Arc<SparseMatrix>]>,
    side: Side,
    gpu: Gpu,
    rebuild: Rebuild,
    /// The snapshot that is on the card by rows.
    latest: Option<usize>,
    /// Packets of the group that is on the card and of the one that comes.
    staging: [Scratch<u32>; 2],
}

impl Coded {
    pub(super) fn new(
        gpu: &Gpu,
        sequence: &Sequence,
        side: Side,
        at_once: usize,
        differences: Differences,
    ) -> Self {
        let rebuild = Rebuild::new(gpu, side, &differences.room);
        let slack = sequence.members().iter().map(|m| frame_room(m.slices(side)));
        let slack = slack.max().unwrap_or(0);
        let words = |step: usize| differences.words_of(step) + slack;
        let steps = sequence.members().len();
        let most = (0..steps)
            .map(|first| {
                let by_rows = differences.by_rows[first] + slack;
                by_rows + (first + 1..steps.min(first + at_once)).map(words).sum::<usize>()
            })
            .max();
        let staging = [0, 1].map(|_| gpu.take_of(most.unwrap_or(0)));
        let members = sequence.members().into();
        Self {
            differences,
            by_rows: HashMap::new(),
            members,
            side,
            gpu: gpu.clone(),
            rebuild,
            latest: None,
            staging,
        }
    }

    /// What has to be sent for some consecutive snapshots that the card does not have.
    pub(super) fn choose(&mut self, steps: Range<usize>) -> Vec<Sent> {
        let (mut latest, mut at) = (self.latest, 0);
        let mut sent = Vec::with_capacity(steps.len());
        for step in steps {
            let follows = latest.is_some_and(|latest| latest + 1 == step);
            let packet = match &self.differences.packets[step] {
                Some((_, packet)) if follows => *packet,
                _ => self.packet_by_rows(step),
            };
            sent.push(Sent { step, packet, at });
            at += packet.len;
            latest = Some(step);
        }
        sent
    }

    fn packet_by_rows(&mut self, step: usize) -> Packet {
        let Self { by_rows, members, side, gpu, .. } = self;
        let made = by_rows.entry(step).or_insert_with(|| {
            let mut words = Vec::new();
            let rows = Rows::of(&members[step], *side);
            let packet = Packet::whole(&mut words, members[step].slices(*side), &rows);
            (LockedWords::new(gpu, &[words]), packet)
        });
        made.1
    }

    /// The words to copy, consecutive differences as one.
    pub(super) fn pieces(&self, sent: &[Sent]) -> Vec<Piece<'_>> {
        let mut pieces: Vec<Piece<'_>> = Vec::new();
        let mut run: Option<(Range<usize>, usize)> = None;
        for one in sent {
            let is_patch = matches!(one.packet.content, super::packet::Content::Patch { .. });
            let from = self.differences.packets[one.step].as_ref().filter(|_| is_patch);
            match (from, &mut run) {
                (Some((at, packet)), Some((words, _))) if words.end == *at => {
                    words.end += packet.len;
                }
                (Some((at, packet)), run) => {
                    pieces.extend(run.take().map(|run| self.piece(run)));
                    *run = Some((*at..at + packet.len, one.at));
                }
                (None, run) => {
                    pieces.extend(run.take().map(|run| self.piece(run)));
                    pieces.push((self.by_rows[&one.step].0.words(), one.at));
                }
            }
        }
        pieces.extend(run.map(|run| self.piece(run)));
        pieces
    }

    fn piece(&self, (words, to): (Range<usize>, usize)) -> Piece<'_> {
        (&self.differences.words.words()[words], to)
    }

    /// Where packets of a group are copied to.
    pub(super) fn staging(&self, area: usize) -> View<'_, u32> {
        self.staging[area].view()
    }

    /// Makes the block of a snapshot, after those that were sent before it.
    pub(super) fn rebuild(&mut self, area: usize, sent: &Sent, block: View<'_, u32>) {
        let words = self.staging[area].view().slice(sent.at..sent.at + sent.packet.len);
        self.rebuild.apply(&sent.packet, words, block);
        self.latest = Some(sent.step);
    }
}

/// Words that a packet has beside its lists: the frame, and what rounds lists.
fn frame_room(slices: &Slices) -> usize {
    slices.frame().iter().map(|part| part.len()).sum::<usize>() + 64
}
