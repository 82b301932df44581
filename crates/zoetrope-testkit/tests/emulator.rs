//! The CUDA emulator is itself tested: kernels, guards, captured graphs and matrix products against plain loops.

use std::path::Path;
use std::process::Command;

#[test]
fn the_emulator_keeps_its_promises() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("emulator/test.sh");
    let output =
        Command::new(&script).output().unwrap_or_else(|e| panic!("{}: {e}", script.display()));
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
