//! The order of snapshots: by the dates in their names, or by the numbers in them.

use std::cmp::Ordering;
use std::path::Path;

use jiff::civil::Date;
use zoetrope_graph::Time;

use super::rows::Snapshot;
use crate::error::{DataError, Location};
use crate::source::bare_name;

const DAY_SECONDS: i64 = 86_400;

/// Sorts the snapshots; returns the boundaries in Unix seconds where every name has its own date.
///
/// # Errors
/// [`DataError::Invalid`] where two members have the same name.
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
    let dates: Option<Vec<Time>> =
        snapshots.iter().map(|snapshot| date(bare_name(&snapshot.path))).collect();
    let Some(mut dates) = dates else { return Ok(None) };
    dates.sort_unstable();
    if dates.windows(2).any(|pair| pair[0] == pair[1]) {
        return Ok(None);
    }
    let rank = |path: &Path| date(bare_name(path)).unwrap_or(0);
    snapshots.sort_by_key(|snapshot| rank(&snapshot.path));
    // A snapshot holds until the next; the last one for a day.
    dates.extend(dates.last().map(|last| last + DAY_SECONDS));
    Ok(Some(dates))
}

/// Midnight UTC of the first date in a name, `YYYYMMDD` or `YYYY-MM-DD` with any separator.
pub(super) fn date(name: &str) -> Option<Time> {
    let runs: Vec<&str> =
        name.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).collect();
    let whole = runs.iter().filter(|run| run.len() == 8).find_map(|run| {
        day(run[..4].parse().ok()?, run[4..6].parse().ok()?, run[6..].parse().ok()?)
    });
    whole.or_else(|| {
        let lengths = |parts: &[&str]| parts.iter().map(|part| part.len()).eq([4, 2, 2]);
        runs.windows(3).filter(|parts| lengths(parts)).find_map(|parts| {
            day(parts[0].parse().ok()?, parts[1].parse().ok()?, parts[2].parse().ok()?)
        })
    })
}

fn day(year: i16, month: i8, day: i8) -> Option<Time> {
    // A number that happens to be a date of another age is just a number.
    let date = Date::new(year, month, day).ok().filter(|_| (1900..2200).contains(&year))?;
    Some(date.duration_since(Date::constant(1970, 1, 1)).as_secs())
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
    fn dates_are_found_in_names() {
        assert_eq!(date("as19971108.txt"), Some(878_947_200));
        assert_eq!(date("net-2000-01-02.csv"), Some(946_771_200));
        assert_eq!(date("g12345678.txt"), None);
        assert_eq!(date("as19971308.txt"), None);
        assert_eq!(date("step12.txt"), None);
    }

    #[test]
    fn numbers_are_ordered_by_value() {
        let mut names = ["g10", "g2", "g1", "g02b", "h1", "g"];
        names.sort_by(|left, right| natural(left, right));
        assert_eq!(names, ["g", "g1", "g2", "g02b", "g10", "h1"]);
    }
}
