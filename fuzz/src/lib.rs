//! What the fuzz targets share: bytes become files, files are read, and what was read is used.
//!
//! A target finds a bug when a reader panics, hangs or takes too much memory, or when data that a
//! reader let through breaks what comes after it.

use std::fs;
use std::path::{Path, PathBuf};

use zoetrope_data::inspect::inspect;
use zoetrope_data::negatives::NegativeList;
use zoetrope_data::split::Part;
use zoetrope_data::{Format, Limits, Loaded, Quiet, ReadOptions, open};

/// Stands between the files of a folder in one input.
pub const NEXT_FILE: &[u8] = b"\n--next file--\n";

/// Reads `bytes` as a file of a format.
pub fn read_file(format: Format, name: &str, bytes: &[u8]) {
    let path = folder().join(name);
    write(&path, bytes);
    read(&path, Some(format));
}

/// Reads `bytes` as a file of a format that detection has to find.
pub fn read_any(name: &str, bytes: &[u8]) {
    let path = folder().join(name);
    write(&path, bytes);
    read(&path, None);
}

/// Reads `bytes`, cut at [`NEXT_FILE`], as files with these names; `target` is what is opened,
/// the folder itself if it is empty.
pub fn read_folder(format: Format, target: &str, names: &[&str], bytes: &[u8]) {
    let folder = folder().join("folder");
    create(&folder);
    let mut rest = Some(bytes);
    for name in names {
        let path = folder.join(name);
        match rest {
            Some(bytes) => {
                let (content, after) = cut(bytes);
                write(&path, content);
                rest = after;
            }
            // A file of the input before must not stay: a finding has to repeat.
            None => remove(&path),
        }
    }
    read(&if target.is_empty() { folder } else { folder.join(target) }, Some(format));
}

/// Reads `bytes` as a list of fixed negatives and walks over what was let through.
pub fn read_negatives(bytes: &[u8]) {
    let path = folder().join("negatives.npz");
    write(&path, bytes);
    if let Ok(list) = NegativeList::read(&path, &limits(), &Quiet) {
        for part in [Part::Validation, Part::Test] {
            for row in list.rows(part) {
                std::hint::black_box(list.row(row).count());
            }
        }
    }
}

fn cut(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.windows(NEXT_FILE.len()).position(|window| window == NEXT_FILE) {
        Some(at) => (&bytes[..at], Some(&bytes[at + NEXT_FILE.len()..])),
        None => (bytes, None),
    }
}

fn read(path: &Path, format: Option<Format>) {
    let strict = ReadOptions { format, limits: limits(), ..ReadOptions::default() };
    let name = path.to_string_lossy();
    match open(&name, &strict, &Quiet) {
        Ok(loaded) => follow(&loaded),
        Err(error) => {
            let message = error.to_string();
            assert!(!message.is_empty(), "an error without a message");
            assert!(message.len() < 64 << 10, "a message of {} bytes", message.len());
            let lenient = ReadOptions { lenient: true, ..strict };
            if let Ok(loaded) = open(&name, &lenient, &Quiet) {
                follow(&loaded);
            }
        }
    }
}

/// Lower limits than the binary's: what they refuse costs seconds under a sanitizer, and the
/// attack corpus covers the real ones.
fn limits() -> Limits {
    Limits { line_bytes: 1 << 20, expansion_floor_bytes: 1 << 20, ..Limits::default() }
}

/// Uses what a reader let through.
fn follow(loaded: &Loaded) {
    let report = inspect(&loaded.dataset, &loaded.notes);
    std::hint::black_box(&report);
}

fn folder() -> PathBuf {
    // `fuzz/run.sh` names a folder in memory and removes it afterwards.
    let parent = std::env::var_os("ZOETROPE_FUZZ_FOLDER").map(PathBuf::from);
    let parent = parent.unwrap_or_else(std::env::temp_dir);
    let folder = parent.join(format!("zoetrope-fuzz-{}", std::process::id()));
    create(&folder);
    folder
}

fn create(folder: &Path) {
    fs::create_dir_all(folder).expect("a folder for inputs");
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("space for an input");
}

fn remove(path: &Path) {
    if path.exists() {
        fs::remove_file(path).expect("a file of the input before can be removed");
    }
}
