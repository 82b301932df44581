//! A plan in words: what runs, what it takes, why.

use std::path::Path;

use zoetrope_plan::partition::Objective;
use zoetrope_plan::strategy::Comparison;
use zoetrope_plan::{Memory, Plan, Strategy};
use zoetrope_train::config::StrategyName;
use zoetrope_train::course::Course;
use zoetrope_train::session::Session;
use zoetrope_train::stream::StreamSession;

use super::human;
use super::table::{Align, Table};
use crate::terminal::{Style, WIDTH, wrap};

/// The report of `zoetrope plan`.
pub(crate) fn render(
    session: &Session,
    epoch_seconds: Result<f64, String>,
    saved: Option<&Path>,
) -> String {
    let style = Style::stdout();
    let plan = session.plan();
    let mut text =
        format!("{} {} on {}\n", style.bold("Plan"), style.bold(&plan.model), plan.data,);
    for reason in &plan.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    text.push_str(&match epoch_seconds {
        Ok(seconds) => {
            let time = human::elapsed(seconds);
            format!("  an epoch is done in {time}, judged by one frame on this machine\n")
        }
        Err(why) => format!("  the time of an epoch is not known: {why}\n"),
    });
    text.push_str(&format!("\n{}", memory(&plan.memory, "memory", style)));
    text.push_str(&where_saved(saved));
    text
}

/// The report of `zoetrope plan` for several ranks: the ways to share it, and what this one takes.
pub(crate) fn render_shared(plan: &Plan, saved: Option<&Path>) -> String {
    let style = Style::stdout();
    let (heading, ranks) = (style.bold("Plan"), plan.ranks);
    let mut text =
        format!("{heading} {} on {}, {ranks} ranks\n", style.bold(&plan.model), plan.data);
    for reason in &plan.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    if let Some(comparison) = &plan.comparison {
        text.push_str(&compared(comparison, plan.strategy, style));
    }
    text.push_str(&format!("\n{}", memory(&plan.memory, "memory of a rank", style)));
    text.push_str(&where_saved(saved));
    text
}

/// Strategies side by side. What is recommended has a mark, what is planned another one.
fn compared(comparison: &Comparison, planned: Option<Strategy>, style: Style) -> String {
    let right = |heading| (heading, Align::Right);
    let mut moved = Table::new(&[
        ("bytes of a step", Align::Left),
        right("exchanged"),
        right("gathered"),
        right("answers"),
        right("gradients"),
        right("all"),
    ]);
    let mut taken = Table::new(&[
        ("ranks and time", Align::Left),
        right("grid"),
        right("blocks"),
        right("edges"),
        right("memory"),
        ("fits", Align::Left),
        right("threads"),
        right("step"),
    ]);
    for (at, row) in comparison.rows.iter().enumerate() {
        let mark = match (at == comparison.recommended, planned == Some(row.strategy)) {
            (true, _) => "▸",
            (false, true) => "·",
            (false, false) => " ",
        };
        let name = match at == comparison.recommended {
            true => style.bold(&row.strategy.name()),
            false => row.strategy.name(),
        };
        let name = format!("{mark} {name}");
        let bytes =
            [row.exchanged_bytes, row.gathered_bytes, row.answered_bytes, row.reduced_bytes];
        let bytes = bytes.into_iter().chain([row.bytes()]).map(|bytes| match bytes {
            0 => "–".to_owned(),
            bytes => human::bytes(bytes),
        });
        moved.row(std::iter::once(name.clone()).chain(bytes));
        taken.row([
            name,
            format!("{} × {}", row.grid.groups, row.grid.members),
            row.blocks.to_string(),
            format!("{:.2} ×", row.balance.edges),
            human::bytes(row.memory.total()),
            if row.fits { "yes" } else { "no" }.to_owned(),
            human::bytes(row.memory_of_threads()),
            match row.step_seconds() {
                seconds if seconds < 1e-3 => format!("{:.0} µs", seconds * 1e6),
                seconds => human::elapsed(seconds),
            },
        ]);
    }
    let mut text = format!("\n{}\n{}\n", moved.render(style), taken.render(style));
    let reason = format!("▸ recommended: {}", comparison.reason);
    for (at, line) in wrap(&reason, WIDTH - 4).iter().enumerate() {
        text.push_str(&format!("  {}{line}\n", if at == 0 { "" } else { "  " }));
    }
    let best = comparison.best().strategy;
    if planned != Some(best) {
        text.push_str(&format!("  · planned; take the other with {}\n", asked(best)));
    }
    let notes = [
        "grid: groups that share snapshots × members that share vertices.",
        "edges: those of the busiest rank, as a multiple of the mean.",
        "memory: of the rank that needs most, as a process (mpirun); --memory-limit holds for a process.",
        "threads: of all ranks together in one process (train --ranks).",
        "step: predicted for ranks of one machine; good to compare, not to promise.",
    ];
    notes.iter().for_each(|note| text.push_str(&format!("  {}\n", style.dim(note))));
    text
}

/// The settings that ask for a strategy.
fn asked(strategy: Strategy) -> String {
    let name = match strategy {
        Strategy::Snapshot => StrategyName::Snapshot,
        Strategy::Vertex { objective: Objective::EdgeCut } => StrategyName::Vertex,
        Strategy::Vertex { objective: Objective::Connectivity } => StrategyName::Hypergraph,
        Strategy::Hybrid { .. } => StrategyName::Hybrid,
    };
    let set = format!("--set plan.strategy={}", name.name());
    match strategy {
        Strategy::Hybrid { members } => format!("{set} --set plan.members={members}"),
        _ => set,
    }
}

fn memory(memory: &Memory, heading: &'static str, style: Style) -> String {
    let mut table = Table::new(&[(heading, Align::Left), ("bytes", Align::Right)]);
    let consumers = [
        ("data and graph", memory.data),
        ("memory and mailbox of vertices", memory.states),
        ("kept aggregations", memory.reuse),
        ("parameters and optimiser", memory.parameters),
        ("activations of a step", memory.activations),
        ("states between blocks", memory.checkpoints),
        ("rows that ranks exchange", memory.exchanged),
        ("scores of evaluation", memory.evaluation),
        ("program", memory.program),
        ("all", memory.total()),
    ];
    for (name, bytes) in consumers.into_iter().filter(|(_, bytes)| *bytes > 0) {
        table.row([name.to_owned(), human::bytes(bytes)]);
    }
    table.render(style)
}

fn where_saved(saved: Option<&Path>) -> String {
    saved.map_or(String::new(), |path| {
        format!("\nSaved to {}; train with --plan {0}\n", path.display())
    })
}

/// The report of `zoetrope plan` for a model of events.
pub(crate) fn render_batches(session: &StreamSession) -> String {
    let style = Style::stdout();
    let (model, data) = (session.config().model.name.name(), session.data().name);
    let mut text = format!("{} {} on {data}\n", style.bold("Plan"), style.bold(model));
    for reason in session.reasons() {
        text.push_str(&format!("  {reason}\n"));
    }
    if let Some(taken) = session.memory() {
        text.push_str(&format!("\n{}", memory(&taken, "memory", style)));
    }
    text
}
