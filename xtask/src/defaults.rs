//! One table over all data sets and generators: what `zoetrope train --data X`, with nothing else
//! said, reaches against its best simple rule.
//!
//! Runs the binary and reads `summary.json`, so that what is shown is what a user gets. Rows are kept
//! in `bench/results/defaults.json`; naming some runs these alone and keeps the others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::repository;
use crate::validate::{self, Profile};

/// A name and what `--data` gets; a path is one under `../shared/data`.
const ALL: [(&str, &str); 27] = [
    ("pedalme", "pedalme/pedalme_london.json"),
    ("chickenpox", "chickenpox/chickenpox.json"),
    ("england-covid", "england-covid/england_covid.json.gz"),
    ("twitter-tennis", "twitter-tennis-rg17/twitter_tennis_rg17.json.gz"),
    ("montevideo-bus", "montevideo-bus/montevideo_bus.json.gz"),
    ("metr-la-week", "metr-la-week"),
    ("pemsd7-week", "pemsd7-week"),
    ("demo", "synthetic:demo"),
    ("power-law", "synthetic:power-law"),
    ("uniform", "synthetic:uniform"),
    ("sbm", "synthetic:sbm"),
    ("non-uniform", "synthetic:non-uniform"),
    ("bipartite", "synthetic:bipartite"),
    ("aml", "synthetic:aml"),
    ("reddit-sample", "reddit-hyperlinks-sample/reddit-title-test.tsv"),
    ("ethereum", "ethereum-tx-small/transactions_03300000_03399999_small.csv.gz"),
    ("bitcoin-otc", "bitcoin-otc/soc-sign-bitcoinotc.csv.gz"),
    ("social-evolution", "social-evolution/social.csv.gz"),
    ("uci-messages", "uci-messages/CollegeMsg.txt.gz"),
    ("enron", "enron/ml_enron.csv.gz"),
    ("primary-school", "sociopatterns-primary-school/Primary_School.csv.gz"),
    ("wikipedia", "wikipedia/wikipedia.csv.gz"),
    ("nycflights13", "nycflights13/nycflights13.csv.gz"),
    ("sx-mathoverflow", "sx-mathoverflow/sx-mathoverflow.txt.gz"),
    ("epinions", "epinions-trust/soc-epinions-trust-dir.edges.gz"),
    ("invs15", "sociopatterns-invs15/tij_pres_InVS15.txt.gz"),
    ("as-733", "as-733/as-733.tar.xz"),
];

/// Runs the named rows, or all of them; true if every run ended with a summary.
pub(crate) fn run(root: &Path, wanted: &[&str]) -> bool {
    if let Some(unknown) = wanted.iter().find(|name| ALL.iter().all(|(known, _)| known != *name)) {
        let known: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        eprintln!("{unknown} is none of {}", known.join(", "));
        return false;
    }
    let Some(binary) = validate::build_binary(root, Profile::Release) else { return false };
    let kept = root.join("bench/results/defaults.json");
    let mut rows: Map<String, Value> = std::fs::read(&kept)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let folder = validate::target(root).join("defaults");
    let mut failed = 0;
    for (name, data) in ALL {
        if !wanted.is_empty() && !wanted.contains(&name) {
            continue;
        }
        let path = if data.starts_with("synthetic:") {
            PathBuf::from(data)
        } else {
            root.join("../shared/data").join(data)
        };
        if !data.starts_with("synthetic:") && !path.exists() {
            println!("{name}: {} is not there", path.display());
            continue;
        }
        match row(&binary, &path, &folder.join(name)) {
            Ok(mut row) => {
                row["commit"] = json!(repository::commit(root));
                println!("{}", line(name, &row));
                rows.insert(name.to_owned(), row);
            }
            Err(message) => {
                println!("{name}: {message}");
                failed += 1;
            }
        }
        let text = serde_json::to_string_pretty(&rows).unwrap_or_default() + "\n";
        let written = std::fs::write(&kept, text)
            .and_then(|()| std::fs::write(kept.with_extension("md"), table(&rows)));
        if let Err(error) = written {
            eprintln!("cannot write {}: {error}", kept.display());
            return false;
        }
    }
    println!("{}", totals(&rows));
    failed == 0
}

/// Trains with the defaults and takes what the table shows.
fn row(binary: &Path, data: &Path, out: &Path) -> Result<Value, String> {
    let _ = std::fs::remove_dir_all(out);
    let start = Instant::now();
    let output = Command::new(binary)
        .args(["train", "--json", "--data"])
        .arg(data)
        .arg("--out")
        .arg(out)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", binary.display()))?;
    let seconds = start.elapsed().as_secs_f64();
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(message.trim().lines().last().unwrap_or_default().to_owned());
    }
    let read = std::fs::read(out.join("summary.json")).map_err(|error| error.to_string())?;
    let summary: Value = serde_json::from_slice(&read).map_err(|error| error.to_string())?;
    let log = std::fs::read_to_string(out.join("metrics.jsonl")).unwrap_or_default();
    let epochs: Vec<Value> = log.lines().flat_map(serde_json::from_str).collect();
    Ok(json!({
        "events": summary["data"]["events"],
        "snapshots": summary["data"]["snapshots"],
        "model": summary["model"],
        "task": summary["task"],
        "chosen": summary["chosen"],
        "epochs": epochs.len(),
        "best_epoch": best_epoch(&summary["verdict"], &epochs),
        "seconds": seconds,
        "verdict": summary["verdict"],
    }))
}

/// The epoch with the best validation measure.
fn best_epoch(verdict: &Value, epochs: &[Value]) -> Option<u64> {
    let metric = verdict["metric"].as_str()?;
    let lower = verdict["lower_is_better"].as_bool()?;
    let measured = epochs
        .iter()
        .filter_map(|epoch| Some((epoch["epoch"].as_u64()?, epoch["val"][metric].as_f64()?)));
    let better = |a: f64, b: f64| if lower { a < b } else { a > b };
    measured.reduce(|best, other| if better(other.1, best.1) { other } else { best }).map(|at| at.0)
}

fn number(value: &Value) -> String {
    value.as_f64().map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("–").to_owned()
}

/// The cells of a row.
fn cells(name: &str, row: &Value) -> [String; 12] {
    let verdict = &row["verdict"];
    let size = match row["snapshots"].as_u64() {
        Some(steps) if steps > 0 => format!("{steps} snapshots"),
        _ => format!("{} events", row["events"]),
    };
    let best = row["best_epoch"].as_u64().map_or_else(|| "–".to_owned(), |at| at.to_string());
    [
        name.to_owned(),
        size,
        text(&row["model"]),
        text(&row["task"]),
        format!("{best} of {}", row["epochs"]),
        format!("{:.0}", row["seconds"].as_f64().unwrap_or(0.0)),
        text(&verdict["metric"]),
        number(&verdict["model"]),
        text(&verdict["rule"]),
        number(&verdict["rule_value"]),
        match verdict["beats"].as_bool() {
            Some(true) => "beats".to_owned(),
            Some(false) => "does not beat".to_owned(),
            None => "no rule".to_owned(),
        },
        text(&row["commit"]),
    ]
}

fn line(name: &str, row: &Value) -> String {
    cells(name, row).join("  ")
}

fn totals(rows: &Map<String, Value>) -> String {
    let beats = rows.values().filter(|row| row["verdict"]["beats"] == true).count();
    let missing: Vec<&str> =
        ALL.iter().map(|(name, _)| *name).filter(|name| !rows.contains_key(*name)).collect();
    let mut text = format!("{beats} of {} beat their best rule.", rows.len());
    if !missing.is_empty() {
        text.push_str(&format!(" Not run: {}.", missing.join(", ")));
    }
    text
}

/// The table as a page.
fn table(rows: &Map<String, Value>) -> String {
    let mut page = String::from(
        "# The default command\n\n\
         `zoetrope train --data X`, nothing else said, against the best simple rule on the test \
         part; made by `cargo xtask defaults`. Seconds are of the whole command, on a machine that \
         did other work, too.\n\n\
         | data | size | model | task | best epoch | seconds | metric | model | best rule | rule | \
         verdict | commit |\n\
         | --- | --- | --- | --- | --- | ---: | --- | ---: | --- | ---: | --- | --- |\n",
    );
    for (name, _) in ALL {
        if let Some(row) = rows.get(name) {
            page.push_str(&format!("| {} |\n", cells(name, row).join(" | ")));
        }
    }
    page.push_str(&format!("\n{}\n", totals(rows)));
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_plainly_whether_the_rule_was_beaten() {
        let row = json!({
            "events": 9, "snapshots": 0, "model": "tgn", "task": "link-prediction", "epochs": 3,
            "best_epoch": 2, "seconds": 1.4, "commit": "abc1234",
            "verdict": {"metric": "ap", "model": 0.5, "rule": "edgebank", "rule_value": 0.75,
                        "beats": false},
        });
        let cells = cells("x", &row);
        assert_eq!(cells[1], "9 events");
        assert_eq!(cells[4], "2 of 3");
        assert_eq!(cells[10..], ["does not beat", "abc1234"]);
        let rows: Map<String, Value> = [("enron".to_owned(), row)].into_iter().collect();
        let page = table(&rows);
        assert!(page.contains("| enron | 9 events | tgn |"), "{page}");
        assert!(page.contains("0 of 1 beat their best rule. Not run: pedalme"), "{page}");
    }

    #[test]
    fn the_best_epoch_follows_the_metric() {
        let epochs =
            [(1, 2.0), (2, 1.0)].map(|(epoch, mse)| json!({"epoch": epoch, "val": {"mse": mse}}));
        let of =
            |lower: bool| best_epoch(&json!({"metric": "mse", "lower_is_better": lower}), &epochs);
        assert_eq!((of(true), of(false)), (Some(2), Some(1)));
    }
}
