//! A plan in words: what runs, what it takes, why.

use std::path::Path;

use zoetrope_config::StrategyName;
use zoetrope_plan::partition::Objective;
use zoetrope_plan::strategy::Row;
use zoetrope_plan::{FramePlan, Memory, Proposal, Strategy};
use zoetrope_train::events::EventSession;
use zoetrope_train::snapshots::session::Session;

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
        format!("{} {} on {}\n", style.bold("Plan"), style.bold(&plan.head.model), plan.head.data,);
    for reason in &plan.head.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    text.push_str(&match epoch_seconds {
        Ok(seconds) => {
            let time = human::elapsed(seconds);
            format!("  an epoch is done in {time}, judged by one frame on this machine\n")
        }
        Err(why) => format!("  the time of an epoch is not known: {why}\n"),
    });
    text.push_str(&format!("\n{}", memory(&plan.head.memory, "memory", style)));
    text.push_str(&on_gpu(plan, "memory of the GPU", style));
    text.push_str(&where_saved(saved));
    text
}

/// What a plan takes on the GPU of a rank, and what goes there in an epoch.
fn on_gpu(plan: &FramePlan, heading: &'static str, style: Style) -> String {
    let Some(gpu) = plan.gpu else { return String::new() };
    let mut table = Table::new(&[(heading, Align::Left), ("bytes", Align::Right)]);
    let all = [("all", gpu.memory.total())];
    let consumers = gpu.memory.consumers().into_iter().chain(all);
    for (name, bytes) in consumers.filter(|(_, bytes)| *bytes > 0) {
        table.row([name.to_owned(), human::bytes(bytes)]);
    }
    let mut text = format!("\n{}", table.render(style));
    let sent: Vec<String> = plan.head.sent_bytes.iter().map(|&bytes| human::bytes(bytes)).collect();
    if !sent.is_empty() {
        let whose = if sent.len() > 1 { "the GPUs of the ranks" } else { "the GPU" };
        text.push_str(&format!(
            "  snapshots and features that go to {whose} in an epoch: {}\n",
            sent.join(", ")
        ));
    }
    text
}

/// The report of `zoetrope plan` for several ranks: the ways to share it, and what this one takes.
pub(crate) fn render_shared(plan: &FramePlan, why: bool, saved: Option<&Path>) -> String {
    let style = Style::stdout();
    let (heading, ranks) = (style.bold("Plan"), plan.head.ranks);
    let mut text = format!(
        "{heading} {} on {}, {ranks} ranks\n",
        style.bold(&plan.head.model),
        plan.head.data
    );
    for reason in &plan.head.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    if !plan.head.candidates.is_empty() {
        text.push_str(&compared(&plan.head.candidates, plan.head.timed_by.as_deref(), style));
    }
    if why {
        text.push_str(&reasons(&plan.head.candidates, style));
    }
    text.push_str(&format!("\n{}", memory(&plan.head.memory, "memory of a rank", style)));
    text.push_str(&on_gpu(plan, "memory of a rank's GPU", style));
    text.push_str(&where_saved(saved));
    text
}

/// Ways to share a run side by side. What is recommended has a mark, what is planned instead another one.
fn compared(candidates: &[Proposal], timed_by: Option<&str>, style: Style) -> String {
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
        right("planner"),
        right("grid"),
        right("blocks"),
        right("edges"),
        right("memory"),
        ("fits", Align::Left),
        right("threads"),
        right("epoch"),
    ]);
    for candidate in candidates {
        let mark = match (candidate.recommended, candidate.taken) {
            (true, _) => "▸",
            (false, true) => "·",
            (false, false) => " ",
        };
        let name = if candidate.recommended {
            style.bold(&candidate.strategy)
        } else {
            candidate.strategy.clone()
        };
        let name = format!("{mark} {name}");
        let cells = candidate.cells.as_ref();
        if let Some(row) = cells {
            let bytes =
                [row.exchanged_bytes, row.gathered_bytes, row.answered_bytes, row.reduced_bytes];
            let bytes = bytes.into_iter().chain([row.bytes()]).map(some_bytes);
            moved.row(std::iter::once(name.clone()).chain(bytes));
        }
        let of_cells = |tell: &dyn Fn(&Row) -> String| cells.map_or_else(|| "–".to_owned(), tell);
        taken.row([
            name,
            candidate.planner.clone(),
            of_cells(&|row| format!("{} × {}", row.grid.groups, row.grid.members)),
            of_cells(&|row| row.blocks.to_string()),
            of_cells(&|row| format!("{:.2} ×", row.balance.edges)),
            human::bytes(cells.map_or(candidate.memory_bytes, |row| row.memory.total())),
            if candidate.fits { "yes" } else { "no" }.to_owned(),
            of_cells(&|row| human::bytes(row.memory_of_threads())),
            if candidate.seconds < 1e-3 {
                format!("{:.0} µs", candidate.seconds * 1e6)
            } else {
                human::elapsed(candidate.seconds)
            },
        ]);
    }
    let mut text = format!("\n{}\n{}\n", moved.render(style), taken.render(style));
    if let Some(best) = candidates.iter().find(|candidate| candidate.recommended) {
        let reason = format!("▸ recommended: {}: {}", best.strategy, best.why);
        for (at, line) in wrap(&reason, WIDTH - 4).iter().enumerate() {
            text.push_str(&format!("  {}{line}\n", if at == 0 { "" } else { "  " }));
        }
        if !best.taken {
            text.push_str(&format!("  · planned; take the other with {}\n", asked(best)));
        }
    }
    let notes = [
        "grid: groups that share snapshots × members that share vertices.",
        "edges: those of the busiest rank, as a multiple of the mean.",
        "memory: of the rank that needs most, as a process (mpirun); --memory-limit holds for a process.",
        "threads: of all ranks together in one process (train --ranks).",
    ];
    let times = match timed_by {
        Some(machine) => format!("epoch: simulated on {machine}."),
        None => "epoch: from bytes and rates; good to compare, not to promise.".to_owned(),
    };
    for note in notes.into_iter().map(str::to_owned).chain(wrap(&times, WIDTH - 2)) {
        text.push_str(&format!("  {}\n", style.dim(&note)));
    }
    text
}

/// What the time of each way goes to, and what would make it the fastest.
fn reasons(candidates: &[Proposal], style: Style) -> String {
    let right = |heading| (heading, Align::Right);
    let mut table = Table::new(&[
        ("why", Align::Left),
        right("epoch"),
        right("bytes"),
        right("memory"),
        ("bound by", Align::Left),
        ("would be the fastest with", Align::Left),
    ]);
    for candidate in candidates {
        let flip = match (&candidate.flip, candidate.recommended, candidate.fits) {
            (_, true, _) => "it is".to_owned(),
            (_, _, false) => "more memory".to_owned(),
            (Some(flip), ..) => flip.clone(),
            (None, ..) => "nothing up to 100 ×".to_owned(),
        };
        table.row([
            candidate.strategy.clone(),
            format!("{:.2} ms", candidate.seconds * 1e3),
            human::bytes(candidate.bytes),
            human::bytes(candidate.memory_bytes),
            candidate.binds.clone().unwrap_or_else(|| "not simulated".to_owned()),
            flip,
        ]);
    }
    format!("\n{}", table.render(style))
}

fn some_bytes(bytes: u64) -> String {
    if bytes == 0 { "–".to_owned() } else { human::bytes(bytes) }
}

/// The settings that ask for a way to share a run.
fn asked(candidate: &Proposal) -> String {
    let Some(row) = &candidate.cells else { return "--set plan.strategy=frames".to_owned() };
    let name = match row.strategy {
        Strategy::Snapshot => StrategyName::Snapshot,
        Strategy::Vertex { objective: Objective::EdgeCut } => StrategyName::Vertex,
        Strategy::Vertex { objective: Objective::Connectivity } => StrategyName::Hypergraph,
        Strategy::Hybrid { .. } => StrategyName::Hybrid,
    };
    let set = format!("--set plan.strategy={}", name.name());
    match row.strategy {
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

/// The report of `zoetrope plan` for an event model.
pub(crate) fn render_batches(session: &EventSession, saved: Option<&Path>) -> String {
    let style = Style::stdout();
    let head = &session.plan().head;
    let mut text = format!("{} {} on {}\n", style.bold("Plan"), style.bold(&head.model), head.data);
    for reason in &head.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    text.push_str(&format!("\n{}", memory(&head.memory, "memory", style)));
    text.push_str(&where_saved(saved));
    text
}
