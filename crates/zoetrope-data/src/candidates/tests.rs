use std::path::PathBuf;

use super::*;
use crate::progress::Quiet;

/// A graph, how it was read, and what was said about it.
struct Data {
    graph: EventStore,
    reading: TableReading,
    said: ReadOptions,
}

impl Data {
    fn new(folder: &Path, rows: &str, said: ReadOptions) -> Self {
        let path = folder.join("graph.csv");
        std::fs::write(&path, rows).unwrap();
        let loaded = crate::open(path.to_str().unwrap(), &said, &Quiet).unwrap();
        let crate::Dataset::Events(graph) = loaded.dataset else { unreachable!() };
        Self { graph, reading: loaded.notes.reading.unwrap(), said }
    }

    fn known<'a>(&'a self, named: &'a PairColumns) -> Known<'a> {
        Known::of(&self.graph, Some(&self.reading), &self.said, named)
    }

    /// What pairs with these rows are.
    fn ask(&self, folder: &Path, rows: &str, columns: &[&str]) -> Result<Candidates, DataError> {
        let path = folder.join("pairs.csv");
        std::fs::write(&path, rows).unwrap();
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        read(&path, self.known(&PairColumns::default()), &columns, &Quiet)
    }
}

fn graph(folder: &Path) -> Data {
    let said = ReadOptions { bipartite: Some(true), ..ReadOptions::default() };
    Data::new(folder, "a,x,10\nb,y,20\nc,x,30\n", said)
}

fn name(text: &str) -> Option<ColumnRef> {
    Some(ColumnRef::Name(text.into()))
}

#[test]
fn rows_keep_their_order_and_vertices_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let data = graph(folder.path());
    let found = data.ask(folder.path(), "c,y,99\na,x,31\nb,x,50\n", &[]).unwrap();
    assert_eq!(found.src, [2, 0, 1]);
    assert_eq!(found.dst, [4, 3, 3]);
    assert_eq!(found.time, [99, 31, 50]);
}

#[test]
fn numbers_of_snapshots_go_by_their_heading_and_are_no_times_of_events() {
    let folder = tempfile::tempdir().unwrap();
    let data = graph(folder.path());
    let error = data.ask(folder.path(), "src,dst,snapshot\nc,y,2\na,x,0\n", &[]).unwrap_err();
    assert!(error.to_string().contains("times"), "{error}");
    let named = PairColumns::default();
    let path = folder.path().join("pairs.csv");
    let found = read_pairs(&path, data.known(&named), &[], &Quiet).unwrap();
    assert_eq!((found.time, found.by_snapshot), (vec![2, 0], true));
    std::fs::write(&path, "src,dst\nc,y\n").unwrap();
    let found = read_pairs(&path, data.known(&named), &[], &Quiet).unwrap();
    assert_eq!((found.time, found.by_snapshot), (vec![], false));
    assert_eq!(found.warnings, Vec::<String>::new());
}

#[test]
fn a_vertex_that_the_graph_does_not_have_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = graph(folder.path()).ask(folder.path(), "a,x,31\nz,x,50\n", &[]).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("vertex z") && error.contains("pairs.csv"), "{error}");
}

#[test]
fn columns_are_read_by_name_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "src,dst,time,amount,risk\na,x,10,5,1\nb,y,20,6,2\n";
    let data = Data::new(folder.path(), rows, ReadOptions::default());
    // In another order, with a column that nobody asked for, and with a value missing.
    let rows = "src,risk,dst,time,amount,note\nb,0.5,x,99,7,1\na,,y,31,8,1\n";
    let found = data.ask(folder.path(), rows, &["risk", "weight"]).unwrap();
    assert_eq!(found.time, [99, 31]);
    assert_eq!([found.features[0], found.features[1], found.features[3]], [0.5, 7.0, 8.0]);
    assert!(found.features[2].is_nan(), "{:?}", found.features);
    let lacking = data.ask(folder.path(), "src,dst,time,amount\nb,x,99,7\n", &["risk"]);
    let error = lacking.unwrap_err().to_string();
    for part in ["pairs.csv", "a column \"risk\"", "columns amount"] {
        assert!(error.contains(part), "{error}");
    }
    let error = data.ask(folder.path(), "src,dst,time\nb,x,99\n", &["weight"]).unwrap_err();
    assert!(error.to_string().contains("a column \"amount\""), "{error}");
}

#[test]
fn a_feature_that_looks_like_a_weight_or_a_label_is_found_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let feature = |name: &str| ColumnRef::Name(name.into());
    let columns = ColumnMap {
        features: Some(vec![feature("amount"), feature("label")]),
        ..ColumnMap::default()
    };
    let said = ReadOptions { columns, ..ReadOptions::default() };
    let rows = "src,dst,time,amount,label\na,x,10,5,1\nb,y,20,6,0\n";
    let data = Data::new(folder.path(), rows, said);
    let asked =
        data.ask(folder.path(), "src,dst,time,amount,label\na,y,30,7,1\n", &["amount", "label"]);
    assert_eq!(asked.unwrap().features, [7.0, 1.0]);
}

#[test]
fn pairs_are_read_with_the_roles_of_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let columns = ColumnMap {
        src: name("person1"),
        dst: name("person2"),
        time: name("start"),
        ..ColumnMap::default()
    };
    let said = ReadOptions { columns, ..ReadOptions::default() };
    let rows = "person1,person2,start,end\n25,11,0,46\n23,27,0,11\n11,23,60,76\n";
    let data = Data::new(folder.path(), rows, said);
    let own = "person1,person2,start,end\n25,27,0,46\n11,11,46,0\n";
    let found = data.ask(folder.path(), own, &[]).unwrap();
    let ids = |ends: &[VertexId]| {
        let names = data.graph.names();
        ends.iter().map(|&vertex| names.name(vertex).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (ids(&found.src), ids(&found.dst)),
        (vec!["25".into(), "11".into()], vec!["27".to_owned(), "11".to_owned()])
    );
    assert_eq!(found.time, [0, 46]);
    // As many columns without a header: by their places.
    let found = data.ask(folder.path(), "25,27,7,9\n11,23,8,9\n", &[]).unwrap();
    assert_eq!((ids(&found.dst)[1].as_str(), found.time), ("23", vec![7, 8]));
    // Other names: judged, and said.
    let found = data.ask(folder.path(), "src,dst\n25,27\n", &[]).unwrap();
    assert!(found.warnings[0].contains("`person1`"), "{:?}", found.warnings);
    assert!(found.warnings[0].contains("source `src`"), "{:?}", found.warnings);
    let named = PairColumns { src: name("b"), dst: name("a"), time: name("zeit") };
    let path = folder.path().join("pairs.csv");
    std::fs::write(&path, "a,b,zeit\n25,27,61\n").unwrap();
    let found = read(&path, data.known(&named), &[], &Quiet).unwrap();
    assert_eq!((ids(&found.src), found.time), (vec!["27".to_owned()], vec![61]));
    assert_eq!(found.warnings, Vec::<String>::new());
}

#[test]
fn identifiers_are_text_if_they_are_in_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let said = ReadOptions { text_ids: Some(true), ..ReadOptions::default() };
    let data = Data::new(folder.path(), "src,dst,t\n007,7,1\n7,8,2\n", said);
    let found = data.ask(folder.path(), "src,dst\n007,7\n7,7\n", &[]).unwrap();
    let names = data.graph.names();
    let names: Vec<_> = found.src.iter().map(|&vertex| names.name(vertex)).collect();
    assert_eq!(names, ["007", "7"]);
}

#[test]
fn times_are_those_of_the_data_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "src,dst,time\na,x,0\nb,y,2990\n";
    let data = Data::new(folder.path(), rows, ReadOptions::default());
    let error = data.ask(folder.path(), "src,dst,time\na,x,2021-01-01\n", &[]).unwrap_err();
    assert!(error.to_string().contains("found dates"), "{error}");
    // A decimal time changes nothing about the others.
    let found = data.ask(folder.path(), "src,dst,time\na,x,3000\na,y,3000.5\n", &[]).unwrap();
    assert_eq!(found.time, [3000, 3000]);
    assert!(found.warnings[0].contains("finer than a tick"), "{:?}", found.warnings);
    let found = data.ask(folder.path(), "src,dst,zeit\na,x,morgen\n", &[]).unwrap();
    let said = found.warnings.join("; ");
    assert!(said.contains("zeit") && said.contains("--pairs-time"), "{said}");
    // Seconds with decimals are milliseconds here, whether a pair has decimals or not.
    let rows = "src,dst,time\na,x,1.5\nb,y,2.25\n";
    let data = Data::new(folder.path(), rows, ReadOptions::default());
    let found = data.ask(folder.path(), "src,dst,time\na,x,3\na,y,4\n", &[]).unwrap();
    assert_eq!(found.time, [3000, 4000]);
    // Dates and numbers that count from 1970 mean the same.
    let rows = "src,dst,time\na,x,1600000000\nb,y,1600000060\n";
    let data = Data::new(folder.path(), rows, ReadOptions::default());
    let pairs = "src,dst,time\na,x,2020-09-13 12:26:40\n";
    assert_eq!(data.ask(folder.path(), pairs, &[]).unwrap().time, [1_600_000_000]);
}

#[test]
fn a_doubtful_file_is_asked_about_with_flags_of_its_own() {
    let confirm = "--src 'a b' --dst c --time t --weight w --label x".to_owned();
    let error = of_pairs(DataError::Uncertain {
        path: PathBuf::new(),
        what: String::new(),
        columns: Vec::new(),
        confirm,
    });
    let DataError::Uncertain { confirm, .. } = error else { panic!("{error}") };
    assert_eq!(confirm, "--pairs-src 'a b' --pairs-dst c --pairs-time t");
}

#[test]
fn binary_files_are_refused_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let data = graph(folder.path());
    let error = data.ask(folder.path(), "PAR1\u{15}\u{4}\0\u{15}a,x,31\n", &[]).unwrap_err();
    assert!(error.to_string().contains("text table"), "{error}");
}
