//! The report of `data inspect`: what is in a data set, in one screen.

use zoetrope_data::inspect::{
    DegreeBin, FeatureSummary, LabelSummary, NumberSummary, Report, Topology,
};

use super::bars::bar;
use super::human::{bytes, elapsed, million, moment, number, percent, plural, span, whole};
use super::table::{Align, Table};
use crate::input::Opened;
use crate::terminal::{Style, WIDTH, columns, wrap};

/// The widest name of a fact, plus the blanks around it.
const INDENT: usize = 12;

/// Lines of facts, each a name and what there is to say.
struct Facts {
    text: String,
    style: Style,
}

impl Facts {
    fn add(&mut self, name: &str, says: &str) {
        for (index, line) in wrap(says, WIDTH - INDENT).iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let blanks = " ".repeat(INDENT - 2 - columns(name));
            self.text.push_str(&format!("  {}{blanks}{line}\n", self.style.dim(name)));
        }
    }
}

/// Name, format and the facts.
pub(crate) fn summary(opened: &Opened, report: &Report, style: Style) -> String {
    let mut facts = Facts { text: String::new(), style };
    facts.text.push_str(&format!("{}\n", style.bold(&opened.name)));
    facts.add("format", &format!("{}: {}", report.format, report.reason));
    // Neighbours with one role for one reason share a line: wide tables have hundreds of features.
    let alike = report.columns.chunk_by(|one, two| (&one.role, &one.why) == (&two.role, &two.why));
    for (at, alike) in alike.enumerate() {
        let (first, last) = (&alike[0], &alike[alike.len() - 1]);
        let named = match alike {
            [one] => one.name.to_string(),
            _ => format!("{} … {} ({} columns)", first.name, last.name, alike.len()),
        };
        let says = format!("{named}: {} ({})", first.role, first.why);
        facts.add(if at == 0 { "columns" } else { "" }, &says);
    }
    facts.add("vertices", &vertices(report));
    facts.add(if report.topology == Topology::Events { "events" } else { "edges" }, &edges(report));
    facts.add("pairs", &pairs(report));
    facts.add("time", &time(report));
    if let Some(weight) = &report.weight {
        facts.add("weight", &range(weight));
    }
    for (name, features) in [("node", &report.node_features), ("edge", &report.edge_features)] {
        if let Some(features) = features {
            facts.add("features", &format!("{name}: {}", feature_line(features, "feature")));
        }
    }
    if let Some(signal) = &report.signal {
        let scaled = match signal.standardise {
            "no" => String::new(),
            how => format!(", standardised {how}"),
        };
        let says = format!(
            "{}; features are {}{scaled}",
            feature_line(&signal.values, "channel"),
            plural(signal.lags as u64, "lag"),
        );
        facts.add("signal", &says);
    }
    if let Some(labels) = &report.labels {
        for (carrier, labels) in
            [("event", &labels.event), ("vertex", &labels.vertex), ("step", &labels.step)]
        {
            if let Some(labels) = labels {
                facts.add("labels", &format!("{carrier}: {}", label_line(labels)));
            }
        }
    }
    facts.add(if opened.bytes.is_some() { "file" } else { "made" }, &reading(opened, report));
    facts.text
}

fn vertices(report: &Report) -> String {
    let mut says = whole(report.vertices.into());
    if let Some(sides) = report.bipartite {
        says.push_str(&format!(
            ": {} sources, {} destinations, never mixed (bipartite)",
            whole(sides.sources),
            whole(sides.destinations)
        ));
    }
    says
}

fn edges(report: &Report) -> String {
    let mut parts = vec![whole(report.events)];
    match (report.topology, report.snapshots) {
        (Topology::Static, Some(steps)) => {
            parts.push(format!("one topology for {}", plural(steps, "step")));
        }
        (_, Some(steps)) => parts.push(format!("in {}", plural(steps, "snapshot"))),
        _ => {}
    }
    let per_vertex = report.degrees.events_mean;
    parts.push(format!(
        "{} a vertex (median {}, most {})",
        number((per_vertex * 10.0).round() / 10.0),
        whole(report.degrees.events_median),
        whole(report.degrees.events_max)
    ));
    if report.counts.self_loops > 0 {
        let share = report.counts.self_loops as f64 / report.events.max(1) as f64;
        parts.push(format!("self-loops {}", percent(share)));
    }
    if let Some(removals) = report.removals.filter(|&removals| removals > 0) {
        parts.push(format!("{} removals", whole(removals)));
    }
    parts.join(", ")
}

fn pairs(report: &Report) -> String {
    let counts = &report.counts;
    let mut parts = vec![format!("{} distinct", whole(counts.pairs))];
    parts.push(match report.topology {
        Topology::Events => format!("{} of events repeat one", percent(counts.repeats)),
        Topology::Static => format!("density {}", percent(counts.density)),
        Topology::Changing => format!("{} of edges seen before", percent(counts.repeats)),
    });
    match report.topology {
        Topology::Events => parts.push(format!("density {}", percent(counts.density))),
        Topology::Changing => parts.push(format!(
            "density {} a snapshot, {} in all",
            percent(counts.mean_density),
            percent(counts.density)
        )),
        Topology::Static => {}
    }
    if report.bipartite.is_none() {
        parts.push(match counts.reciprocity {
            1.0 => "every edge both ways".into(),
            share => format!("{} both ways", percent(share)),
        });
    }
    parts.join(", ")
}

fn time(report: &Report) -> String {
    let time = &report.time;
    let (Some(first), Some(last)) = (time.first, time.last) else {
        return "none".into();
    };
    if let Some(steps) = report.snapshots {
        return plural(steps, "step");
    }
    let scale = time.scale();
    let mut says = format!(
        "{}, {} to {}",
        span(time.span(), time.unit),
        moment(first, scale),
        moment(last, scale)
    );
    says.push_str(&format!("; {} distinct times", whole(time.distinct)));
    if let Some(resolution) = time.resolution.filter(|&ticks| ticks > 1) {
        says.push_str(&format!(", multiples of {}", span(resolution, time.unit)));
    }
    says
}

fn range(numbers: &NumberSummary) -> String {
    let (Some(min), Some(max)) = (numbers.min, numbers.max) else {
        return "no value at all".into();
    };
    let mut says = if min == max {
        format!("always {}", number(min.into()))
    } else {
        format!("{} to {}", number(min.into()), number(max.into()))
    };
    if let Some(mean) = numbers.mean.filter(|_| min != max) {
        says.push_str(&format!(", mean {}", number(mean)));
    }
    if numbers.missing > 0 {
        says.push_str(&format!(", {} missing", whole(numbers.missing)));
    }
    says
}

fn feature_line(features: &FeatureSummary, noun: &str) -> String {
    format!("{}, {}", plural(features.width as u64, noun), range(&features.all))
}

fn label_line(labels: &LabelSummary) -> String {
    let Some(classes) = &labels.classes else {
        return range(&labels.numbers);
    };
    let total = (labels.numbers.count - labels.numbers.missing).max(1) as f64;
    let shown = 4;
    let mut parts: Vec<String> = classes
        .iter()
        .take(shown)
        .map(|class| format!("{} {}", class.name, percent(class.count as f64 / total)))
        .collect();
    if classes.len() > shown {
        parts.push("…".into());
    }
    let noun = if classes.len() == 1 { "class" } else { "classes" };
    format!("{} {noun}: {}", whole(classes.len() as u64), parts.join(", "))
}

fn reading(opened: &Opened, report: &Report) -> String {
    let per_second = |amount: f64| amount / opened.seconds.max(1e-9);
    let rate = match (report.topology, opened.bytes) {
        (Topology::Events, _) => format!("{} events", million(per_second(report.events as f64))),
        // One topology has few edges; what is read is the series.
        (Topology::Static, Some(size)) => bytes(per_second(size as f64) as u64),
        _ => format!("{} edges", million(per_second(report.events as f64))),
    };
    let took = format!("{} ({rate} a second)", elapsed(opened.seconds));
    match opened.bytes {
        Some(size) => format!("{}, read in {took}", bytes(size)),
        None => format!("in {took}"),
    }
}

/// The degree distribution as bars in bins that double.
pub(crate) fn degrees(report: &Report, style: Style) -> String {
    let degrees = &report.degrees;
    if degrees.histogram.is_empty() {
        return String::new();
    }
    let bins = merged(&degrees.histogram, 12);
    let most = bins.iter().map(|bin| bin.vertices).max().unwrap_or(0) as f64;
    let mut table = Table::new(&[("", Align::Right), ("", Align::Left), ("", Align::Right)]);
    for bin in &bins {
        let name = if bin.from == bin.to {
            whole(bin.from)
        } else {
            format!("{}–{}", whole(bin.from), whole(bin.to))
        };
        let picture = bar(bin.vertices as f64, most, 36);
        table.row([name, style.blue(&picture), whole(bin.vertices)]);
    }
    let facts = format!(
        "distinct pairs in + out: median {}, mean {}, most {}",
        whole(degrees.median),
        number((degrees.mean * 10.0).round() / 10.0),
        whole(degrees.max)
    );
    format!("\n{}  {}\n{}", style.bold("Degrees"), style.dim(&facts), table.render(style))
}

/// Joins neighbouring bins until there are at most `most`.
fn merged(bins: &[DegreeBin], most: usize) -> Vec<DegreeBin> {
    let mut bins = bins.to_vec();
    while bins.len() > most {
        bins = bins
            .chunks(2)
            .map(|pair| DegreeBin {
                from: pair[0].from,
                to: pair[pair.len() - 1].to,
                vertices: pair.iter().map(|bin| bin.vertices).sum(),
            })
            .collect();
    }
    bins
}

/// What a user should know.
pub(crate) fn warnings(report: &Report, style: Style) -> String {
    if report.warnings.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", style.bold("Warnings"));
    for warning in &report.warnings {
        for (index, line) in wrap(warning, WIDTH - 4).iter().enumerate() {
            let mark = if index == 0 { style.yellow("!") } else { " ".into() };
            text.push_str(&format!("  {mark} {line}\n"));
        }
    }
    text
}
