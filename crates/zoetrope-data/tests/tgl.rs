//! TGL folders: as TGL's own scripts make them, and as we write them.

use std::fs;
use std::path::Path;

use zoetrope_data::formats::npz::NpzArchive;
use zoetrope_data::formats::tgl::{read, recognises, write};
use zoetrope_data::npy::write_npy;
use zoetrope_data::{DataError, Dataset, Limits, Loaded, Quiet, ReadOptions};
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, TimeScale, VertexNames};

fn load(path: &Path) -> Result<Loaded, DataError> {
    read(path, &ReadOptions::default(), &Quiet)
}

fn events(loaded: &Loaded) -> &EventStore {
    match &loaded.dataset {
        Dataset::Events(store) => store,
        Dataset::Snapshots(_) => panic!("TGL holds events"),
    }
}

fn npy(path: &Path, shape: &[usize], values: &[f32]) {
    write_npy(&mut fs::File::create(path).unwrap(), shape, values).unwrap();
}

/// Four events over five vertices, not in time order, with everything beside them.
fn small_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(
        at("edges.csv"),
        ",src,dst,time,int_roll,ext_roll\n0,0,3,1.0,0,0\n1,1,3,9.0,0,2\n2,0,2,5.0,0,1\n3,0,2,5.0,0,1\n",
    )
    .unwrap();
    fs::write(
        at("labels.csv"),
        ",node,time,label,ext_roll\n0,0,5.0,1,1\n1,0,5.0,0,1\n2,3,9.0,7,2\n3,1,2.0,1,0\n",
    )
    .unwrap();
    npy(&at("edge_features.npy"), &[4, 2], &[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]);
    npy(&at("node_features.npy"), &[5, 1], &[10.0, 11.0, 12.0, 13.0, 14.0]);
    folder
}

#[test]
fn a_folder_reads_with_features_labels_and_split() {
    let folder = small_folder();
    assert!(recognises(folder.path(), &[]).is_some());
    let loaded = load(folder.path()).unwrap();
    let store = events(&loaded);
    assert_eq!((store.src(), store.dst()), (&[0, 0, 0, 1][..], &[3, 2, 2, 3][..]));
    assert_eq!(store.time(), [1, 5, 5, 9]);
    assert_eq!(store.features().unwrap(), [0.0, 0.5, 2.0, 2.5, 3.0, 3.5, 1.0, 1.5]);
    assert_eq!(store.vertices(), 5, "vertex 4 has features but no event");
    assert_eq!(store.vertex_features.as_ref().unwrap().1[..], [10.0, 11.0, 12.0, 13.0, 14.0]);
    let label = store.label().unwrap();
    assert!(label[0].is_nan());
    assert_eq!(
        label[1..],
        [1.0, 0.0, 7.0],
        "two labels of a source in order, one of a destination"
    );
    let warnings = loaded.notes.warnings.join("\n");
    assert!(warnings.contains("ext_roll: train 1, validation 2, test 1"), "{warnings}");
    assert!(warnings.contains("1 of 4 labels"), "{warnings}");
    let by_table = load(&folder.path().join("edges.csv")).unwrap();
    assert_eq!(with_bits(events(&by_table)), with_bits(store));
}

#[test]
fn a_pickle_is_never_opened_and_the_message_says_what_to_do() {
    let folder = small_folder();
    fs::rename(folder.path().join("edge_features.npy"), folder.path().join("edge_features.pt"))
        .unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("edge_features.pt") && error.contains("numpy.save"), "{error}");
}

#[test]
fn features_with_too_few_rows_are_refused() {
    let folder = small_folder();
    npy(&folder.path().join("node_features.npy"), &[3, 1], &[0.0; 3]);
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("node_features.npy") && error.contains("at least 4 rows"), "{error}");
}

#[test]
fn skipped_rows_do_not_shift_features() {
    let folder = small_folder();
    let table = ",src,dst,time,ext_roll\n0,0,3,1,0\n1,x,3,9,2\n2,0,2,5,1\n3,0,2,6,1\n";
    fs::write(folder.path().join("edges.csv"), table).unwrap();
    let options = ReadOptions { lenient: true, ..ReadOptions::default() };
    let loaded = read(folder.path(), &options, &Quiet).unwrap();
    assert_eq!(loaded.notes.skipped_rows, 1);
    assert_eq!(events(&loaded).features().unwrap(), [0.0, 0.5, 2.0, 2.5, 3.0, 3.5]);
}

fn store() -> EventStore {
    let columns = EventColumns {
        label: Some(vec![f32::NAN, 1.0, f32::NAN, 0.0].into()),
        features: Some(vec![0.5, 1.5, 2.5, 3.5].into()),
        feature_width: 1,
        ..EventColumns::default()
    };
    let mut store = EventStore::new(
        vec![2, 2, 0, 2],
        vec![1, 0, 1, 3],
        vec![5, 5, 6, 8],
        columns,
        TimeScale::SECONDS,
        VertexNames::identity(4),
    )
    .unwrap();
    store.vertex_features = Some((2, (0..8).map(|value| value as f32).collect::<Vec<_>>().into()));
    store
}

/// NaN is not equal to itself: stores are compared with labels as bits.
fn with_bits(store: &EventStore) -> (EventStore, Vec<u32>) {
    let bits = store.label().unwrap().iter().map(|label| label.to_bits()).collect();
    let columns = EventColumns { label: None, ..store.columns().clone() };
    (store.clone().with_columns(columns).unwrap(), bits)
}

#[test]
fn what_is_written_reads_back_the_same() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("folder");
    write(&path, &store(), &Quiet).unwrap();
    assert_eq!(
        fs::read_to_string(path.join("edges.csv")).unwrap(),
        ",src,dst,time,ext_roll\n0,2,1,5,0\n1,2,0,5,0\n2,0,1,6,0\n3,2,3,8,2\n"
    );
    assert_eq!(
        fs::read_to_string(path.join("labels.csv")).unwrap(),
        ",node,time,label,ext_roll\n0,2,5,nan,0\n1,2,5,1,0\n2,2,8,0,2\n"
    );
    assert_eq!(with_bits(events(&load(&path).unwrap())), with_bits(&store()));
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
}

#[test]
fn the_index_is_the_one_that_tgl_makes() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("folder");
    write(&path, &store(), &Quiet).unwrap();
    let mut archive =
        NpzArchive::open(&path.join("ext_full.npz"), &Limits::default(), &Quiet).unwrap();
    let mut array = |name: &str| {
        let reader = archive.array(name).unwrap().unwrap();
        (reader.kind().to_string(), reader.read_f64().unwrap())
    };
    // Outgoing events by vertex, in time order: vertex 0 has event 2, vertex 2 the others.
    assert_eq!(array("indptr"), ("int32".into(), vec![0.0, 1.0, 1.0, 4.0, 4.0]));
    assert_eq!(array("indices"), ("int64".into(), vec![1.0, 1.0, 0.0, 3.0]));
    assert_eq!(array("ts"), ("float64".into(), vec![6.0, 5.0, 5.0, 8.0]));
    assert_eq!(array("eid"), ("int64".into(), vec![2.0, 0.0, 1.0, 3.0]));
}

#[test]
fn a_folder_with_content_is_not_overwritten() {
    let folder = small_folder();
    let error = write(folder.path(), &store(), &Quiet).unwrap_err().to_string();
    assert!(error.contains("new folder"), "{error}");
    assert!(load(folder.path()).is_ok());
}

#[test]
fn a_file_of_labels_without_a_row_gives_every_event_no_label() {
    let folder = small_folder();
    fs::write(folder.path().join("labels.csv"), ",node,time,label,ext_roll\n").unwrap();
    let loaded = load(folder.path()).unwrap();
    assert!(events(&loaded).label().unwrap().iter().all(|label| label.is_nan()));
}
