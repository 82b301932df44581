//! From events to a batch that a model can read: questions, sampled neighbours, unique rows.
//!
//! Everything that a batch needs is found once: questions are distinct (vertex, time) pairs,
//! vertices and events have one row each however often they are sampled (Algorithm 2 of Sven).
//! Nothing here depends on weights or memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use zoetrope_config::NeighbourRule;
use zoetrope_graph::sampler::{EqualTimes, Moment, Sampled, Sampler};
use zoetrope_graph::{EventId, Time, VertexId};
use zoetrope_nn::decoder::Ends;
use zoetrope_nn::stream::{EventBatch, LastEvent, LayerBatch};
use zoetrope_plan::dispatch::{Redundancy, UniqueVertices};
use zoetrope_tensor::Matrix;

use super::material::{EventInput, Neighbours};
use super::own_features::OwnFeatures;

/// How batches are prepared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Draws the neighbours.
    pub(super) sampler: Sampler,
    /// Which events of neighbours a question sees.
    pub(super) neighbours: NeighbourRule,
    /// Levels of neighbours that the model reads.
    pub(super) layers: usize,
    /// Whether each question, vertex and event has one row, or one for every occurrence.
    pub(super) deduplicate: bool,
    /// Whether a question's own time changes its answer.
    pub(super) query_time: bool,
    /// Whether mails go to neighbours.
    pub(super) deliver: bool,
    /// Whether the features of the judged event itself are part of a question.
    pub(super) own_features: bool,
}

/// A batch with what is asked of it.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    /// What the model reads.
    pub(super) batch: EventBatch,
    /// The questions at the two ends of each asked pair.
    pub(super) ends: Ends,
    /// The question of each answer about a vertex.
    pub(super) rows: Arc<Vec<u32>>,
    /// What is right for each pair or vertex.
    pub(super) labels: Vec<f32>,
    /// The features that come with each pair or vertex, if they are part of the question.
    pub(super) own: OwnFeatures,
    /// Pairs that happened; they come first.
    pub(super) positives: usize,
    /// Pairs that did not happen, of one-versus-one.
    pub(super) negatives: usize,
    /// The destinations of these, [`MISSING`](zoetrope_data::negatives::MISSING) if there was
    /// none.
    pub(super) few_dst: Vec<VertexId>,
    /// The same for the pairs of one-versus-many, which come after them.
    pub(super) many_dst: Vec<VertexId>,
    /// How much of what the batch names is named again.
    pub(super) redundancy: Redundancy,
    /// When it was prepared, and how long that took.
    pub(super) timing: Option<(Instant, Duration)>,
}

/// Prepares batches, one after the other, in memory that it keeps.
#[derive(Debug)]
pub(super) struct Preparer<'a> {
    material: &'a EventInput,
    neighbours: Neighbours<'a>,
    rules: Rules,
    vertices: UniqueVertices,
    ends: UniqueVertices,
    questions: HashMap<Key, u32>,
    instances: HashMap<Key, u32>,
    events: HashMap<EventId, u32>,
    moments: Vec<Moment>,
    next: Vec<Moment>,
    sampled: Sampled,
    asked: Vec<Moment>,
    feature_events: Vec<EventId>,
    roots: HashMap<u32, u32>,
    /// Events from this one on belong to the batch.
    first: EventId,
    /// Vertices named so far, the same ones again among them.
    named: usize,
}

type Key = (VertexId, Time, EventId);

impl<'a> Preparer<'a> {
    /// A preparer of batches of `material` with these neighbours.
    pub(super) fn new(material: &'a EventInput, neighbours: Neighbours<'a>, rules: Rules) -> Self {
        let vertices = material.vertices();
        Self {
            material,
            neighbours,
            rules,
            vertices: UniqueVertices::new(vertices),
            ends: UniqueVertices::new(vertices),
            questions: HashMap::new(),
            instances: HashMap::new(),
            events: HashMap::new(),
            moments: Vec::new(),
            next: Vec::new(),
            sampled: Sampled::default(),
            asked: Vec::new(),
            feature_events: Vec::new(),
            roots: HashMap::new(),
            first: 0,
            named: 0,
        }
    }

    /// Begins a batch whose first event is `first`: the state knows the events before it.
    pub(super) fn begin(&mut self, first: usize, prepared: &mut Prepared) {
        self.first = first as EventId;
        self.vertices.begin();
        self.ends.begin();
        self.questions.clear();
        self.events.clear();
        self.asked.clear();
        self.feature_events.clear();
        self.named = 0;
        let batch = &mut prepared.batch;
        batch.events.clear();
        batch.event_queries.clear();
        batch.last_events.clear();
        batch.receivers_offsets.clear();
        batch.receivers.clear();
        Arc::make_mut(&mut prepared.ends.src).clear();
        Arc::make_mut(&mut prepared.ends.dst).clear();
        Arc::make_mut(&mut prepared.rows).clear();
        prepared.labels.clear();
        let width = if self.rules.own_features { self.material.feature_width() } else { 0 };
        prepared.own.begin(width);
        prepared.few_dst.clear();
        prepared.many_dst.clear();
        (prepared.positives, prepared.negatives) = (0, 0);
    }

    /// The question about a vertex at the time of an event, or at `time` if no event is meant.
    pub(super) fn ask(&mut self, vertex: VertexId, time: Time, event: Option<usize>) -> u32 {
        let before = match (self.rules.neighbours, self.rules.sampler.equal_times, event) {
            (NeighbourRule::BatchStale, ..) => self.first,
            (NeighbourRule::PerEvent, EqualTimes::Past, Some(event)) => event as EventId,
            (NeighbourRule::PerEvent, ..) => EventId::MAX,
        };
        self.named += 1;
        let moment = Moment { vertex, time, before };
        let next = self.asked.len() as u32;
        if self.rules.deduplicate {
            let key = if self.rules.query_time || before == EventId::MAX {
                (vertex, time, before)
            } else {
                (vertex, 0, before)
            };
            let row = *self.questions.entry(key).or_insert(next);
            if row != next {
                return row;
            }
        }
        self.asked.push(moment);
        next
    }

    /// Adds an event to the batch and asks about its two ends.
    pub(super) fn add_event(&mut self, event: usize, prepared: &mut Prepared) -> [u32; 2] {
        let store = &self.material.store;
        let (src, dst, time) = (store.src()[event], store.dst()[event], store.time()[event]);
        let queries = [self.ask(src, time, Some(event)), self.ask(dst, time, Some(event))];
        let batch = &mut prepared.batch;
        batch.events.push(event);
        batch.event_queries.push(queries);
        for (end, (vertex, is_source)) in [(src, true), (dst, false)].into_iter().enumerate() {
            let last = LastEvent { vertex, event, is_source, row: 0, query: queries[end] };
            let place = self.ends.place(vertex) as usize;
            match batch.last_events.get_mut(place) {
                Some(known) => *known = last,
                None => batch.last_events.push(last),
            }
        }
        queries
    }

    /// The next answer is about this event: its features are part of the question, if they are to be.
    pub(super) fn bring(&self, event: usize, prepared: &mut Prepared) {
        prepared.own.push(self.material, event);
    }

    /// Samples what the questions need and finds the unique rows. `step` keys the draws.
    pub(super) fn finish(&mut self, step: u32, with_blocks: bool, prepared: &mut Prepared) {
        let batch = &mut prepared.batch;
        let query_vertex = Arc::make_mut(&mut batch.query_vertex);
        query_vertex.clear();
        query_vertex.extend(self.asked.iter().map(|moment| moment.vertex));
        batch.query_time.clear();
        batch.query_time.extend(self.asked.iter().map(|moment| moment.time));
        let vertices = Arc::make_mut(&mut batch.vertices);
        vertices.clear();
        let query_row = Arc::make_mut(&mut batch.query_row);
        query_row.clear();
        for moment in &self.asked {
            query_row.push(place(
                &mut self.vertices,
                self.rules.deduplicate,
                moment.vertex,
                vertices,
            ));
        }
        let layers = if with_blocks { self.rules.layers } else { 0 };
        batch.blocks.resize_with(layers, LayerBatch::default);
        self.moments.clone_from(&self.asked);
        for layer in 0..layers {
            let mut block = std::mem::take(&mut batch.blocks[layer]);
            self.block(&mut block, layer, step, layer + 1 == layers, batch);
            batch.blocks[layer] = block;
        }
        batch.event_features = self.features(batch.event_features.take());
        for last in &mut batch.last_events {
            last.row = batch.query_row[last.query as usize];
        }
        if self.rules.deliver && !batch.events.is_empty() {
            self.receivers(step, batch);
        }
        prepared.redundancy = Redundancy::default();
        prepared.redundancy.add_sampled(self.named, self.vertices.unique().len());
        prepared.redundancy.add_original(2 * batch.events.len(), batch.last_events.len());
    }

    /// One level: the neighbours of all its targets, and the rows below that they name.
    fn block(
        &mut self,
        block: &mut LayerBatch,
        layer: usize,
        step: u32,
        deepest: bool,
        batch: &mut EventBatch,
    ) {
        let draws = draw_step(step, layer);
        self.neighbours.sample(&self.rules.sampler, &self.moments, draws, &mut self.sampled);
        self.named += self.sampled.len();
        block.target_time.clear();
        block.target_time.extend(self.moments.iter().map(|moment| moment.time));
        block.slot_time.clone_from(&self.sampled.time);
        let layout = Arc::make_mut(&mut block.layout);
        layout.offsets.clone_from(&self.sampled.offsets);
        layout.source.clear();
        layout.event.clear();
        let roots = Arc::make_mut(&mut block.roots);
        roots.clear();
        self.roots.clear();
        self.next.clear();
        self.instances.clear();
        layout.query.clear();
        let vertices = Arc::make_mut(&mut batch.vertices);
        for (target, moment) in self.moments.iter().enumerate() {
            // The row below that is the target itself.
            let own = match (deepest, layer) {
                (true, 0) => batch.query_row[target],
                (true, _) => {
                    place(&mut self.vertices, self.rules.deduplicate, moment.vertex, vertices)
                }
                (false, _) => {
                    instance(&mut self.instances, self.rules.deduplicate, *moment, &mut self.next)
                }
            };
            let next = roots.len() as u32;
            let query = *self.roots.entry(own).or_insert(next);
            if query == next {
                roots.push(own);
            }
            layout.query.push(query);
        }
        let wide = self.material.feature_width() > 0;
        let numbered = self.material.numbers_features();
        for target in 0..self.moments.len() {
            for slot in self.sampled.of(target) {
                let vertex = self.sampled.vertex[slot];
                let row = if deepest {
                    place(&mut self.vertices, self.rules.deduplicate, vertex, vertices)
                } else {
                    let before = match self.rules.sampler.equal_times {
                        EqualTimes::Future => self.moments[target].before,
                        EqualTimes::Past => self.sampled.event[slot],
                    };
                    let moment = Moment { vertex, time: self.sampled.time[slot], before };
                    let deduplicate = self.rules.deduplicate;
                    instance(&mut self.instances, deduplicate, moment, &mut self.next)
                };
                layout.source.push(row);
                if wide {
                    let event = self.sampled.event[slot];
                    layout.event.push(if numbered { event as u32 } else { self.event_row(event) });
                }
            }
        }
        let below = if deepest { vertices.len() } else { self.next.len() };
        layout.index(roots.len(), below);
        std::mem::swap(&mut self.moments, &mut self.next);
    }

    fn event_row(&mut self, event: EventId) -> u32 {
        let next = self.feature_events.len() as u32;
        let row =
            if self.rules.deduplicate { *self.events.entry(event).or_insert(next) } else { next };
        if row == next {
            self.feature_events.push(event);
        }
        row
    }

    /// The features of the events that slots name.
    fn features(&self, spare: Option<Arc<Matrix>>) -> Option<Arc<Matrix>> {
        let width = self.material.feature_width();
        if width == 0 || self.feature_events.is_empty() {
            return None;
        }
        let (rows, values) = (self.feature_events.len(), self.material.features());
        let mut matrix = spare
            .filter(|spare| spare.shape().rows >= rows)
            .unwrap_or_else(|| Arc::new(Matrix::zeros(rows.next_multiple_of(256), width)));
        let place = Arc::make_mut(&mut matrix).as_mut_slice().chunks_exact_mut(width);
        for (row, &event) in place.zip(&self.feature_events) {
            let from = event as usize * width;
            row.copy_from_slice(&values[from..from + width]);
        }
        Some(matrix)
    }

    /// The vertices to which the mails of each event go besides its ends.
    fn receivers(&mut self, step: u32, batch: &mut EventBatch) {
        self.moments.clear();
        let asked = &self.asked;
        for end in 0..2 {
            let queries = batch.event_queries.iter().map(|queries| queries[end] as usize);
            self.moments.extend(queries.map(|query| asked[query]));
        }
        let draws = draw_step(step, 7);
        self.neighbours.sample(&self.rules.sampler, &self.moments, draws, &mut self.sampled);
        batch.receivers_offsets.clone_from(&self.sampled.offsets);
        batch.receivers.clone_from(&self.sampled.vertex);
    }
}

/// Draws of different levels are different.
fn draw_step(step: u32, layer: usize) -> u32 {
    step.wrapping_mul(8).wrapping_add(layer as u32)
}

/// The row of a vertex among the unique ones, or a row of its own.
fn place(
    known: &mut UniqueVertices,
    deduplicate: bool,
    vertex: VertexId,
    vertices: &mut Vec<VertexId>,
) -> u32 {
    let unique = known.unique().len();
    let row = known.place(vertex);
    let again = (row as usize) < unique;
    if again && deduplicate {
        return row;
    }
    vertices.push(vertex);
    vertices.len() as u32 - 1
}

/// The row of a (vertex, time) of the level below.
fn instance(
    known: &mut HashMap<Key, u32>,
    deduplicate: bool,
    moment: Moment,
    next: &mut Vec<Moment>,
) -> u32 {
    let fresh = next.len() as u32;
    let row = if deduplicate {
        *known.entry((moment.vertex, moment.time, moment.before)).or_insert(fresh)
    } else {
        fresh
    };
    if row == fresh {
        next.push(moment);
    }
    row
}
