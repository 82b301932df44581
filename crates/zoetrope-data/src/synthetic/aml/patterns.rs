//! Patterns of laundering: who pays whom in which stage.
//!
//! A pattern is a list of hops, each in a stage. Stages follow each other in time without
//! overlap, so money that arrives in one stage leaves in a later one.

use hashbrown::HashSet;
use zoetrope_graph::random::Random;
use zoetrope_graph::{Time, VertexId};

use super::background::cents;
use crate::synthetic::parameter::Arguments;
use crate::synthetic::rhythm::DAY_SECONDS;

const STREAM_SHAPE: u32 = 0x0710;
const STREAM_MEMBERS: u32 = 0x0711;
const STREAM_HOPS: u32 = 0x0712;

const TYPICAL_SUM: f64 = 10_000.0;
const MOST_LOSS: f64 = 0.05;

/// A shape in which money is laundered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// One account pays many.
    FanOut,
    /// Many accounts pay one.
    FanIn,
    /// Money goes around and comes back to the first account.
    Cycle,
    /// One account pays many, which pay one other.
    ScatterGather,
    /// Many accounts pay one, which pays many others.
    GatherScatter,
    /// Every account of one side pays every account of the other.
    Bipartite,
    /// Three sides, each paying the next as in `Bipartite`.
    Stack,
    /// A walk that may visit an account again.
    Random,
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Self; 8] = [
        Self::FanOut,
        Self::FanIn,
        Self::Cycle,
        Self::ScatterGather,
        Self::GatherScatter,
        Self::Bipartite,
        Self::Stack,
        Self::Random,
    ];

    pub(super) const NAMES_AND_MIXED: [&str; 9] = [
        "mixed",
        "fan-out",
        "fan-in",
        "cycle",
        "scatter-gather",
        "gather-scatter",
        "bipartite",
        "stack",
        "random",
    ];

    /// The name in parameters and reports.
    pub fn name(self) -> &'static str {
        Self::NAMES_AND_MIXED[self as usize + 1]
    }

    /// How many accounts the largest pattern takes if a side has at most `size`.
    pub(super) fn most_accounts(size: u64) -> u64 {
        3 * size
    }

    /// The hops, as places among the pattern's accounts with their stage, for sides of `side`.
    fn hops(self, side: usize, random: Random) -> Vec<Hop> {
        let hop = |stage, from, to| Hop { stage, from, to };
        let layer = |stage, from: usize, to: usize| {
            (0..side).flat_map(move |a| {
                (0..side).map(move |b| Hop { stage, from: from + a, to: to + b })
            })
        };
        match self {
            Self::FanOut => (1..=side).map(|to| hop(0, 0, to)).collect(),
            Self::FanIn => (1..=side).map(|from| hop(0, from, 0)).collect(),
            Self::Cycle => (0..side).map(|at| hop(at, at, (at + 1) % side)).collect(),
            Self::ScatterGather => {
                let scatter = (2..side + 2).map(|to| hop(0, 0, to));
                scatter.chain((2..side + 2).map(|from| hop(1, from, 1))).collect()
            }
            Self::GatherScatter => {
                let gather = (1..=side).map(|from| hop(0, from, 0));
                gather.chain((side + 1..=2 * side).map(|to| hop(1, 0, to))).collect()
            }
            Self::Bipartite => layer(0, 0, side).collect(),
            Self::Stack => layer(0, 0, side).chain(layer(1, side, 2 * side)).collect(),
            Self::Random => {
                let mut at = 0;
                let mut walk = Vec::new();
                for stage in 0..side {
                    // Any account but the one where the money is.
                    let step = 1 + random.below(stage as u64, side as u64 - 1) as usize;
                    let to = (at + step) % side;
                    walk.push(hop(stage, at, to));
                    at = to;
                }
                walk
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Hop {
    stage: usize,
    from: usize,
    to: usize,
}

/// One laundering payment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Payment {
    /// Who pays.
    pub src: VertexId,
    /// Who is paid.
    pub dst: VertexId,
    /// When, in Unix seconds.
    pub time: Time,
    /// How much.
    pub amount: f32,
}

/// A pattern as it was planted.
#[derive(Debug, Clone, PartialEq)]
pub struct Planted {
    /// Its shape.
    pub pattern: Pattern,
    /// Its payments, in the order of the stages.
    pub payments: Vec<Payment>,
}

/// All patterns; pattern `n` depends on the seed and `n` alone.
pub(super) fn plant(arguments: &Arguments, start: Time) -> Vec<Planted> {
    let kind = arguments.choice("kind");
    let fixed = Pattern::ALL.into_iter().find(|pattern| pattern.name() == kind);
    let pattern = |number: u64| fixed.unwrap_or(Pattern::ALL[(number % 8) as usize]);
    (0..arguments.integer("patterns"))
        .map(|number| plant_one(arguments, number, pattern(number), start))
        .collect()
}

fn plant_one(arguments: &Arguments, number: u64, pattern: Pattern, start: Time) -> Planted {
    let seed = arguments.seed();
    let shape = Random::new(seed, STREAM_SHAPE).at_step(number as u32);
    let side = 3 + shape.below(0, arguments.integer("size") - 2) as usize;
    let hops = pattern.hops(side, Random::new(seed, STREAM_HOPS).at_step(number as u32));
    let stages = hops.iter().map(|hop| hop.stage + 1).max().unwrap_or(1);
    let mut at_once = vec![0.0; stages];
    hops.iter().for_each(|hop| at_once[hop.stage] += 1.0);
    let places = hops.iter().map(|hop| hop.from.max(hop.to) + 1).max().unwrap_or(0);
    let members = members(arguments, number, places);
    let span = arguments.real("span") * DAY_SECONDS;
    let latest = (arguments.integer("days") as f64 * DAY_SECONDS - span).max(0.0);
    let begin = shape.unit(1) * latest;
    let sum = TYPICAL_SUM * (0.7 * shape.normal(2)).exp();
    let width = span / stages as f64;
    let mut payments: Vec<Payment> = Vec::with_capacity(hops.len());
    for (place, hop) in (3u64..).zip(&hops) {
        let lot = shape.block(place);
        let [moment, loss] = crate::synthetic::power::units(lot);
        // A window ends a second early, so that rounding cannot reach into the next one.
        let within = moment * (width - 1.0);
        let time = start + (begin + width * hop.stage as f64 + within) as Time;
        let kept = (1.0 - MOST_LOSS * loss) * (1.0 - MOST_LOSS / 2.0).powi(hop.stage as i32);
        payments.push(Payment {
            src: members[hop.from],
            dst: members[hop.to],
            time,
            amount: cents(sum / at_once[hop.stage] * kept),
        });
    }
    Planted { pattern, payments }
}

/// Different accounts for the places of a pattern.
fn members(arguments: &Arguments, number: u64, places: usize) -> Vec<VertexId> {
    let random = Random::new(arguments.seed(), STREAM_MEMBERS).at_step(number as u32);
    let accounts = arguments.integer("accounts");
    let mut taken = HashSet::with_capacity(places);
    (0..)
        .map(|draw| random.below(draw, accounts) as VertexId)
        .filter(|&account| taken.insert(account))
        .take(places)
        .collect()
}
