//! Event files as the `tensorboard` package reads them.
//!
//! Runs if the variable `ZOETROPE_PYTHON` names a Python that has the package (release 2.21
//! was used); the framing and the encoding are checked without it beside the code.

use std::process::Command;

use zoetrope_run::tensorboard::EventFile;

#[test]
fn the_tensorboard_package_reads_every_scalar() {
    let Some(python) = std::env::var_os("ZOETROPE_PYTHON") else {
        return println!("skipped: ZOETROPE_PYTHON names no Python with the package tensorboard");
    };
    let folder = tempfile::tempdir().unwrap();
    let mut file = EventFile::create(folder.path()).unwrap();
    for step in 1..=300 {
        let loss = 1.0 / step as f64;
        file.scalars(step, [("loss/train", loss), ("val/mse", 2.0 * loss)]).unwrap();
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/read_events.py");
    let output = Command::new(python).arg(script).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for (tag, factor) in [("loss/train", 1.0), ("val/mse", 2.0)] {
        let points = read[tag].as_array().unwrap();
        assert_eq!(points.len(), 300);
        for (index, point) in points.iter().enumerate() {
            let step = index as u64 + 1;
            assert_eq!(point[0], step);
            assert_eq!(point[1].as_f64().unwrap() as f32, (factor / step as f64) as f32);
        }
    }
}
