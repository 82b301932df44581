//! Refuses data that does not fit into memory, before anything is allocated.

use crate::Bytes;
use crate::limit;

/// Assumed if the system does not tell how much memory is free.
const ASSUMED_FREE: u64 = 8 << 30;

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", text(.what, *.needed, *.free, *.limit, .advice))]
pub struct TooLarge {
    /// What it is.
    pub what: String,
    /// The bytes that it takes.
    pub needed: u64,
    /// The bytes that could be taken.
    pub free: u64,
    /// The limit on memory, if it is one that is in the way.
    pub limit: Option<u64>,
    /// What takes less.
    pub advice: String,
}

fn text(what: &str, needed: u64, free: u64, limit: Option<u64>, advice: &str) -> String {
    let (needed, free) = (Bytes(needed), Bytes(free));
    match limit {
        Some(limit) => format!(
            "{what} would take {needed}, and {free} are left of the {} that the run may take; raise \
             --memory-limit, or {advice}",
            Bytes(limit)
        ),
        None => format!("{what} would take {needed}, and the machine has {free} free; {advice}"),
    }
}

/// Fails if `what` takes more bytes than the limit or the machine leaves; `advice` says what takes
/// less.
///
/// # Errors
/// [`TooLarge`].
pub fn need(what: &str, bytes: u64, advice: &str) -> Result<(), TooLarge> {
    // Asking the system takes longer than taking less than this.
    const CHECKED_BYTES_MIN: u64 = 1 << 20;
    if bytes < CHECKED_BYTES_MIN && limit::limit().is_none() {
        return Ok(());
    }
    let (free, limit) = match (limit::room(), available()) {
        (Some(room), free) if room <= free => (room, limit::limit()),
        (_, free) => (free, None),
    };
    if bytes <= free {
        Ok(())
    } else {
        let (what, advice) = (what.to_owned(), advice.to_owned());
        Err(TooLarge { what, needed: bytes, free, limit, advice })
    }
}

/// What may still be taken: of the limit, if there is one, and of the machine's memory.
pub fn free() -> u64 {
    limit::room().unwrap_or(u64::MAX).min(available())
}

fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    read_available(&text).unwrap_or(ASSUMED_FREE)
}

fn read_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_memory_is_read_as_linux_prints_it() {
        let text = "MemTotal:       24689332 kB\nMemAvailable:   20000000 kB\n";
        assert_eq!(read_available(text), Some(20_000_000 * 1024));
        assert_eq!(read_available("MemAvailable: lots"), None);
    }

    #[test]
    fn what_no_machine_holds_is_refused_with_what_takes_less() {
        let error = need("a table", 1 << 60, "choose fewer rows").unwrap_err().to_string();
        assert!(error.starts_with("a table would take 1152921504.7 GB"), "{error}");
        assert!(error.ends_with("free; choose fewer rows"), "{error}");
        assert_eq!(need("a table", 1 << 20, ""), Ok(()));
        // A limit is named only if there is one.
        let limited = text("a table", 9, 8, Some(8), "choose fewer rows");
        assert!(limited.ends_with("; raise --memory-limit, or choose fewer rows"), "{limited}");
    }
}
