//! What a user should know before training on a data set.

use super::labels::LabelSummary;
use super::numbers::FeatureSummary;
use super::report::{Report, Topology};
use crate::dataset::{Notes, grouped};

/// Self-loops below this share are not worth a line.
const NOTABLE_SELF_LOOPS: f64 = 0.01;

/// A silence longer than this share of the whole range points at a stray time.
const NOTABLE_GAP: f64 = 0.5;

pub(super) fn collect(report: &Report, notes: &Notes) -> Vec<String> {
    let mut warnings = notes.warnings.clone();
    about_order(report, notes, &mut warnings);
    about_rows(report, notes, &mut warnings);
    about_structure(report, &mut warnings);
    about_values(report, &mut warnings);
    warnings
}

/// Whether the reader said something on a subject already.
fn told(warnings: &[String], subject: &str) -> bool {
    warnings.iter().any(|warning| warning.contains(subject))
}

fn about_order(report: &Report, notes: &Notes, warnings: &mut Vec<String>) {
    if !notes.sorted && !told(warnings, "sorted") && !told(warnings, "time order") {
        warnings.push("not sorted by time: sorted while reading, equal times in file order".into());
    }
    let span = report.time.span();
    if let Some(gap) = report.time.longest_gap
        && report.time.distinct > 10
        && gap.ticks as f64 > NOTABLE_GAP * span as f64
    {
        let share = 100.0 * gap.ticks as f64 / span as f64;
        warnings.push(format!(
            "nothing happens for {share:.0} % of the time range (after {}): stray times?",
            gap.after
        ));
    }
    if report.events > 1 && report.topology == Topology::Events && span == 0 {
        warnings.push("all events have the same time".into());
    }
}

fn about_rows(report: &Report, notes: &Notes, warnings: &mut Vec<String>) {
    if report.events == 0 {
        warnings.push("there is not a single event or edge".into());
    }
    warnings.extend(notes.counted());
}

fn about_structure(report: &Report, warnings: &mut Vec<String>) {
    let noun = if report.topology == Topology::Events { "event" } else { "edge" };
    let share = report.counts.self_loops as f64 / report.events.max(1) as f64;
    if share >= NOTABLE_SELF_LOOPS && !told(warnings, "self-loops") {
        warnings.push(format!(
            "self-loops {} % ({} {noun}s from a vertex to itself)",
            (100.0 * share).round(),
            grouped(report.counts.self_loops)
        ));
    }
    let idle = u64::from(report.vertices).saturating_sub(report.counts.active_vertices);
    if idle > 0 && report.events > 0 {
        warnings.push(match idle {
            1 => format!("1 vertex occurs in no {noun}"),
            _ => format!("{} vertices occur in no {noun}", grouped(idle)),
        });
    }
}

fn about_values(report: &Report, warnings: &mut Vec<String>) {
    if let Some(weight) = &report.weight {
        if weight.missing + weight.infinite > 0 {
            warnings.push(format!(
                "{} weights are not finite numbers",
                grouped(weight.missing + weight.infinite)
            ));
        }
        if weight.negative > 0 {
            warnings.push(format!(
                "{} weights are negative: symmetric normalisation is not defined for them",
                grouped(weight.negative)
            ));
        }
    }
    let signal = report.signal.as_ref().map(|signal| &signal.values);
    let features = [
        ("event", report.edge_features.as_ref()),
        ("vertex", report.node_features.as_ref()),
        ("signal", signal),
    ];
    for (carrier, features) in features {
        if let Some(features) = features {
            about_features(carrier, features, warnings);
        }
    }
    if let Some(labels) = &report.labels {
        for (carrier, labels) in
            [("event", &labels.event), ("vertex", &labels.vertex), ("target", &labels.step)]
        {
            if let Some(labels) = labels {
                about_labels(carrier, labels, warnings);
            }
        }
    }
}

fn about_features(carrier: &str, features: &FeatureSummary, warnings: &mut Vec<String>) {
    let broken = features.all.missing + features.all.infinite;
    if broken > 0 && !told(warnings, "missing") {
        warnings
            .push(format!("{} {carrier} feature values are not finite numbers", grouped(broken)));
    }
    let constant = &features.constant;
    if constant.is_empty() {
        return;
    }
    let name = |&position: &usize| match features.names.get(position) {
        Some(name) => name.clone(),
        None => position.to_string(),
    };
    let mut listed: Vec<String> = constant.iter().take(6).map(name).collect();
    if constant.len() > listed.len() {
        listed.push("…".into());
    }
    warnings.push(format!(
        "{} of {} {carrier} features never {}: {}",
        constant.len(),
        features.width,
        if constant.len() == 1 { "changes" } else { "change" },
        listed.join(", ")
    ));
}

fn about_labels(carrier: &str, labels: &LabelSummary, warnings: &mut Vec<String>) {
    if labels.numbers.is_constant() {
        let value = labels.numbers.min.unwrap_or(0.0);
        warnings.push(format!("all {carrier} labels are {value}"));
    }
    if labels.numbers.infinite > 0 {
        warnings.push(format!("{} {carrier} labels are infinite", labels.numbers.infinite));
    }
}
