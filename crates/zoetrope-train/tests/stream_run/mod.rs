//! Small runs over events for tests.
#![allow(dead_code)]

use std::ops::ControlFlow;
use zoetrope_config::Config;
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::random::Random;
use zoetrope_graph::{Column, EventStore, Time, TimeScale, TimeUnit, VertexNames};
use zoetrope_run::Timeline;
use zoetrope_train::events::{Candidate, EventInput, EventSession};
use zoetrope_train::observer::{Observer, RunEvent};
use zoetrope_train::training_run::{Epochs, TrainingRun};

/// Every model, as settings.
pub(crate) const MODELS: [&str; 5] = [
    "model.name=tgn model.neighbours=4",
    "model.name=tgn model.variant=pyg model.neighbours=4",
    "model.name=jodie",
    "model.name=apan model.neighbours=4",
    "model.name=tgat model.neighbours=4",
];

pub(crate) const VERTICES: u32 = 24;

/// A stream with repeated pairs, equal times, self-loops and features.
pub(crate) fn events(count: usize) -> EventStore {
    let random = Random::new(7, 1);
    let vertex =
        |at: usize, place: u64| random.below(4 * at as u64 + place, VERTICES.into()) as u32;
    let src: Vec<u32> = (0..count).map(|at| vertex(at, 0) / 2).collect();
    let dst: Vec<u32> = (0..count)
        .map(|at| if random.unit(4 * at as u64 + 3) < 0.5 { src[at] + 11 } else { vertex(at, 1) })
        .collect();
    // Two events in three have a time of their own.
    let time: Vec<Time> =
        (0..count as i64).map(|at| at - (at % 3 == 1) as i64).map(|at| 3 * at).collect();
    let features: Vec<f32> =
        (0..count * 3).map(|at| random.normal(1_000_000 + at as u64) as f32).collect();
    store(src, dst, time, features)
}

/// The same stream with so many events at every time.
pub(crate) fn crowded(count: usize, per_time: usize) -> EventStore {
    let plain = events(count);
    let time = (0..count).map(|at| 9 * (at / per_time) as Time).collect();
    let features = plain.features().unwrap().to_vec();
    store(plain.src().to_vec(), plain.dst().to_vec(), time, features)
}

pub(crate) fn store(
    src: Vec<u32>,
    dst: Vec<u32>,
    time: Vec<Time>,
    features: Vec<f32>,
) -> EventStore {
    let columns = EventColumns {
        features: Some(Column::from(features)),
        feature_width: 3,
        ..EventColumns::default()
    };
    let scale = TimeScale { unit: TimeUnit::Nanosecond, unix: false };
    EventStore::new(src, dst, time, columns, scale, VertexNames::identity(VERTICES)).unwrap()
}

/// The same stream with another beginning.
pub(crate) fn shifted(events: &EventStore, by: Time) -> EventStore {
    let time = events.time().iter().map(|time| time + by).collect();
    let features = events.features().unwrap().to_vec();
    store(events.src().to_vec(), events.dst().to_vec(), time, features)
}

#[derive(Debug)]
pub(crate) struct StreamRun {
    pub(crate) session: EventSession,
}

struct Batches(usize);

impl Observer for Batches {
    fn observe(&mut self, _: RunEvent<'_>) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// A run with small widths and batches; each text holds settings parted by blanks.
pub(crate) fn run(events: EventStore, settings: &[&str]) -> StreamRun {
    let usual = "model.hidden=8 train.batch_size=17 train.lr=0.01 train.epochs=9";
    let all = [&usual].into_iter().chain(settings).flat_map(|text| text.split(' '));
    let config = all.fold(Config::builder(), |builder, setting| builder.set(setting));
    let config = config.build().unwrap();
    let material = EventInput::new(events, &config).unwrap();
    StreamRun { session: EventSession::start(config, material, None, Timeline::new()).unwrap() }
}

impl StreamRun {
    /// Trains until so many epochs are finished.
    pub(crate) fn train(&mut self, epochs: usize) {
        while self.session.learner().epochs().len() < epochs {
            self.session.epoch(&mut Batches(usize::MAX)).unwrap();
        }
    }

    /// Trains so many batches.
    pub(crate) fn train_batches(&mut self, batches: usize) {
        self.session.epoch(&mut Batches(batches)).unwrap();
    }

    /// Pairs spread over the stream, some after its end.
    pub(crate) fn candidates(&self, count: usize) -> Vec<Candidate> {
        let time = self.session.material().store.time();
        let (first, last) = (time[0], time[time.len() - 1]);
        let random = Random::new(11, 2);
        (0..count as i64)
            .map(|at| Candidate {
                src: random.below(2 * at as u64, VERTICES.into()) as u32,
                dst: random.below(2 * at as u64 + 1, VERTICES.into()) as u32,
                time: first + (last - first) * (at + 1) / count as i64 + 5,
            })
            .collect()
    }
}
