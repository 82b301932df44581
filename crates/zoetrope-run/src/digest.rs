//! The digest by which a run says what it learned from.

use std::io::Read;

use sha2::{Digest, Sha256};
use zoetrope_data::{Dataset, Loaded, regular_file};

use crate::error::RunError;

/// The SHA-256 of the file or of what came through a pipe, of the digests of several files in order, or
/// of the contents of data that was generated.
///
/// # Errors
/// [`RunError::Io`] if a file cannot be read.
pub fn of(loaded: &Loaded) -> Result<String, RunError> {
    if let Some(piped) = &loaded.notes.piped {
        return Ok(text(&piped.sha256));
    }
    let files: Vec<_> = loaded.notes.files.iter().filter(|path| path.is_file()).collect();
    match files.as_slice() {
        [] => Ok(hex(contents(&loaded.dataset))),
        [only] => of_file(only),
        several => {
            let mut all = Sha256::new();
            for path in several {
                all.update(file(path)?.finalize());
            }
            Ok(hex(all))
        }
    }
}

/// The SHA-256 of one file as 64 hexadecimal digits.
///
/// # Errors
/// [`RunError::Io`] if it cannot be read.
pub fn of_file(path: &std::path::Path) -> Result<String, RunError> {
    Ok(hex(file(path)?))
}

/// The SHA-256 of bytes as 64 hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    text(&Sha256::digest(bytes))
}

fn file(path: &std::path::Path) -> Result<Sha256, RunError> {
    let mut source = regular_file::open(path).map_err(|error| RunError::io(path, error))?;
    let mut digest = Sha256::new();
    let mut block = vec![0; 1 << 18];
    loop {
        match source.read(&mut block).map_err(|error| RunError::io(path, error))? {
            0 => return Ok(digest),
            count => digest.update(&block[..count]),
        }
    }
}

fn contents(dataset: &Dataset) -> Sha256 {
    let mut digest = Sha256::new();
    match dataset {
        Dataset::Events(store) => {
            digest.update(bytemuck::cast_slice(store.src()));
            digest.update(bytemuck::cast_slice(store.dst()));
            digest.update(bytemuck::cast_slice(store.time()));
        }
        Dataset::Snapshots(data) => {
            digest.update(bytemuck::cast_slice(&data.sequence.ranges().offsets()));
            digest.update(bytemuck::cast_slice(data.sequence.src()));
            digest.update(bytemuck::cast_slice(data.sequence.dst()));
            digest.update(bytemuck::cast_slice(data.sequence.weight().unwrap_or_default()));
            let series = data.signal.as_ref().map(|signal| signal.values.values());
            let given = data.features.as_ref().map(|features| features.values());
            digest.update(bytemuck::cast_slice(series.or(given).unwrap_or_default()));
            let targets = data.targets.as_ref().map(|targets| targets.values());
            digest.update(bytemuck::cast_slice(targets.unwrap_or_default()));
        }
    }
    digest
}

fn hex(digest: Sha256) -> String {
    text(&digest.finalize())
}

fn text(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
