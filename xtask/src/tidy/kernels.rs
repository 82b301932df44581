//! A kernel, its launcher and its CPU twin share one stem, so that a missing one shows in a
//! directory listing. A kernel whose twin is elsewhere says where, or why it has none, behind
//! `// No CPU twin:`. What a launcher names exists: the file here, the kernel in it when NVRTC has
//! compiled it (`cargo xtask kernels`).

use super::Finding;
use crate::repository::SourceFile;

/// What a kernel without a twin says, before the reason.
const EXCUSE: &str = "// No CPU twin: ";

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
            let mut found: Vec<Finding> = partners
                .iter()
                .map(|(what, folder)| (what, format!("{before}{folder}/{stem}.rs")))
                .filter(|(what, path)| {
                    let excused = **what == "CPU twin" && kernel.text.contains(EXCUSE);
                    !exists(path) && !excused
                })
                .map(|(what, path)| {
                    Finding::file(&kernel.path, format!("its {what} {path} is missing"))
                })
                .collect();
            let list = format!("{before}cuda/sources.rs");
            let list = files.iter().find(|file| file.path == list);
            if list.is_some_and(|list| !list.text.contains(&format!("\"{stem}\""))) {
                found.push(Finding::file(&kernel.path, "sources.rs does not list it"));
            }
            found
        })
        .chain(files.iter().flat_map(|launcher| {
            let missing = named(launcher).into_iter().filter(|path| !exists(path));
            missing
                .map(|path| Finding::file(&launcher.path, format!("{path} is missing")))
                .collect::<Vec<_>>()
        }))
        .collect()
}

/// The files of kernels that a launcher names: `Kernel::new("file", "kernel")`, comments aside.
fn named(launcher: &SourceFile) -> Vec<String> {
    let Some((before, _)) = launcher.path.split_once("/cuda/") else { return Vec::new() };
    if launcher.extension() != "rs" {
        return Vec::new();
    }
    let code = launcher.text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let calls = code.split("Kernel::new(").skip(1);
    let stems = calls.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split_once('"'));
    stems.map(|(stem, _)| format!("{before}/cuda/{stem}.cu")).collect()
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
    fn a_kernel_may_say_why_it_has_no_twin() {
        let with = |text| {
            let kernel = file("crates/zoetrope-tensor/src/cuda/sampler.cu", text);
            check(&[kernel, file("crates/zoetrope-tensor/src/cuda/sampler.rs", "")]).len()
        };
        assert_eq!(with("// No CPU twin: the graph samples."), 0);
        assert_eq!(with("// A twin."), 1);
    }

    #[test]
    fn launchers_without_a_kernel_need_no_twin() {
        assert_eq!(check(&[file("crates/zoetrope-tensor/src/cuda/transfer.rs", "")]), []);
    }

    #[test]
    fn a_kernel_outside_a_cuda_folder_is_refused() {
        assert_eq!(check(&[file("crates/zoetrope-tensor/src/spmm.cu", "")]).len(), 1);
    }

    #[test]
    fn a_kernel_that_the_binary_would_not_hold_is_found() {
        let listed = |text| {
            let mut files = ["cuda/spmm.cu", "cuda/spmm.rs", "cpu/spmm.rs"]
                .map(|path| file(&format!("crates/zoetrope-tensor/src/{path}"), ""))
                .to_vec();
            files.push(file("crates/zoetrope-tensor/src/cuda/sources.rs", text));
            check(&files).len()
        };
        assert_eq!(listed("sources! { \"spmm\" }"), 0);
        assert_eq!(listed("sources! { \"gru\" }"), 1);
    }

    #[test]
    fn a_launcher_names_files_that_exist() {
        let launcher = |text| file("crates/zoetrope-tensor/src/cuda/gru/streamed.rs", text);
        let call = "static A: Kernel = Kernel::new(\n    \"gru\", \"gru_forward\");";
        assert_eq!(check(&[launcher(call)]).len(), 1);
        assert_eq!(check(&[launcher("/// `Kernel::new(\"gru\", \"gru_forward\")`")]), []);
        let kernel = file("crates/zoetrope-tensor/src/cuda/gru.cu", "");
        let partners = ["cpu", "cuda"]
            .map(|folder| file(&format!("crates/zoetrope-tensor/src/{folder}/gru.rs"), ""));
        let [twin, first] = partners;
        assert_eq!(check(&[launcher(call), kernel, twin, first]), []);
    }
}
