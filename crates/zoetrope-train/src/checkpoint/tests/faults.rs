//! Every operation of a save fails in turn, in every way.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::*;

/// How an operation of [`Failing`] fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// Nothing happens.
    Refused(ErrorKind),
    /// Half of the bytes are written, then the disk is full.
    ShortWrite,
    /// It happens, and an error is reported all the same.
    AfterTheFact,
}

/// The disk, whose operation number `at` fails, and for a killed process or a broken disk every
/// operation after it.
struct Failing {
    at: usize,
    fault: Fault,
    for_ever: bool,
    done: Cell<usize>,
}

impl Failing {
    fn act<T>(
        &self,
        short: impl FnOnce() -> io::Result<()>,
        whole: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let number = self.done.replace(self.done.get() + 1);
        if number < self.at || (number > self.at && !self.for_ever) {
            return whole();
        }
        match self.fault {
            _ if number > self.at => Err(ErrorKind::Other.into()),
            Fault::Refused(kind) => Err(kind.into()),
            Fault::ShortWrite => short().and(Err(ErrorKind::StorageFull.into())),
            Fault::AfterTheFact => whole().and(Err(ErrorKind::Other.into())),
        }
    }
}

impl FileLayer for Failing {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.act(|| Ok(()), || Unsynced.create_folder(path))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.act(|| Unsynced.write(path, &bytes[..bytes.len() / 2]), || Unsynced.write(path, bytes))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.act(|| Ok(()), || Unsynced.sync_folder(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act(|| Ok(()), || Unsynced.rename(from, to))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        // Half of a removal: the first file is gone, the folder stays.
        let half = || match Unsynced.list(path)?.first() {
            Some(name) => std::fs::remove_file(path.join(name)),
            None => Ok(()),
        };
        self.act(half, || Unsynced.remove_folder(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.act(|| Ok(()), || Unsynced.list(path))
    }

    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        self.act(|| Ok(()), || Unsynced.read(path, most))
    }
}

/// Saves `next` over the checkpoint of step 1 with every operation failing in turn, in every way.
/// Whatever happens, what loads afterwards is one of the two, whole, and the next save succeeds.
fn survive_every_fault(keep: usize, next: &SavedState) -> usize {
    let before = state_hash(&state(1));
    let after = state_hash(next);
    let mut faults = 0;
    for fault in [
        Fault::Refused(ErrorKind::StorageFull),
        Fault::Refused(ErrorKind::PermissionDenied),
        Fault::ShortWrite,
        Fault::AfterTheFact,
    ] {
        for for_ever in [false, true] {
            for at in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("checkpoints");
                CheckpointStore::with_files(&path, keep, Unsynced).save(&state(1)).unwrap();
                let files = Failing { at, fault, for_ever, done: Cell::new(0) };
                let store = CheckpointStore::with_files(&path, keep, files);
                let outcome = store.save(next);
                let reached = store.files_done() > at;
                let found = hash_of_latest(&path);
                match &outcome {
                    Ok(_) => assert_eq!(found, after, "{fault:?} {at}"),
                    Err(_) => assert!(found == before || found == after, "{fault:?} {at}"),
                }
                let whole = CheckpointStore::with_files(&path, keep, Unsynced);
                whole.save(next).unwrap();
                assert_eq!(hash_of_latest(&path), after, "{fault:?} {at}");
                assert!(Unsynced.list(&path).unwrap().iter().all(|name| !name.ends_with(".old")));
                if !reached {
                    assert!(outcome.is_ok());
                    break;
                }
                faults += 1;
            }
        }
    }
    faults
}

impl CheckpointStore<Failing> {
    fn files_done(&self) -> usize {
        self.files().done.get()
    }
}

#[test]
fn every_operation_may_fail_and_the_checkpoint_before_still_loads() {
    let faults = survive_every_fault(1, &state(2));
    assert!(faults > 8 * 20, "{faults}");
}

#[test]
fn every_operation_may_fail_while_a_checkpoint_of_the_same_step_is_replaced() {
    let mut other = state(1);
    other.cursor.frame = 5;
    assert!(survive_every_fault(1, &other) > 8 * 20);
}
