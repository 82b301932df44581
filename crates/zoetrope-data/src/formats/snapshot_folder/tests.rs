use std::io::Write;

use proptest::prelude::*;
use tempfile::TempDir;

use zoetrope_graph::Boundaries;

use super::*;
use crate::formats::any_snapshots::any_snapshots;
use crate::options::Limits;
use crate::progress::Quiet;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// A tar archive of members, given by name, kind and content.
fn archive(members: &[(&str, tar::EntryType, &[u8])]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar");
    let mut bytes = Vec::new();
    for (name, kind, content) in members {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn load(path: &Path) -> Result<Loaded, DataError> {
    read(path, &ReadOptions::default(), &Quiet)
}

fn snapshots(loaded: Loaded) -> SnapshotDataset {
    match loaded.dataset {
        Dataset::Snapshots(data) => data,
        Dataset::Events(_) => panic!("snapshots were read as events"),
    }
}

fn message(path: &Path) -> String {
    match load(path) {
        Ok(_) => panic!("bad input was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn files_are_ordered_by_number_and_ids_by_value() {
    let files =
        folder(&[("g10.txt", "# c\n7 5\n"), ("g9.txt", "100\t7\r\n7,5\n"), ("notes.txt", "hello")]);
    let loaded = load(files.path()).unwrap();
    assert!(loaded.notes.warnings[0].contains("none of the snapshots: notes.txt"));
    let data = snapshots(loaded);
    assert_eq!((data.sequence.vertices(), data.sequence.steps()), (3, 2));
    assert_eq!(data.sequence.at(0).src, [1, 2]);
    assert_eq!(data.sequence.at(0).dst, [0, 1]);
    assert_eq!(data.names.name(2), "100");
    assert_eq!(data.sequence.boundaries(), None);
    assert!(recognises(files.path(), b"").unwrap().contains("2 numbered edge lists"));
}

#[test]
fn dated_tables_of_places_are_snapshots_with_times() {
    let files = folder(&[
        ("2020-03-02.csv", "from,to,count\nRome,Paris,5\nParis,Oslo,1\n"),
        ("2020-03-01.csv", "from,to,count\nParis,Rome,3\n"),
        ("2020-03-03.csv", "count,from,to\n4,Oslo,Rome\n"),
        ("labels2020.csv", "place,label\nRome,1\nParis,0\n"),
        ("README.md", "# flights\n"),
    ]);
    let why = recognises(files.path(), b"").unwrap();
    assert!(why.contains("3 numbered edge lists"), "{why}");
    let loaded = load(files.path()).unwrap();
    let warned = loaded.notes.warnings.join("; ");
    assert!(warned.contains("README.md, labels2020.csv"), "{warned}");
    assert_eq!(loaded.notes.columns[2].role, "weight");
    let data = snapshots(loaded);
    let day = 1_583_020_800;
    let ends = [day, day + 86_400, day + 172_800, day + 259_200];
    assert_eq!(data.sequence.boundaries(), Some(&Boundaries::from(ends.to_vec())));
    let names: Vec<String> = (0..3).map(|vertex| data.names.name(vertex).to_string()).collect();
    assert_eq!(names, ["Oslo", "Paris", "Rome"]);
    assert_eq!((data.sequence.at(1).src, data.sequence.at(1).dst), (&[1, 2][..], &[0, 1][..]));
    assert_eq!(data.sequence.weight(), Some(&[3.0, 1.0, 5.0, 4.0][..]));
}

#[test]
fn dated_members_of_an_archive_may_name_places_and_a_label_table_is_left_out() {
    let day = |day: usize| format!("days/net-2020-03-0{day}.csv");
    let names: Vec<String> = (1..6).map(day).collect();
    let mut members: Vec<(&str, tar::EntryType, &[u8])> = Vec::new();
    for name in names.iter().rev() {
        members.push((name, tar::EntryType::Regular, b"from,to,count\nRome,Paris,5\n"));
    }
    members.push(("days/labels_1.csv", tar::EntryType::Regular, b"place,label\nRome,1\n"));
    let (_folder, path) = archive(&members);
    let loaded = load(&path).unwrap();
    assert!(loaded.notes.warnings.join("; ").contains("labels_1.csv"), "{:?}", loaded.notes);
    let data = snapshots(loaded);
    assert_eq!((data.sequence.steps(), data.sequence.vertices()), (5, 2));
    assert_eq!(data.sequence.boundaries().unwrap().at(0), 1_583_020_800);
}

#[test]
fn a_member_with_other_columns_is_refused() {
    let files = folder(&[
        ("2020-03-01.csv", "from,to,count\nParis,Rome,3\n"),
        ("2020-03-02.csv", "from,into,count\nRome,Paris,5\n"),
    ]);
    let text = message(files.path());
    assert!(text.contains("2020-03-02.csv:1") && text.contains("`to`"), "{text}");
}

#[test]
fn dates_become_boundaries_with_gaps_kept() {
    let files = folder(&[("as19971110.txt", "1 2\n"), ("as19971108.txt", "2 1 0.5\n")]);
    std::fs::write(files.path().join("as19971110.txt"), "1 2 3\n").unwrap();
    let data = snapshots(load(files.path()).unwrap());
    let day = 878_947_200;
    assert_eq!(
        data.sequence.boundaries(),
        Some(&Boundaries::from([day, day + 172_800, day + 259_200].to_vec()))
    );
    assert_eq!(data.sequence.weight(), Some(&[0.5, 3.0][..]));
}

#[test]
fn bad_rows_are_listed_with_file_and_line_or_skipped_and_counted() {
    let files = folder(&[
        ("s1.txt", "1 2\nx 3\n4\n"),
        ("s2.txt", "% c\n1 2 nan\n1 2 3 4\n9999999999999999999 1\n5 6\n"),
    ]);
    let text = message(files.path());
    for part in ["s1.txt:2, `source`", "s1.txt:3, `target`", "s2.txt:2, `weight`", "s2.txt:4"] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    let options = ReadOptions { lenient: true, ..ReadOptions::default() };
    let loaded = read(files.path(), &options, &Quiet).unwrap();
    assert_eq!(loaded.notes.skipped_rows, 5);
    assert_eq!(snapshots(loaded).sequence.stored_edges(), 2);
}

#[test]
fn weights_in_some_snapshots_only_are_refused() {
    let files = folder(&[("s1.txt", "1 2 3\n"), ("s2.txt", "1 2\n")]);
    assert!(message(files.path()).contains("s2.txt: expected weights"));
}

#[test]
fn huge_and_negative_ids_are_renumbered() {
    let files = folder(&[("s1.txt", "-5 9223372036854775807\n"), ("s2.txt", "4000000000 -5\n")]);
    let data = snapshots(load(files.path()).unwrap());
    assert_eq!(data.sequence.vertices(), 3);
    assert_eq!(data.names.name(0), "-5");
    assert_eq!(data.names.name(2), "9223372036854775807");
}

#[test]
fn members_with_paths_and_links_are_harmless() {
    let (_folder, path) = archive(&[
        ("/etc/passwd1", tar::EntryType::Regular, b"1 2\n"),
        ("../../up2", tar::EntryType::Regular, b"2 1\n"),
        ("link3", tar::EntryType::Symlink, b""),
        ("device4", tar::EntryType::Char, b""),
        ("dir5/", tar::EntryType::Directory, b""),
        ("README", tar::EntryType::Regular, b"hello"),
    ]);
    let loaded = load(&path).unwrap();
    assert_eq!(loaded.notes.warnings.len(), 2);
    assert!(loaded.notes.warnings[1].contains("2 links or special files"));
    assert_eq!(snapshots(loaded).sequence.steps(), 2);
}

#[test]
fn lying_and_cut_archives_are_refused() {
    let (_folder, path) = archive(&[("s1", tar::EntryType::Regular, b"1 2\n")]);
    let bytes = std::fs::read(&path).unwrap();
    let mut lying = bytes.clone();
    let mut header = tar::Header::from_byte_slice(&bytes[..512]).clone();
    header.set_size(1 << 40);
    header.set_cksum();
    lying[..512].copy_from_slice(header.as_bytes());
    std::fs::write(&path, &lying).unwrap();
    assert!(matches!(load(&path), Err(DataError::Invalid { .. })));
    for length in [1, 100, 511, 513, 515] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(matches!(load(&path), Err(DataError::Invalid { .. })), "{length}");
    }
    let (_folder, path) = archive(&[("s1", tar::EntryType::Regular, &b"1 2\n"[..]); 2]);
    assert!(message(&path).contains("each member once"));
}

#[test]
fn too_many_members_and_bombs_stop_at_their_limits() {
    let (_folder, path) = archive(&[
        ("s1", tar::EntryType::Regular, b"1 2\n"),
        ("s2", tar::EntryType::Regular, b"1 2\n"),
    ]);
    let limits = Limits { members: 1, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    assert!(matches!(read(&path, &options, &Quiet), Err(DataError::Limit { .. })));
    let zeros = vec![b'\n'; 32 << 20];
    let (_folder, path) = archive(&[("s1", tar::EntryType::Regular, &zeros)]);
    let packed = path.with_extension("tar.gz");
    let mut gzip = flate2::write::GzEncoder::new(
        std::fs::File::create(&packed).unwrap(),
        flate2::Compression::best(),
    );
    gzip.write_all(&std::fs::read(&path).unwrap()).unwrap();
    gzip.finish().unwrap();
    assert!(matches!(load(&packed), Err(DataError::Limit { .. })));
}

#[test]
fn empty_folders_are_refused_by_name() {
    let files = folder(&[]);
    assert!(message(files.path()).contains("one per snapshot"));
    assert_eq!(recognises(files.path(), b""), None);
}

#[test]
fn the_number_of_threads_does_not_change_the_result() {
    let files: Vec<(String, String)> = (0..20)
        .map(|file| {
            let row = |row: u64| format!("{} {}\n", row * 7 % 31, (row * file) % 17);
            (format!("s{file}.txt"), (0..50).map(row).collect())
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let files = folder(&files);
    let results: Vec<Loaded> = [1, 2, 8]
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| load(files.path()).unwrap())
        })
        .into();
    assert!(results[0] == results[1] && results[1] == results[2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_written_is_read_back(data in any_snapshots(), kind in 0..3) {
        let plain = SnapshotDataset { features: None, targets: None, signal: None, ..data };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(["out", "out.tar", "out.tar.gz"][kind as usize]);
        if write(&path, &plain, &Quiet).is_ok() {
            let read = snapshots(load(&path).unwrap());
            prop_assert_eq!(read.sequence.steps(), plain.sequence.steps());
            for (left, right) in read.sequence.iter().zip(plain.sequence.iter()) {
                let names = |data: &SnapshotDataset, ids: &[u32]| {
                    ids.iter().map(|&id| data.names.name(id).into_owned()).collect::<Vec<_>>()
                };
                prop_assert_eq!(names(&read, left.src), names(&plain, right.src));
                prop_assert_eq!(names(&read, left.dst), names(&plain, right.dst));
                if !left.is_empty() {
                    prop_assert_eq!(left.weight, right.weight);
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_decided_without_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..1500),
        text in "[0-9 ,\t\n.#a-]{0,60}",
    ) {
        let files = folder(&[("s1.txt", &text), ("s2.txt", "1 2\n")]);
        let _ = load(files.path());
        let path = files.path().join("x.tar");
        std::fs::write(&path, &bytes).unwrap();
        let _ = load(&path);
    }
}

#[test]
fn dates_with_the_day_first_order_the_snapshots() {
    let files = folder(&[
        ("01.04.2020.csv", "from,to,w\na,b,3\n"),
        ("31.03.2020.csv", "from,to,w\na,b,2\n"),
        ("30.03.2020.csv", "from,to,w\na,b,1\n"),
    ]);
    let data = snapshots(load(files.path()).unwrap());
    assert_eq!(data.sequence.weight(), Some(&[1.0, 2.0, 3.0][..]));
    let day = 86_400;
    let first = 1_585_526_400;
    let ends = [first, first + day, first + 2 * day, first + 3 * day];
    assert_eq!(data.sequence.boundaries(), Some(&Boundaries::from(ends.to_vec())));
    let unclear = folder(&[("01.04.2020.csv", "a,b\n"), ("02.04.2020.csv", "a,b\n")]);
    let text = message(unclear.path());
    assert!(text.contains("whether the day or the month comes first"), "{text}");
}

#[test]
fn labels_and_columns_that_snapshots_cannot_hold_are_refused() {
    let text = "from,to,amount,fraud\na,b,1,0\nb,c,2,1\n";
    let files = folder(&[("2020-03-01.csv", text), ("2020-03-02.csv", text)]);
    assert!(recognises(files.path(), b"").is_some());
    let refused = message(files.path());
    assert!(refused.contains("`fraud`: a label of edges"), "{refused}");
    let with = |edit: fn(&mut crate::options::ColumnMap)| {
        let mut options = ReadOptions::default();
        edit(&mut options.columns);
        read(files.path(), &options, &Quiet)
    };
    use crate::options::ColumnRef::{Absent, Name};
    assert!(with(|map| map.label = Some(Absent)).is_ok());
    assert!(with(|map| map.label = Some(Name("fraud".into()))).is_err());
    let features = with(|map| {
        map.label = Some(Absent);
        map.features = Some(vec![Name("fraud".into())]);
    });
    assert!(features.unwrap_err().to_string().contains("a feature of edges"));
}

#[test]
fn identifiers_with_zeros_in_front_stay_apart() {
    let files = folder(&[("g1.txt", "007 7\n8 7\n"), ("g2.txt", "7 008\n")]);
    let loaded = load(files.path()).unwrap();
    assert!(loaded.notes.warnings.iter().any(|note| note.contains("zeros in front")));
    assert_eq!(snapshots(loaded).names.len(), 4);
    let late = folder(&[("g1.txt", "6 7\n8 7\n"), ("g2.txt", "7 008\n")]);
    assert!(message(late.path()).contains("--text-ids"));
}

#[test]
fn whole_decimals_name_the_vertices_of_whole_numbers() {
    let rows = |end: &str| (0..30).map(|at| format!("{},{}{end}\n", at % 6, at % 5)).collect();
    let text: String = rows(".0");
    let files = folder(&[("1.csv", &format!("src,dst\n{text}")), ("2.csv", "src,dst\n1,2\n")]);
    let names = snapshots(load(files.path()).unwrap()).names;
    assert_eq!((names.len(), names.name(3).as_ref()), (6, "3"));
}

#[test]
fn the_only_number_is_said_to_be_the_weight() {
    let rows = "from,to,trips\nParis,Rome,3\nRome,Oslo,4\n".to_owned();
    let files = folder(&[("1.csv", &rows), ("2.csv", &rows)]);
    let loaded = load(files.path()).unwrap();
    let roles: Vec<_> = loaded.notes.columns.iter().map(|note| note.role).collect();
    assert_eq!(roles, ["source", "destination", "weight"]);
}

#[test]
fn a_compressed_copy_is_no_second_snapshot_and_a_date_that_repeats_is_told() {
    let rows = "1 2\n2 3\n";
    let names = ["as-2024-03-01.txt", "as-2024-03-01.txt.gz", "as-2024-03-02.txt"];
    let said = message(folder(&names.map(|name| (name, rows))).path());
    assert!(said.contains("as-2024-03-01.txt and as-2024-03-01.txt.gz"), "{said}");
    let names = ["part1_2024-03-01.txt", "part2_2024-03-01.txt", "part1_2024-03-02.txt"];
    let loaded = load(folder(&names.map(|name| (name, rows))).path()).unwrap();
    let told = loaded.notes.warnings.join("; ");
    assert!(told.contains("part1_2024-03-01.txt and part2_2024-03-01.txt"), "{told}");
}
