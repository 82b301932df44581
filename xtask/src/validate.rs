//! The one command to remember before a commit: everything that must pass, cheapest first.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::steps::Step;
use crate::{kernels, tidy};

/// Where Zoetrope looks for CUDA first.
pub(crate) const CUDA_VARIABLE: &str = "ZOETROPE_CUDA_PATH";

/// Where Zoetrope keeps compiled kernels.
pub(crate) const KERNELS_VARIABLE: &str = "ZOETROPE_KERNEL_CACHE";

/// Where `calibrate` keeps what it measured; empty for nowhere. Plans of tests are for machines that are built in.
const MACHINES_VARIABLE: &str = "ZOETROPE_MACHINE_CACHE";

/// What is built and tested once more with the features that plain builds leave out.
const WITH_MPI: [&str; 5] = ["--package", "zoetrope-dist", "--features", "mpi,faults", "--locked"];

/// Runs by processes: of what stands above, only the tests that need MPI or fault points.
const RUNS_WITH_MPI: [&str; 7] = [
    "--package",
    "zoetrope-train",
    "--package",
    "zoetrope-cli",
    "--features",
    "zoetrope-train/mpi,zoetrope-cli/mpi,zoetrope-cli/faults",
    "--locked",
];

/// How much the compiler optimises the binary that a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As the tests.
    Dev,
    /// As users do.
    Release,
}

/// The steps of `cargo xtask validate`.
pub(crate) fn steps(root: &Path) -> Vec<Step> {
    let mut steps = before_tests(root);
    steps.extend(tests(root));
    steps
}

/// Everything that needs no test to run.
pub(crate) fn before_tests(root: &Path) -> Vec<Step> {
    let (for_tidy, for_kernels): (PathBuf, PathBuf) = (root.into(), root.into());
    let mut documentation = cargo(root, &["doc", "--workspace", "--no-deps", "--locked"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    vec![
        component(root, "fmt", &["fmt", "--all", "--check"]),
        Step::call("tidy", move || tidy::run(&for_tidy)),
        component(
            root,
            "deny",
            &["deny", "--all-features", "check", "bans", "licenses", "sources"],
        ),
        advisories(root),
        Step::call("kernels", move || kernels::run(&for_kernels)),
        component(
            root,
            "clippy",
            &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        ),
        component(
            root,
            "clippy with MPI",
            &[&["clippy"], &WITH_MPI[..], &["--all-targets", "--", "-D", "warnings"]].concat(),
        ),
        component(
            root,
            "clippy of runs with MPI",
            &[&["clippy"], &RUNS_WITH_MPI[..], &["--all-targets", "--", "-D", "warnings"]].concat(),
        ),
        Step::command("documentation", documentation),
    ]
}

/// Known faults of dependencies, by the newest list that this machine can get.
fn advisories(root: &Path) -> Step {
    const NAME: &str = "advisories";
    if !answers(root, &["deny", "--version"]) {
        return Step::skip(NAME, "`cargo deny` is not installed");
    }
    if !answers(root, &["deny", "fetch", "db"]) {
        return Step::skip(NAME, "the list of advisories cannot be reached");
    }
    Step::command(NAME, cargo(root, &["deny", "--all-features", "check", "advisories"]))
}

/// The tests of all crates and the examples in their documentation. What runs on a GPU runs on an
/// emulated one, unless the environment says where CUDA is.
pub(crate) fn tests(root: &Path) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut tests = test_command(root);
    if std::env::var_os(CUDA_VARIABLE).is_none() {
        let folder = target(root).join("cuda-emulator");
        let mut build = Command::new(root.join("crates/zoetrope-testkit/emulator/build.sh"));
        build.arg(&folder).stdout(Stdio::null());
        steps.push(Step::command("CUDA emulator", build));
        tests.env(CUDA_VARIABLE, &folder).env(KERNELS_VARIABLE, folder.join("kernels"));
    }
    steps.push(Step::tests("tests", tests));
    for (name, what, which) in [
        ("tests with MPI", &WITH_MPI[..], &["--lib", "--tests"][..]),
        (
            "tests of runs with MPI",
            &RUNS_WITH_MPI,
            &["--test", "ranks_mpi", "--test", "mpi", "--test", "faults"],
        ),
    ] {
        steps.push(if starts("mpirun") {
            let arguments = [&["test"], what, which, &["--no-fail-fast"]].concat();
            Step::tests(name, cargo(root, &arguments))
        } else {
            Step::skip(name, "mpirun is not installed")
        });
    }
    let examples = cargo(root, &["test", "--workspace", "--doc", "--locked"]);
    steps.push(Step::tests("documentation examples", examples));
    steps
}

/// Builds the `zoetrope` binary and says where it is.
pub(crate) fn build_binary(root: &Path, profile: Profile) -> Option<PathBuf> {
    let mut command = cargo(root, &["build", "--package", "zoetrope-cli", "--locked"]);
    let folder = match profile {
        Profile::Dev => "debug",
        Profile::Release => {
            command.arg("--release");
            "release"
        }
    };
    let built = command.status().is_ok_and(|status| status.success());
    built.then(|| target(root).join(folder).join("zoetrope"))
}

/// Runs under nextest if it is installed (it shows each test's time and kills none of the
/// others when one aborts), and under cargo's own runner otherwise.
fn test_command(root: &Path) -> Command {
    if answers(root, &["nextest", "--version"]) {
        cargo(root, &["nextest", "run", "--workspace", "--locked", "--no-fail-fast"])
    } else {
        cargo(
            root,
            &["test", "--workspace", "--lib", "--bins", "--tests", "--locked", "--no-fail-fast"],
        )
    }
}

/// Where cargo builds.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from)
}

/// A step that needs a component which a minimal Rust installation lacks.
fn component(root: &Path, name: &'static str, arguments: &[&str]) -> Step {
    if answers(root, &[arguments[0], "--version"]) {
        Step::command(name, cargo(root, arguments))
    } else {
        Step::skip(name, format!("`cargo {}` is not installed", arguments[0]))
    }
}

pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root).env(MACHINES_VARIABLE, "");
    command
}

fn starts(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

fn answers(root: &Path, arguments: &[&str]) -> bool {
    let mut command = cargo(root, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
