//! `bipartite`: users who come back to items, as in the JODIE data sets.

use rayon::prelude::*;
use zoetrope_graph::random::Random;
use zoetrope_graph::{NameTable, Time, TimeScale, VertexNames};

use super::parameter::{Arguments, Generator, SEED, integer, real};
use super::power::{PowerRanks, shuffled, units};
use super::rhythm::{BLOCK, Clock, DAY_SECONDS};
use super::stream::{ChunkSource, EventChunk, EventStream};
use crate::dataset::Dataset;
use crate::error::DataError;
use crate::progress::Progress;

const STREAM_USERS: u32 = 0x0301;
const STREAM_TIMES: u32 = 0x0302;
const STREAM_EVENTS: u32 = 0x0303;
const STREAM_TASTES: u32 = 0x0304;
const STREAM_STATES: u32 = 0x0305;
const STREAM_MEANS: u32 = 0x0306;
const STREAM_NOISE: u32 = 0x0307;

/// Blocks per chunk: enough for many threads, few enough that a chunk stays small.
const CHUNK_BLOCKS: u64 = 16;
const STATE_DAYS: f64 = 1.0;

pub(super) const GENERATOR: Generator = Generator {
    name: "bipartite",
    summary: "a stream of users coming back to items, tastes drifting, rare state labels",
    model: "User and item of an event are heavy-tailed: rank r with probability ~ r^-activity and \
            r^-popularity. With probability `repeat` a user takes the item of the event before; \
            otherwise an item of the user's current taste (with probability `focus`) or any. A \
            user changes taste every `drift` days, at times of its own. Events follow a daily \
            rhythm, rate 1 - 0.8·cos(2π·hour/24). Features are the mean of the item's taste, a \
            shift while the user is disturbed, and noise of deviation 0.5. A user is disturbed on \
            a day with probability 2·labels; in the second half of such a day events have label 1.",
    source: "Kumar, Zhang and Leskovec, Predicting Dynamic Embedding Trajectory in Temporal \
             Interaction Networks (JODIE), KDD 2019, for the shape; defaults sized as its \
             wikipedia data, with 16 features in place of 172",
    parameters: &[
        integer("users", "8227", 1, 1 << 31, "source vertices"),
        integer("items", "1000", 1, 1 << 30, "destination vertices"),
        integer("events", "157474", 0, 1 << 40, "events"),
        real("repeat", "0.8", 0.0, 1.0, "probability to take the item of the event before"),
        real("focus", "0.9", 0.0, 1.0, "probability that a new item is of the user's taste"),
        integer("tastes", "20", 1, 65_536, "groups that the items fall into"),
        real("drift", "7", 0.01, 1e6, "days until a user's taste changes"),
        integer("days", "31", 1, 100_000, "days from the first to the last event"),
        real("activity", "0.8", 0.0, 5.0, "how unequal users are (0: all alike)"),
        real("popularity", "0.8", 0.0, 5.0, "how unequal items are (0: all alike)"),
        integer("features", "16", 0, 4096, "features per event"),
        real("labels", "0.0015", 0.0, 0.5, "expected share of events with label 1"),
        SEED,
    ],
    example: "synthetic:bipartite?users=100k&items=10k&events=5M&features=4",
    build,
    stream: Some(stream),
};

fn build(arguments: &Arguments, progress: &dyn Progress) -> Result<Dataset, DataError> {
    let row = 20.0 + 4.0 * arguments.integer("features") as f64;
    let bytes = arguments.integer("events") as f64 * row + state_bytes(arguments);
    arguments.require_memory(bytes, "events or features, or write the store in chunks")?;
    Ok(Dataset::Events(stream(arguments)?.collect_store(arguments, progress)?))
}

fn state_bytes(arguments: &Arguments) -> f64 {
    let row = 48.0 + 4.0 * arguments.integer("features") as f64;
    8.0 * arguments.integer("users") as f64 + (CHUNK_BLOCKS * BLOCK) as f64 * row
}

fn stream(arguments: &Arguments) -> Result<EventStream, DataError> {
    let (users, items) = (arguments.integer("users") as u32, arguments.integer("items") as u32);
    if arguments.integer("tastes") > u64::from(items) {
        return Err(arguments.reject("tastes", "at most as many as there are items"));
    }
    arguments.require_memory(state_bytes(arguments), "users or features")?;
    Ok(EventStream {
        events: arguments.integer("events"),
        feature_width: arguments.count("features"),
        scale: TimeScale::SECONDS,
        names: VertexNames {
            first: NameTable::Identity(users),
            second: Some(NameTable::Identity(items)),
        },
        source: Box::new(Source::new(arguments, users, items)),
    })
}

struct Source {
    seed: u64,
    users: u32,
    user_order: Vec<u32>,
    user_ranks: PowerRanks,
    item_ranks: PowerRanks,
    items: u32,
    /// Ranks among the items of each taste.
    taste_ranks: Vec<PowerRanks>,
    repeat: f64,
    focus: f64,
    drift_seconds: f64,
    disturbed: f64,
    width: usize,
    /// `tastes × width` means, then one more row: the shift of disturbed users.
    means: Vec<f32>,
    clock: Clock,
    next_block: u64,
    /// The item of each user's last event.
    last: Vec<u32>,
}

/// What an event is before it is known whether the user repeats.
struct Intent {
    user: u32,
    fresh: u32,
    repeats: bool,
    disturbed: bool,
    label: f32,
}

const NO_ITEM: u32 = u32::MAX;

impl Source {
    fn new(arguments: &Arguments, users: u32, items: u32) -> Self {
        let seed = arguments.seed();
        let (tastes, width) = (arguments.integer("tastes"), arguments.count("features"));
        let popularity = arguments.real("popularity");
        let members = |taste: u64| (u64::from(items) - taste).div_ceil(tastes);
        let means = Random::new(seed, STREAM_MEANS);
        Self {
            seed,
            users,
            user_order: shuffled(users, Random::new(seed, STREAM_USERS)),
            user_ranks: PowerRanks::new(u64::from(users), arguments.real("activity")),
            item_ranks: PowerRanks::new(u64::from(items), popularity),
            items,
            taste_ranks: (0..tastes).map(|t| PowerRanks::new(members(t), popularity)).collect(),
            repeat: arguments.real("repeat"),
            focus: arguments.real("focus"),
            drift_seconds: arguments.real("drift") * DAY_SECONDS,
            disturbed: 2.0 * arguments.real("labels"),
            width,
            means: (0..(tastes + 1) * width as u64).map(|i| means.normal(i) as f32).collect(),
            clock: Clock::new(arguments.integer("events"), arguments.integer("days"), 0.8),
            next_block: 0,
            last: vec![NO_ITEM; users as usize],
        }
    }

    /// The taste of a user at a time: constant between changes, which come every `drift` days
    /// at an offset of the user's own.
    fn taste(&self, user: u32, time: Time) -> u64 {
        let random = Random::new(self.seed, STREAM_TASTES);
        let offset = random.unit(u64::from(user));
        let period = (time as f64 / self.drift_seconds + offset) as u32;
        // Step 0 holds the offsets.
        random.at_step(period + 1).below(u64::from(user), self.taste_ranks.len() as u64)
    }

    fn intend(&self, event: u64, time: Time) -> Intent {
        let block = Random::new(self.seed, STREAM_EVENTS).block(event);
        let [user, item] = units(block);
        let [repeat, focus] = units([block[2], block[3], 0, 0]);
        let user = self.user_order[self.user_ranks.rank(user) as usize];
        let fresh = if focus < self.focus {
            let taste = self.taste(user, time);
            let rank = self.taste_ranks[taste as usize].rank(item);
            rank * self.taste_ranks.len() as u64 + taste
        } else {
            self.item_ranks.rank(item)
        };
        let days = time as f64 / (DAY_SECONDS * STATE_DAYS);
        let states = Random::new(self.seed, STREAM_STATES).at_step(days as u32);
        let disturbed = states.unit(u64::from(user)) < self.disturbed;
        let late = days.fract() >= 0.5;
        Intent {
            user,
            fresh: fresh as u32,
            repeats: repeat < self.repeat,
            disturbed,
            label: f32::from(u8::from(disturbed && late)),
        }
    }

    /// The features of an event; noise is the sum of two even numbers, scaled to deviation 0.5.
    fn describe(&self, event: u64, item: u32, disturbed: bool, row: &mut [f32]) {
        const SCALE: f32 = 0.5 * 2.449_489_8 / 65_536.0;
        let noise = Random::new(self.seed, STREAM_NOISE);
        let tastes = self.taste_ranks.len();
        let mean = &self.means[item as usize % tastes * self.width..][..self.width];
        let shift = &self.means[tastes * self.width..];
        let shifted = f32::from(u8::from(disturbed));
        for (group, part) in row.chunks_mut(4).enumerate() {
            let words = noise.at_step(group as u32).block(event);
            for (place, value) in part.iter_mut().enumerate() {
                let at = group * 4 + place;
                let sum = (words[place] >> 16) as f32 + (words[place] & 0xffff) as f32;
                *value = mean[at] + shifted * shift[at] + SCALE * (sum - 65_535.0);
            }
        }
    }
}

impl ChunkSource for Source {
    fn next_chunk(&mut self) -> EventChunk {
        let blocks = self.next_block..(self.next_block + CHUNK_BLOCKS).min(self.clock.blocks());
        self.next_block = blocks.end;
        let this = &*self;
        let times = Random::new(this.seed, STREAM_TIMES);
        let drawn: Vec<(Vec<Time>, Vec<Intent>)> = blocks
            .clone()
            .into_par_iter()
            .map(|block| {
                let times = this.clock.times(block, times);
                let events = this.clock.events_of(block);
                let intents = events.zip(&times).map(|(event, &time)| this.intend(event, time));
                let intents = intents.collect();
                (times, intents)
            })
            .collect();
        let mut chunk = EventChunk::default();
        let mut disturbed = Vec::new();
        for (times, intents) in drawn {
            chunk.time.extend(times);
            // Whether a user can repeat depends on all that came before: one thread, in order.
            for intent in intents {
                let last = &mut self.last[intent.user as usize];
                if !intent.repeats || *last == NO_ITEM {
                    *last = intent.fresh;
                }
                chunk.src.push(intent.user);
                chunk.dst.push(self.users + *last);
                chunk.label.push(intent.label);
                disturbed.push(intent.disturbed);
            }
        }
        debug_assert!(chunk.dst.iter().all(|&dst| dst - self.users < self.items));
        if self.width > 0 {
            let first = blocks.start * BLOCK;
            chunk.features = vec![0.0; chunk.time.len() * self.width];
            let rows = chunk.features.par_chunks_mut(self.width).with_min_len(1024);
            rows.enumerate().for_each(|(at, row)| {
                self.describe(first + at as u64, chunk.dst[at] - self.users, disturbed[at], row);
            });
        }
        chunk
    }
}

#[cfg(test)]
mod tests;
