//! One table over the real data sets: what the built binary reads against what their README says.
//!
//! Runs the binary and reads its JSON, so that what is checked is what a user gets.

mod expected;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::validate::{self, Profile};
use expected::Expected;

/// Reads every data set and prints the table; true if all counts agree or the data is absent.
pub(crate) fn run(root: &Path, profile: Profile) -> bool {
    let data = root.join("../shared/data");
    if !data.is_dir() {
        println!("no folder ../shared/data beside the repository: nothing to compare");
        return true;
    }
    let Some(binary) = validate::build_binary(root, profile) else { return false };
    println!(
        "{:<62} {:<15} {:>8} {:>11} {:>9} {:>25} {:>7}  expected",
        "path", "format", "vertices", "events", "snapshots", "time", "seconds"
    );
    let mut wrong = 0;
    for expected in &expected::ALL {
        let start = Instant::now();
        let outcome = inspect(&binary, &data.join(expected.path));
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(report) => {
                let differences = differences(expected, &report);
                println!("{} {}", row(expected.path, &report, seconds), verdict(&differences));
                wrong += usize::from(!differences.is_empty());
            }
            Err(message) => {
                println!("{:<62} ✗ {message}", expected.path);
                wrong += 1;
            }
        }
    }
    println!("{} files, {wrong} differ", expected::ALL.len());
    wrong == 0
}

fn inspect(binary: &Path, path: &Path) -> Result<Value, String> {
    let output = Command::new(binary).args(["data", "inspect", "--json"]).arg(path).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", binary.display()))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, message.trim()));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("not one JSON document: {error}"))
}

fn row(path: &str, report: &Value, seconds: f64) -> String {
    let text = |key: &str| report[key].as_str().unwrap_or("?").to_owned();
    let count = |key: &str| report[key].as_u64().map_or("-".to_owned(), |count| count.to_string());
    let time = &report["time"];
    let range = match (time["first"].as_i64(), time["last"].as_i64()) {
        (Some(first), Some(last)) => format!("{first}..{last}"),
        _ => "-".to_owned(),
    };
    format!(
        "{path:<62} {:<15} {:>8} {:>11} {:>9} {range:>25} {seconds:>7.2} ",
        text("format"),
        count("vertices"),
        count("events"),
        count("snapshots"),
    )
}

fn verdict(differences: &[String]) -> String {
    if differences.is_empty() {
        "✓".to_owned()
    } else {
        format!("✗ {}", differences.join(", "))
    }
}

fn differences(expected: &Expected, report: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    let mut compare = |name: &str, found: &Value, wanted: Value| {
        if *found != wanted {
            differences.push(format!("{name} should be {wanted}, is {found}"));
        }
    };
    compare("vertices", &report["vertices"], expected.vertices.into());
    compare("events", &report["events"], expected.events.into());
    compare("snapshots", &report["snapshots"], expected.snapshots.into());
    if let Some(sorted) = expected.sorted {
        compare("sorted", &report["time"]["sorted"], sorted.into());
    }
    if let Some((first, last)) = expected.time {
        compare("first time", &report["time"]["first"], first.into());
        compare("last time", &report["time"]["last"], last.into());
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        json!({ "format": "pygt-json", "vertices": 20, "events": 102, "snapshots": 521,
            "time": { "first": 0, "last": 520, "sorted": true } })
    }

    fn chickenpox() -> &'static Expected {
        expected::ALL.iter().find(|it| it.path.starts_with("chickenpox")).unwrap()
    }

    #[test]
    fn equal_counts_have_no_difference() {
        assert_eq!(differences(chickenpox(), &report()), [] as [String; 0]);
    }

    #[test]
    fn each_wrong_count_is_named() {
        let mut wrong = report();
        wrong["vertices"] = json!(19);
        wrong["snapshots"] = json!(null);
        let found = differences(chickenpox(), &wrong);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("vertices should be 20, is 19"));
    }

    #[test]
    fn twenty_data_sets_are_listed() {
        let folder = |it: &Expected| it.path.split('/').next().unwrap().to_owned();
        let mut folders: Vec<String> = expected::ALL.iter().map(folder).collect();
        folders.dedup();
        assert_eq!(folders.len(), 20);
    }

    #[test]
    fn a_row_shows_the_counts_and_the_range() {
        let shown = row("chickenpox", &report(), 0.5);
        assert!(shown.contains("102") && shown.contains("0..520"), "{shown}");
    }
}
