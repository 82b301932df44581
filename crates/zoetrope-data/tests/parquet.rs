//! Parquet files of other programs, our own, and damaged ones.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use zoetrope_data::formats::parquet::{read, recognises, write};
use zoetrope_data::options::ColumnRef;
use zoetrope_data::{DataError, Dataset, Loaded, Quiet, ReadOptions};
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, NameTable, TextTable, TimeScale, TimeUnit, VertexNames};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parquet").join(name)
}

fn load(path: &Path, options: &ReadOptions) -> Result<Loaded, DataError> {
    read(path, options, &Quiet)
}

fn events(loaded: &Loaded) -> &EventStore {
    match &loaded.dataset {
        Dataset::Events(store) => store,
        Dataset::Snapshots(_) => panic!("Parquet holds events"),
    }
}

/// What `golden/parquet/make.py` puts into row `row`.
fn expected(row: usize) -> (String, String, i64) {
    ((row * 7 % 11).to_string(), (row * 3 % 5 + 20).to_string(), 1_577_836_800 + 90 * row as i64)
}

#[test]
fn a_pandas_file_reads_with_nulls_truth_values_and_nanoseconds() {
    let loaded = load(&golden("pandas.parquet"), &ReadOptions::default()).unwrap();
    assert_eq!(events(&loaded).feature_width(), 1, "b rises with the rows, as their numbers do");
    let mut options = ReadOptions::default();
    options.columns.features = Some(["a", "b"].map(|name| ColumnRef::Name(name.into())).into());
    let loaded = load(&golden("pandas.parquet"), &options).unwrap();
    let store = events(&loaded);
    assert_eq!(store.len(), 50);
    assert_eq!(store.scale(), TimeScale { unit: TimeUnit::Nanosecond, unix: true });
    assert_eq!(store.feature_width(), 2, "the stored index is no feature");
    assert_eq!(loaded.notes.missing_values, 5);
    for row in 0..50 {
        let (src, dst, seconds) = expected(row);
        assert_eq!(store.names().name(store.src()[row]), src);
        assert_eq!(store.names().name(store.dst()[row]), dst);
        assert_eq!(store.time()[row], seconds * 1_000_000_000);
        let weight = store.weight().unwrap()[row];
        if row % 10 == 3 {
            assert!(weight.is_nan())
        } else {
            assert_eq!(weight, row as f32 / 4.0)
        }
        assert_eq!(store.label().unwrap()[row], f32::from(u8::from(row % 3 == 0)));
        assert_eq!(store.features().unwrap()[2 * row..][..2], [row as f32, 2.0 * row as f32]);
    }
}

#[test]
fn a_polars_file_reads_with_text_and_a_list_of_features() {
    let loaded = load(&golden("polars.parquet"), &ReadOptions::default()).unwrap();
    let store = events(&loaded);
    assert_eq!(store.scale(), TimeScale { unit: TimeUnit::Microsecond, unix: true });
    assert_eq!(store.feature_width(), 3);
    assert_eq!(
        store.feature_names.iter().collect::<Vec<_>>(),
        [b"features.0", b"features.1", b"features.2"]
    );
    assert_eq!(store.label_names.iter().collect::<Vec<_>>(), [&b"no"[..], b"yes"]);
    for row in 0..50 {
        let (src, dst, seconds) = expected(row);
        assert_eq!(store.names().name(store.src()[row]), format!("u{src}"));
        assert_eq!(store.names().name(store.dst()[row]), format!("i{dst}"));
        assert_eq!(store.time()[row], seconds * 1_000_000);
        let label = store.label().unwrap()[row];
        if row % 7 == 0 {
            assert!(label.is_nan())
        } else {
            assert_eq!(label, (row % 2) as f32)
        }
        let features = &store.features().unwrap()[3 * row..][..3];
        assert_eq!(features[..2], [row as f32 / 2.0, -(row as f32)]);
        assert_eq!(features[2].is_nan(), row == 4);
    }
}

#[test]
fn an_old_file_reads_with_96_bit_timestamps_and_gzip() {
    let loaded = load(&golden("old.parquet"), &ReadOptions::default()).unwrap();
    let store = events(&loaded);
    assert_eq!(store.scale(), TimeScale { unit: TimeUnit::Nanosecond, unix: true });
    for row in 0..50 {
        let (src, _, seconds) = expected(row);
        let src = (src.parse::<u64>().unwrap() + 4_000_000_000).to_string();
        assert_eq!(store.names().name(store.src()[row]), src);
        assert_eq!(store.time()[row], seconds * 1_000_000_000);
        assert_eq!(store.weight().unwrap()[row], row as f32 / 8.0);
        assert_eq!(store.kind().unwrap()[row], u8::from(row % 9 == 8));
    }
}

#[test]
fn columns_can_be_mapped_by_name_and_a_wrong_name_lists_the_right_ones() {
    let name = |name: &str| Some(ColumnRef::Name(name.into()));
    let mut options = ReadOptions::default();
    options.columns.src = name("b");
    options.columns.dst = name("source");
    options.columns.features = Some(vec![]);
    let loaded = load(&golden("pandas.parquet"), &options).unwrap();
    let store = events(&loaded);
    assert_eq!(store.names().name(store.src()[7]), "14");
    assert_eq!(store.feature_width(), 0);
    options.columns.src = name("nothing");
    let error = load(&golden("pandas.parquet"), &options).unwrap_err().to_string();
    assert!(error.contains("target") && error.contains("nothing"), "{error}");
}

#[test]
fn a_column_of_the_wrong_type_is_refused_by_name() {
    let mut options = ReadOptions::default();
    options.columns.src = Some(ColumnRef::Name("features".into()));
    let error = load(&golden("polars.parquet"), &options).unwrap_err().to_string();
    assert!(error.contains("`features`") && error.contains("integers or text"), "{error}");
}

#[test]
fn the_store_does_not_depend_on_the_number_of_threads() {
    let stores: Vec<Loaded> = [1, 2, 8]
        .into_iter()
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| load(&golden("old.parquet"), &ReadOptions::default()).unwrap())
        })
        .collect();
    assert!(stores[0] == stores[1] && stores[1] == stores[2]);
}

#[test]
fn a_null_identifier_is_a_bad_row_with_its_number() {
    // Weights have nulls: as an identifier column they are bad rows, and halves are no integers.
    let mut options = ReadOptions::default();
    options.columns.src = Some(ColumnRef::Name("weight".into()));
    options.columns.features = Some(vec![ColumnRef::Name("a".into())]);
    options.max_problems = 3;
    match load(&golden("pandas.parquet"), &options).unwrap_err() {
        DataError::Invalid { problems, total } => {
            assert_eq!(problems.len(), 3);
            assert_eq!(problems[0].at.line, Some(1));
            assert_eq!(problems[0].at.column.as_deref(), Some("weight"));
            assert_eq!(problems[2].found, "null");
            assert_eq!(total, 37);
        }
        other => panic!("{other}"),
    }
    options.lenient = true;
    let loaded = load(&golden("pandas.parquet"), &options).unwrap();
    assert_eq!(loaded.notes.skipped_rows + events(&loaded).len() as u64, 50);
    assert!(events(&loaded).features().unwrap().iter().all(|row| row % 4.0 == 0.0));
}

#[test]
fn files_are_recognised_by_their_first_bytes() {
    assert!(recognises(Path::new("x"), b"PAR1...").is_some());
    assert!(recognises(Path::new("x.parquet"), b"src,dst").is_none());
    assert!(recognises(Path::new("x"), b"PA").is_none());
}

fn names(kind: u8, count: u32) -> NameTable {
    match kind {
        0 => NameTable::Identity(count),
        1 => NameTable::Integers((0..i64::from(count)).map(|id| id * 3 - 7).collect()),
        _ => NameTable::Text((0..count).map(|id| format!("v{id:04} \"x\",\n")).collect()),
    }
}

prop_compose! {
    fn any_store()(
        events in 1usize..40, kind in 0u8..3, bipartite: bool, unit in 0usize..5, unix: bool,
        columns in any::<[bool; 4]>(), text_labels: bool, seed: u64,
    ) -> EventStore {
        let random = zoetrope_graph::random::Random::new(seed, 1);
        let draw = |index: usize, stream: u64, bound: u64| random.below(index as u64 * 16 + stream, bound);
        // Every vertex occurs, so that names that are not dense survive.
        let src: Vec<u32> = (0..events).map(|event| event as u32 / 2).collect();
        let sources = src.last().unwrap() + 1;
        let shift = if bipartite { sources } else { 0 };
        let dst: Vec<u32> = src.iter().rev().map(|vertex| vertex + shift).collect();
        let second = bipartite.then(|| names(0, sources));
        let time = (0..events).map(|event| draw(event, 1, 1 << 40) as i64 - (1 << 39)).collect();
        let unit = [TimeUnit::Step, TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond][unit];
        let number = |event: usize, stream: u64| f32::from_bits(draw(event, stream, 0x7f00_0000) as u32);
        let width = if columns[0] { 3 } else { 0 };
        let labels = (0..events).map(|event| (event % 2) as f32).collect::<Vec<_>>();
        let event_columns = EventColumns {
            features: columns[0].then(|| (0..events * width).map(|value| number(value, 2)).collect::<Vec<_>>().into()),
            feature_width: width,
            weight: columns[1].then(|| (0..events).map(|event| number(event, 3)).collect::<Vec<_>>().into()),
            label: columns[2].then(|| labels.into()),
            kind: columns[3].then(|| (0..events).map(|event| draw(event, 4, 2) as u8).collect::<Vec<_>>().into()),
        };
        let names = VertexNames { first: names(kind, sources), second };
        let mut store = EventStore::new(src, dst, time, event_columns, TimeScale { unit, unix: unix && unit != TimeUnit::Step }, names).unwrap();
        if columns[0] && bipartite {
            store.feature_names = ["f0", "f1", "f2"].into_iter().collect();
        }
        if columns[2] && text_labels && events > 1 {
            store.label_names = ["no", "yes"].into_iter().collect::<TextTable>();
        }
        store
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn our_own_files_read_back_as_the_same_store(store in any_store()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        write(&path, &store, &Quiet).unwrap();
        let loaded = load(&path, &ReadOptions::default()).unwrap();
        prop_assert_eq!(events(&loaded), &store);
    }

    #[test]
    fn damaged_files_are_refused_or_read_but_never_panic(
        file in 0usize..3, position: prop::sample::Index, value: u8, cut: Option<prop::sample::Index>,
    ) {
        let name = ["pandas.parquet", "polars.parquet", "old.parquet"][file];
        let mut bytes = std::fs::read(golden(name)).unwrap();
        let at = position.index(bytes.len());
        bytes[at] = value;
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = load(&path, &ReadOptions::default()) {
            prop_assert!(error.to_string().contains("a.parquet"), "{}", error);
        }
    }
}

#[test]
fn vertices_without_an_event_survive_in_our_own_files() {
    let store = EventStore::new(
        vec![0, 4],
        vec![2, 4],
        vec![5, 6],
        EventColumns::default(),
        TimeScale::STEPS,
        VertexNames::identity(9),
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write(&path, &store, &Quiet).unwrap();
    assert_eq!(events(&load(&path, &ReadOptions::default()).unwrap()), &store);
}

#[test]
fn every_hostile_file_ends_as_the_corpus_says() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../attacks");
    let expected = std::fs::read_to_string(corpus.join("EXPECTED.tsv")).unwrap();
    let mut wrong = Vec::new();
    for line in expected.lines().filter(|line| line.starts_with("parquet/")) {
        let mut fields = line.split('\t');
        let (name, outcome) = (fields.next().unwrap(), fields.next().unwrap());
        let result = load(&corpus.join("files").join(name), &ReadOptions::default());
        if result.is_ok() != (outcome == "ok") {
            wrong.push(format!("{name}: {:?}", result.err().map(|error| error.to_string())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
