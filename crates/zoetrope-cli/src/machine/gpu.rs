//! NVIDIA GPUs and their driver, as the system shows them.

use std::path::Path;

use serde::Serialize;

use super::programs::{ask, on_path};

/// The GPUs of this machine.
#[derive(Debug, Serialize)]
pub(crate) struct Gpu {
    /// The version of the kernel driver.
    pub(crate) driver: Option<String>,
    /// Device files (`/dev/nvidia0`, …).
    pub(crate) device_files: usize,
    /// The GPUs, as far as the system names them.
    #[serde(rename = "cards")]
    pub(crate) installed: Vec<InstalledGpu>,
}

/// One GPU.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct InstalledGpu {
    pub(crate) name: String,
    /// Its memory, if the driver's own tool tells it.
    pub(crate) memory_bytes: Option<u64>,
}

impl Gpu {
    pub(super) fn look() -> Self {
        let asked = on_path("nvidia-smi").and_then(|program| {
            let query = "--query-gpu=name,memory.total,driver_version";
            ask(&program, &[query, "--format=csv,noheader,nounits"])
        });
        let (mut installed, told) = asked.as_deref().map(answer).unwrap_or_default();
        if installed.is_empty() {
            installed = gpus_of_kernel(Path::new("/proc/driver/nvidia/gpus"));
        }
        let version = super::line_of("/proc/driver/nvidia/version");
        Self {
            driver: told.or_else(|| version.as_deref().and_then(version_in)),
            device_files: device_files(Path::new("/dev")),
            installed,
        }
    }
}

/// Reads `name, MiB, driver` lines.
fn answer(text: &str) -> (Vec<InstalledGpu>, Option<String>) {
    let mut driver = None;
    let installed = text
        .lines()
        .filter_map(|line| {
            let mut parts = line.rsplitn(3, ',').map(str::trim);
            let (version, mebibytes, name) = (parts.next()?, parts.next()?, parts.next()?);
            driver = Some(version.to_owned());
            let memory_bytes = mebibytes.parse::<u64>().ok()?.checked_mul(1 << 20);
            Some(InstalledGpu { name: name.to_owned(), memory_bytes })
        })
        .collect();
    (installed, driver)
}

fn gpus_of_kernel(folder: &Path) -> Vec<InstalledGpu> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let model = |path: &Path| {
        let text = std::fs::read_to_string(path.join("information")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Model:"))?;
        Some(InstalledGpu { name: line.trim().to_owned(), memory_bytes: None })
    };
    paths.iter().filter_map(|path| model(path)).collect()
}

/// The first word of the kernel's line that looks like `550.54.15`.
fn version_in(line: &str) -> Option<String> {
    line.split_whitespace()
        .find(|word| {
            word.contains('.') && word.chars().all(|char| char.is_ascii_digit() || char == '.')
        })
        .map(str::to_owned)
}

fn device_files(folder: &Path) -> usize {
    let is_gpu = |name: &str| {
        name.strip_prefix("nvidia")
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|char| char.is_ascii_digit()))
    };
    std::fs::read_dir(folder).map_or(0, |entries| {
        entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_str().is_some_and(is_gpu))
            .count()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_the_driver_tool_is_understood() {
        let (installed, driver) = answer("NVIDIA H200, 143771, 570.86.15\n");
        assert_eq!(driver.as_deref(), Some("570.86.15"));
        assert_eq!(
            installed,
            [InstalledGpu { name: "NVIDIA H200".into(), memory_bytes: Some(143_771 << 20) }]
        );
        assert_eq!(answer("No devices were found"), (vec![], None));
    }

    #[test]
    fn the_version_is_found_in_the_line_of_the_kernel() {
        let line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5";
        assert_eq!(version_in(line).as_deref(), Some("550.54.15"));
    }

    #[test]
    fn only_numbered_device_files_are_gpus() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(device_files(folder.path()), 2);
    }
}
