//! Creating, opening and filling a run folder.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use zoetrope_config::{Config, ConfigBuilder};
use zoetrope_data::sink::Sink;

use super::lock::{self, Lock};
use super::source::{self, DataSource};
use super::summary::{DataSummary, Summary};
use super::vertices;
use super::{anchor, brief};
use crate::checkpoint::{Disk, FileLayer};
use crate::error::RunError;

/// The files of a run folder, by which it is recognised.
const CONFIG: &str = "config.toml";
pub(super) const METRICS: &str = "metrics.jsonl";
pub(super) const SUMMARY: &str = "summary.json";

/// The most runs of one name that are looked for a free number.
const MOST_RUNS: u32 = 1 << 20;

/// Files that a run writes before its first epoch is over, besides event files of TensorBoard.
const OF_A_START: [&str; 9] = [
    lock::NAME,
    "trace.json",
    RunFolder::PLAN,
    METRICS,
    source::NAME,
    RunFolder::SCALING,
    vertices::NAME,
    RunFolder::CLASSES,
    CONFIG,
];

/// How often a folder is tried to be taken away while another thread may still write there.
const TRIES: u32 = 50;

/// A run folder that this process holds the lock of.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    /// The folders that this process made, the run folder first, and so may take away again.
    made: Vec<PathBuf>,
    /// Whether there is something to keep: a run that goes on, or one with an epoch behind it.
    keeps: bool,
    _lock: Lock,
}

/// A run that failed before it left anything of use leaves no folder either.
impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.keeps {
            take_away(&self.root, &self.made);
        }
    }
}

/// Takes away what a start left in a folder, and the folders that it made, the lowest first.
fn take_away(root: &Path, made: &[PathBuf]) {
    if root.join(anchor::CHECKPOINTS).exists() {
        return;
    }
    // The lock is still held, so these are ours; what stays behind is what others put there.
    for name in own_files(root) {
        let _ = std::fs::remove_file(root.join(name));
    }
    for folder in made {
        if std::fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

/// The files of a start that are in a folder.
fn own_files(root: &Path) -> Vec<OsString> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    names.filter(|name| is_of_a_start(name)).collect()
}

/// Whether a start writes a file of that name, or a temporary one on its way to it.
fn is_of_a_start(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let temporary = |own: &&str| {
        let rest = name.strip_prefix('.').and_then(|name| name.strip_prefix(own));
        rest.is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".tmp"))
    };
    OF_A_START.contains(&&*name)
        || OF_A_START.iter().any(temporary)
        || name.starts_with("events.out.tfevents.")
}

impl RunFolder {
    /// The name of the plan's file.
    pub const PLAN: &'static str = "plan.json";

    /// The name of the file with the numbers that the run scales by.
    pub const SCALING: &'static str = "scaling.json";

    /// The name of the file with the classes of the run's labels, in the order of their numbers.
    pub const CLASSES: &'static str = "classes.json";

    /// Creates a folder for a new run. An empty one that exists is taken, and so is one with nothing but
    /// what a start left that was killed or found no space; one that holds anything else is refused, so
    /// that no run is overwritten and no foreign file is lost.
    ///
    /// # Errors
    /// [`RunError::Occupied`] if the folder holds something, [`RunError::Busy`] if
    /// another process has just taken it, [`RunError::Io`] if it cannot be made.
    pub fn create(root: &Path) -> Result<Self, RunError> {
        let made = create_all(root)?;
        must_be_free(root)?;
        let mut folder = Self::locked(root)?;
        // Between the look and the lock another process may have begun and ended a run here.
        must_be_free(root)?;
        for name in own_files(root).iter().filter(|name| *name != lock::NAME) {
            let path = root.join(name);
            std::fs::remove_file(&path).map_err(|error| RunError::io(path, error))?;
        }
        (folder.made, folder.keeps) = (made, false);
        Ok(folder)
    }

    /// Creates `base/MODEL-DATA-N` with the first N from 1 that is free.
    ///
    /// # Errors
    /// [`RunError::Io`] if the folder cannot be made.
    pub fn create_fresh(base: &Path, model: &str, data: &str) -> Result<Self, RunError> {
        let above = create_all(base)?;
        let stem = format!("{}-{}", plain(model), plain(data));
        for number in 1..=MOST_RUNS {
            let root = base.join(format!("{stem}-{number}"));
            // Making the folder decides between processes that try the same number.
            match std::fs::create_dir(&root) {
                Ok(()) => {
                    sync(base)?;
                    let mut folder = Self::locked(&root)?;
                    folder.made = std::iter::once(root).chain(above).collect();
                    folder.keeps = false;
                    return Ok(folder);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(RunError::io(root, error)),
            }
        }
        Err(RunError::Occupied { folder: base.join(stem), is_run: true })
    }

    /// Opens the folder of a run to continue it.
    ///
    /// # Errors
    /// [`RunError::NotARun`] if it holds no run, [`RunError::Busy`] if another process
    /// works on it.
    pub fn open(root: &Path) -> Result<Self, RunError> {
        must_be_run(root)?;
        Self::locked(root)
    }

    fn locked(root: &Path) -> Result<Self, RunError> {
        let (root, made, lock) = (root.to_owned(), Vec::new(), Lock::take(root)?);
        Ok(Self { root, made, keeps: true, _lock: lock })
    }

    /// What takes the folder away again if it has nothing to keep; for a process that ends at once.
    pub fn undo(&self) -> impl FnOnce() + Send + 'static {
        let (root, made, keeps) = (self.root.clone(), self.made.clone(), self.keeps);
        move || {
            // Somebody may be about to write another file there.
            for _ in 0..if keeps { 0 } else { TRIES } {
                take_away(&root, &made);
                if made.is_empty() || !root.exists() || root.join(anchor::CHECKPOINTS).exists() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }

    /// From now on the folder stays, whatever happens: it has something to continue from.
    pub fn keep(&mut self) {
        self.keeps = true;
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the metrics of the epochs stand.
    pub fn metrics_path(&self) -> PathBuf {
        Self::metrics_of(&self.root)
    }

    /// The same of a run that nobody has opened.
    pub fn metrics_of(root: &Path) -> PathBuf {
        root.join(METRICS)
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
    pub fn checkpoints_of(root: &Path) -> PathBuf {
        root.join(anchor::CHECKPOINTS)
    }

    /// Where the plan stands.
    pub fn plan_path(&self) -> PathBuf {
        Self::plan_of(&self.root)
    }

    /// The same of a run that nobody has opened.
    pub fn plan_of(root: &Path) -> PathBuf {
        root.join(Self::PLAN)
    }

    /// Writes a file of the folder, whole or not at all.
    ///
    /// # Errors
    /// [`RunError::Io`] if the disk is full or fails.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<(), RunError> {
        write_whole(&self.root.join(name), bytes)
    }

    /// Saves the effective configuration, its paths absolute so that the folder can be moved.
    ///
    /// # Errors
    /// [`RunError::Io`] if the disk is full or fails.
    pub fn write_config(&self, config: &Config) -> Result<(), RunError> {
        let saved = config.with_absolute_paths();
        write_whole(&self.root.join(CONFIG), saved.to_toml().as_bytes())
    }

    /// Saves the plan or another document as JSON.
    ///
    /// # Errors
    /// [`RunError::Io`] if the disk is full or fails.
    pub fn write_json(&self, path: &Path, document: &impl Serialize) -> Result<(), RunError> {
        let mut text = serde_json::to_vec_pretty(document)
            .map_err(|error| RunError::io(path, error.into()))?;
        text.push(b'\n');
        write_whole(path, &text)
    }

    /// Saves the summary.
    ///
    /// # Errors
    /// [`RunError::Io`] if the disk is full or fails.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), RunError> {
        let path = self.root.join(SUMMARY);
        let text = brief::text(summary).map_err(|error| RunError::io(&path, error.into()))?;
        write_whole(&path, text.as_bytes())
    }

    /// Reads the configuration of a run, also of one that another process works on.
    ///
    /// # Errors
    /// [`RunError::NotARun`] if the folder holds no run, [`RunError::Config`] if the
    /// file is wrong.
    pub fn read_config(root: &Path) -> Result<Config, RunError> {
        Ok(Self::config_layer(root)?.build()?)
    }

    /// The configuration of a run as the lowest layer of another one.
    ///
    /// # Errors
    /// [`RunError::NotARun`] if the folder holds no run.
    pub fn config_layer(root: &Path) -> Result<ConfigBuilder, RunError> {
        must_be_run(root)?;
        Ok(Config::builder().file(&root.join(CONFIG)).of_run())
    }

    /// The data that a run learns from; None if it is not recorded.
    ///
    /// # Errors
    /// [`RunError::Io`] if a file cannot be read.
    pub fn read_data(root: &Path) -> Result<Option<DataSummary>, RunError> {
        if let Some(source) = DataSource::read(root)? {
            return Ok(Some(source.data));
        }
        let summary = Self::read_summary(root)?;
        Ok(summary.and_then(|mut summary| serde_json::from_value(summary["data"].take()).ok()))
    }

    /// The digest of the data that a run learns from; None if it is not recorded.
    ///
    /// # Errors
    /// [`RunError::Io`] if a file cannot be read.
    pub fn read_digest(root: &Path) -> Result<Option<String>, RunError> {
        Ok(Self::read_data(root)?.map(|data| data.sha256))
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let mut sink = Sink::create_plain(path)?;
    sink.put(bytes)?;
    Ok(sink.finish()?)
}

/// Makes a folder and those above it, each with its name on the disk: a checkpoint in a folder
/// that a power cut takes away would be lost with it.
///
/// Returns those that were not there, the lowest first.
fn create_all(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let absent = |path: &&Path| !path.as_os_str().is_empty() && path.symlink_metadata().is_err();
    let missing: Vec<&Path> = folder.ancestors().take_while(absent).collect();
    std::fs::create_dir_all(folder).map_err(|error| RunError::io(folder, error))?;
    missing.iter().rev().filter_map(|path| path.parent()).try_for_each(sync)?;
    Ok(missing.into_iter().map(Path::to_owned).collect())
}

fn sync(folder: &Path) -> Result<(), RunError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Disk.sync_folder(folder).map_err(|error| RunError::io(folder, error))
}

/// Refuses a folder that holds anything but the rests of a start. A run has its configuration; without the
/// file of the lock it was no run that left them.
fn must_be_free(root: &Path) -> Result<(), RunError> {
    let fail = |error| RunError::io(root, error);
    let names = std::fs::read_dir(root).map_err(fail)?.map(|entry| Ok(entry?.file_name()));
    let names: Vec<OsString> = names.collect::<std::io::Result<_>>().map_err(fail)?;
    let holds = |wanted: &str| names.iter().any(|name| name == wanted);
    let (is_run, was_locked) = (holds(CONFIG), holds(lock::NAME));
    let is_rest = !is_run && was_locked && names.iter().all(|name| is_of_a_start(name));
    if names.is_empty() || is_rest {
        Ok(())
    } else {
        Err(RunError::Occupied { folder: root.to_owned(), is_run })
    }
}

fn must_be_run(root: &Path) -> Result<(), RunError> {
    if root.join(CONFIG).is_file() {
        Ok(())
    } else {
        Err(RunError::NotARun { folder: root.to_owned(), missing: CONFIG })
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
        let mut folder = RunFolder::create(&root).unwrap();
        folder.write_config(&Config::default()).unwrap();
        folder.keep();
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
    fn what_a_killed_start_left_is_no_obstacle_and_foreign_files_are() {
        let base = tempfile::tempdir().unwrap();
        let left = |files: &[&str]| {
            let root = base.path().join("run");
            let _ = std::fs::remove_dir_all(&root);
            std::fs::create_dir(&root).unwrap();
            files.iter().for_each(|name| std::fs::write(root.join(name), "half").unwrap());
            root
        };
        let rests =
            ["run.lock", "metrics.jsonl", "plan.json", "trace.json", ".config.toml.12-3.tmp"];
        let root = left(&rests);
        let folder = RunFolder::create(&root).unwrap();
        assert_eq!(own_files(&root), ["run.lock"]);
        drop(folder);
        // Somebody's own files have such names, too; and a run is a run.
        for files in [&rests[1..], &[&rests[..], &["notes"]].concat(), &["run.lock", "config.toml"]]
        {
            let root = left(files);
            let error = RunFolder::create(&root).unwrap_err();
            assert!(matches!(error, RunError::Occupied { .. }), "{error}");
            assert_eq!(std::fs::read_dir(&root).unwrap().count(), files.len());
        }
    }

    #[test]
    fn a_run_that_left_nothing_leaves_no_folder() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("run");
        drop(RunFolder::create(&root).unwrap());
        assert!(!root.exists());
        let deep = base.path().join("a/b/c");
        let folder = RunFolder::create(&deep).unwrap();
        folder.write_config(&Config::default()).unwrap();
        std::fs::write(folder.trace_path(), "[").unwrap();
        drop(folder);
        assert!(!base.path().join("a").exists());
        let folder = RunFolder::create(&deep).unwrap();
        std::fs::write(deep.join("notes.txt"), "of somebody else").unwrap();
        drop(folder);
        assert!(deep.join("notes.txt").exists());
        let mut folder = RunFolder::create_fresh(base.path(), "tgcn", "demo").unwrap();
        folder.write_config(&Config::default()).unwrap();
        folder.keep();
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
        let mut folder = RunFolder::create(base.path()).unwrap();
        folder.write_config(&config).unwrap();
        folder.keep();
        assert!(matches!(RunFolder::open(base.path()), Err(RunError::Busy { .. })));
        drop(folder);
        let folder = RunFolder::open(base.path()).unwrap();
        assert_eq!(RunFolder::read_config(folder.root()).unwrap(), config);
    }
}
