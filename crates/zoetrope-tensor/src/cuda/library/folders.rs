//! Where toolkits, environments and Python packages put their libraries.

use std::path::{Path, PathBuf};

/// The folders that are searched when the system does not know a library.
pub(super) fn usual_folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(named);
    let usual = ["/usr/local/cuda", "/usr/local/cuda-13", "/usr/local/cuda-12"];
    for toolkit in toolkits.chain(usual.map(PathBuf::from)) {
        folders.extend(["lib64", "extras/CUPTI/lib64"].map(|below| toolkit.join(below)));
    }
    for variable in ["CONDA_PREFIX", "VIRTUAL_ENV"] {
        let Some(prefix) = named(variable) else { continue };
        let lib = prefix.join("lib");
        for python in children(&lib).into_iter().filter(|path| is_python(path)) {
            let packages = children(&python.join("site-packages/nvidia"));
            folders.extend(packages.into_iter().map(|package| package.join("lib")));
        }
        folders.push(lib);
    }
    folders
}

/// The folder that a variable names. Empty and relative ones name none: a library in the working folder
/// is anybody's.
pub(super) fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// The folders near another library: of the toolkit, or of the Python packages, that it is part of.
pub(super) fn beside(file: &Path) -> Vec<PathBuf> {
    let Some(folder) = file.parent().filter(|folder| folder.is_absolute()) else {
        return Vec::new();
    };
    let near = ["", "../extras/CUPTI/lib64", "../../cuda_cupti/lib", "../../nccl/lib"];
    near.map(|path| folder.join(path)).into()
}

/// What a folder holds, in order; nothing if there is no such folder.
pub(super) fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn is_python(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"))
}
