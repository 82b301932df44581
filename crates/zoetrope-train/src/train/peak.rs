//! The most memory that the process has used.

/// The peak of resident memory in bytes; 0 if the system does not tell.
pub fn peak_host_bytes() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    kibibytes.map_or(0, |kibibytes: u64| kibibytes * 1024)
}
