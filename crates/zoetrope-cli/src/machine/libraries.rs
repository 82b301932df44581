//! Shared libraries, searched where the loader searches them, but not loaded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// A library that is loaded at run time for GPUs.
#[derive(Debug, Serialize)]
pub(crate) struct Library {
    /// What it is called.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) purpose: &'static str,
    /// Where it was found.
    pub(crate) path: Option<PathBuf>,
}

const WANTED: [(&str, &str, &str); 4] = [
    ("CUDA driver", "libcuda.so", "any use of a GPU"),
    ("NVRTC", "libnvrtc.so", "compiling kernels at run time"),
    ("cuBLAS", "libcublas.so", "dense products on the GPU"),
    ("NCCL", "libnccl.so", "several GPUs"),
];

/// Looks for each library.
pub(super) fn look() -> Vec<Library> {
    let cached = cached_paths();
    let folders = folders();
    WANTED
        .into_iter()
        .map(|(name, stem, purpose)| Library { name, purpose, path: find(stem, &cached, &folders) })
        .collect()
}

fn find(stem: &str, cached: &[PathBuf], folders: &[PathBuf]) -> Option<PathBuf> {
    let matches = |path: &Path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_prefix(stem))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let in_folder = |folder: &PathBuf| {
        let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| matches(path) && path.exists())
            .collect();
        names.sort();
        names.into_iter().next()
    };
    let explicit = folders.iter().find_map(in_folder);
    explicit.or_else(|| cached.iter().find(|path| matches(path) && path.exists()).cloned())
}

/// Folders that the environment names, then the usual ones.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(paths) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&paths).filter(|path| path.is_absolute()));
    }
    for (variable, below) in [
        ("CUDA_HOME", "lib64"),
        ("CUDA_PATH", "lib64"),
        ("NCCL_HOME", "lib"),
        ("CONDA_PREFIX", "lib"),
    ] {
        // Those that are empty or relative are not searched for libraries either.
        let root = std::env::var_os(variable).map(PathBuf::from).filter(|root| root.is_absolute());
        folders.extend(root.map(|root| root.join(below)));
    }
    let usual = [
        "/usr/local/cuda/lib64",
        "/usr/local/nvidia/lib64",
        "/usr/lib/wsl/lib",
        "/lib64",
        "/usr/lib64",
        "/lib",
        "/usr/lib",
        "/usr/local/lib",
    ];
    folders.extend(usual.map(PathBuf::from));
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    folders.extend(["/lib", "/usr/lib"].map(|root| Path::new(root).join(&triple)));
    let mut seen = BTreeSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

/// The paths in the loader's cache. Its layout differs between systems, but all of them hold the
/// paths as NUL-terminated text, which is all that is needed here.
fn cached_paths() -> Vec<PathBuf> {
    let cache = std::fs::read("/etc/ld.so.cache").unwrap_or_default();
    paths_in(&cache)
}

fn paths_in(cache: &[u8]) -> Vec<PathBuf> {
    cache
        .split(|&byte| byte == 0)
        .filter(|text| text.first() == Some(&b'/') && text.len() < 4096)
        .filter_map(|text| std::str::from_utf8(text).ok())
        .map(PathBuf::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_with_or_without_a_version() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libnccl.so.2"), "").unwrap();
        std::fs::write(folder.path().join("libcublasLt.so.12"), "").unwrap();
        let folders = [folder.path().to_owned()];
        assert_eq!(find("libnccl.so", &[], &folders), Some(folder.path().join("libnccl.so.2")));
        assert_eq!(find("libcublas.so", &[], &folders), None);
    }

    #[test]
    fn the_loader_cache_is_read_as_text_between_zeros() {
        let cache = b"magic\0\x01\xff\0libm.so.6\0/lib/libm.so.6\0/usr/lib/libcuda.so.1\0";
        assert_eq!(
            paths_in(cache),
            [PathBuf::from("/lib/libm.so.6"), PathBuf::from("/usr/lib/libcuda.so.1")]
        );
    }
}
