//! Neighbours that a GPU samples are those that the processor samples, event for event.

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::random::Random;
use zoetrope_graph::sampler::{Choice, EqualTimes, Moment, Sampled, Sampler};
use zoetrope_graph::{
    Direction, EventId, EventStore, TemporalIndex, TimeScale, TimeUnit, VertexNames,
};
use zoetrope_tensor::Gpu;
use zoetrope_tensor::cuda::{PATH_VARIABLE, TemporalSampler};

const VERTICES: u32 = 40;
const EVENTS: usize = 900;

/// A stream with a vertex that most events touch, equal times, and vertices without any event.
fn index() -> TemporalIndex {
    let random = Random::new(5, 9);
    let end = |at: usize, side: u64| {
        let draw = random.unit(2 * at as u64 + side);
        (draw * draw * draw * f64::from(VERTICES - 3)) as u32
    };
    let src = (0..EVENTS).map(|at| end(at, 0)).collect();
    let dst = (0..EVENTS).map(|at| end(at, 1)).collect();
    let time = (0..EVENTS as i64).map(|at| at / 3 * 7 - 500).collect();
    let scale = TimeScale { unit: TimeUnit::Nanosecond, unix: false };
    let names = VertexNames::identity(VERTICES);
    let store = EventStore::new(src, dst, time, EventColumns::default(), scale, names).unwrap();
    TemporalIndex::new(&store, Direction::Both)
}

fn moments(count: usize) -> Vec<Moment> {
    let random = Random::new(6, 3);
    let moment = |at: u64| Moment {
        vertex: random.below(3 * at, VERTICES.into()) as u32,
        time: random.below(3 * at + 1, 2400) as i64 - 600,
        before: match at % 3 {
            0 => EventId::MAX,
            _ => random.below(3 * at + 2, EVENTS as u64),
        },
    };
    (0..count as u64).map(moment).collect()
}

#[test]
fn a_gpu_samples_what_the_processor_samples() {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        // Without a GPU nothing can be compared; if CUDA was promised that is a failure.
        Err(error) if std::env::var_os(PATH_VARIABLE).is_none() => {
            eprintln!("not compared: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let index = index();
    let on_gpu = TemporalSampler::new(&gpu, &index);
    let (mut expected, mut found) = (Sampled::default(), Sampled::default());
    for (neighbours, count) in [(0, 5), (1, 1), (3, 0), (4, 1300), (10, 700), (35, 300), (5000, 9)]
    {
        for choice in [Choice::Recent, Choice::Uniform] {
            for equal_times in [EqualTimes::Future, EqualTimes::Past] {
                let rule = Sampler { choice, neighbours, equal_times, seed: 0x1_2345_6789 };
                let moments = moments(count);
                rule.sample(&index, &moments, 17, &mut expected);
                on_gpu.sample(&rule, &moments, 17, &mut found);
                assert_eq!(found, expected, "{count} moments, {rule:?}");
            }
        }
    }
    assert!(gpu.fault().is_none(), "{:?}", gpu.fault());
}
