//! A kernel, its launcher and its CPU twin share one stem, so that a missing one shows in a
//! directory listing.

use super::Finding;
use crate::repository::SourceFile;

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let exists = |path: &str| files.iter().any(|file| file.path == path);
    let kernels = files.iter().filter(|file| file.extension() == "cu");
    kernels
        .flat_map(|kernel| {
            let Some((before, after)) = kernel.path.rsplit_once("cuda/") else {
                return vec![Finding::file(&kernel.path, "kernels live in a `cuda/` folder")];
            };
            let stem = after.trim_end_matches(".cu");
            let partners = [("launcher", "cuda"), ("CPU twin", "cpu")];
            partners
                .iter()
                .map(|(what, folder)| (what, format!("{before}{folder}/{stem}.rs")))
                .filter(|(_, path)| !exists(path))
                .map(|(what, path)| {
                    Finding::file(&kernel.path, format!("its {what} {path} is missing"))
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    #[test]
    fn a_kernel_with_launcher_and_twin_passes() {
        let files = ["cuda/spmm.cu", "cuda/spmm.rs", "cpu/spmm.rs"]
            .map(|path| file(&format!("crates/zoetrope-tensor/src/{path}"), ""));
        assert_eq!(check(&files), []);
    }

    #[test]
    fn a_kernel_alone_lacks_two_partners() {
        assert_eq!(check(&[file("crates/zoetrope-tensor/src/cuda/spmm.cu", "")]).len(), 2);
    }

    #[test]
    fn launchers_without_a_kernel_need_no_twin() {
        assert_eq!(check(&[file("crates/zoetrope-tensor/src/cuda/transfer.rs", "")]), []);
    }

    #[test]
    fn a_kernel_outside_a_cuda_folder_is_refused() {
        assert_eq!(check(&[file("crates/zoetrope-tensor/src/spmm.cu", "")]).len(), 1);
    }
}
