//! `cargo xtask attack` and `cargo xtask faults`: builds the program, then lets a program of
//! `zoetrope-testkit` attack or disturb it.

use std::path::{Path, PathBuf};

use crate::repository;
use crate::validate::{cargo, target};

/// Inputs that are changed at random; see `crates/zoetrope-testkit/src/attack`.
pub(crate) fn attack(root: &Path, flags: &[&str]) -> bool {
    run(root, "attack", "", flags)
}

/// Kills, damages and faults of real runs; see `crates/zoetrope-testkit/src/faults`.
pub(crate) fn faults(root: &Path, flags: &[&str]) -> bool {
    run(root, "faults", "mpi,faults", flags)
}

fn run(root: &Path, name: &str, features: &str, flags: &[&str]) -> bool {
    let Some((program, flags)) = program(root, features, flags) else { return false };
    let mut command = cargo(root, &["run", "--quiet", "--package", "zoetrope-testkit", "--locked"]);
    command.args(["--bin", name, "--", "--program"]).arg(program);
    command.arg("--keep").arg(target(root).join(name));
    command.args(["--commit", &repository::commit(root)]).args(flags);
    command.status().is_ok_and(|status| status.success())
}

/// The program to run, and the flags that are left: a file that is named, or a fresh build.
fn program<'a>(root: &Path, features: &str, flags: &[&'a str]) -> Option<(PathBuf, Vec<&'a str>)> {
    let mut left = flags.to_vec();
    if let Some(at) = left.iter().position(|&flag| flag == "--program") {
        let named = left.drain(at..(at + 2).min(left.len())).nth(1)?;
        return Some((std::path::absolute(named).ok()?, left));
    }
    let release = left.iter().position(|&flag| flag == "--release").map(|at| left.remove(at));
    let profile = if release.is_some() { "release" } else { "dev" };
    let mut build = cargo(root, &["build", "--package", "zoetrope-cli", "--locked"]);
    build.args(["--profile", profile, "--features", features]);
    let folder = if release.is_some() { "release" } else { "debug" };
    let built = build.status().is_ok_and(|status| status.success());
    built.then(|| (target(root).join(folder).join("zoetrope"), left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_program_is_taken_and_other_flags_are_left() {
        let flags = ["--inputs", "9", "--program", "/bin/true", "--seed", "2"];
        let (program, left) = program(Path::new("."), "", &flags).unwrap();
        assert_eq!(program, Path::new("/bin/true"));
        assert_eq!(left, ["--inputs", "9", "--seed", "2"]);
    }

    #[test]
    fn a_program_without_a_name_is_refused() {
        assert!(program(Path::new("."), "", &["--program"]).is_none());
    }
}
