//! Opening what a command line names: a path or `synthetic:…`, with progress and timing.

use std::path::{Path, PathBuf};
use std::time::Instant;

use zoetrope_data::facts_file;
use zoetrope_data::given::{self, STANDARD_INPUT, path_of};
use zoetrope_data::synthetic::is_synthetic;
use zoetrope_data::{Loaded, ReadOptions};
use zoetrope_graph::spelling::distance;

use crate::exit::Failure;
use crate::progress::{Bars, Unit};

/// A data set and what opening it took.
pub(crate) struct Opened {
    /// The data and the notes of its reader.
    pub(crate) loaded: Loaded,
    /// A short name: the last part of the path, or the synthetic name.
    pub(crate) name: String,
    /// The size of the files read; absent for synthetic data.
    pub(crate) bytes: Option<u64>,
    /// How long reading took.
    pub(crate) seconds: f64,
}

/// Opens `source` with a progress bar.
pub(crate) fn open(source: &str, options: &ReadOptions, quiet: bool) -> Result<Opened, Failure> {
    let synthetic = is_synthetic(source);
    data_must_exist(source)?;
    let bars = Bars::new(if synthetic { Unit::Events } else { Unit::Bytes }, quiet);
    let start = Instant::now();
    let outcome = zoetrope_data::open(source, options, &bars);
    let seconds = start.elapsed().as_secs_f64();
    bars.finish();
    let mut loaded = outcome?;
    let counted = loaded.notes.counted();
    loaded.notes.warnings.extend(counted);
    let piped = loaded.notes.piped.as_ref().map(|piped| piped.bytes);
    let size = || piped.unwrap_or_else(|| size_of_all(&loaded.notes.files, &path_of(source)));
    let bytes = (!synthetic).then(size);
    let name = if synthetic { source.to_owned() } else { given::short_name(source) };
    Ok(Opened { loaded, name, bytes, seconds })
}

fn size_of_all(files: &[PathBuf], source: &Path) -> u64 {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if files.is_empty() { size(source) } else { files.iter().map(|path| size(path)).sum() }
}

fn short_name(path: &Path) -> String {
    match path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.display().to_string(),
    }
}

/// Fails if several processes would read what can be read only once.
pub(crate) fn must_be_shareable(source: &str) -> Result<(), Failure> {
    if given::is_read_once(source) {
        Err(Failure::usage(
            "data from standard input or a pipe cannot be read by several processes",
        )
        .hint("save it to a file and name that with --data"))
    } else {
        Ok(())
    }
}

/// Fails if the data that a configuration names does not exist.
pub(crate) fn data_must_exist(source: &str) -> Result<(), Failure> {
    if let Some(facts) = facts_file(source) {
        let named = facts.display();
        Err(Failure::usage(format!(
            "{named}: facts say how large data is, and this needs the data"
        ))
        .hint("facts can be simulated: `zoetrope sim --data facts:FILE`"))
    } else if is_synthetic(source) || source == STANDARD_INPUT {
        Ok(())
    } else {
        must_exist(&path_of(source))
    }
}

/// Fails if a path does not exist, and names the nearest ones that do.
pub(crate) fn must_exist(path: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let failure = Failure::input(format!("{}: no such file or folder", path.display()));
    let nearest = nearest_names(path);
    Err(match nearest.as_slice() {
        [] => failure,
        [only] => failure.hint(format!("did you mean {only}?")),
        several => failure.hint(format!("did you mean one of {}?", several.join(", "))),
    })
}

/// The names in the folder of `path` that look most like its last part, best first.
fn nearest_names(path: &Path) -> Vec<String> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let wanted = short_name(path);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut scored: Vec<(usize, String)> = entries
        .filter_map(Result::ok)
        .take(10_000)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .map(|name| (distance(&wanted, &name), name))
        // More than a third of the letters wrong is another name, not a typo; a forgotten suffix
        // (`.csv` for `.csv.gz`) is a typo whatever its length.
        .filter(|(distance, name)| {
            *distance <= wanted.chars().count() / 3 || name.starts_with(&wanted)
        })
        .collect();
    scored.sort();
    scored
        .into_iter()
        .take(3)
        .map(
            |(_, name)| {
                if folder == Path::new(".") {
                    name
                } else {
                    folder.join(name).display().to_string()
                }
            },
        )
        .collect()
}

/// Fails if writing to `path` would lose something: it exists and `force` was not given, or
/// its folder does not exist.
pub(crate) fn may_write(path: &Path, force: bool) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() && !force {
        return Err(Failure::usage(format!("{}: exists already", path.display()))
            .hint("--force replaces it"));
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            Err(Failure::usage(format!("{}: there is no such folder", parent.display())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_existing_names_come_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["wikipedia.csv.gz", "enron.csv", "notes.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let nearest = nearest_names(&folder.path().join("wikpedia.csv"));
        assert!(nearest[0].ends_with("wikipedia.csv.gz"), "{nearest:?}");
        assert_eq!(nearest.len(), 1);
    }
}
