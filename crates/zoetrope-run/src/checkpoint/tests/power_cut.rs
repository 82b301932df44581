//! The power goes off before every operation of a save.

use std::cell::RefCell;

use super::machine::{Machine, Modelled};
use super::*;

fn store_on(machine: Machine) -> CheckpointStore<Modelled> {
    CheckpointStore::with_files("run/checkpoints", 1, Modelled(RefCell::new(machine)))
}

/// The hash of the newest checkpoint on a machine; a newer one that is not whole must not be visible.
fn visible(machine: Machine) -> Option<String> {
    let restored = store_on(machine).load_latest().unwrap()?;
    assert!(restored.rejected.is_empty(), "{:?}", restored.rejected);
    Some(restored.state_hash)
}

/// Saves with the power going off before every operation in turn; after each cut, with every
/// pending change alone, all but each, all and none of them on the disk, the checkpoint before or
/// the new one is found.
fn cut_everywhere(before: &Machine, old: Option<&str>, next: &SavedState) -> usize {
    let new = state_hash(next);
    let mut cuts = 0;
    for left in 0.. {
        let mut machine = before.clone();
        machine.left = left;
        let store = store_on(machine);
        let saved = store.save(next).is_ok();
        let machine = store.files().0.borrow().clone();
        let pending = machine.pending.len();
        let check = |reached: &dyn Fn(usize) -> bool| {
            let found = visible(machine.after_cut(reached));
            let found = found.as_deref();
            if saved {
                assert_eq!(found, Some(new.as_str()), "cut after the save")
            } else {
                assert!(found == old || found == Some(&new), "cut before {left}")
            }
        };
        check(&|_| false);
        check(&|_| true);
        for one in 0..pending {
            check(&|index| index == one);
            check(&|index| index != one);
            check(&|index| index < one);
        }
        cuts += 2 + 3 * pending;
        if saved {
            return cuts;
        }
    }
    unreachable!()
}

#[test]
fn a_power_cut_leaves_the_checkpoint_before_or_the_new_one() {
    let empty = Machine::new();
    assert!(cut_everywhere(&empty, None, &state(1)) > 20);
    let store = store_on(empty);
    store.save(&state(1)).unwrap();
    let settled = store.files().0.borrow().after_cut(|_| true);
    let old = state_hash(&state(1));
    assert!(cut_everywhere(&settled, Some(&old), &state(2)) > 100);
    let mut other = state(1);
    other.cursor.frame = 9;
    assert!(cut_everywhere(&settled, Some(&old), &other) > 100);
}

#[test]
fn a_save_flushes_seven_times_and_the_first_of_a_process_once_more() {
    let store = store_on(Machine::new());
    let flushes = || store.files().0.borrow().flushes;
    let mut counted = Vec::new();
    for step in 1..=3 {
        let before = flushes();
        store.save(&state(step)).unwrap();
        counted.push(flushes() - before);
    }
    assert_eq!(counted, [8, 7, 7]);
    // Whoever goes on does not know whether the folder's name reached the disk.
    let again = store_on(store.files().0.borrow().clone());
    let before = again.files().0.borrow().flushes;
    again.save(&state(4)).unwrap();
    assert_eq!(again.files().0.borrow().flushes - before, 8);
}
