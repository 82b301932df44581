//! A simulated epoch in words.

use zoetrope_sim::outcome::Seconds;

use super::human;
use super::table::{Align, Table};
use crate::command::sim::Simulated;
use crate::terminal::{Style, WIDTH, wrap};

/// Classes of ranks that the report shows.
const CLASSES_MAX: usize = 8;

/// Seconds, finer than [`human::elapsed`]: simulated times may be short.
fn time(seconds: f64) -> String {
    match seconds {
        0.0 => "–".to_owned(),
        seconds if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        seconds if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        seconds if seconds < 86_400.0 => human::elapsed(seconds),
        seconds => format!("{:.1} days", seconds / 86_400.0),
    }
}

fn row(name: String, seconds: &Seconds) -> [String; 6] {
    let Seconds { compute, wait, communicate, transfer, prepare } = *seconds;
    [name, time(compute), time(wait), time(communicate), time(transfer), time(prepare)]
}

/// The report of `zoetrope sim`.
pub(crate) fn render(found: &Simulated) -> String {
    let style = Style::stdout();
    let (machine, outcome, plan) = (&found.machine, &found.outcome, &found.run.plan);
    let nodes = machine.nodes_of(outcome.ranks) as u64;
    let sharing = plan.sharing.as_ref().map_or(String::new(), |one| format!(" by {}", one.name()));
    let mut text = format!(
        "{} {} on {}, {}{sharing}, on {} of {}\n",
        style.bold("Simulation"),
        style.bold(&plan.head.model),
        plan.head.data,
        human::plural(outcome.ranks as u64, "rank"),
        human::plural(nodes, "node"),
        style.bold(&machine.name),
    );
    text.push_str(&format!("  an epoch takes {}", style.bold(&time(outcome.seconds))));
    let honest = match found.interval() {
        Some([least, most]) => {
            text.push_str(&format!(", {} to {}", time(least), time(most)));
            format!("Times of operators: {}.", machine.source)
        }
        None => format!(
            "The machine is not calibrated ({}): good to compare plans, no interval is known.",
            machine.source
        ),
    };
    text.push('\n');
    let unknown = found.run.unknown.iter().cloned();
    for note in std::iter::once(honest).chain(unknown) {
        for line in wrap(&note, WIDTH - 2) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text.push_str(&format!("\n{}", of_ranks(found, style)));
    text.push_str(&format!("\n{}", of_links(found, style)));
    text.push_str(&format!("\n{}", of_run(found)));
    text
}

fn of_ranks(found: &Simulated, style: Style) -> String {
    let right = |heading| (heading, Align::Right);
    let mut table = Table::new(&[
        ("seconds of a rank", Align::Left),
        right("compute"),
        right("wait"),
        right("communicate"),
        right("transfer"),
        right("prepare"),
    ]);
    let outcome = &found.outcome;
    table.row(row("mean".to_owned(), &outcome.mean));
    for class in outcome.classes.iter().take(CLASSES_MAX) {
        let name = match class.ranks - 1 {
            0 => format!("rank {}", class.rank),
            others => format!("rank {} and {others} like it", class.rank),
        };
        table.row(row(name, &class.seconds));
    }
    let more = outcome.classes.len().saturating_sub(CLASSES_MAX);
    let mut text = table.render(style);
    if more > 0 {
        text.push_str(&format!("  … and {more} more kinds of ranks (--json has all)\n"));
    }
    text.push_str(&format!("  {}\n", style.dim("what overlaps is counted in each column")));
    text
}

fn of_links(found: &Simulated, style: Style) -> String {
    let outcome = &found.outcome;
    let mut table = Table::new(&[("bytes of an epoch", Align::Left), ("", Align::Right)]);
    let bytes = outcome.bytes;
    let links = [
        ("from hosts to GPUs", bytes.copies),
        ("between devices of a node", bytes.inside),
        ("between nodes", bytes.between),
    ];
    for (name, bytes) in links {
        table.row([name.to_owned(), if bytes == 0 { "–".to_owned() } else { human::bytes(bytes) }]);
    }
    let mut text = table.render(style);
    let busiest = outcome.loads.iter().filter(|load| load.seconds > 0.0);
    if let Some(load) = busiest.max_by(|left, right| left.seconds.total_cmp(&right.seconds)) {
        let share = human::percent((load.seconds / outcome.seconds).min(1.0));
        text.push_str(&format!("  busiest: {}, {share} of the epoch\n", load.kind.name()));
    }
    let (held, there) = (found.rank_bytes(), found.machine.device.memory_bytes);
    text.push_str(&format!(
        "  memory of a rank: {} of {}{}\n",
        human::bytes(held),
        human::bytes(there),
        if held > there { "; it does not fit" } else { "" }
    ));
    text
}

fn of_run(found: &Simulated) -> String {
    let run = &found.whole_run;
    let epochs = human::plural(found.epochs as u64, "epoch");
    let mut text = format!("  {epochs} of training take {}\n", time(run.seconds));
    if let Some(failures) = &run.failures {
        let how_often = if failures.interval_seconds < run.seconds {
            let (every, each) = (failures.interval_seconds, failures.checkpoint_seconds);
            format!("a checkpoint every {} ({} each)", time(every), time(each))
        } else {
            "a checkpoint at the end".to_owned()
        };
        text.push_str(&format!(
            "  a node fails every {}; with {how_often} it is expected to take {}\n",
            time(failures.failure_seconds),
            time(failures.seconds),
        ));
    }
    if let Some(dollars) = run.dollars {
        text.push_str(&format!("  and costs ${dollars:.2}\n"));
    }
    text
}
