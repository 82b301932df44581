//! The order of snapshots: by the dates in their names, or by the numbers in them.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use zoetrope_graph::Time;

use super::dates::{self, Dates};
use super::rows::Snapshot;
use crate::error::{DataError, Location};
use crate::source::bare_name;

/// Sorts the snapshots; returns the boundaries in Unix seconds if every name has its own date.
///
/// # Errors
/// [`DataError::Invalid`] if two members have the same name (but for compression), or their dates could be read in two
/// ways.
pub(super) fn sort(
    snapshots: &mut [Snapshot],
    origin: &Path,
) -> Result<Option<Vec<Time>>, DataError> {
    snapshots.sort_by(|left, right| {
        natural(bare_name(&left.path), bare_name(&right.path))
            .then_with(|| left.path.cmp(&right.path))
    });
    if let Some(pair) = snapshots.windows(2).find(|pair| pair[0].path == pair[1].path) {
        let found = bare_name(&pair[0].path);
        return Err(DataError::invalid(Location::file(origin), "each member once", found));
    }
    // A compressed copy beside its file would be a snapshot twice.
    let whole = |snapshot: &Snapshot| snapshot.path.with_file_name(bare_name(&snapshot.path));
    if let Some(pair) = snapshots.windows(2).find(|pair| whole(&pair[0]) == whole(&pair[1])) {
        let names =
            [0, 1].map(|at| pair[at].path.file_name().unwrap_or_default().to_string_lossy());
        let found = format!("{} and {}", names[0], names[1]);
        return Err(DataError::invalid(Location::file(origin), "each snapshot once", found));
    }
    let names: Vec<&str> = snapshots.iter().map(|snapshot| bare_name(&snapshot.path)).collect();
    match dates::of(&names) {
        Dates::None | Dates::Repeated { .. } => Ok(None),
        Dates::Ambiguous => {
            let expected = "names that show whether the day or the month comes first, such as \
                            2020-03-01";
            let found = format!("{} and the like", names.first().copied().unwrap_or_default());
            Err(DataError::invalid(Location::file(origin), expected, found))
        }
        Dates::Known { times, end } => {
            let paths = snapshots.iter().map(|snapshot| snapshot.path.clone());
            let rank: HashMap<PathBuf, Time> = paths.zip(times.iter().copied()).collect();
            snapshots.sort_by_key(|snapshot| rank.get(&snapshot.path).copied());
            let mut boundaries = times;
            boundaries.sort_unstable();
            // A snapshot holds until the next one.
            boundaries.push(end);
            Ok(Some(boundaries))
        }
    }
}

/// A warning if two snapshots have the same date in their names, so that none has a time.
pub(super) fn repeated_date(snapshots: &[Snapshot]) -> Option<String> {
    let names: Vec<&str> = snapshots.iter().map(|snapshot| bare_name(&snapshot.path)).collect();
    let Dates::Repeated { one, two } = dates::of(&names) else { return None };
    let [one, two] = [one, two].map(|at| crate::error::shorten(names[at]));
    Some(format!(
        "{one} and {two} have the same date in their names: each file is a snapshot of its own, and none has \
         a time; join the files of a date to have one snapshot each"
    ))
}

/// Whether every name has a date, if perhaps not one that can be told.
pub(super) fn are_dated(files: &[PathBuf]) -> bool {
    let names: Vec<&str> = files.iter().map(|file| bare_name(file)).collect();
    matches!(dates::of(&names), Dates::Known { .. } | Dates::Ambiguous)
}

/// Text by bytes, but runs of digits by value: `g2` before `g10`.
fn natural(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.as_bytes(), right.as_bytes());
    loop {
        let (Some(a), Some(b)) = (left.first(), right.first()) else {
            return left.len().cmp(&right.len());
        };
        if a.is_ascii_digit() && b.is_ascii_digit() {
            let (one, rest_left) = number(left);
            let (two, rest_right) = number(right);
            let order = one.len().cmp(&two.len()).then_with(|| one.cmp(two));
            if order != Ordering::Equal {
                return order;
            }
            (left, right) = (rest_left, rest_right);
        } else if a != b {
            return a.cmp(b);
        } else {
            (left, right) = (&left[1..], &right[1..]);
        }
    }
}

/// The digits that a text starts with, without leading zeros, and what follows them.
fn number(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let zeros = text[..end].iter().position(|&byte| byte != b'0').unwrap_or(end);
    (&text[zeros..end], &text[end..])
}

/// A name without its digits.
pub(crate) fn stem(path: &Path) -> String {
    bare_name(path).chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Whether all names are the same but for their digits.
pub(super) fn alike(files: &[impl AsRef<Path>]) -> bool {
    files.windows(2).all(|pair| stem(pair[0].as_ref()) == stem(pair[1].as_ref()))
}

/// What most names are without their digits, if two or more files share it and fewer than half of
/// the files have another name: the others are then no snapshots.
pub(super) fn largest_group(files: &[impl AsRef<Path>]) -> Option<String> {
    let mut stems: Vec<String> = files.iter().map(|file| stem(file.as_ref())).collect();
    stems.sort();
    let groups = stems.chunk_by(|one, two| one == two);
    let largest = groups.max_by_key(|group| group.len())?;
    (largest.len() >= 2 && 2 * largest.len() > files.len()).then(|| largest[0].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ordered_by_value() {
        let mut names = ["g10", "g2", "g1", "g02b", "h1", "g"];
        names.sort_by(|left, right| natural(left, right));
        assert_eq!(names, ["g", "g1", "g2", "g02b", "g10", "h1"]);
    }
}
