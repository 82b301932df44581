//! The real data sets that hold snapshots, with the counts of their table.

use std::path::Path;
use std::time::Instant;

use zoetrope_data::formats::{snapshot_folder, traffic};
use zoetrope_data::{DataError, Dataset, Loaded, Quiet, ReadOptions, SnapshotDataset};
use zoetrope_testkit::shared_data;

type Read = fn(&Path, &ReadOptions, &dyn zoetrope_data::Progress) -> Result<Loaded, DataError>;

fn read(path: &Path, read: Read) -> (SnapshotDataset, zoetrope_data::Notes) {
    let start = Instant::now();
    let loaded = read(path, &ReadOptions::default(), &Quiet).unwrap();
    println!("{}: {:.3} s", path.display(), start.elapsed().as_secs_f64());
    match loaded.dataset {
        Dataset::Snapshots(data) => (data, loaded.notes),
        Dataset::Events(_) => panic!("{} was read as events", path.display()),
    }
}

#[test]
fn as_733_has_733_days_of_autonomous_systems() {
    for name in ["as-733", "as-733/as-733.tar.xz"] {
        let Some(path) = shared_data(name) else { return };
        let (data, notes) = read(&path, snapshot_folder::read);
        let sequence = &data.sequence;
        assert_eq!(
            (sequence.vertices(), sequence.stored_edges(), sequence.steps()),
            (7_716, 11_965_533, 733)
        );
        let boundaries = sequence.boundaries().unwrap();
        assert_eq!((boundaries.at(0), boundaries.at(732)), (878_947_200, 946_771_200));
        assert!(notes.warnings.is_empty(), "{:?}", notes.warnings);
        let distinct = sequence.iter().map(|view| {
            let pair = |edge: usize| (view.src[edge] <= view.dst[edge]).then_some(view.key(edge));
            let mut keys: Vec<u64> = (0..view.len()).filter_map(pair).collect();
            keys.dedup();
            keys.len()
        });
        assert_eq!(distinct.sum::<usize>(), 6_260_128);
    }
}

#[test]
fn traffic_weeks_have_the_counts_of_their_table() {
    let table = [
        ("metr-la-week", 207, 2_833),
        ("metr-la-week/los_adj.csv", 207, 2_833),
        ("metr-la-week/los_speed.csv.gz", 207, 2_833),
        ("pemsd7-week", 228, 1_664),
        ("pemsd7-week/PeMSD7_V_228_week.csv.gz", 228, 1_664),
    ];
    for (name, vertices, edges) in table {
        let Some(path) = shared_data(name) else { continue };
        let (data, notes) = read(&path, traffic::read);
        let sequence = &data.sequence;
        assert_eq!(
            (sequence.vertices(), sequence.stored_edges(), sequence.steps()),
            (vertices, edges, 2_016),
            "{name}"
        );
        assert_eq!(notes.missing_values, 0);
        assert!(traffic::recognises(&path, b"").is_some(), "{name}");
        assert_eq!(name.starts_with("pems"), notes.warnings.len() == 1, "{name}");
        if name.starts_with("metr") {
            assert_eq!(data.names.name(0), "773869");
        }
    }
}
