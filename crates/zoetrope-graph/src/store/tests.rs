use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::error::GraphError;
use crate::events::{EventColumns, EventStore};
use crate::ids::{NameTable, TextTable, VertexNames};
use crate::time::{Time, TimeScale, TimeUnit};

fn full_store() -> EventStore {
    let columns = EventColumns {
        weight: Some(vec![1.0, -2.5, f32::INFINITY].into()),
        label: Some(vec![0.0, 1.0, f32::MIN_POSITIVE].into()),
        kind: Some(vec![0, 1, 0].into()),
        features: Some(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into()),
        feature_width: 2,
    };
    let names = VertexNames {
        first: NameTable::Text(["ada", "", "zoë"].iter().collect()),
        second: Some(NameTable::Integers(vec![-7, i64::MAX])),
    };
    let time = vec![Time::MIN, 3, Time::MAX];
    let scale = TimeScale { unit: TimeUnit::Microsecond, unix: true };
    let mut store =
        EventStore::new(vec![0, 1, 2], vec![3, 4, 3], time, columns, scale, names).unwrap();
    store.label_names = ["good", "bad"].iter().collect();
    store.feature_names = ["x", "y"].iter().collect();
    store.vertex_features = Some((1, vec![0.5; 5].into()));
    store.vertex_labels = Some(vec![1.0, 0.0, 1.0, 0.0, 0.0].into());
    store.vertex_label_names = ["human", "machine"].iter().collect();
    store
}

fn plain_store(src: Vec<u32>, dst: Vec<u32>, time: Vec<Time>, vertices: u32) -> EventStore {
    let names = VertexNames::identity(vertices);
    EventStore::new(src, dst, time, EventColumns::default(), TimeScale::STEPS, names).unwrap()
}

fn checked(path: &std::path::Path) -> Result<EventStore, GraphError> {
    let file = StoreFile::open(path)?;
    file.verify(&|_| {})?;
    file.events()
}

#[test]
fn everything_round_trips_and_columns_stay_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.zoe");
    let store = full_store();
    write(&path, &store, &|_| {}).unwrap();
    let read = checked(&path).unwrap();
    assert_eq!(read, store);
    assert!(read.columns().weight.as_ref().unwrap().is_mapped());
    assert!(read.vertex_features.as_ref().unwrap().1.is_mapped());
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "temporary files are gone");
}

#[test]
fn a_store_without_events_or_vertices_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.zoe");
    for vertices in [0, 3, u32::MAX] {
        let store = plain_store(vec![], vec![], vec![], vertices);
        write(&path, &store, &|_| {}).unwrap();
        assert_eq!(checked(&path).unwrap(), store);
    }
}

#[test]
fn a_store_can_replace_the_file_that_it_is_mapped_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("self.zoe");
    let store = full_store();
    write(&path, &store, &|_| {}).unwrap();
    let mapped = open(&path).unwrap();
    write(&path, &mapped, &|_| {}).unwrap();
    assert_eq!(checked(&path).unwrap(), store);
    assert_eq!(mapped, store, "the old mapping still reads the old file");
}

#[test]
fn every_truncation_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.zoe");
    write(&path, &full_store(), &|_| {}).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let error = StoreFile::open(&path).err();
        assert!(matches!(error, Some(GraphError::Damaged { .. })), "cut to {length} bytes");
    }
    let longer = [&whole[..], &[0]].concat();
    fs::write(&path, longer).unwrap();
    assert!(StoreFile::open(&path).is_err(), "one byte too many");
}

#[test]
fn every_flipped_bit_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flip.zoe");
    write(&path, &full_store(), &|_| {}).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    for byte in 0..bytes.len() {
        for bit in 0..8 {
            bytes[byte] ^= 1 << bit;
            fs::write(&path, &bytes).unwrap();
            let error = checked(&path).err();
            assert!(matches!(error, Some(GraphError::Damaged { .. })), "byte {byte}, bit {bit}");
            bytes[byte] ^= 1 << bit;
        }
    }
}

#[test]
fn content_that_is_wrong_under_a_right_checksum_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lie.zoe");
    let lie = |src: u32, kind: u8, times: [Time; 2]| {
        let columns = EventColumns { kind: Some(vec![0, kind].into()), ..EventColumns::default() };
        let store = EventStore::from_columns(
            vec![0, src].into(),
            vec![0, 0].into(),
            times.to_vec().into(),
            columns,
            TimeScale::STEPS,
            VertexNames::identity(2),
        );
        write(&path, &store.unwrap(), &|_| {}).unwrap();
        match checked(&path) {
            Err(GraphError::Damaged { problems, .. }) => problems[0].to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert!(lie(2, 0, [0, 0]).contains("a vertex below 2, found 2"));
    assert!(lie(1, 2, [0, 0]).contains("`kind`: expected 0 (add) or 1 (remove), found 2"));
    assert!(lie(1, 0, [5, 4]).contains("`time`: expected a time from 5 on, found 4"));
}

#[test]
fn what_is_no_store_is_refused_without_being_mapped_or_read() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(open(folder.path()), Err(GraphError::Damaged { .. } | GraphError::Io { .. })));
    assert!(matches!(open(&folder.path().join("absent")), Err(GraphError::Io { .. })));
    let path = folder.path().join("text.csv");
    fs::write(&path, "src,dst,time\n".repeat(100)).unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("magic"), "{error}");
}

#[test]
fn a_streamed_store_equals_one_written_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (once, streamed) = (folder.path().join("once.zoe"), folder.path().join("streamed.zoe"));
    let store = full_store();
    write(&once, &store, &|_| {}).unwrap();
    let columns = StoreColumns { weight: true, label: true, kind: true, feature_width: 2 };
    let mut writer = StoreWriter::create(&streamed, store.scale(), columns).unwrap();
    for event in 0..store.len() {
        let one = event..event + 1;
        let chunk = EventChunk {
            src: &store.src()[one.clone()],
            dst: &store.dst()[one.clone()],
            time: &store.time()[one.clone()],
            weight: &store.weight().unwrap()[one.clone()],
            label: &store.label().unwrap()[one.clone()],
            kind: &store.kind().unwrap()[one.clone()],
            features: &store.features().unwrap()[2 * event..2 * event + 2],
        };
        writer.append(&chunk).unwrap();
    }
    writer.append(&EventChunk::default()).unwrap();
    let done = AtomicU64::new(0);
    let attributes = StoreAttributes::of(&store);
    let advance = |bytes| {
        done.fetch_add(bytes, Ordering::Relaxed);
    };
    writer.finish(&attributes, &advance).unwrap();
    assert_eq!(fs::read(&once).unwrap(), fs::read(&streamed).unwrap());
    assert!(done.into_inner() > 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_stream_that_goes_wrong_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.zoe");
    let create = || StoreWriter::create(&path, TimeScale::STEPS, StoreColumns::default()).unwrap();
    let chunk = |src, time| EventChunk { src, dst: src, time, ..EventChunk::default() };
    let mut writer = create();
    writer.append(&chunk(&[0], &[5])).unwrap();
    let error = writer.append(&chunk(&[0], &[4])).unwrap_err();
    assert!(matches!(error, GraphError::NotInTimeOrder { event: 1, time: 4, before: 5 }));
    assert!(writer.append(&chunk(&[0, 1], &[6])).is_err());
    assert_eq!(writer.len(), 1);
    drop(writer);
    let mut writer = create();
    writer.append(&chunk(&[0, 9], &[1, 1])).unwrap();
    let store = plain_store(vec![], vec![], vec![], 9);
    let error = writer.finish(&StoreAttributes::of(&store), &|_| {}).unwrap_err();
    assert!(matches!(error, GraphError::VertexOutOfRange { position: 1, vertex: 9, .. }));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

fn any_names(texts: Vec<Vec<u8>>, integers: bool) -> NameTable {
    if integers {
        NameTable::Integers(texts.iter().map(|text| text.len() as i64 - 2).collect())
    } else {
        NameTable::Text(texts.iter().collect::<TextTable>())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn stores_of_any_shape_round_trip(
        events in proptest::collection::vec((any::<u16>(), any::<u16>(), any::<Time>()), 0..40),
        texts in proptest::collection::vec(any::<Vec<u8>>(), 1..6),
        integers: bool,
        bipartite: bool,
        width in 0_usize..4,
    ) {
        let second = bipartite.then(|| any_names(texts.clone(), !integers));
        let names = VertexNames { first: any_names(texts, integers), second };
        let vertices = names.len() as u32;
        let pick = |value: u16| u32::from(value) % vertices;
        let columns = EventColumns {
            features: (width > 0).then(|| vec![0.25; width * events.len()].into()),
            feature_width: width,
            ..EventColumns::default()
        };
        let store = EventStore::new(
            events.iter().map(|event| pick(event.0)).collect(),
            events.iter().map(|event| pick(event.1)).collect(),
            events.iter().map(|event| event.2).collect(),
            columns,
            TimeScale::UNIX_SECONDS,
            names,
        ).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any.zoe");
        write(&path, &store, &|_| {}).unwrap();
        prop_assert_eq!(checked(&path).unwrap(), store);
    }

    #[test]
    fn any_bytes_after_the_magic_are_decided_without_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut file = MAGIC.to_vec();
        file.extend_from_slice(&VERSION.to_le_bytes());
        file.extend(bytes);
        prop_assert!(layout::decode(&file).is_err());
    }
}
