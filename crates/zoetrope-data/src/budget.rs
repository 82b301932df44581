//! Refuses what the machine cannot hold, before anything is allocated.

use crate::error::DataError;

/// Assumed where the system does not tell how much memory is free.
const ASSUMED_FREE_BYTES: u64 = 8 << 30;

/// Fails where `what` needs more `bytes` at its peak than the machine has free; `smaller` names
/// the parameters that shrink it.
pub(crate) fn require_memory(what: &str, bytes: f64, smaller: &str) -> Result<(), DataError> {
    let free = free_bytes();
    if bytes <= free as f64 {
        return Ok(());
    }
    Err(DataError::Memory {
        what: what.into(),
        needed_bytes: bytes as u64,
        free_bytes: free,
        smaller: smaller.into(),
    })
}

fn free_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    available(&text).unwrap_or(ASSUMED_FREE_BYTES)
}

fn available(meminfo: &str) -> Option<u64> {
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
        assert_eq!(available(text), Some(20_000_000 * 1024));
        assert_eq!(available("MemAvailable: lots"), None);
    }

    #[test]
    fn absurd_sizes_are_refused_with_the_parameters_that_shrink_them() {
        let name = "synthetic:uniform?vertices=2G&steps=1M&density=1000";
        let text = crate::synthetic::generate(name, &crate::Quiet).unwrap_err().to_string();
        assert!(text.contains("GiB") && text.contains("vertices"), "{text}");
    }
}
