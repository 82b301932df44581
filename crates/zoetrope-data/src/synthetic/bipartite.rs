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
mod tests {
    use crate::synthetic::stream;
    use crate::synthetic::tests::events_of;

    #[test]
    fn the_default_has_the_size_of_wikipedia() {
        let store = events_of("synthetic:bipartite");
        assert_eq!((store.len(), store.vertices(), store.feature_width()), (157_474, 9227, 16));
        assert!(store.src().iter().all(|&src| src < 8227));
        assert!(store.dst().iter().all(|&dst| (8227..9227).contains(&dst)));
        assert!(store.time().iter().all(|time| (0..31 * 86_400).contains(time)));
    }

    #[test]
    fn users_repeat_as_often_as_asked() {
        for (repeat, tolerance) in [(0.0, 0.2), (0.8, 0.05), (1.0, 0.0)] {
            let name =
                format!("synthetic:bipartite?users=500&events=40k&features=0&repeat={repeat}");
            let store = events_of(&name);
            let mut last = vec![None; 500];
            let (mut again, mut chances) = (0.0, 0.0);
            for (&src, &dst) in store.src().iter().zip(store.dst()) {
                if let Some(before) = last[src as usize].replace(dst) {
                    chances += 1.0;
                    again += f64::from(u8::from(before == dst));
                }
            }
            // A fresh item equals the last one by chance, most often a popular one: never fewer
            // repeats than asked, and a few more.
            let excess = again / chances - repeat;
            assert!((-0.01..=tolerance).contains(&excess), "{repeat} {excess}");
        }
    }

    #[test]
    fn activity_is_heavy_tailed() {
        let store = events_of("synthetic:bipartite?users=10k&events=100k&features=0");
        let mut counts = vec![0u32; 10_000];
        store.src().iter().for_each(|&src| counts[src as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let top: u32 = counts[..100].iter().sum();
        // ∫x^-0.8 over the first hundredth: (101^0.2 - 1)/(10001^0.2 - 1) = 28.5 %.
        assert!((24_000..33_000).contains(&top), "{top}");
    }

    #[test]
    fn tastes_drift_but_hold_for_a_while() {
        let name = "synthetic:bipartite?users=50&items=1000&events=100k&features=0&repeat=0\
                    &focus=1&drift=5&days=20&tastes=10&activity=0";
        let store = events_of(name);
        let taste = |event: usize| (store.dst()[event] - 50) % 10;
        let of_user: Vec<usize> = (0..store.len()).filter(|&e| store.src()[e] == 7).collect();
        let changes = of_user.windows(2).filter(|pair| taste(pair[0]) != taste(pair[1])).count();
        // 20 days at 5 days each: 4 or 5 changes at most, some of them to the same taste.
        assert!((1..=5).contains(&changes), "{changes} in {} events", of_user.len());
    }

    #[test]
    fn labels_are_as_rare_as_asked_and_announced_by_the_features() {
        let name = "synthetic:bipartite?users=5000&events=200k&features=4&labels=0.01&activity=0\
                    &tastes=1";
        let store = events_of(name);
        let labels = store.label().unwrap();
        let ones = labels.iter().filter(|&&label| label == 1.0).count() as f64 / 200_000.0;
        // About 3,100 disturbed half-days of 1.3 events each: standard error 0.0002.
        assert!((0.008..0.012).contains(&ones), "{ones}");
        let mean = |wanted: f32| {
            let rows = store.features().unwrap().chunks(4).zip(labels);
            let chosen: Vec<_> = rows.filter(|(_, label)| **label == wanted).collect();
            let sum = chosen.iter().fold([0.0; 4], |sum, (row, _)| {
                std::array::from_fn(|at| sum[at] + f64::from(row[at]))
            });
            sum.map(|value| value / chosen.len() as f64)
        };
        let (quiet, disturbed) = (mean(0.0), mean(1.0));
        let distance: f64 =
            quiet.iter().zip(disturbed).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(distance > 0.5, "the shift of the noise deviation or more: {distance}");
    }

    #[test]
    fn a_store_written_in_chunks_holds_the_same_events() {
        let name = "synthetic:bipartite?users=300&events=300k&features=2";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.zoe");
        stream(name).unwrap().write_store(&path, &crate::Quiet).unwrap();
        let read = crate::formats::store::read(&path, &Default::default(), &crate::Quiet).unwrap();
        assert!(read.dataset == crate::synthetic::generate(name, &crate::Quiet).unwrap().dataset);
    }

    #[test]
    fn chunks_concatenate_to_the_whole() {
        let name = "synthetic:bipartite?users=300&events=600k&features=2";
        let store = events_of(name);
        let chunks = stream(name).unwrap();
        assert_eq!((chunks.events, chunks.feature_width), (600_000, 2));
        let (mut at, mut count) = (0, 0);
        for chunk in chunks {
            let range = at..at + chunk.time.len();
            assert_eq!(store.src()[range.clone()], chunk.src);
            assert_eq!(store.dst()[range.clone()], chunk.dst);
            assert_eq!(store.time()[range.clone()], chunk.time);
            assert_eq!(store.label().unwrap()[range.clone()], chunk.label);
            assert_eq!(store.features().unwrap()[2 * range.start..2 * range.end], chunk.features);
            at = range.end;
            count += 1;
        }
        assert_eq!((at, count), (600_000, 3));
    }
}
