//! Ordinary payments: who pays whom how much, day by day.

use rayon::prelude::*;
use zoetrope_graph::Time;
use zoetrope_graph::random::Random;

use super::Payments;
use crate::progress::Progress;
use crate::synthetic::parameter::Arguments;
use crate::synthetic::power::{PowerRanks, shuffled, units};
use crate::synthetic::rhythm::Clock;

const STREAM_KINDS: u32 = 0x0701;
const STREAM_ORDER: u32 = 0x0702;
const STREAM_TIMES: u32 = 0x0703;
const STREAM_EVENTS: u32 = 0x0704;
const STREAM_PARTNERS: u32 = 0x0705;
const STREAM_AMOUNTS: u32 = 0x0706;

const ACTIVITY: f64 = 0.8;
const PARTNERS: u64 = 12;
const PARTNER_SHARE: f64 = 0.85;
const RHYTHM: f64 = 0.7;

/// What an account is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Personal = 0,
    Company = 1,
    Merchant = 2,
}

impl Kind {
    pub(super) const NAMES: [&str; 3] = ["personal", "company", "merchant"];

    /// The middle of the amounts that one kind pays another.
    fn median(self, to: Self) -> f64 {
        match (self, to) {
            (Self::Personal, Self::Merchant) => 35.0,
            (Self::Personal, _) => 120.0,
            (Self::Company, Self::Personal) => 2500.0,
            (Self::Company, _) => 4000.0,
            (Self::Merchant, Self::Personal) => 60.0,
            (Self::Merchant, _) => 1500.0,
        }
    }
}

/// The kind of every account.
pub(super) fn kinds(seed: u64, accounts: u32) -> Vec<Kind> {
    let random = Random::new(seed, STREAM_KINDS);
    let kind = |account: u32| match random.unit(u64::from(account)) {
        lot if lot < 0.85 => Kind::Personal,
        lot if lot < 0.97 => Kind::Company,
        _ => Kind::Merchant,
    };
    (0..accounts).into_par_iter().map(kind).collect()
}

/// Who is paid by people without a standing relation: one in two times a merchant or a company.
struct Accounts {
    kinds: Vec<Kind>,
    order: Vec<u32>,
    /// Merchants and companies.
    businesses: Vec<u32>,
    ranks: PowerRanks,
    business_ranks: PowerRanks,
}

impl Accounts {
    fn new(seed: u64, accounts: u32) -> Self {
        let kinds = kinds(seed, accounts);
        let order = shuffled(accounts, Random::new(seed, STREAM_ORDER));
        let business = |account: &&u32| kinds[**account as usize] != Kind::Personal;
        let businesses: Vec<u32> = order.iter().filter(business).copied().collect();
        Self {
            ranks: PowerRanks::new(u64::from(accounts), ACTIVITY),
            business_ranks: PowerRanks::new(businesses.len().max(1) as u64, ACTIVITY),
            kinds,
            order,
            businesses,
        }
    }

    fn payee(&self, block: [u32; 4]) -> u32 {
        let [kind, rank] = units(block);
        if kind < 0.5 && !self.businesses.is_empty() {
            self.businesses[self.business_ranks.rank(rank) as usize]
        } else {
            self.order[self.ranks.rank(rank) as usize]
        }
    }
}

/// All ordinary payments, in order of time.
pub(super) fn pay(arguments: &Arguments, start: Time, progress: &dyn Progress) -> Payments {
    let seed = arguments.seed();
    let accounts = Accounts::new(seed, arguments.integer("accounts") as u32);
    let clock = Clock::new(arguments.integer("events"), arguments.integer("days"), RHYTHM);
    let times = Random::new(seed, STREAM_TIMES);
    let partner_ranks = PowerRanks::new(PARTNERS, 1.0);
    let blocks: Vec<Payments> = (0..clock.blocks())
        .into_par_iter()
        .map(|block| {
            let mut made = Payments::default();
            let events = clock.events_of(block);
            progress.advance(events.end - events.start);
            for (event, time) in events.zip(clock.times(block, times)) {
                let (src, dst) = choose(seed, &accounts, partner_ranks, event);
                let median = accounts.kinds[src as usize].median(accounts.kinds[dst as usize]);
                let spread = Random::new(seed, STREAM_AMOUNTS).normal(event);
                made.src.push(src);
                made.dst.push(dst);
                made.time.push(start + time);
                made.amount.push(cents(median * spread.exp()));
            }
            made
        })
        .collect();
    let mut all = Payments::default();
    for mut block in blocks {
        all.src.append(&mut block.src);
        all.dst.append(&mut block.dst);
        all.time.append(&mut block.time);
        all.amount.append(&mut block.amount);
    }
    all
}

/// Payer and payee; never the same account.
fn choose(seed: u64, accounts: &Accounts, partners: PowerRanks, event: u64) -> (u32, u32) {
    let events = Random::new(seed, STREAM_EVENTS);
    let block = events.block(event);
    let [payer, known] = units(block);
    let [which, _] = units([block[2], block[3], 0, 0]);
    let src = accounts.order[accounts.ranks.rank(payer) as usize];
    let partner = (known < PARTNER_SHARE).then(|| partners.rank(which));
    // An account's partners are a function of the account: no table, and the same every time.
    for attempt in 0.. {
        let dst = match partner {
            Some(partner) => {
                let random = Random::new(seed, STREAM_PARTNERS).at_step(partner as u32);
                accounts.payee(random.block(u64::from(src) | attempt << 32))
            }
            None => accounts.payee(events.at_step(attempt as u32 + 1).block(event)),
        };
        if dst != src {
            return (src, dst);
        }
    }
    unreachable!("there are at least 32 accounts, so another one is drawn sooner or later")
}

/// An amount of at least one cent, in whole cents.
pub(super) fn cents(amount: f64) -> f32 {
    ((amount * 100.0).round().max(1.0) / 100.0) as f32
}
