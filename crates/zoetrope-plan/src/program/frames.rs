//! The program of a plan over frames of snapshots.

use std::ops::Range;

use super::builder::Builder;
use super::copies::Copies;
use super::facts::{CopySizes, FrameFacts};
use super::piece::{PieceWork, Returning, forward, turn_around};
use super::rows::{Cells, PieceRows};
use super::{Purpose, TaskGraph, TaskKind};
use crate::plan::frame::Frame;
use crate::plan::frame_plan::{FramePlan, Update};
use crate::plan::sharing::Sharing;
use crate::strategy::all_reduce_bytes;

/// Bytes of a number that ranks put together: a loss, a length, a place.
const NUMBER: u64 = 8;

impl FramePlan {
    /// What `rank` does in an epoch whose frames come in this order, a GPU having none of the snapshots at
    /// its start.
    ///
    /// # Panics
    /// If the plan does not fit the facts.
    pub fn lower(&self, rank: usize, order: &[Frame], facts: &FrameFacts<'_>) -> TaskGraph {
        let mut lowering = Lowering {
            plan: self,
            rank,
            facts,
            cells: Cells::of(self, rank, facts),
            copies: facts.copies.map(Copies::new),
            program: Builder::default(),
        };
        let mut from = 0;
        for (number, update) in self.updates.iter().enumerate() {
            lowering.program.update = number;
            lowering.update(update, from, order);
            from += update.frames;
        }
        lowering.end_of_epoch(from);
        TaskGraph { schema: TaskGraph::SCHEMA, rank, tasks: lowering.program.tasks }
    }
}

/// The states before the blocks of a frame that wait on the host.
struct States<'a> {
    stored: Range<usize>,
    sizes: Option<&'a dyn CopySizes>,
    vertices: u64,
    /// The copy of the one that is on its way back.
    coming: Option<usize>,
}

impl<'a> States<'a> {
    fn of(lowering: &Lowering<'a>, frame: Frame) -> Self {
        let Lowering { plan, rank, facts, .. } = *lowering;
        let stored = plan.stored_states(frame.steps);
        let vertices = plan.time_vertices(rank, frame.steps);
        Self { stored, sizes: facts.copies, vertices, coming: None }
    }

    /// The bytes of the state before a block, if it waits on the host.
    fn bytes(&self, block: usize) -> Option<u64> {
        let sizes = self.sizes.filter(|_| self.stored.contains(&block))?;
        Some(sizes.state(block, self.vertices)).filter(|&bytes| bytes > 0)
    }

    /// The state before a block was found.
    fn store(&self, program: &mut Builder, block: usize) {
        if let Some(bytes) = self.bytes(block) {
            program.store(bytes);
        }
    }

    /// In the backward pass, before a block: waits for its state, and begins to fetch that of the one before.
    fn fetch(&mut self, program: &mut Builder, block: usize) {
        self.coming.take().into_iter().for_each(|id| program.wait_for(id));
        let earlier = block.checked_sub(1).and_then(|earlier| self.bytes(earlier));
        self.coming = earlier.map(|bytes| program.copy(bytes));
    }
}

struct Lowering<'a> {
    plan: &'a FramePlan,
    rank: usize,
    facts: &'a FrameFacts<'a>,
    cells: Option<Cells<'a>>,
    copies: Option<Copies<'a>>,
    program: Builder,
}

impl Lowering<'_> {
    fn ranks(&self) -> u64 {
        self.plan.head.ranks as u64
    }

    /// Bytes of numbers that go to all others.
    fn to_others(&self, numbers: u64) -> u64 {
        (self.ranks() - 1) * numbers * NUMBER
    }

    fn update(&mut self, update: &Update, from: usize, order: &[Frame]) {
        let frames = &order[from..from + update.frames];
        let next = order.get(from + update.frames).copied();
        let mut own = Vec::new();
        for (place, &frame) in frames.iter().enumerate() {
            if !update.is_of(place, self.rank) {
                continue;
            }
            self.program.frame = Some(from + place);
            if self.plan.blocks.count == 1 && self.cells.is_none() {
                let next = next.filter(|_| frames.len() == 1);
                self.enter(frame, frame.range(), next.map(|next| (next, next.range())));
                self.stretches(frame);
            } else if self.plan.rule.stretches(frame).count() > 1 {
                self.shared_stretches(frame);
            } else {
                self.blocks(frame);
            }
            own.push(frame);
        }
        (self.program.frame, self.program.block) = (None, None);
        if self.plan.sharing == Some(Sharing::Frames) {
            self.share_frames(&own);
        }
        if self.ranks() > 1 {
            let bytes = all_reduce_bytes(self.plan.head.ranks, self.rank, self.facts.summed);
            self.program.talk(TaskKind::AllReduce, Purpose::Gradients, bytes);
        }
        self.program.compute(TaskKind::Update);
        if self.ranks() > 1 {
            let bytes = self.to_others(1);
            self.program.talk(TaskKind::AllReduce, Purpose::Stop, bytes);
        }
    }

    /// What ranks that take different frames tell each other of those of an update.
    fn share_frames(&mut self, own: &[Frame]) {
        // The place of a frame is two words; of each batch norm there are three positions, the momentum, the
        // width, and a mean and a variance of each column.
        let words = |&width: &usize| 2 + 3 + 2 + 2 * width as u64;
        let statistics = self.facts.statistics.iter().map(words).sum::<u64>() * own.len() as u64;
        let others = self.ranks() - 1;
        let lengths = self.to_others(1);
        self.program.talk(TaskKind::AllGather, Purpose::Statistics, lengths);
        self.program.talk(TaskKind::AllGather, Purpose::Statistics, others * statistics * 4);
        if self.plan.gpu.is_some() {
            return;
        }
        let asked = own.iter().filter(|frame| self.is_asked(self.asked_of(**frame))).count() as u64;
        self.program.talk(TaskKind::AllGather, Purpose::Loss, lengths);
        let losses = self.to_others(2 * asked);
        self.program.talk(TaskKind::AllGather, Purpose::Loss, losses);
    }

    /// Losses that GPUs have found are put together at the end.
    fn end_of_epoch(&mut self, frames: usize) {
        if self.plan.gpu.is_none() || self.ranks() == 1 || self.cells.is_none() {
            return;
        }
        let bytes = self.to_others(frames as u64);
        self.program.talk(TaskKind::AllReduce, Purpose::Loss, bytes);
    }

    /// Before the launches of some snapshots of a frame, of which the rank may have a part.
    fn enter(&mut self, frame: Frame, steps: Range<usize>, next: Option<(Frame, Range<usize>)>) {
        let ahead = self.plan.gpu.is_some_and(|gpu| gpu.look_ahead > 0);
        let own = |frame: Frame, steps: Range<usize>| match &self.cells {
            None => steps,
            Some(cells) => {
                let within = steps.start - frame.start..steps.end - frame.start;
                let own = cells.own_steps(&self.plan.placements(frame.steps), within);
                frame.start + own.start..frame.start + own.end
            }
        };
        let steps = own(frame, steps);
        let next = next.filter(|_| ahead).map(|(frame, steps)| own(frame, steps));
        if let Some(copies) = &mut self.copies {
            copies.enter(&mut self.program, &steps, next.as_ref());
        }
    }

    /// The snapshots of a frame that the loss looks at.
    fn asked_of(&self, frame: Frame) -> Range<usize> {
        let range = frame.range();
        if self.facts.asks_last { range.end - 1..range.end } else { range }
    }

    fn is_asked(&self, steps: Range<usize>) -> bool {
        self.facts.asks[steps].iter().any(|&asks| asks)
    }

    /// A frame that is on the tape as a whole, or stretch by stretch.
    fn stretches(&mut self, frame: Frame) {
        let stretches: Vec<Frame> = self.plan.rule.stretches(frame).collect();
        let asked = self.asked_of(frame);
        for (number, &stretch) in stretches.iter().enumerate() {
            self.program.block = (stretches.len() > 1).then_some(number);
            let steps = stretch.range();
            let piece = self.whole(frame, steps.clone(), stretch.group);
            let returning = forward(&mut self.program, self.facts, &piece);
            let asked = steps.start.max(asked.start)..steps.end.min(asked.end);
            if asked.is_empty() {
                continue;
            }
            self.loss();
            if self.is_asked(asked) {
                self.backward(&returning);
            }
        }
    }

    /// A frame that ranks share, stretch by stretch.
    fn shared_stretches(&mut self, frame: Frame) {
        let asked = self.asked_of(frame);
        let stretches: Vec<Frame> = self.plan.rule.stretches(frame).collect();
        for (number, &stretch) in stretches.iter().enumerate() {
            let steps = stretch.range();
            let is_asked = steps.start.max(asked.start) < steps.end.min(asked.end);
            if is_asked && self.facts.draws {
                self.program.compute(TaskKind::Draw);
            }
            let returning = self.block(stretch, number, steps, is_asked);
            if is_asked {
                self.backward(&returning);
            }
        }
        let bytes = self.to_others(1);
        self.program.talk(TaskKind::AllReduce, Purpose::Loss, bytes);
    }

    /// A piece of which this rank has everything.
    fn whole(&self, frame: Frame, steps: Range<usize>, group: usize) -> PieceWork {
        let vertices = self.plan.head.vertices as u64;
        let within = steps.start - frame.start..steps.end - frame.start;
        let groups = self.plan.groups(steps.clone(), group);
        let edges = steps.map(|step| self.facts.graph.edges_at(step) as u64).collect();
        let answers =
            if self.facts.describes_last { within.end - 1..within.end } else { within.clone() };
        let rows = PieceRows {
            own_steps: within.clone(),
            vertices,
            time_vertices: vertices,
            answers,
            edges,
            halo: None,
            to_time: None,
            beside: None,
            to_answers: None,
            in_time: Vec::new(),
            together: None,
        };
        PieceWork { within, groups, rows }
    }

    /// A frame in blocks, alone or shared.
    fn blocks(&mut self, frame: Frame) {
        let pieces = self.plan.blocks.of(frame.range());
        let last = pieces.len() - 1;
        if self.facts.draws {
            self.program.compute(TaskKind::Draw);
        }
        if self.plan.blocks.recompute && last > 0 {
            let mut states = States::of(self, frame);
            for (number, steps) in pieces[..last].iter().enumerate() {
                self.enter(frame, steps.clone(), Some((frame, pieces[number + 1].clone())));
                self.block(frame, number, steps.clone(), false);
                states.store(&mut self.program, number + 1);
            }
            for (number, steps) in pieces.iter().enumerate().rev() {
                let next = number.checked_sub(1).map(|earlier| (frame, pieces[earlier].clone()));
                self.enter(frame, steps.clone(), next);
                states.fetch(&mut self.program, number);
                let returning = self.block(frame, number, steps.clone(), true);
                self.backward(&returning);
            }
        } else {
            let mut returning = Vec::new();
            for (number, steps) in pieces.iter().enumerate() {
                let next = pieces.get(number + 1).map(|next| (frame, next.clone()));
                self.enter(frame, steps.clone(), next);
                returning.extend(self.block(frame, number, steps.clone(), true));
            }
            self.program.block = None;
            self.backward(&returning);
        }
        self.program.block = None;
        if self.cells.is_some() {
            let bytes = self.to_others(1);
            self.program.talk(TaskKind::AllReduce, Purpose::Loss, bytes);
        }
    }

    fn block(
        &mut self,
        frame: Frame,
        number: usize,
        steps: Range<usize>,
        with_loss: bool,
    ) -> Vec<Returning> {
        self.program.block = (self.plan.blocks.count > 1).then_some(number);
        let piece = match &self.cells {
            None => self.whole(frame, steps, frame.group),
            Some(cells) => {
                let within = steps.start - frame.start..steps.end - frame.start;
                let placements = self.plan.placements(frame.steps);
                let rows = cells.piece(&placements, frame.start, within.clone());
                let own = rows.own_steps.start + frame.start..rows.own_steps.end + frame.start;
                let groups = if cells.splits_snapshots() {
                    Vec::new()
                } else {
                    self.plan.groups(own, frame.group)
                };
                PieceWork { within, groups, rows }
            }
        };
        let returning = forward(&mut self.program, self.facts, &piece);
        let (described, asked) = (&piece.rows.answers, self.asked_of(frame));
        let (start, end) = (frame.start + described.start, frame.start + described.end);
        let here = start.max(asked.start)..end.min(asked.end);
        if with_loss && self.is_asked(asked) && !here.is_empty() {
            self.loss();
        }
        returning
    }

    /// What is asked, and its loss.
    fn loss(&mut self) {
        if self.facts.draws {
            self.program.compute(TaskKind::Draw);
        }
        self.program.compute(TaskKind::Loss);
    }

    fn backward(&mut self, returning: &[Returning]) {
        turn_around(&mut self.program, returning);
        self.program.compute(TaskKind::Backward);
    }
}
