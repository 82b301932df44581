//! A plan in words: what runs, what it takes, why.

use std::path::Path;

use zoetrope_train::course::Course;
use zoetrope_train::session::Session;
use zoetrope_train::stream::StreamSession;

use super::human;
use super::table::{Align, Table};
use crate::terminal::Style;

/// The report of `zoetrope plan`.
pub(crate) fn render(session: &Session, epoch_seconds: f64, saved: Option<&Path>) -> String {
    let style = Style::stdout();
    let plan = session.plan();
    let mut text =
        format!("{} {} on {}\n", style.bold("Plan"), style.bold(&plan.model), plan.data,);
    for reason in &plan.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    let time = human::elapsed(epoch_seconds);
    text.push_str(&format!("  an epoch is done in {time}, judged by one frame on this machine\n"));
    let memory = plan.memory;
    let mut table = Table::new(&[("memory", Align::Left), ("bytes", Align::Right)]);
    for (name, bytes) in [
        ("data and graph", memory.data),
        ("kept aggregations", memory.reuse),
        ("parameters and optimiser", memory.parameters),
        ("activations of a step", memory.activations),
        ("scores of evaluation", memory.evaluation),
        ("program", memory.program),
        ("all", memory.total()),
    ] {
        table.row([name.to_owned(), human::bytes(bytes)]);
    }
    text.push_str(&format!("\n{}", table.render(style)));
    if let Some(path) = saved {
        text.push_str(&format!("\nSaved to {}; train with --plan {0}\n", path.display()));
    }
    text
}

/// The report of `zoetrope plan` for a model of events.
pub(crate) fn render_batches(session: &StreamSession) -> String {
    let style = Style::stdout();
    let (model, data) = (session.config().model.name.name(), session.data().name);
    let mut text = format!("{} {} on {data}\n", style.bold("Plan"), style.bold(model));
    for reason in session.reasons() {
        text.push_str(&format!("  {reason}\n"));
    }
    let mut table = Table::new(&[("memory", Align::Left), ("bytes", Align::Right)]);
    for (name, bytes) in session.memory() {
        table.row([name.to_owned(), human::bytes(bytes)]);
    }
    text.push_str(&format!("\n{}", table.render(style)));
    text
}
