//! How fast checkpoints are written.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Bytes of a file that is written.
const BYTES: usize = 32 << 20;

/// Bytes a second that reach a disk, of a file written and synchronised as checkpoints are.
///
/// # Errors
/// If the folder cannot be written to.
pub(crate) fn rate(folder: &Path, quick: bool) -> std::io::Result<f64> {
    let bytes = vec![0x5a_u8; if quick { BYTES / 16 } else { BYTES }];
    let mut best = 0.0_f64;
    for _ in 0..2 {
        let mut file = tempfile::tempfile_in(folder)?;
        let timer = Instant::now();
        file.write_all(&bytes)?;
        file.sync_all()?;
        best = best.max(bytes.len() as f64 / timer.elapsed().as_secs_f64());
    }
    Ok(best)
}
