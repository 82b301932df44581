//! `aml`: payments between accounts, some of them laundering money in known patterns.

mod background;
mod patterns;

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, Time, TimeScale, VertexId, VertexNames};

use super::catalogue;
use super::name;
use super::parameter::{Arguments, Generator, SEED, choice, integer, real};
use super::rhythm::DAY_SECONDS;
use crate::dataset::Dataset;
use crate::error::DataError;
use crate::progress::Progress;

pub use patterns::{Pattern, Payment, Planted};

/// 2024-01-01 00:00 UTC, so that days begin at midnight.
const START: Time = 1_704_067_200;

pub(super) const GENERATOR: Generator = Generator {
    name: "aml",
    summary: "payments with planted money-laundering patterns; label 1 marks laundering",
    model: "Accounts are personal (85 %), of companies (12 %) or of merchants (3 %), kept as \
            vertex labels. Who pays is heavy-tailed (rank^-0.8); whom: with probability 0.85 one \
            of a few partners of the payer's own, the first ones most often, else anyone, \
            merchants and companies preferred. Amounts (the weights) are log-normal around what \
            the two account types exchange; payments follow a daily rhythm. Each pattern takes \
            different accounts of its own, moves one log-normal sum of about 10,000 in stages \
            that follow each other within `span` days, and loses 0 to 5 % per hop: fan-out \
            (one to many), fan-in (many to one), cycle (around and back), scatter-gather (one to \
            many to one), gather-scatter (many to one to many), bipartite (all of one side to \
            all of the other), stack (three such layers), random (a walk).",
    source: "patterns of Suzumura and Kanezashi, AMLSim, 2018, and Altman et al., Realistic \
             Synthetic Financial Transactions for Anti-Money Laundering Models, NeurIPS 2023",
    parameters: &[
        integer("accounts", "10000", 32, 1 << 30, "accounts"),
        integer("events", "200000", 0, 1 << 36, "payments that are not laundering"),
        integer("patterns", "100", 0, 10_000_000, "planted patterns"),
        choice("kind", "mixed", &Pattern::NAMES_AND_MIXED, "which patterns; mixed takes turns"),
        integer("size", "8", 3, 1000, "the most accounts of a side or cycle of a pattern"),
        real("span", "3", 0.01, 1000.0, "days that a pattern takes"),
        integer("days", "30", 1, 100_000, "days from the first to the last payment"),
        SEED,
    ],
    example: "synthetic:aml?accounts=100k&events=2M&patterns=1000",
    build,
    stream: None,
};

/// Payments as columns, in any order.
#[derive(Debug, Default)]
struct Payments {
    src: Vec<VertexId>,
    dst: Vec<VertexId>,
    time: Vec<Time>,
    amount: Vec<f32>,
}

/// The patterns that `name` plants, to verify what a detector finds.
///
/// # Errors
/// As [`generate`](super::generate), and if the name is of another generator.
pub fn planted(name: &str) -> Result<Vec<Planted>, DataError> {
    let (generator, arguments) = name::parse(name, catalogue())?;
    if generator.name != GENERATOR.name {
        return Err(DataError::BadParameter {
            parameter: "generator".into(),
            value: generator.name.into(),
            expected: GENERATOR.name.into(),
        });
    }
    check(&arguments)?;
    Ok(patterns::plant(&arguments, START))
}

fn check(arguments: &Arguments) -> Result<(), DataError> {
    let (accounts, size) = (arguments.integer("accounts"), arguments.integer("size"));
    if Pattern::most_accounts(size) > accounts {
        return Err(arguments.reject("size", "at most a third of the accounts"));
    }
    if arguments.real("span") > arguments.integer("days") as f64 {
        return Err(arguments.reject("span", "not longer than `days`"));
    }
    // A cycle of `size` hops has as many stages, and a stage needs a second for itself.
    if arguments.real("span") * DAY_SECONDS < 2.0 * size as f64 {
        return Err(arguments.reject("span", "at least 2 seconds for each account of `size`"));
    }
    let laundering = arguments.integer("patterns") as f64 * 2.0 * (size as f64).powi(2);
    // Columns, then the same again while they are put in order of time.
    let bytes = 40.0 * (arguments.integer("events") as f64 + laundering) + 8.0 * accounts as f64;
    arguments.require_memory(bytes, "accounts, events, patterns or size")
}

fn build(arguments: &Arguments, progress: &dyn Progress) -> Result<Dataset, DataError> {
    check(arguments)?;
    progress.begin("generating", Some(arguments.integer("events")));
    let mut payments = background::pay(arguments, START, progress);
    let mut label = vec![0.0; payments.src.len()];
    for planted in patterns::plant(arguments, START) {
        for payment in &planted.payments {
            payments.src.push(payment.src);
            payments.dst.push(payment.dst);
            payments.time.push(payment.time);
            payments.amount.push(payment.amount);
            label.push(1.0);
        }
    }
    let accounts = arguments.integer("accounts") as u32;
    let columns = EventColumns {
        weight: Some(payments.amount.into()),
        label: Some(label.into()),
        ..EventColumns::default()
    };
    let mut store = EventStore::new(
        payments.src,
        payments.dst,
        payments.time,
        columns,
        TimeScale::UNIX_SECONDS,
        VertexNames::identity(accounts),
    )
    .map_err(arguments.graph_error())?;
    let kinds = background::kinds(arguments.seed(), accounts);
    let labels: Vec<f32> = kinds.iter().map(|kind| f32::from(*kind as u8)).collect();
    store.vertex_labels = Some(labels.into());
    store.vertex_label_names = background::Kind::NAMES.into_iter().collect();
    store.label_names = ["ordinary", "laundering"].into_iter().collect();
    Ok(Dataset::Events(store))
}

#[cfg(test)]
mod tests;
