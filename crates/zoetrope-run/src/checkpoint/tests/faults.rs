//! Every operation of a save fails in turn, in every way.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::machine::{Machine, Modelled, found};
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
    /// What is written differs in one bit, and no error is reported.
    BitFlip,
}

/// A disk whose operation number `at` fails, and for a killed process or a broken disk every
/// operation after it.
struct Failing {
    base: Modelled,
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
            // Only bytes that are written have bits; `write` looks at that itself.
            Fault::BitFlip => whole(),
        }
    }
}

impl FileLayer for Failing {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.act(|| Ok(()), || self.base.create_folder(path))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut written = bytes.to_vec();
        if self.fault == Fault::BitFlip && self.done.get() == self.at {
            written[bytes.len() / 2] ^= 4;
        }
        self.act(
            || self.base.write(path, &bytes[..bytes.len() / 2]),
            || self.base.write(path, &written),
        )
    }

    fn flush(&self, path: &Path) -> io::Result<()> {
        self.act(|| Ok(()), || self.base.flush(path))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.act(|| Ok(()), || self.base.sync_folder(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act(|| Ok(()), || self.base.rename(from, to))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        // Half of a removal: the first file is gone, the folder stays.
        let half = || self.base.0.borrow_mut().remove_first(path);
        self.act(half, || self.base.remove_folder(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.act(|| Ok(()), || self.base.list(path))
    }

    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        self.act(|| Ok(()), || self.base.read(path, most))
    }
}

/// Saves `next` over the checkpoint of step 1 with every operation failing in turn, in every way.
/// Whatever happens, what loads afterwards is one of the two, whole, and the next save succeeds.
fn survive_every_fault(next: &SavedState) -> usize {
    let first = store_on(Modelled(RefCell::new(Machine::new())));
    first.save(&state(1)).unwrap();
    let first = first.files().0.borrow().clone();
    let mut faults = 0;
    for fault in [
        Fault::Refused(ErrorKind::StorageFull),
        Fault::Refused(ErrorKind::PermissionDenied),
        Fault::ShortWrite,
        Fault::AfterTheFact,
        Fault::BitFlip,
    ] {
        for for_ever in [false, true] {
            for at in 0.. {
                let base = Modelled(RefCell::new(first.clone()));
                let files = Failing { base, at, fault, for_ever, done: Cell::new(0) };
                if !survives(files, next) {
                    break;
                }
                faults += 1;
            }
        }
    }
    faults
}

fn store_on<F: FileLayer>(files: F) -> CheckpointStore<F> {
    CheckpointStore::with_files("run/checkpoints", 1, files)
}

/// Saves on a failing disk, loads, saves again on a mended one; false where the save came to its
/// end before the failing operation.
fn survives(files: Failing, next: &SavedState) -> bool {
    let (fault, at) = (files.fault, files.at);
    let (before, after) = (state_hash(&state(1)), state_hash(next));
    let store = store_on(files);
    let outcome = store.save(next);
    let machine = store.files().base.0.borrow().clone();
    let loaded = found(machine.clone()).unwrap();
    match &outcome {
        Ok(_) => assert_eq!(loaded, after, "{fault:?} {at}"),
        Err(_) => assert!(loaded == before || loaded == after, "{fault:?} {at}"),
    }
    let mended = store_on(Modelled(RefCell::new(machine)));
    mended.save(next).unwrap();
    let mut names = mended.files().list("run/checkpoints".as_ref()).unwrap();
    names.retain(|name| name != "latest" && name != "latest.tmp");
    assert_eq!(names, [format!("step-{}", next.cursor.step)], "{fault:?} {at}");
    let machine = mended.files().0.borrow().clone();
    assert_eq!(found(machine), Some(after), "{fault:?} {at}");
    let reached = store.files().done.get() > at;
    assert!(reached || outcome.is_ok());
    reached
}

#[test]
fn every_operation_may_fail_and_the_checkpoint_before_still_loads() {
    let faults = survive_every_fault(&state(2));
    assert!(faults > 10 * 20, "{faults}");
}

#[test]
fn a_first_checkpoint_that_does_not_read_back_never_gets_a_name() {
    let written = store_on(Modelled(RefCell::new(Machine::new())));
    written.save(&state(1)).unwrap();
    for at in 0.. {
        let base = Modelled(RefCell::new(Machine::new()));
        let fault = Fault::BitFlip;
        let store = store_on(Failing { base, at, fault, for_ever: false, done: Cell::new(0) });
        let outcome = store.save(&state(1));
        let names = store.files().base.list("run/checkpoints".as_ref()).unwrap();
        assert_eq!(outcome.is_ok(), names.contains(&"step-1".to_owned()), "{at}: {outcome:?}");
        if store.files().done.get() <= at {
            return;
        }
    }
}

#[test]
fn every_operation_may_fail_while_a_checkpoint_of_the_same_step_is_replaced() {
    let mut other = state(1);
    other.cursor.frame = 5;
    assert!(survive_every_fault(&other) > 10 * 20);
}
