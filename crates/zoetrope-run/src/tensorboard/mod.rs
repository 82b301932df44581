//! Event files for TensorBoard: scalars by tag and step.
//!
//! A file is a sequence of TFRecord frames (length, masked CRC-32C of the length, payload, masked
//! CRC-32C of the payload, all little-endian), each payload a protocol-buffer `Event`. Only what
//! scalars need is encoded, by hand: a schema compiler would be the larger part of the build.

mod checksum;
mod event;

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::RunError;
use checksum::masked_crc32c;

/// The most event files of one second and process that are looked for a free name.
const MOST_FILES: u32 = 1_000;

/// An event file in the making.
#[derive(Debug)]
pub struct EventFile {
    file: File,
    path: PathBuf,
}

impl EventFile {
    /// Starts an event file in a folder; a continued run starts another one there, and TensorBoard
    /// joins them.
    ///
    /// # Errors
    /// [`RunError::Io`] if the file cannot be made.
    pub fn create(folder: &Path) -> Result<Self, RunError> {
        let seconds = since_epoch() as u64;
        let process = std::process::id();
        for number in 0..MOST_FILES {
            let name = format!("events.out.tfevents.{seconds:010}.zoetrope.{process}.{number}");
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let mut created = Self { file, path };
                    created.push(&event::version(since_epoch()))?;
                    return Ok(created);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(RunError::io(path, error)),
            }
        }
        Err(RunError::io(folder, ErrorKind::AlreadyExists.into()))
    }

    /// Where the file stands.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds values of one step, by tag; whoever reads the file sees them when this returns.
    ///
    /// # Errors
    /// [`RunError::Io`] if the disk is full or fails.
    pub fn scalars<'a>(
        &mut self,
        step: u64,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<(), RunError> {
        self.push(&event::scalars(since_epoch(), step, values))
    }

    fn push(&mut self, payload: &[u8]) -> Result<(), RunError> {
        let length = (payload.len() as u64).to_le_bytes();
        let mut record = Vec::with_capacity(payload.len() + 16);
        record.extend(length);
        record.extend(masked_crc32c(&length).to_le_bytes());
        record.extend(payload);
        record.extend(masked_crc32c(payload).to_le_bytes());
        // One call a record: a killed process leaves whole records, but for the last.
        self.file.write_all(&record).map_err(|error| RunError::io(&self.path, error))
    }
}

fn since_epoch() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests;
