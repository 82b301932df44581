mod faults;
mod machine;
mod power_cut;

use std::io;
use std::path::Path;

use super::*;
use crate::EpochRecord;
use crate::error::RunError;

/// A small state that differs in every part from that of another step.
fn state(step: u64) -> SavedState {
    let seed = step as f32;
    let tensor = |dims: &[usize], shift: f32| {
        let size = dims.iter().product::<usize>();
        let data = (0..size).map(|index| seed + shift + index as f32 / 3.0).collect();
        SavedTensor::new(dims.to_vec(), data)
    };
    let mut state = SavedState::default();
    state.weights.insert("linear.weight".into(), tensor(&[1, 3], 0.1));
    state.weights.insert("linear.bias".into(), tensor(&[1], 0.2));
    state.optimiser.insert("linear.weight.m".into(), tensor(&[1, 3], 0.3));
    state.hidden.insert("h".into(), tensor(&[2, 1], 0.4));
    state.cursor = Cursor {
        epoch: step as usize,
        frame: 1,
        step,
        counters: [("shuffle".to_owned(), u64::MAX - step)].into(),
        numbers: [("lr".to_owned(), 0.1 / (step as f64 + 3.0))].into(),
        parts: [("schedule".to_owned(), step.into())].into(),
        epochs: vec![EpochRecord {
            epoch: 1,
            seconds: 0.125,
            loss: 0.3 + step as f64,
            val: [("auc".to_owned(), f64::from_bits(0x7ff8_0000_0000_0000))].into(),
        }],
    };
    state
}

fn hash_of_latest(folder: &Path) -> String {
    CheckpointStore::new(folder, 2).load_latest().unwrap().unwrap().state_hash
}

#[test]
fn a_state_reads_back_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new(folder.path().join("checkpoints"), 2);
    assert!(store.load_latest().unwrap().is_none());
    let saved = state(3);
    let written = store.save(&saved).unwrap();
    let restored = store.load_latest().unwrap().unwrap();
    assert_eq!(restored.state_hash, state_hash(&saved));
    assert_eq!(restored.state_hash, written.state_hash);
    assert_eq!(restored.state.weights, saved.weights);
    assert_eq!(restored.state.cursor.numbers, saved.cursor.numbers);
    assert!(restored.rejected.is_empty());
    assert_eq!(written.path, restored.path);
}

#[test]
fn only_the_newest_are_kept_and_latest_names_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new(folder.path(), 2);
    std::fs::create_dir(folder.path().join("step-1.tmp")).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    for step in [5, 9, 10] {
        store.save(&state(step)).unwrap();
    }
    let mut names = Disk.list(folder.path()).unwrap();
    names.sort();
    assert_eq!(names, ["latest", "notes.txt", "step-10", "step-9"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("latest")).unwrap(), "step-10\n");
}

#[test]
fn weights_are_a_plain_safetensors_file() {
    let folder = tempfile::tempdir().unwrap();
    let written = CheckpointStore::new(folder.path(), 1).save(&state(1)).unwrap();
    let bytes = std::fs::read(written.path.join("weights.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.tensor("linear.weight").unwrap().shape(), [1, 3]);
    assert_eq!(file.names().len(), 2);
}

#[test]
fn the_hash_covers_every_part_of_the_state_but_seconds() {
    let original = state_hash(&state(1));
    let changes: [fn(&mut SavedState); 14] = [
        |state| {
            state.weights.insert("x".into(), SavedTensor::new(vec![0], vec![])).map_or((), drop)
        },
        |state| drop(state.weights.remove("linear.bias")),
        |state| drop(state.optimiser.remove("linear.weight.m")),
        |state| drop(state.hidden.remove("h")),
        |state| {
            let data = state.hidden.remove("h").unwrap().into_data();
            state.hidden.insert("h".into(), SavedTensor::new(vec![1, 2], data));
        },
        |state| {
            let bias = SavedTensor::new(vec![1], vec![f32::from_bits(1.2f32.to_bits() + 1)]);
            state.weights.insert("linear.bias".into(), bias);
        },
        |state| state.cursor.epoch += 1,
        |state| state.cursor.frame += 1,
        |state| state.cursor.step += 1,
        |state| state.cursor.counters.clear(),
        |state| state.cursor.numbers.clear(),
        |state| state.cursor.parts.clear(),
        |state| state.cursor.epochs[0].loss += 1.0,
        |state| state.cursor.epochs[0].val.clear(),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut changed = state(1);
        change(&mut changed);
        assert_ne!(state_hash(&changed), original, "change {index}");
    }
    let mut slower = state(1);
    slower.cursor.epochs[0].seconds = 99.0;
    assert_eq!(state_hash(&slower), original);
    assert_eq!(original.len(), 64);
}

#[test]
fn numbers_that_are_not_finite_never_reach_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new(folder.path(), 2);
    store.save(&state(1)).unwrap();
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut broken = state(2);
        broken.optimiser.insert("v".into(), SavedTensor::new(vec![2], vec![0.0, bad]));
        let error = store.save(&broken).unwrap_err();
        assert!(error.to_string().starts_with("optimiser v [1] is "), "{error}");
        assert_eq!(error.kind(), crate::FailureKind::NonFinite);
        let mut broken = state(2);
        broken.cursor.numbers.insert("best".into(), bad.into());
        assert!(matches!(store.save(&broken), Err(RunError::Diverged { .. })));
    }
    assert_eq!(Disk.list(folder.path()).unwrap().len(), 2);
    assert_eq!(hash_of_latest(folder.path()), state_hash(&state(1)));
}

/// The disk, one of whose files has other bytes.
struct Damaged<'a> {
    path: &'a Path,
    bytes: &'a [u8],
}

impl FileLayer for Damaged<'_> {
    fn create_folder(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn flush(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove_folder(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        Disk.list(path)
    }

    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        match path == self.path {
            true if self.bytes.len() as u64 > most => Err(io::ErrorKind::FileTooLarge.into()),
            true => Ok(self.bytes.to_vec()),
            false => Disk.read(path, most),
        }
    }
}

/// Every truncation and every flipped bit of every file of the newest checkpoint.
#[test]
fn any_damage_is_noticed_and_the_newest_whole_checkpoint_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new(folder.path(), 2);
    store.save(&state(1)).unwrap();
    let newest = store.save(&state(2)).unwrap().path;
    let before = state_hash(&state(1));
    let mut damages = 0;
    let mut check = |path: &Path, bytes: &[u8], what: &dyn Fn() -> String| {
        let files = Damaged { path, bytes };
        let store = CheckpointStore::with_files(folder.path(), 2, files);
        let restored = store.load_latest().unwrap().unwrap();
        assert_eq!(restored.state_hash, before, "{}: {}", path.display(), what());
        assert!(matches!(restored.rejected[..], [RunError::Damaged { .. }]));
        damages += 1;
    };
    for name in Disk.list(&newest).unwrap() {
        let path = newest.join(&name);
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            check(&path, &whole[..length], &|| format!("cut to {length}"));
        }
        check(&path, &[&whole[..], b"\n"].concat(), &|| "longer".into());
        let mut flipped = whole.clone();
        for bit in 0..8 * whole.len() {
            flipped[bit / 8] ^= 1 << (bit % 8);
            check(&path, &flipped, &|| format!("bit {bit}"));
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }
    assert!(damages > 10_000, "{damages}");
    assert_eq!(hash_of_latest(folder.path()), state_hash(&state(2)));
    for name in Disk.list(&newest).unwrap() {
        std::fs::rename(newest.join(&name), folder.path().join("aside")).unwrap();
        assert_eq!(hash_of_latest(folder.path()), before, "{name} is missing");
        std::fs::rename(folder.path().join("aside"), newest.join(&name)).unwrap();
    }
}

#[test]
fn where_every_checkpoint_is_damaged_each_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new(folder.path(), 2);
    for step in [1, 2] {
        let path = store.save(&state(step)).unwrap().path;
        std::fs::write(path.join("cursor.json"), "{}").unwrap();
    }
    let error = store.load_latest().unwrap_err().to_string();
    assert!(
        error.contains("step-1/cursor.json") && error.contains("step-2/cursor.json"),
        "{error}"
    );
}

#[test]
fn a_damaged_checkpoint_of_the_same_step_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new(folder.path(), 2);
    let path = store.save(&state(1)).unwrap().path;
    std::fs::write(path.join("MANIFEST"), "").unwrap();
    store.save(&state(1)).unwrap();
    assert_eq!(hash_of_latest(folder.path()), state_hash(&state(1)));
    let mut other = state(1);
    other.cursor.frame = 7;
    store.save(&other).unwrap();
    assert_eq!(hash_of_latest(folder.path()), state_hash(&other));
    let mut names = Disk.list(folder.path()).unwrap();
    names.sort();
    assert_eq!(names, ["latest", "step-1"]);
}
