//! Conversion between all event formats that can hold the data loses nothing.

use std::path::Path;

use proptest::prelude::*;
use zoetrope_data::formats::text::{edge_list_writer, jodie_writer};
use zoetrope_data::formats::{edge_list, jodie, ml_triple, parquet, store as zoe, tgl};
use zoetrope_data::{DataError, Dataset, Loaded, Progress, Quiet, ReadOptions};
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::random::Random;
use zoetrope_graph::{EventStore, NameTable, TimeScale, TimeUnit, VertexNames};

type Write = fn(&Path, &EventStore, &dyn Progress) -> Result<(), DataError>;
type Read = fn(&Path, &ReadOptions, &dyn Progress) -> Result<Loaded, DataError>;

/// What each format is called, its writer and its reader.
const FORMATS: [(&str, Write, Read); 8] = [
    ("a.csv", edge_list_writer::write, edge_list::read),
    ("a.tsv.gz", edge_list_writer::write, edge_list::read),
    ("a.csv.zst", edge_list_writer::write, edge_list::read),
    ("jodie.csv.xz", jodie_writer::write, jodie::read),
    ("ml_a.csv", ml_triple::write, ml_triple::read),
    ("folder", tgl::write, tgl::read),
    ("a.parquet", parquet::write, parquet::read),
    ("a.zoe", zoe::write, zoe::read),
];

/// One event with original names, time in nanoseconds (or steps) and all values as bits.
type Row = (String, String, i128, Option<u32>, Option<u32>, Option<u8>, Vec<u32>);

fn rows(store: &EventStore) -> Vec<Row> {
    let tick = match store.scale().unit.ticks_per_second() {
        Some(ticks) => 1_000_000_000 / i128::from(ticks),
        None => 1,
    };
    let width = store.feature_width();
    (0..store.len())
        .map(|event| {
            let features = &store.features().unwrap_or_default()[event * width..][..width];
            (
                store.names().name(store.src()[event]).into_owned(),
                store.names().name(store.dst()[event]).into_owned(),
                i128::from(store.time()[event]) * tick,
                store.weight().map(|weight| weight[event].to_bits()),
                store.label().map(|label| label[event].to_bits()),
                store.kind().map(|kind| kind[event]),
                features.iter().map(|value| value.to_bits()).collect(),
            )
        })
        .collect()
}

/// What a reader must be told because text does not say it.
fn options(store: &EventStore) -> ReadOptions {
    ReadOptions {
        time_unit: Some(store.scale().unit),
        text_ids: Some(matches!(store.names().first, NameTable::Text(_))),
        ..ReadOptions::default()
    }
}

/// Writes and reads; `None` if the format says that it cannot hold the data.
fn through(name: &str, write: Write, read: Read, store: &EventStore) -> Option<EventStore> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    match write(&path, store, &Quiet) {
        Err(DataError::CannotHold { .. }) => return None,
        written => written.unwrap(),
    }
    let mut options = options(store);
    if ["folder", "ml_a.csv"].contains(&name) {
        // These number all vertices together.
        options.text_ids = None;
    }
    let loaded = read(&path, &options, &Quiet).unwrap_or_else(|error| panic!("{name}: {error}"));
    match loaded.dataset {
        Dataset::Events(store) => Some(store),
        Dataset::Snapshots(_) => panic!("{name} holds events"),
    }
}

fn names(kind: u8, count: u32) -> NameTable {
    match kind {
        0 => NameTable::Identity(count),
        1 => NameTable::Integers((0..i64::from(count)).map(|id| id * id * 7 - 50).collect()),
        _ => NameTable::Text((0..count).map(|id| format!("n {id:03}, \"ä\"\t#")).collect()),
    }
}

prop_compose! {
    fn any_store()(
        events in 1usize..60, name_kind in 0u8..3, bipartite: bool, unit in 0usize..5,
        columns in any::<[bool; 4]>(), seed: u64,
    ) -> EventStore {
        let random = Random::new(seed, 7);
        let draw = |index: usize, use_: u64, bound: u64| random.below(index as u64 * 16 + use_, bound);
        let value = |index: usize, use_: u64| match draw(index, use_, 8) {
            0 => 0.0,
            1 => -0.0,
            2 => draw(index, use_ + 1, 1000) as f32,
            3 => f32::NAN,
            _ => {
                let bits = draw(index, use_ + 1, 1 << 32) as u32;
                Some(f32::from_bits(bits)).filter(|value| value.is_finite()).unwrap_or(1.5)
            }
        };
        // Every vertex occurs: text and feature files do not name those that do not.
        let src: Vec<u32> = (0..events).map(|event| event as u32 / 2).collect();
        let side = src[events - 1] + 1;
        let shift = if bipartite { side } else { 0 };
        let dst: Vec<u32> = src.iter().rev().map(|vertex| vertex + shift).collect();
        let unit = [TimeUnit::Step, TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond,
            TimeUnit::Nanosecond][unit];
        let time = (0..events).map(|event| draw(event, 0, 1 << 30) as i64 - (1 << 20)).collect();
        let width = if columns[0] { 1 + draw(0, 1, 3) as usize } else { 0 };
        let many = |count: usize, use_: u64| (0..count).map(|index| value(index, use_)).collect::<Vec<_>>();
        let event_columns = EventColumns {
            features: columns[0].then(|| many(events * width, 2).into()),
            feature_width: width,
            weight: columns[1].then(|| many(events, 4).into()),
            label: columns[2].then(|| many(events, 6).into()),
            kind: columns[3].then(|| (0..events).map(|event| draw(event, 8, 2) as u8).collect::<Vec<_>>().into()),
        };
        let names = VertexNames {
            first: names(name_kind, side),
            second: bipartite.then(|| names(name_kind, side)),
        };
        EventStore::new(src, dst, time, event_columns, TimeScale { unit, unix: false }, names).unwrap()
    }
}

/// Formats that number vertices give them other names: the same events by number.
fn by_number(store: &EventStore, shift: u32) -> EventStore {
    let numbers = (0..store.vertices()).map(|vertex| i64::from(vertex + shift)).collect();
    let names = VertexNames { first: NameTable::Integers(numbers), second: None };
    let (src, dst, time) = (store.src().to_vec(), store.dst().to_vec(), store.time().to_vec());
    EventStore::new(src, dst, time, store.columns().clone(), store.scale(), names).unwrap()
}

/// Formats with a fixed label column write 0 if events have no label.
fn with_zero_labels(mut rows: Vec<Row>) -> Vec<Row> {
    rows.iter_mut().for_each(|row| row.4 = row.4.or(Some(0)));
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn every_format_that_holds_the_data_gives_it_back(store in any_store()) {
        let mut held = 0;
        for (name, write, read) in FORMATS {
            let Some(back) = through(name, write, read, &store) else { continue };
            held += 1;
            let expected = match name {
                "folder" => rows(&by_number(&store, 0)),
                "ml_a.csv" => with_zero_labels(rows(&by_number(&store, 1))),
                "jodie.csv.xz" => with_zero_labels(rows(&store)),
                _ => rows(&store),
            };
            let mut found = rows(&back);
            if store.kind().is_some_and(|kind| kind.iter().all(|&kind| kind == 0)) && back.kind().is_none() {
                found.iter_mut().for_each(|row| row.5 = Some(0));
            }
            prop_assert_eq!(found, expected, "{}", name);
        }
        prop_assert!(held >= 5);
    }

    #[test]
    fn a_chain_of_conversions_ends_where_it_began(store in any_store(), first: usize, second: usize) {
        let exact: Vec<_> = FORMATS.iter().filter(|(name, ..)| name.starts_with("a.")).collect();
        let mut store = store;
        let before = rows(&store);
        for index in [first, second, first.wrapping_add(1), 0] {
            let (name, write, read) = exact[index % exact.len()];
            store = through(name, *write, *read, &store).unwrap();
        }
        prop_assert_eq!(rows(&store), before);
    }
}

#[test]
fn the_enron_triple_survives_every_format() {
    let shared =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/enron/ml_enron.csv.gz");
    if !shared.is_file() {
        println!("skipped: {} is not there", shared.display());
        return;
    }
    let loaded = ml_triple::read(&shared, &ReadOptions::default(), &Quiet).unwrap();
    let Dataset::Events(store) = &loaded.dataset else { panic!("events") };
    assert_eq!((store.vertices(), store.len()), (184, 125_235));
    assert_eq!((store.time()[0], *store.time().last().unwrap()), (0, 113_740_399));
    assert!(loaded.notes.sorted);
    for (name, write, read) in FORMATS {
        if let Some(back) = through(name, write, read, store) {
            let same = match name {
                // TGL numbers vertices from 0.
                "folder" => back.src() == store.src() && back.dst() == store.dst(),
                _ => rows(&back) == rows(store),
            };
            assert!(same, "{name}");
            assert_eq!(back.time(), store.time(), "{name}");
        }
    }
}
