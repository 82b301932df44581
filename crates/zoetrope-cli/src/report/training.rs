//! What a run ended with: the curve, the result against simple rules, where to look next.

use std::collections::BTreeMap;

use zoetrope_data::given::is_read_once;
use zoetrope_run::{EpochRecord, Metrics, RunFolder, ScalingSummary, Verdict, shell_word};
use zoetrope_train::train::Finished;

use super::curve::curve;
use super::table::{Align, Table};
use crate::terminal::Style;

/// A number with as many digits as are worth reading.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "–".to_owned(),
        size if size != 0.0 && !(1e-3..1e5).contains(&size) => format!("{value:.3e}"),
        _ => format!("{value:.4}"),
    }
}

/// Rows of a model and its baselines, a column a metric.
pub(crate) fn metrics_table(
    model: &str,
    metrics: &Metrics,
    baselines: &BTreeMap<String, Metrics>,
) -> Table {
    const NAMES_MAX: usize = 6;
    // What people look for first stands first; the rest as the alphabet has it.
    const FIRST: [&str; 10] = [
        "ap",
        "auc",
        "mrr",
        "hits@10",
        "inductive_ap",
        "mse",
        "mae",
        "own_mae",
        "own_rmse",
        "own_mape",
    ];
    let mut names: Vec<&String> = metrics.keys().collect();
    names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    names.truncate(NAMES_MAX);
    let mut table = Table::with_headings(
        std::iter::once((String::new(), Align::Left))
            .chain(names.iter().map(|name| ((*name).clone(), Align::Right))),
    );
    let row = |name: &str, metrics: &Metrics| {
        let values = names.iter().map(|name| metrics.get(*name).map_or("".into(), |v| short(*v)));
        std::iter::once(name.to_owned()).chain(values).collect::<Vec<String>>()
    };
    table.row(row(model, metrics));
    for (name, metrics) in baselines {
        table.row(row(name, metrics));
    }
    table
}

/// What a model sees of the events that it is asked about, as the protocol declares it; nothing if the
/// task does not ask about single events.
pub(crate) fn question_line(protocol: &serde_json::Value, style: Style) -> String {
    const NAMES_MAX: usize = 12;
    let positive = match protocol["task"]["positive_class"].as_str() {
        Some(class) => style.dim(&format!("  ap, auc and f1 are those of the class {class}\n")),
        None => String::new(),
    };
    let Some(columns) = protocol["task"]["own_features"]["columns"].as_array() else {
        return positive;
    };
    let mut names: Vec<&str> = columns.iter().filter_map(|name| name.as_str()).collect();
    let left = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    positive
        + &style.dim(&if names.is_empty() {
            "  of a judged event the model sees its ends and its time, no features\n".to_owned()
        } else {
            format!(
                "  of a judged event the model sees its ends, its time and {}{more}\n",
                names.join(", ")
            )
        })
}

/// How the data was scaled and what was missing, and what the names of errors mean; nothing if there
/// is nothing to say.
pub(crate) fn scaling_line(summary: Option<&ScalingSummary>, style: Style) -> String {
    let Some(summary) = summary else { return String::new() };
    let units = if summary.own_units {
        "  own_… are errors in the data's own units, the others of scaled values\n"
    } else {
        ""
    };
    style.dim(&format!("{units}  {}\n", summary.line()))
}

/// The report of a finished run.
pub(crate) fn render(finished: &Finished) -> String {
    let style = Style::stdout();
    let summary = &finished.summary;
    let losses: Vec<f64> = summary.epochs.iter().map(|record| record.loss).collect();
    let chosen = summary.chosen.iter().map(|choice| format!("chosen: {choice}\n"));
    let mut text: String = chosen.collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&curve(style, "training loss", &losses));
    if !summary.test.is_empty() {
        text.push_str(&format!("\n{}\n", style.bold("Test part")));
        let table = metrics_table(&summary.model, &summary.test, &summary.baselines);
        text.push_str(&table.render(style));
    }
    if let Some(verdict) = &summary.verdict {
        text.push_str(&judged(&summary.model, verdict, style));
    }
    text.push_str(&scaling_line(summary.scaling.as_ref(), style));
    text.push_str(&question_line(&summary.protocol, style));
    for change in &summary.data_changes {
        text.push_str(&format!("  {}\n", style.yellow(&change.to_string())));
    }
    if let Some((epoch, _)) = finished.best {
        text.push_str(
            &style.dim(&format!("  weights of epoch {epoch}, the best on the validation part\n")),
        );
    }
    if let Some(redundancy) = summary.redundancy {
        text.push_str(&style.dim(&format!(
            "  of the vertices that batches read {:.0} % were read again, of those they write {:.0} %\n",
            100.0 * redundancy.dispatch,
            100.0 * redundancy.aggregation
        )));
    }
    text.push_str(&format!("\n{}\n", speed(&summary.epochs)));
    text.push_str(&format!("Run folder {}\n", finished.folder.display()));
    if came_through_a_pipe(finished) {
        text.push_str("  the data came through a pipe: save it and name it in the place of FILE\n");
    }
    for command in next_commands(finished) {
        text.push_str(&format!("  {}\n", style.dim(&command)));
    }
    text
}

/// What to do with a run next: commands that work as they stand.
fn next_commands(finished: &Finished) -> Vec<String> {
    let folder = shell_word(&finished.folder);
    // What came through a pipe is gone.
    let data = if came_through_a_pipe(finished) { " --data FILE" } else { "" };
    let predictions = shell_word(&finished.folder.join("predictions.csv"));
    // Without a test part the training part is what there is to measure on.
    let part = if finished.summary.test.is_empty() { " --split train" } else { "" };
    let mut commands = vec![
        format!("zoetrope eval --run {folder}{data}{part}"),
        format!("zoetrope predict --run {folder}{data} --out {predictions}"),
    ];
    if finished.has_event_file {
        commands.push(format!("tensorboard --logdir {folder}"));
    }
    commands
}

/// Whether the data of a run can be read only once.
fn came_through_a_pipe(finished: &Finished) -> bool {
    let config = RunFolder::read_config(&finished.folder);
    config.is_ok_and(|config| is_read_once(&config.data.path))
}

/// Whether the model beats the best rule, and what to try if not.
fn judged(model: &str, verdict: &Verdict, style: Style) -> String {
    let Verdict { metric, rule, .. } = verdict;
    let (own, other) = (short(verdict.model), short(verdict.rule_value));
    if verdict.beats {
        return format!("  {model} beats the best rule, {rule}: {metric} {own} against {other}\n");
    }
    let plainly = format!("{model} does not beat {rule}: {metric} {own} against {other}");
    let tries = verdict.advice.join(", ");
    format!("  {}\n  try {tries}\n", style.yellow(&plainly))
}

fn speed(epochs: &[EpochRecord]) -> String {
    let total: f64 = epochs.iter().map(|record| record.seconds).sum();
    let mut seconds: Vec<f64> = epochs.iter().map(|record| record.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let median = seconds.get(seconds.len() / 2).copied().unwrap_or(0.0);
    format!("{} epochs in {total:.1} s, {:.1} ms each", epochs.len(), median * 1e3)
}
