//! Creating, opening and filling a run folder.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use zoetrope_data::sink::Sink;

use super::lock::{self, Lock};
use super::summary::Summary;
use crate::checkpoint::{Disk, FileLayer};
use crate::config::Config;
use crate::error::TrainError;

/// The files of a run folder, by which it is recognised.
const CONFIG: &str = "config.toml";
const SUMMARY: &str = "summary.json";

/// The most runs of one name that are looked for a free number.
const MOST_RUNS: u32 = 1 << 20;

/// A run folder that this process holds the lock of.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    /// Whether this process made the folder, and so may take it away again.
    is_ours: bool,
    _lock: Lock,
}

/// A run that failed before it left anything leaves no folder either.
impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.is_ours || must_be_free(&self.root).is_err() {
            return;
        }
        // The lock is still held; what cannot be removed is an empty folder.
        let _ = std::fs::remove_file(self.root.join(lock::NAME));
        let _ = std::fs::remove_dir(&self.root);
    }
}

impl RunFolder {
    /// Creates a folder for a new run. An empty one that exists is taken; one that holds anything
    /// is refused, so that no run is overwritten and no foreign file is lost.
    ///
    /// # Errors
    /// [`TrainError::Occupied`] where the folder holds something, [`TrainError::Busy`] where
    /// another process has just taken it, [`TrainError::Io`] where it cannot be made.
    pub fn create(root: &Path) -> Result<Self, TrainError> {
        let is_ours = root.symlink_metadata().is_err();
        create_all(root)?;
        must_be_free(root)?;
        let mut folder = Self::locked(root, false)?;
        // Between the look and the lock another process may have begun and ended a run here.
        must_be_free(root)?;
        folder.is_ours = is_ours;
        Ok(folder)
    }

    /// Creates `base/MODEL-DATA-N` with the first N from 1 that is free.
    ///
    /// # Errors
    /// [`TrainError::Io`] where the folder cannot be made.
    pub fn create_fresh(base: &Path, model: &str, data: &str) -> Result<Self, TrainError> {
        create_all(base)?;
        let stem = format!("{}-{}", plain(model), plain(data));
        for number in 1..=MOST_RUNS {
            let root = base.join(format!("{stem}-{number}"));
            // Making the folder decides between processes that try the same number.
            match std::fs::create_dir(&root) {
                Ok(()) => {
                    sync(base)?;
                    return Self::locked(&root, true);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(TrainError::io(root, error)),
            }
        }
        Err(TrainError::Occupied { folder: base.join(stem), is_run: true })
    }

    /// Opens the folder of a run to continue it.
    ///
    /// # Errors
    /// [`TrainError::NotARun`] where it holds no run, [`TrainError::Busy`] where another process
    /// works on it.
    pub fn open(root: &Path) -> Result<Self, TrainError> {
        must_be_run(root)?;
        Self::locked(root, false)
    }

    fn locked(root: &Path, is_ours: bool) -> Result<Self, TrainError> {
        Ok(Self { root: root.to_owned(), is_ours, _lock: Lock::take(root)? })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the metrics of the epochs stand.
    pub fn metrics_path(&self) -> PathBuf {
        self.root.join("metrics.jsonl")
    }

    /// Where the trace stands.
    pub fn trace_path(&self) -> PathBuf {
        self.root.join("trace.json")
    }

    /// Where the checkpoints stand.
    pub fn checkpoints_path(&self) -> PathBuf {
        Self::checkpoints_of(&self.root)
    }

    /// The same of a run that nobody has opened.
    pub(crate) fn checkpoints_of(root: &Path) -> PathBuf {
        root.join("checkpoints")
    }

    /// Where the plan stands.
    pub fn plan_path(&self) -> PathBuf {
        Self::plan_of(&self.root)
    }

    /// The same of a run that nobody has opened.
    pub fn plan_of(root: &Path) -> PathBuf {
        root.join("plan.json")
    }

    /// Writes a file of the folder, whole or not at all.
    ///
    /// # Errors
    /// [`TrainError::Io`] where the disk is full or fails.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<(), TrainError> {
        write_whole(&self.root.join(name), bytes)
    }

    /// Saves the effective configuration.
    ///
    /// # Errors
    /// [`TrainError::Io`] where the disk is full or fails.
    pub fn write_config(&self, config: &Config) -> Result<(), TrainError> {
        write_whole(&self.root.join(CONFIG), config.to_toml().as_bytes())
    }

    /// Saves the plan or another document as JSON.
    ///
    /// # Errors
    /// [`TrainError::Io`] where the disk is full or fails.
    pub fn write_json(&self, path: &Path, document: &impl Serialize) -> Result<(), TrainError> {
        let mut text = serde_json::to_vec_pretty(document)
            .map_err(|error| TrainError::io(path, error.into()))?;
        text.push(b'\n');
        write_whole(path, &text)
    }

    /// Saves the summary.
    ///
    /// # Errors
    /// [`TrainError::Io`] where the disk is full or fails.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), TrainError> {
        self.write_json(&self.root.join(SUMMARY), summary)
    }

    /// Reads the configuration of a run, also of one that another process works on.
    ///
    /// # Errors
    /// [`TrainError::NotARun`] where the folder holds no run, [`TrainError::Config`] where the
    /// file is wrong.
    pub fn read_config(root: &Path) -> Result<Config, TrainError> {
        must_be_run(root)?;
        Config::builder().file(&root.join(CONFIG)).build()
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    let mut sink = Sink::create_plain(path)?;
    sink.put(bytes)?;
    Ok(sink.finish()?)
}

/// Makes a folder and those above it, each with its name on the disk: a checkpoint in a folder
/// that a power cut takes away would be lost with it.
fn create_all(folder: &Path) -> Result<(), TrainError> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|path| path.symlink_metadata().is_err()).collect();
    std::fs::create_dir_all(folder).map_err(|error| TrainError::io(folder, error))?;
    missing.into_iter().rev().filter_map(Path::parent).try_for_each(sync)
}

fn sync(folder: &Path) -> Result<(), TrainError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Disk.sync_folder(folder).map_err(|error| TrainError::io(folder, error))
}

fn must_be_free(root: &Path) -> Result<(), TrainError> {
    let fail = |error| TrainError::io(root, error);
    for entry in std::fs::read_dir(root).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        if name != lock::NAME {
            let is_run = root.join(CONFIG).is_file();
            return Err(TrainError::Occupied { folder: root.to_owned(), is_run });
        }
    }
    Ok(())
}

fn must_be_run(root: &Path) -> Result<(), TrainError> {
    match root.join(CONFIG).is_file() {
        true => Ok(()),
        false => Err(TrainError::NotARun { folder: root.to_owned(), missing: CONFIG }),
    }
}

/// The letters of a name that are good in a folder's name: of a path its stem, of a synthetic
/// name the generator.
fn plain(name: &str) -> String {
    let name = name.strip_prefix("synthetic:").unwrap_or(name);
    let name = name.split('?').next().unwrap_or(name);
    let last = name.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = last.split('.').find(|part| !part.is_empty()).unwrap_or(last);
    let letters = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
        _ => '-',
    };
    let plain: String = stem.chars().take(40).map(letters).collect();
    match plain.trim_matches('-') {
        "" => "data".into(),
        plain => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_folders_are_numbered_and_named_after_model_and_data() {
        let base = tempfile::tempdir().unwrap();
        let name =
            |folder: &RunFolder| folder.root().file_name().unwrap().to_string_lossy().into_owned();
        let first = RunFolder::create_fresh(base.path(), "tgcn", "synthetic:demo?steps=9").unwrap();
        let second = RunFolder::create_fresh(base.path(), "tgcn", "synthetic:demo").unwrap();
        assert_eq!(name(&first), "tgcn-demo-1");
        assert_eq!(name(&second), "tgcn-demo-2");
        let other = RunFolder::create_fresh(base.path(), "gc-lstm", "/d/England COVID.json.gz");
        assert_eq!(name(&other.unwrap()), "gc-lstm-england-covid-1");
        let hostile = RunFolder::create_fresh(base.path(), "tgcn", "../../..").unwrap();
        assert_eq!(name(&hostile), "tgcn-data-1");
    }

    #[test]
    fn a_folder_with_a_run_or_with_foreign_files_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("a/b");
        let folder = RunFolder::create(&root).unwrap();
        folder.write_config(&Config::default()).unwrap();
        drop(folder);
        let error = RunFolder::create(&root).unwrap_err();
        assert!(error.to_string().contains("--resume"), "{error}");
        assert_eq!(error.kind().exit_code(), 2);

        let foreign = base.path().join("foreign");
        std::fs::create_dir(&foreign).unwrap();
        std::fs::write(foreign.join("thesis.txt"), "years of work").unwrap();
        let error = RunFolder::create(&foreign).unwrap_err();
        assert!(!error.to_string().contains("--resume"), "{error}");
        assert!(RunFolder::open(&foreign).is_err());
        assert!(foreign.join("thesis.txt").exists());
    }

    #[test]
    fn a_run_that_left_nothing_leaves_no_folder() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("run");
        drop(RunFolder::create(&root).unwrap());
        assert!(!root.exists());
        let folder = RunFolder::create_fresh(base.path(), "tgcn", "demo").unwrap();
        folder.write_config(&Config::default()).unwrap();
        drop(folder);
        assert!(base.path().join("tgcn-demo-1/config.toml").exists());
        let given = base.path().join("given");
        std::fs::create_dir(&given).unwrap();
        drop(RunFolder::create(&given).unwrap());
        assert!(given.exists());
    }

    #[test]
    fn a_continued_run_has_its_configuration() {
        let base = tempfile::tempdir().unwrap();
        let config = Config::builder().set("train.epochs=7").build().unwrap();
        let folder = RunFolder::create(base.path()).unwrap();
        folder.write_config(&config).unwrap();
        assert!(matches!(RunFolder::open(base.path()), Err(TrainError::Busy { .. })));
        drop(folder);
        let folder = RunFolder::open(base.path()).unwrap();
        assert_eq!(RunFolder::read_config(folder.root()).unwrap(), config);
    }
}
