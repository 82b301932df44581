//! Checkpoints on a real file system of 8 MiB that runs full.
//!
//! The test runs itself again inside a mount of its own, which needs Linux and `unshare`; it is
//! skipped with a note elsewhere.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use zoetrope_run::checkpoint::{CheckpointStore, SavedState, SavedTensor, state_hash};

/// Set to the mounted folder if this program runs inside the mount.
const MOUNTED: &str = "FULL_DISK_FOLDER";

fn state(step: u64, megabytes: usize) -> SavedState {
    let mut state = SavedState::default();
    state.cursor.step = step;
    let data: Vec<f32> = (0..megabytes << 18).map(|index| (index as u64 + step) as f32).collect();
    state.weights.insert("weight".into(), SavedTensor::new(vec![megabytes, 1 << 18], data));
    state
}

/// What happens inside the mount; without the variable it is an empty test.
#[test]
fn inside_the_mount() {
    let Some(folder) = std::env::var_os(MOUNTED) else { return };
    let store = CheckpointStore::new(Path::new(&folder).join("checkpoints"), 1);
    let latest = || store.load_latest().unwrap().unwrap().state_hash;
    store.save(&state(1, 3)).unwrap();
    store.save(&state(2, 3)).unwrap();
    for step in 3..6 {
        let error = store.save(&state(step, 6)).unwrap_err();
        assert_eq!(error.kind().exit_code(), 4, "{error}");
        assert_eq!(latest(), state_hash(&state(2, 3)), "{error}");
    }
    let bulk = Path::new(&folder).join("bulk");
    assert!(std::fs::write(&bulk, vec![0; 8 << 20]).is_err(), "the disk is not full");
    assert!(store.save(&state(6, 1)).is_err());
    assert_eq!(latest(), state_hash(&state(2, 3)));
    std::fs::remove_file(&bulk).unwrap();
    store.save(&state(7, 3)).unwrap();
    assert_eq!(latest(), state_hash(&state(7, 3)));
    println!("finished on a full disk");
}

#[test]
fn a_full_disk_leaves_the_checkpoint_before() {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=8m tmpfs \"$1\" && exec \"$0\" --exact inside_the_mount \
                  --nocapture";
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(folder.path())
        .env(MOUNTED, folder.path())
        .output();
    let Ok(output) = output else {
        return println!("skipped: this machine has no unshare");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if !text.contains("running 1 test") {
        return println!("skipped: no mount of our own: {errors}");
    }
    assert!(output.status.success() && text.contains("finished on a full disk"), "{text}{errors}");
}
