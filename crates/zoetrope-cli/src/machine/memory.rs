//! Memory and disk, and the limits on them.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// Main memory in bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Memory {
    /// All of it.
    pub(crate) total: Option<u64>,
    /// What can be had without swapping.
    pub(crate) available: Option<u64>,
    /// Swap space.
    pub(crate) swap: Option<u64>,
    /// What the control group allows.
    pub(crate) group_limit: Option<u64>,
    /// What the shell's limit on address space allows (`ulimit -v`).
    pub(crate) address_limit: Option<u64>,
}

/// Space on the disk that holds a folder.
#[derive(Debug, Serialize)]
pub(crate) struct Disk {
    /// The folders that are on it.
    pub(crate) folders: Vec<PathBuf>,
    /// What they are used for.
    pub(crate) roles: Vec<&'static str>,
    /// All of it, in bytes.
    pub(crate) total: u64,
    /// What this user may still write, in bytes.
    pub(crate) available: u64,
}

impl Memory {
    pub(super) fn look() -> Self {
        let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let total = kibibytes(&info, "MemTotal");
        Self {
            total,
            available: kibibytes(&info, "MemAvailable"),
            swap: kibibytes(&info, "SwapTotal"),
            group_limit: group_files(&groups)
                .iter()
                .filter_map(|path| super::line_of(path)?.parse().ok())
                .min()
                // Version 1 writes a number near 2^63 if there is no limit.
                .filter(|&limit: &u64| total.is_none_or(|total| limit < total)),
            address_limit: address_limit(&limits),
        }
    }
}

fn kibibytes(info: &str, name: &str) -> Option<u64> {
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The files that may limit this process: those of its group and of the groups above it, in both
/// versions of control groups.
fn group_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            names if names.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        for above in Path::new(group).ancestors() {
            let inside = above.display().to_string();
            files.push(format!("{root}{}/{file}", inside.trim_end_matches('/')));
        }
    }
    files
}

fn address_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The disks of the working folder and of temporary files; one entry if they are the same.
pub(super) fn disks() -> Vec<Disk> {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let mut disks: Vec<(Option<u64>, Disk)> = Vec::new();
    for (role, path) in [("working folder", here), ("temporary files", std::env::temp_dir())] {
        let Some((total, available)) = space(&path) else { continue };
        let device = device(&path);
        match disks.iter_mut().find(|(known, _)| device.is_some() && *known == device) {
            Some((_, disk)) => {
                disk.folders.push(path);
                disk.roles.push(role);
            }
            None => {
                let disk = Disk { folders: vec![path], roles: vec![role], total, available };
                disks.push((device, disk));
            }
        }
    }
    disks.into_iter().map(|(_, disk)| disk).collect()
}

#[cfg(unix)]
fn device(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    Some(std::fs::metadata(path).ok()?.dev())
}

#[cfg(not(unix))]
fn device(_: &Path) -> Option<u64> {
    None
}

#[cfg(unix)]
fn space(path: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some((bytes(found.f_blocks), bytes(found.f_bavail)))
}

#[cfg(not(unix))]
fn space(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_the_kernel_tables() {
        assert_eq!(kibibytes("MemTotal:   24 kB\nSwapTotal: 1 kB\n", "MemTotal"), Some(24 << 10));
        assert_eq!(kibibytes("", "MemTotal"), None);
        assert_eq!(address_limit("Max address space   4096   unlimited  bytes"), Some(4096));
        assert_eq!(address_limit("Max address space   unlimited   unlimited  bytes"), None);
    }

    #[test]
    fn both_versions_of_control_groups_are_searched_upwards() {
        let files = group_files("4:cpu,memory:/a/b\n0::/c\n1:pids:/d\n");
        assert_eq!(
            files,
            [
                "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/c/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
    }
}
