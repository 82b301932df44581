use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;
use crate::dataset::{Dataset, SnapshotDataset};
use crate::error::DataError;
use crate::formats::any_snapshots::any_snapshots;
use crate::npy::{NpyElement, write_npy};
use crate::options::ReadOptions;
use crate::progress::Quiet;

/// An archive in the making.
struct Archive {
    folder: TempDir,
    zip: ZipWriter<File>,
}

impl Archive {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let zip = ZipWriter::new(File::create(folder.path().join("a.npz")).unwrap());
        Self { folder, zip }
    }

    fn array<T: NpyElement>(mut self, name: &str, shape: &[usize], values: &[T]) -> Self {
        let mut bytes = Vec::new();
        write_npy(&mut bytes, shape, values).unwrap();
        self.member(&format!("{name}.npy"), &bytes);
        self
    }

    fn member(&mut self, name: &str, bytes: &[u8]) {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        self.zip.start_file(name, options).unwrap();
        self.zip.write_all(bytes).unwrap();
    }

    fn finish(self) -> (TempDir, PathBuf) {
        self.zip.finish().unwrap();
        let path = self.folder.path().join("a.npz");
        (self.folder, path)
    }

    fn read(self) -> Result<SnapshotDataset, DataError> {
        let (_folder, path) = self.finish();
        snapshots(&path)
    }

    fn message(self) -> String {
        match self.read() {
            Ok(_) => panic!("a bad archive was accepted"),
            Err(error) => error.to_string(),
        }
    }
}

fn snapshots(path: &Path) -> Result<SnapshotDataset, DataError> {
    let loaded = read(path, &ReadOptions::default(), &Quiet)?;
    match loaded.dataset {
        Dataset::Snapshots(data) => Ok(data),
        Dataset::Events(_) => panic!("snapshots were read as events"),
    }
}

fn edges(offsets: &[u64], src: &[u32], dst: &[u32]) -> Archive {
    Archive::new()
        .array("edge_offsets", &[offsets.len()], offsets)
        .array("edge_src", &[src.len()], src)
        .array("edge_dst", &[dst.len()], dst)
}

#[test]
fn the_contract_arrays_make_snapshots() {
    let data = edges(&[0, 1, 3], &[0, 2, 1], &[1, 0, 2])
        .array("edge_weight", &[3], &[0.5f32, 2.0, 3.0])
        .array("features", &[2, 3, 1], &[1f32, 2., 3., 4., 5., 6.])
        .array("targets", &[2, 3], &[0i64, 1, 2, 2, -1, 0])
        .read()
        .unwrap();
    assert_eq!((data.sequence.vertices(), data.sequence.steps()), (3, 2));
    assert_eq!(data.sequence.at(1).src, [2, 1]);
    assert_eq!(data.sequence.at(1).weight, Some(&[2.0, 3.0][..]));
    assert_eq!(data.features.unwrap().at(1), [4., 5., 6.]);
    let targets = data.targets.unwrap();
    assert_eq!(targets.classes(), Some(3));
    assert!(targets.values()[4].is_nan());
}

#[test]
fn one_stored_snapshot_with_features_over_time_is_a_constant_topology() {
    let features = [0f32; 4 * 2];
    let data = edges(&[0, 1], &[0], &[1]).array("features", &[4, 2, 1], &features).read().unwrap();
    assert!(data.sequence.is_constant());
    assert_eq!((data.sequence.steps(), data.sequence.stored_edges()), (4, 1));
}

#[test]
fn a_huge_id_does_not_make_a_table() {
    let data = edges(&[0, 1], &[4_000_000_000], &[7]).read().unwrap();
    assert_eq!(data.sequence.vertices(), 2);
    assert_eq!(data.names.name(1), "4000000000");
    let wide = Archive::new()
        .array("edge_offsets", &[2], &[0u64, 1])
        .array("edge_src", &[1], &[1i64 << 40])
        .array("edge_dst", &[1], &[0i64]);
    assert!(wide.message().contains("1099511627776"));
    let claimed = edges(&[0, 1], &[0], &[1]).array("vertices", &[], &[4_000_000_000u64]);
    assert!(claimed.message().contains("limit"));
    let steps = edges(&[0, 1], &[0], &[1]).array("steps", &[], &[1u64 << 60]);
    assert!(steps.message().contains("limit"));
}

#[test]
fn arrays_that_disagree_are_named() {
    let good = || edges(&[0, 1, 2], &[0, 1], &[1, 0]);
    assert!(edges(&[0, 3, 2], &[0, 1], &[1, 0]).message().contains("offset"));
    assert!(edges(&[0, 1, 5], &[0, 1], &[1, 0]).message().contains("offset"));
    assert!(edges(&[], &[], &[]).message().contains("at least two offsets"));
    assert!(edges(&[0, 1, 2], &[0, 1], &[1]).message().contains("edge_dst"));
    let text = good().array("features", &[3, 2, 1], &[0f32; 6]).message();
    assert!(text.contains("`features`: expected 2 steps, found 3"), "{text}");
    let text = good().array("features", &[1, 1], &[0f32]).message();
    assert!(text.contains("vertex 1") && text.contains("1 vertices"), "{text}");
    let text = good()
        .array("features", &[2, 2, 1], &[0f32; 4])
        .array("targets", &[2, 3], &[0f32; 6])
        .message();
    assert!(text.contains("`targets`: expected 2 vertices, found 3"), "{text}");
    let text = good().array("edge_weight", &[2], &[f32::NAN, 1.0]).message();
    assert!(text.contains("edge_weight") && text.contains("position 0"), "{text}");
    let text = good().array("targets", &[1, 2], &[-5i64, 0]).message();
    assert!(text.contains("a class from 0"), "{text}");
    let text = good().array("features", &[2, 0, 9], &[0f32; 0]).message();
    assert!(text.contains("without zeros"), "{text}");
    let missing = Archive::new().array("edge_offsets", &[2], &[0u64, 0]);
    assert!(missing.message().contains("`edge_src`: expected an array of this name"));
}

#[test]
fn object_arrays_are_refused() {
    let mut archive = edges(&[0, 1], &[0], &[1]);
    let header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header);
    bytes.extend_from_slice(b"\x80\x04cos\nsystem\n");
    archive.member("features.npy", &bytes);
    assert!(archive.message().contains("Python objects"));
}

#[test]
fn a_zip_bomb_stops_at_the_expansion_limit() {
    let mut archive = edges(&[0, 1], &[0], &[1]);
    let mut bytes = Vec::new();
    write_npy(&mut bytes, &[1 << 24], &vec![0u8; 1 << 24]).unwrap();
    archive.member("edge_weight.npy", &bytes);
    assert!(archive.message().contains("ratio of uncompressed to compressed size"));
}

#[test]
fn names_of_members_do_not_matter_but_repeats_do() {
    let mut archive = edges(&[0, 1], &[0], &[1]);
    archive.member("../../../etc/passwd", b"x");
    archive.member("/edge_weight.npy", b"not read");
    assert!(archive.read().is_ok());
    let (_folder, path) = edges(&[0, 1], &[0], &[1]).array("edge_xyz", &[1], &[5u32]).finish();
    let bytes = std::fs::read(&path).unwrap();
    let twice = replaced(&bytes, b"edge_xyz.npy", b"edge_src.npy");
    std::fs::write(&path, twice).unwrap();
    assert!(snapshots(&path).unwrap_err().to_string().contains("repeats"));
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() - from.len() {
        if &bytes[at..at + from.len()] == from {
            bytes[at..at + from.len()].copy_from_slice(to);
        }
    }
    bytes
}

#[test]
fn cut_archives_are_invalid_not_broken() {
    let (_folder, path) = edges(&[0, 1], &[0], &[1]).finish();
    let bytes = std::fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(matches!(snapshots(&path), Err(DataError::Invalid { .. })), "{length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read_back(data in any_snapshots()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        write(&path, &data, &Quiet).unwrap();
        prop_assert_eq!(snapshots(&path).unwrap(), data);
        let head = std::fs::read(&path).unwrap();
        prop_assert!(recognises(&path, &head).unwrap().contains("edge_offsets"));
    }

    #[test]
    fn a_flipped_byte_is_decided_without_a_panic(at in 0usize..2000, value in any::<u8>()) {
        let (_folder, path) = edges(&[0, 1, 2], &[0, 1], &[1, 0])
            .array("features", &[2, 2, 1], &[1f32, 2., 3., 4.])
            .finish();
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at % bytes.len();
        bytes[at] = value;
        std::fs::write(&path, &bytes).unwrap();
        let _ = snapshots(&path);
    }
}
