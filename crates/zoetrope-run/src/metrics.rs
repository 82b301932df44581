//! `metrics.jsonl`: one line an epoch, flushed as it is written.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files;
use super::folder::write_whole;
use super::number::{map_or_nan, or_nan};
use super::summary::Metrics;
use crate::error::RunError;
use crate::fault;

/// An epoch as the summary lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// From 1.
    pub epoch: usize,
    /// Training time alone, without evaluation.
    pub seconds: f64,
    /// The mean training loss.
    #[serde(deserialize_with = "or_nan")]
    pub loss: f64,
    /// The metrics on the validation part.
    #[serde(deserialize_with = "map_or_nan")]
    pub val: Metrics,
}

/// An epoch as `metrics.jsonl` lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricsLine {
    /// What the summary has, too.
    #[serde(flatten)]
    pub record: EpochRecord,
    /// The learning rate of the epoch.
    pub lr: f64,
}

/// `metrics.jsonl` in the making.
#[derive(Debug)]
pub struct MetricsLog {
    file: File,
    path: PathBuf,
}

impl MetricsLog {
    /// Starts an empty log.
    ///
    /// # Errors
    /// [`RunError::Io`] if the file cannot be made.
    pub fn create(path: &Path) -> Result<Self, RunError> {
        let file = files::fresh(path).map_err(|error| RunError::io(path, error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Goes on with a log after `epoch`: later lines, which a killed run wrote and whose work is
    /// done again, are dropped, and so is a line that was not finished.
    ///
    /// # Errors
    /// [`RunError::Io`] if the file cannot be read or written, [`RunError::Damaged`] if
    /// a line before the last is no line of metrics.
    pub fn resume(path: &Path, epoch: usize) -> Result<Self, RunError> {
        let text = files::read_if_there(path)?.unwrap_or_default();
        let mut kept = Vec::new();
        // As they stand: a number that is read and written again may differ in its last digit.
        for (line, bytes) in finished_lines(&text, path)? {
            if line.record.epoch <= epoch {
                kept.extend_from_slice(bytes);
                kept.push(b'\n');
            }
        }
        write_whole(path, &kept)?;
        let file = files::open(path, OpenOptions::new().append(true));
        let file = file.map_err(|error| RunError::io(path, error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Adds a line; whoever reads the file sees all of it when this returns.
    ///
    /// # Errors
    /// [`RunError::Io`] if the disk is full or fails.
    pub fn push(&mut self, line: &MetricsLine) -> Result<(), RunError> {
        let text = encoded(line, &self.path)?;
        let written = fault::writing("metrics.append", &text).and_then(|(text, whole)| {
            self.file.write_all(&text)?;
            if whole { self.file.flush() } else { Err(ErrorKind::StorageFull.into()) }
        });
        written.map_err(|error| RunError::io(&self.path, error))
    }
}

fn encoded(line: &MetricsLine, path: &Path) -> Result<Vec<u8>, RunError> {
    let mut text = serde_json::to_vec(line).map_err(|error| RunError::io(path, error.into()))?;
    text.push(b'\n');
    Ok(text)
}

/// Reads a log; a last line that was not finished is left out.
///
/// # Errors
/// [`RunError::Io`] if the file cannot be read, [`RunError::Damaged`] if a finished
/// line is no line of metrics.
pub fn read_metrics(path: &Path) -> Result<Vec<MetricsLine>, RunError> {
    let text = files::read(path).map_err(|error| RunError::io(path, error))?;
    Ok(finished_lines(&text, path)?.into_iter().map(|(line, _)| line).collect())
}

/// The finished lines of a log, each with its bytes.
fn finished_lines<'a>(
    text: &'a [u8],
    path: &Path,
) -> Result<Vec<(MetricsLine, &'a [u8])>, RunError> {
    let finished = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let lines = text[..finished].split(|&byte| byte == b'\n').enumerate();
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| {
            let read = serde_json::from_slice(line).map_err(|error| RunError::Damaged {
                path: path.to_owned(),
                reason: format!("line {}: {error}", number + 1),
            });
            Ok((read?, line))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(epoch: usize) -> MetricsLine {
        let val = [("mse".to_owned(), 0.5 / epoch as f64)].into();
        MetricsLine { record: EpochRecord { epoch, seconds: 0.1, loss: 1.0 / 3.0, val }, lr: 0.01 }
    }

    #[test]
    fn every_line_is_there_as_soon_as_it_is_pushed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut log = MetricsLog::create(&path).unwrap();
        for epoch in 1..=3 {
            log.push(&line(epoch)).unwrap();
            let expected: Vec<_> = (1..=epoch).map(line).collect();
            assert_eq!(read_metrics(&path).unwrap(), expected);
        }
        let first = std::fs::read_to_string(&path).unwrap();
        assert!(first.starts_with(r#"{"epoch":1,"seconds":0.1,"loss":0.333"#), "{first}");
    }

    #[test]
    fn a_continued_log_has_each_epoch_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut log = MetricsLog::create(&path).unwrap();
        (1..=3).for_each(|epoch| log.push(&line(epoch)).unwrap());
        drop(log);
        // A number that is not what its nearest float is written as stays what it is.
        let mut torn = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
        torn = torn.replace(&(1.0_f64 / 3.0).to_string(), "0.33333333333333333333");
        assert_eq!(torn.matches("0.33333333333333333333").count(), 3, "{torn}");
        let mut torn = torn.into_bytes();
        torn.extend(b"{\"epoch\":4,\"sec");
        std::fs::write(&path, torn).unwrap();
        let mut log = MetricsLog::resume(&path, 2).unwrap();
        (3..=4).for_each(|epoch| log.push(&line(epoch)).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches("0.33333333333333333333").count(), 2, "{text}");
        let epochs = read_metrics(&path).unwrap().into_iter().map(|line| line.record.epoch);
        assert!(epochs.eq(1..=4), "{text}");
    }

    #[test]
    fn a_broken_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        let error = read_metrics(&path).unwrap_err();
        assert!(error.to_string().contains("metrics.jsonl: damaged: line 1: "), "{error}");
        assert_eq!(error.kind().exit_code(), 3);
    }
}
