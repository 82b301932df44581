//! A short `cargo xtask faults`: runs of the real binary are killed, their checkpoints damaged, their
//! disks full; with the features `faults` and `mpi` also at every kind of fault point, and ranks.
#![cfg(target_os = "linux")]

use std::path::Path;

use zoetrope_testkit::faults::Campaign;
use zoetrope_testkit::scratch;

#[test]
fn runs_that_are_disturbed_go_on_to_the_same_bits() {
    let scratch = scratch::in_memory().unwrap();
    let campaign = Campaign {
        program: env!("CARGO_BIN_EXE_zoetrope").into(),
        kills: if cfg!(feature = "faults") { 60 } else { 20 },
        rounds: 1,
        limit: None,
        seed: 1,
        scratch: scratch.path().to_owned(),
        kept: Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults"),
    };
    let table = campaign.run().unwrap();
    println!("{table}");
    assert!(table.holds(), "{table}");
    assert!(table.tried("kill at") >= 20, "{table}");
    assert!(table.tried("damaged checkpoint") >= 50, "{table}");
}
