use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::dataset::SnapshotDataset;
use crate::formats::any_snapshots::any_snapshots;
use crate::progress::Quiet;

fn read_text(text: &str) -> Result<SnapshotDataset, DataError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    snapshots(file.path())
}

fn snapshots(path: &Path) -> Result<SnapshotDataset, DataError> {
    match read(path, &ReadOptions::default(), &Quiet)?.dataset {
        Dataset::Snapshots(data) => Ok(data),
        Dataset::Events(_) => panic!("snapshots were read as events"),
    }
}

fn message(text: &str) -> String {
    match read_text(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

fn refuses(text: &str, parts: &[&str]) {
    let message = message(text);
    for part in parts {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}

#[test]
fn a_series_needs_no_weights_and_keys_may_come_in_any_order() {
    let data = read_text(
        r#"{"FX": [[1, 2.5], [3, null], [5, 6]], "more": {"x": [1, {}]}, "edges": [[0, 1]]}"#,
    )
    .unwrap();
    let signal = data.signal.unwrap();
    assert_eq!(signal.values.at(0), [1.0, 2.5]);
    assert!(signal.values.at(1)[1].is_nan());
    assert_eq!((signal.lags, data.sequence.steps()), (4, 3));
    assert_eq!(data.sequence.weight(), None);
}

#[test]
fn wrong_types_are_named_with_line_and_key() {
    refuses("{\"edges\": [[0, 1]],\n \"FX\": [[1, \"two\"]]}", &[":2", "`FX`", "two", "a number"]);
    refuses(r#"{"edges": [[0, 1, 2]], "FX": [[1]]}"#, &["`edges`"]);
    refuses(r#"{"edges": [[0]], "FX": [[1]]}"#, &["`edges`"]);
    refuses(r#"{"edges": [[0, -1]], "FX": [[1]]}"#, &["`edges`", "-1", "a vertex"]);
    refuses(r#"{"edges": [[0, 1099511627776]], "FX": [[1]]}"#, &["1099511627776"]);
    refuses(r#"{"edges": [[0, 0.5]], "FX": [[1]]}"#, &["0.5"]);
    refuses(r#"{"edges": [[0, 0]], "FX": 7}"#, &["`FX`", "a list of rows"]);
    refuses(r#"{"edges": [[0, 0]], "weights": [null], "X": [[1]]}"#, &["`weights`"]);
    refuses(r#"{"edge_mapping": {"edge_index": {"one": []}}}"#, &["edge_mapping.edge_index.one"]);
    refuses("[1, 2]", &["an object"]);
}

#[test]
fn numbers_that_are_none_are_refused() {
    refuses(r#"{"edges": [[0, 0]], "FX": [[NaN]]}"#, &["`FX`", "column"]);
    refuses(r#"{"edges": [[0, 0]], "FX": [[1e39]]}"#, &["32-bit float"]);
    refuses(r#"{"edges": [[0, 0]], "FX": [[1e999]]}"#, &["`FX`"]);
}

#[test]
fn ragged_rows_duplicate_keys_and_cut_files_are_refused() {
    refuses(
        r#"{"edges": [[0, 0]], "FX": [[1, 2], [3]]}"#,
        &["row 1 with 1 values", "2 as in row 0"],
    );
    refuses(r#"{"edges": [], "edges": [], "FX": [[1]]}"#, &["`edges`", "again"]);
    refuses(r#"{"edges": [], "FX": [[1]], "X": [[1]]}"#, &["`X`", "again"]);
    refuses(r#"{"0": {"y": [1]}, "0": {"y": [1]}, "edges": []}"#, &["step 0 again"]);
    refuses(r#"{"edges": [[0, 0]], "FX": [[1"#, &["the end of the file"]);
    refuses(r#"{"edges": [], "FX": [[1]]} {}"#, &["trailing characters"]);
    refuses("", &["the end of the file"]);
    refuses(r#"{"edges": []}"#, &["none of these keys"]);
}

#[test]
fn every_missing_step_and_wrong_edge_is_listed_up_to_the_limit() {
    let text = r#"{"edge_mapping": {"edge_index": {"0": [[0, 5], [7, 1]], "2": [[0, 1]]},
        "edge_weight": {"0": [1, 1], "2": [1]}}, "time_periods": 4, "y": [[1,2],[1,2],[1,2],[1,2]]}"#;
    refuses(text, &["edge_index.1`", "edge_index.3`"]);
    let text = r#"{"edges": [[0, 5], [7, 1]], "weights": [1], "X": [[1, 2]]}"#;
    refuses(text, &["`edges[0]`: expected vertices below 2, found 5", "`edges[1]`", "1 weights"]);
}

#[test]
fn a_number_of_steps_that_is_only_claimed_costs_nothing() {
    let text = r#"{"0": {"edges": [[0, 0]], "weights": [1], "X": [[1, 0]], "y": [1]},
        "time_periods": 18446744073709551615}"#;
    refuses(text, &["`steps.1`", "more; --lenient"]);
    let far = r#"{"18446744073709551615": {"edges": [], "X": [[1, 0]], "y": [1]}}"#;
    refuses(far, &["`steps.0`"]);
    let claimed = r#"{"0": {}, "time_periods": 1, "zoetrope": {"vertices": 4000000000}}"#;
    refuses(claimed, &["limit"]);
}

#[test]
fn node_link_problems_name_node_and_link() {
    let node = r#"{"bus_stop": 5, "X": {"y": [1, 2]}, "y": [1, 2]}"#;
    let with = |nodes: &str, links: &str| format!(r#"{{"nodes": [{nodes}], "links": [{links}]}}"#);
    refuses(&with(node, r#"{"source": 5, "target": 6}"#), &["`links[0].target`", "found 6"]);
    refuses(&with(&format!("{node}, {node}"), ""), &["node 5 again"]);
    refuses(&with(r#"{"bus_stop": 5, "y": [1]}"#, ""), &["node 5 without series"]);
    refuses(&with(r#"{"y": [1]}"#, ""), &["without `bus_stop`"]);
    let short = r#"{"bus_stop": 6, "X": {"y": [1]}, "y": [1, 2]}"#;
    refuses(&with(&format!("{node}, {short}"), ""), &["1 values in `X.y` of node 6"]);
    let data = read_text(&with(node, r#"{"source": 5, "target": 5, "weight": 2}"#)).unwrap();
    assert_eq!(data.names.name(0), "5");
    assert_eq!(data.sequence.weight(), Some(&[2.0][..]));
}

#[test]
fn the_start_of_a_file_shows_what_it_is() {
    let path = Path::new("a.json.gz");
    assert!(recognises(path, b" {\"edges\": [[0").unwrap().contains("`edges`"));
    assert!(recognises(Path::new("a"), b"{\"0\": {\"edges\": [").is_some());
    assert_eq!(recognises(Path::new("a"), b"{\"name\": 1}"), None);
    assert_eq!(recognises(path, b"1,2,3"), None);
    assert_eq!(recognises(path, b""), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_written_is_read_back(data in any_snapshots()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json.gz");
        write(&path, &data, &Quiet).unwrap();
        prop_assert_eq!(snapshots(&path).unwrap(), data);
    }

    #[test]
    fn any_text_is_decided_without_a_panic(text in "[\\[\\]{}\":,0-9a-zXy. -]{0,80}") {
        let _ = read_text(&text);
        let _ = read_text(&format!("{{\"0\": {{{text}}}, \"edges\": [[0,0]]}}"));
    }
}
