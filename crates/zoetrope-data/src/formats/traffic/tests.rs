use tempfile::TempDir;
use zoetrope_graph::Boundaries;

use super::*;
use crate::progress::Quiet;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn load(path: &Path) -> Result<(SnapshotDataset, Notes), DataError> {
    let loaded = read(path, &ReadOptions::default(), &Quiet)?;
    match loaded.dataset {
        Dataset::Snapshots(data) => Ok((data, loaded.notes)),
        Dataset::Events(_) => panic!("snapshots were read as events"),
    }
}

fn message(files: &[(&str, &str)]) -> String {
    match load(folder(files).path()) {
        Ok(_) => panic!("bad input was accepted"),
        Err(error) => error.to_string(),
    }
}

const ADJACENCY: (&str, &str) = ("adj.csv", "1,0.5,0\n0,1,0\n0,0.25,1\n");
const VALUES: (&str, &str) = ("speed.csv", "1.5,2,3\n4,,nan\n");

#[test]
fn weights_are_taken_as_they_are_and_empty_cells_are_missing() {
    let files = folder(&[ADJACENCY, VALUES]);
    for path in
        [files.path().to_owned(), files.path().join("adj.csv"), files.path().join("speed.csv")]
    {
        let (data, notes) = load(&path).unwrap();
        let view = data.sequence.at(1);
        assert_eq!((data.sequence.vertices(), data.sequence.steps(), view.len()), (3, 2, 5));
        assert_eq!((view.src, view.dst), (&[0, 0, 1, 2, 2][..], &[0, 1, 1, 1, 2][..]));
        assert_eq!(notes.missing_values, 2);
        assert_eq!(data.signal.unwrap().values.at(0), [1.5, 2.0, 3.0]);
    }
}

#[test]
fn distances_go_through_the_kernel_which_the_notes_show() {
    let matrix = ("W.csv", "0,1000,9000\n1000,0,2000\n9000,2000,0\n");
    let files = folder(&[matrix, VALUES]);
    let (data, notes) = load(files.path()).unwrap();
    assert_eq!(data.sequence.stored_edges(), 4);
    let weight = data.sequence.weight().unwrap()[0];
    assert!((weight - (-0.1f32).exp()).abs() < 1e-6);
    assert!(notes.warnings[0].contains("10000") && notes.warnings[0].contains("0.1"));
}

#[test]
fn headers_of_text_or_of_numbers_become_names() {
    let named = ("v.csv", "\"a,1\",b,c\n1,2,3\n4,5,6\n");
    let (data, _) = load(folder(&[ADJACENCY, named]).path()).unwrap();
    assert_eq!((data.names.name(0).as_ref(), data.sequence.steps()), ("a,1", 2));
    let numbered = ("v.csv", "773869,767541,717447\n64.375,67.6,61\n1,2,3\n");
    let (data, _) = load(folder(&[ADJACENCY, numbered]).path()).unwrap();
    assert_eq!((data.names.name(1).as_ref(), data.sequence.steps()), ("767541", 2));
    let counts = ("v.csv", "7,8,9\n10,11,12\n4,5,6\n7,8,9\n");
    let (data, _) = load(folder(&[ADJACENCY, counts]).path()).unwrap();
    assert_eq!((data.names.name(1).as_ref(), data.sequence.steps()), ("1", 4));
}

#[test]
fn bad_cells_and_ragged_rows_are_named_with_line_and_column() {
    let text = message(&[ADJACENCY, ("v.csv", "1,2,3\n1,x,3\n1,2\n1,2,3\n1,inf,3\n")]);
    for part in ["v.csv:2, `column 2`", "found x", "v.csv:3: expected 3 cells", "v.csv:5"] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    let text = message(&[("adj.csv", "1,0,0\n0,y,0\n0,0,1\n"), VALUES]);
    assert!(text.contains("adj.csv:2, `column 2`"), "{text}");
    let text = message(&[("adj.csv", "1,0,0\n0,,0\n0,0,1\n"), VALUES]);
    assert!(text.contains("row 2, column 2"), "{text}");
    let options = ReadOptions { lenient: true, ..ReadOptions::default() };
    let files = folder(&[ADJACENCY, ("v.csv", "1,2,3\n1,x,3\n1,2\n1,2,3\n7,8,9\n")]);
    let loaded = read(files.path(), &options, &Quiet).unwrap();
    assert_eq!(loaded.notes.skipped_rows, 2);
}

#[test]
fn sizes_that_disagree_are_explained() {
    let text = message(&[("adj.csv", "1,0,0\n0,1,0\n0,0,1\n0,0,0\n"), VALUES]);
    assert!(
        text.contains("adj.csv: expected a square matrix, found 4 or more rows of 3"),
        "{text}"
    );
    let text = message(&[ADJACENCY, ("v.csv", "1,2\n3,4\n5,6\n")]);
    assert!(text.contains("v.csv:1: expected 3 columns"), "{text}");
    assert!(message(&[ADJACENCY]).contains("1 tables of numbers"));
    assert!(message(&[]).contains("0 tables of numbers"));
}

#[test]
fn small_squares_and_event_files_are_not_recognised_unasked() {
    let files = folder(&[ADJACENCY, VALUES]);
    assert_eq!(recognises(files.path(), b""), None);
    let events = folder(&[("a.csv", "u,i,ts\n1,2,3\n4,5,6\n"), ("b.csv", "1,2,3\n1,2,3\n1,2,3\n")]);
    assert_eq!(recognises(&events.path().join("a.csv"), b"u,i,ts\n1,2,3\n"), None);
    let row = "1,0,0,0,0\n".repeat(5);
    let table = "1,2,3,4,5.5\n".repeat(9);
    let files = folder(&[("m.csv", &row), ("t.csv", &table)]);
    let reason = recognises(files.path(), b"").unwrap();
    assert!(reason.contains("m.csv is a square matrix of 5 rows"), "{reason}");
}

#[test]
fn what_is_written_is_read_back() {
    for names in ["", "10,20,30\n", "a,\"b \"\"c\"\"\",d\n"] {
        let text = format!("{names}1.5,2,3\n4,,0.1\n7,8,9\n");
        let (data, _) = load(folder(&[ADJACENCY, ("v.csv", &text)]).path()).unwrap();
        let out = tempfile::tempdir().unwrap();
        let path = out.path().join("copy");
        write(&path, &data, &Quiet).unwrap();
        let (again, _) = load(&path).unwrap();
        // Missing values are NaN, which equals nothing: compare what is printed.
        assert_eq!(format!("{again:?}"), format!("{data:?}"));
    }
}

#[test]
fn what_the_format_cannot_hold_is_refused_and_leaves_nothing() {
    let (mut data, _) = load(folder(&[ADJACENCY, VALUES]).path()).unwrap();
    let out = tempfile::tempdir().unwrap();
    data.signal = None;
    let refused = write(&out.path().join("copy"), &data, &Quiet);
    assert!(matches!(refused, Err(DataError::CannotHold { .. })));
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
}

const SENSORS: &str = "timestamp,a,b,c,d,e\n\
    2012-03-01 00:00:00,1,2,3,4,5\n2012-03-01 00:05:00,2,3,4,5,6\n2012-03-01 00:10:00,3,4,5,6,7\n";

#[test]
fn a_time_in_front_of_the_sensors_is_the_time_of_the_steps() {
    let matrix = "1,1,0,0,0\n1,1,1,0,0\n0,1,1,1,0\n0,0,1,1,1\n0,0,0,1,1\n";
    let files = folder(&[("adj.csv", matrix), ("speed.csv", SENSORS)]);
    assert!(recognises(files.path(), b"").is_some());
    let (data, _) = load(files.path()).unwrap();
    assert_eq!((data.sequence.vertices(), data.sequence.steps()), (5, 3));
    let first = 1_330_560_000;
    let ends = [first, first + 300, first + 600, first + 900];
    assert_eq!(data.sequence.boundaries(), Some(&Boundaries::from(ends.to_vec())));
    assert_eq!(data.names.name(0), "a");
    assert_eq!(data.signal.unwrap().values.at(0), [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn a_list_of_distances_between_sensors_stands_for_the_matrix() {
    let list = "from,to,cost\na,b,500\nb,c,1000\nc,d,9000\nd,e,100\na,c,700\nb,d,800\n";
    let files = folder(&[("distances.csv", list), ("speed.csv", SENSORS)]);
    assert!(recognises(files.path(), b"").unwrap().contains("lists edges"));
    let (data, notes) = load(files.path()).unwrap();
    assert_eq!((data.sequence.vertices(), data.sequence.stored_edges()), (5, 5));
    assert!(notes.warnings[0].contains("distances"), "{:?}", notes.warnings);
    let files = folder(&[("distances.csv", "from,to,cost\na,x,5\n"), ("speed.csv", SENSORS)]);
    assert!(recognises(files.path(), b"").is_none());
}

const MATRIX: &str = "1,1,0,0,0\n1,1,1,0,0\n0,1,1,1,0\n0,0,1,1,1\n0,0,0,1,1\n";

#[test]
fn the_time_may_stand_anywhere_and_in_two_columns() {
    let last =
        "a,b,c,d,e,timestamp\n1,2,3,4,5,2012-03-01 00:00:00\n2,3,4,5,6,2012-03-01 01:00:00\n";
    let two = "date,hour,a,b,c,d,e\n2012-03-01,0,1,2,3,4,5\n2012-03-01,1,2,3,4,5,6\n";
    let epoch = "1330560000,1,2,3,4,5.5\n1330563600,2,3,4,5,6.5\n";
    for values in [last, two, epoch] {
        let files = folder(&[("adj.csv", MATRIX), ("speed.csv", values)]);
        assert!(recognises(files.path(), b"").is_some(), "{values}");
        let (data, _) = load(files.path()).unwrap();
        assert_eq!((data.sequence.vertices(), data.sequence.steps()), (5, 2), "{values}");
        let first = 1_330_560_000;
        let ends = [first, first + 3600, first + 7200];
        assert_eq!(data.sequence.boundaries(), Some(&Boundaries::from(ends.to_vec())), "{values}");
        assert_eq!(data.signal.unwrap().values.at(0)[..2], [1.0, 2.0], "{values}");
    }
}

#[test]
fn a_matrix_with_names_is_put_in_the_order_of_the_table() {
    // 3 → 1 alone, with rows and columns in the order 3, 1, 2, 5, 4.
    let header = "3,1,2,5,4\n0,0.5,0,0,0\n0,0,0,0,0\n0,0,0,0,0\n0,0,0,0,0\n0,0,0,0,0\n";
    let index = ",3,1,2,5,4\n1,0,0,0,0,0\n3,0,0.5,0,0,0\n2,0,0,0,0,0\n4,0,0,0,0,0\n5,0,0,0,0,0\n";
    let values = "time,1,2,3,4,5\n2012-03-01,1,2,3,4,5\n2012-03-02,1,2,3,4,5\n";
    for matrix in [header, index] {
        let files = folder(&[("adj.csv", matrix), ("speed.csv", values)]);
        let (data, _) = load(files.path()).unwrap();
        let view = data.sequence.at(0);
        assert_eq!((view.src, view.dst), (&[2][..], &[0][..]), "{matrix}");
    }
    let other = header.replacen("3,1,2", "9,1,2", 1);
    let text = message(&[("adj.csv", &other), ("speed.csv", values)]);
    assert!(text.contains("sensor 9"), "{text}");
}

#[test]
fn a_matrix_is_never_read_as_a_list_of_edges() {
    let long = "timestamp,sensor,speed\n2012-03-01,1,5\n2012-03-01,2,6\n";
    let files = folder(&[("adj.csv", MATRIX), ("readings.csv", long)]);
    let open = |path: &Path| crate::open(path.to_str().unwrap(), &ReadOptions::default(), &Quiet);
    for path in [files.path().to_owned(), files.path().join("adj.csv")] {
        let text = open(&path).unwrap_err().to_string();
        assert!(text.contains("a square matrix of 5 rows without its table"), "{text}");
    }
    // Five events of five columns are no matrix.
    let events = folder(&[("e.csv", "1,2,0,5,1\n2,3,1,4,2\n3,4,2,3,3\n4,5,3,2,4\n5,6,4,1,5\n")]);
    assert!(open(&events.path().join("e.csv")).is_ok());
}

#[test]
fn rows_with_the_newest_first_are_sorted() {
    let falling = "timestamp,a,b,c,d,e\n2012-03-01 02:00:00,3,4,5,6,7\n2012-03-01 01:00:00,2,3,4,5,6\n\
                   2012-03-01 00:00:00,1,2,3,4,5\n";
    let files = folder(&[("adj.csv", MATRIX), ("speed.csv", falling)]);
    let (data, notes) = load(files.path()).unwrap();
    assert!(notes.warnings.iter().any(|note| note.contains("sorted")), "{:?}", notes.warnings);
    let first = 1_330_560_000;
    let ends = [first, first + 3600, first + 7200, first + 10_800];
    assert_eq!(data.sequence.boundaries(), Some(&Boundaries::from(ends.to_vec())));
    let values = data.signal.unwrap().values;
    assert_eq!([values.at(0)[0], values.at(1)[0], values.at(2)[0]], [1.0, 2.0, 3.0]);
}

#[test]
fn missing_rows_are_told() {
    let rows = |hours: &[u32]| -> String {
        let row = |hour: &u32| format!("2024-01-01 {hour:02}:00,1.5,2,{hour}\n");
        format!("time,a,b,c\n{}", hours.iter().map(row).collect::<String>())
    };
    let told = |hours: &[u32]| {
        let files = folder(&[ADJACENCY, ("speed.csv", &rows(hours))]);
        let (_, notes) = load(files.path()).unwrap();
        notes.warnings.iter().find(|note| note.contains("rows are missing")).cloned()
    };
    assert_eq!(told(&[0, 1, 2, 3, 4, 5]), None);
    let gap = told(&[0, 1, 2, 3, 9, 10]).unwrap();
    assert!(gap.contains("1 of 5 steps") && gap.contains("longest 21600 s"), "{gap}");
}
