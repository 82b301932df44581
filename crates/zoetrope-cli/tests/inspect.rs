//! `zoetrope data inspect`, from outside.

mod binary;

use binary::{EVENTS, Folder};
use serde_json::json;

#[test]
fn the_document_has_every_key_of_the_contract() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let found = folder.json(&["data", "inspect", "events.csv", "--json"]);
    assert_eq!(found["schema"], 1);
    assert_eq!(found["format"], "edge-list");
    assert_eq!(found["vertices"], 4);
    assert_eq!(found["events"], 10);
    assert_eq!(found["snapshots"], json!(null));
    assert_eq!(found["time"]["first"], 0);
    assert_eq!(found["time"]["last"], 183_600);
    assert_eq!(found["time"]["sorted"], true);
    assert_eq!(found["features"], json!({ "node": 0, "edge": 0 }));
    assert_eq!(found["labels"], json!(null));
    assert!(found["warnings"].is_array());
    assert_eq!(found["self_loops"], 1);
    assert_eq!(found["pairs"], 8);
    assert_eq!(found["repeats"], 0.2);
    assert_eq!(found["topology"], "events");
    assert_eq!(found["name"], "events.csv");
    assert_eq!(found["bytes"], EVENTS.len());
}

#[test]
fn the_report_stays_within_eighty_columns_and_has_no_colour_in_a_pipe() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let text = folder.text(&["data", "inspect", "events.csv", "--window", "1d"]);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.contains("Snapshots of 1d  3 snapshots"), "{text}");
    assert!(text.contains("self-loops 10 %"), "{text}");
}

#[test]
fn a_window_gives_one_row_a_snapshot() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let found = folder.json(&["data", "inspect", "events.csv", "--window", "1d", "--json"]);
    let window = &found["window"];
    assert_eq!(window["width"], "1d");
    assert_eq!(window["snapshots"], 3);
    let edges: Vec<u64> = rows(window, "edges");
    let active: Vec<u64> = rows(window, "active");
    assert_eq!(edges, [2, 3, 4]);
    assert_eq!(active, [2, 3, 4]);
    assert_eq!(window["rows"][0]["change"], json!(null));
    assert_eq!(window["rows"][1]["start"], 86_400);
}

fn rows(window: &serde_json::Value, key: &str) -> Vec<u64> {
    window["rows"].as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).collect()
}

#[test]
fn unsorted_rows_are_sorted_and_warned_about() {
    let folder = Folder::new();
    folder.write("late.csv", "src,dst,t\n1,2,50\n2,3,10\n3,1,20\n");
    let found = folder.json(&["data", "inspect", "late.csv", "--json"]);
    assert_eq!(found["time"]["sorted"], false);
    assert_eq!(found["time"]["first"], 10);
    assert!(found["warnings"].to_string().contains("not sorted"), "{found}");
}

#[test]
fn the_same_document_comes_from_one_two_and_eight_threads() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let with = |threads: &str| {
        let mut found =
            folder.json(&["data", "inspect", "events.csv", "--json", "--threads", threads]);
        found["seconds"] = json!(0);
        found
    };
    zoetrope_testkit::json::assert_same(&with("1"), &with("2"));
    zoetrope_testkit::json::assert_same(&with("1"), &with("8"));
}

#[test]
fn columns_are_chosen_by_name_and_by_position() {
    let folder = Folder::new();
    folder.write("trades.csv", "when,buyer,seller,price\n5,1,2,9\n6,2,3,8\n");
    let by_name = ["--time", "when", "--src", "buyer", "--dst", "seller", "--weight", "price"];
    let by_place = ["--time", "0", "--src", "1", "--dst", "2", "--weight", "3"];
    for columns in [by_name, by_place] {
        let mut arguments = vec!["data", "inspect", "trades.csv", "--json"];
        arguments.extend(columns);
        let found = folder.json(&arguments);
        assert_eq!(found["vertices"], 3);
        assert_eq!(found["time"]["last"], 6);
        assert_eq!(found["weight"]["max"], 9.0);
    }
}

#[test]
fn synthetic_names_work_in_place_of_a_path() {
    let folder = Folder::new();
    let source = "synthetic:uniform?vertices=50&steps=4&density=2";
    let found = folder.json(&["data", "inspect", source, "--json"]);
    assert_eq!(found["vertices"], 50);
    assert_eq!(found["snapshots"], 4);
    assert_eq!(found["events"], 400);
    assert_eq!(found["topology"], "changing");
    assert_eq!(found["bytes"], json!(null));
    let text = folder.text(&["data", "inspect", source, "--rows", "2"]);
    assert!(text.contains("Snapshots  4 snapshots"), "{text}");
}

#[test]
fn snapshots_are_not_cut_again() {
    let folder = Folder::new();
    let outcome = folder.run(&["data", "inspect", "synthetic:uniform?steps=2", "--window", "1d"]);
    assert_eq!(outcome.code(), Some(2));
    assert!(outcome.stderr_text().contains("has snapshots already"));
}

#[test]
fn lenient_reading_skips_and_counts_bad_rows() {
    let folder = Folder::new();
    folder.write("rows.csv", "src,dst,t\n1,2,5\n1,2,never\n2,3,9\n");
    let found = folder.json(&["data", "inspect", "rows.csv", "--json", "--lenient"]);
    assert_eq!(found["events"], 2);
    assert_eq!(found["skipped_rows"], 1);
}

#[test]
fn identifiers_are_text_on_request() {
    let folder = Folder::new();
    let rows: String = (0..200).map(|row| format!("{row},{},{row}\n", row + 1)).collect();
    folder.write("mixed.csv", &format!("src,dst,t\n{rows}ann,bob,300\n"));
    let refused = folder.run(&["data", "inspect", "mixed.csv"]);
    assert_eq!(refused.code(), Some(3));
    assert!(refused.stderr_text().contains("--text-ids"), "{}", refused.stderr_text());
    let found = folder.json(&["data", "inspect", "mixed.csv", "--json", "--text-ids"]);
    assert_eq!(found["vertices"], 203);
}
