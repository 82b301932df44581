//! Generated events, a tick apart; destinations are the lower of two draws, so some are popular.

use std::ops::Range;

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::random::Random;
use zoetrope_graph::{EventStore, TimeScale, VertexNames};

/// A store of generated events.
pub(crate) fn generate(events: u64, vertices: u32, weighted: bool) -> EventStore {
    let (src, dst, time) = chunk(0..events, vertices);
    let random = Random::new(1, 1);
    let weight =
        weighted.then(|| (0..events).map(|event| random.u64(event) as f32).collect::<Vec<_>>());
    let columns = EventColumns { weight: weight.map(Into::into), ..EventColumns::default() };
    let names = VertexNames::identity(vertices);
    EventStore::new(src, dst, time, columns, TimeScale::SECONDS, names)
        .expect("generated columns fit")
}

/// Sources, destinations and times of some of the events.
pub(crate) fn chunk(events: Range<u64>, vertices: u32) -> (Vec<u32>, Vec<u32>, Vec<i64>) {
    let random = Random::new(1, 0);
    let below = |draw: u32| ((u64::from(draw) * u64::from(vertices)) >> 32) as u32;
    let (mut src, mut dst, mut time) = (Vec::new(), Vec::new(), Vec::new());
    for event in events {
        let block = random.block(event);
        src.push(below(block[0]));
        dst.push(below(block[1]).min(below(block[2])));
        time.push(event as i64);
    }
    (src, dst, time)
}
