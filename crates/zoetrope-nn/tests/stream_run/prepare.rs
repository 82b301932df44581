//! Batches of events prepared the slow and obvious way.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::{Time, VertexId};
use zoetrope_nn::decoder::Ends;
use zoetrope_nn::memory::EventData;
use zoetrope_nn::stream::{EventBatch, LastEvent, LayerBatch};
use zoetrope_tensor::{Matrix, Neighbourhood};

/// A stream of events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    pub(crate) vertices: usize,
    pub(crate) src: Vec<VertexId>,
    pub(crate) dst: Vec<VertexId>,
    pub(crate) negative: Vec<VertexId>,
    pub(crate) time: Vec<Time>,
    pub(crate) features: Vec<f32>,
    pub(crate) feature_width: usize,
}

impl Stream {
    pub(crate) fn data(&self) -> EventData<'_> {
        EventData {
            src: &self.src,
            dst: &self.dst,
            time: &self.time,
            features: &self.features,
            feature_width: self.feature_width,
            on_gpu: None,
        }
    }

    /// The last `k` events of a vertex strictly before a time, numbered below `before`.
    fn recent(&self, vertex: VertexId, time: Time, before: usize, k: usize) -> Vec<(u32, usize)> {
        let own = |event: usize| match (self.src[event] == vertex, self.dst[event] == vertex) {
            (true, _) => Some((self.dst[event], event)),
            (_, true) => Some((self.src[event], event)),
            _ => None,
        };
        let past = (0..before.min(self.time.len())).filter(|&event| self.time[event] < time);
        let all: Vec<_> = past.filter_map(own).collect();
        all[all.len().saturating_sub(k)..].to_vec()
    }
}

/// How a batch is prepared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) neighbours: usize,
    pub(crate) layers: usize,
    /// Whether questions see earlier events of their batch.
    pub(crate) per_event: bool,
    /// Whether neighbours get mails.
    pub(crate) receivers: bool,
    /// Whether rows that are equal are listed once.
    pub(crate) unique: bool,
}

/// Rows of a level: (vertex, time), or vertices alone on the lowest.
struct LevelRows {
    list: Vec<(VertexId, Time)>,
    place: HashMap<(VertexId, Time), u32>,
    by_vertex: bool,
    unique: bool,
}

impl LevelRows {
    fn new(by_vertex: bool, unique: bool) -> Self {
        Self { list: Vec::new(), place: HashMap::new(), by_vertex, unique }
    }

    fn add(&mut self, vertex: VertexId, time: Time) -> u32 {
        let key = (vertex, if self.by_vertex { 0 } else { time });
        if let Some(&place) = self.place.get(&key).filter(|_| self.unique) {
            return place;
        }
        self.list.push((vertex, time));
        self.place.insert(key, self.list.len() as u32 - 1);
        self.list.len() as u32 - 1
    }
}

/// The batch of some events with their negatives, and the pairs to score: the events, then the
/// negatives.
pub(crate) fn prepare(stream: &Stream, events: Range<usize>, rules: Rules) -> (EventBatch, Ends) {
    let mut questions = LevelRows::new(false, true);
    let mut asked = Vec::new();
    for event in events.clone() {
        let time = stream.time[event];
        let ends = [stream.src[event], stream.dst[event], stream.negative[event]];
        asked.push(ends.map(|vertex| questions.add(vertex, time)));
    }
    let before = if rules.per_event { usize::MAX } else { events.start };
    let (mut used, mut slots_of) = (Vec::new(), HashMap::new());
    let mut blocks = Vec::new();
    let mut targets = questions.list.clone();
    for layer in 0..rules.layers {
        let mut rows = LevelRows::new(layer + 1 == rules.layers, rules.unique);
        let mut block = LayerBatch::default();
        let (mut layout, mut roots) = (Neighbourhood::default(), Vec::new());
        layout.offsets.push(0);
        for &(vertex, time) in &targets {
            let root = rows.add(vertex, time);
            let known = roots.iter().position(|&known| known == root);
            layout.query.push(known.unwrap_or(roots.len()) as u32);
            if known.is_none() {
                roots.push(root);
            }
            for (other, event) in stream.recent(vertex, time, before, rules.neighbours) {
                let then = stream.time[event];
                layout.source.push(rows.add(other, then));
                layout.event.push(*slots_of.entry(event).or_insert_with(|| {
                    used.push(event);
                    used.len() as u32 - 1
                }));
                block.slot_time.push(then);
            }
            layout.offsets.push(layout.source.len() as u32);
            block.target_time.push(time);
        }
        layout.index(roots.len(), rows.list.len());
        block.layout = Arc::new(layout);
        block.roots = Arc::new(roots);
        blocks.push(block);
        targets = rows.list;
    }
    if rules.layers == 0 {
        let mut rows = LevelRows::new(true, rules.unique);
        for &(vertex, time) in &questions.list {
            rows.add(vertex, time);
        }
        targets = rows.list;
    }
    let vertices: Vec<VertexId> = targets.iter().map(|&(vertex, _)| vertex).collect();
    let row_of = |vertex| vertices.iter().position(|&v| v == vertex).unwrap() as u32;
    let mut batch = EventBatch {
        events: events.clone().collect(),
        query_vertex: Arc::new(questions.list.iter().map(|&(vertex, _)| vertex).collect()),
        query_time: questions.list.iter().map(|&(_, time)| time).collect(),
        query_row: Arc::new(questions.list.iter().map(|&(vertex, _)| row_of(vertex)).collect()),
        event_features: features(stream, &used),
        event_queries: asked.iter().map(|&[src, dst, _]| [src, dst]).collect(),
        last_events: last_events(stream, events.clone(), &asked, row_of),
        vertices: Arc::new(vertices.clone()),
        blocks,
        ..EventBatch::default()
    };
    if rules.receivers {
        batch.receivers_offsets.push(0);
        for ends in [&stream.src, &stream.dst] {
            for event in events.clone() {
                let (vertex, time) = (ends[event], stream.time[event]);
                let found = stream.recent(vertex, time, before, rules.neighbours);
                batch.receivers.extend(found.iter().map(|&(other, _)| other));
                batch.receivers_offsets.push(batch.receivers.len() as u32);
            }
        }
    }
    let side = |at: usize| asked.iter().map(move |question| question[at]);
    let ends = Ends {
        src: Arc::new(side(0).chain(side(0)).collect()),
        dst: Arc::new(side(1).chain(side(2)).collect()),
    };
    (batch, ends)
}

fn features(stream: &Stream, used: &[usize]) -> Option<Arc<Matrix>> {
    let data = stream.data();
    let values: Vec<f32> =
        used.iter().flat_map(|&event| data.features_of(event)).copied().collect();
    let width = stream.feature_width;
    (width > 0).then(|| Arc::new(Matrix::from_slice(used.len(), width, &values).unwrap()))
}

fn last_events(
    stream: &Stream,
    events: Range<usize>,
    asked: &[[u32; 3]],
    row_of: impl Fn(VertexId) -> u32,
) -> Vec<LastEvent> {
    let mut last: Vec<LastEvent> = Vec::new();
    for (event, question) in events.zip(asked) {
        let ends =
            [(stream.src[event], true, question[0]), (stream.dst[event], false, question[1])];
        for (vertex, is_source, query) in ends {
            let entry = LastEvent { vertex, event, is_source, row: row_of(vertex), query };
            match last.iter_mut().find(|known| known.vertex == vertex) {
                Some(known) if known.event == event => {}
                Some(known) => *known = entry,
                None => last.push(entry),
            }
        }
    }
    last
}
