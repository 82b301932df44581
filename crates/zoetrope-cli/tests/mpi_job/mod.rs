//! Jobs of the real binary under a launcher of MPI.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::binary::{Folder, command};

/// No job takes longer.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs ranks on two hosts that are network namespaces.
const TWO_HOSTS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../zoetrope-testkit/hosts/two_hosts.sh");

/// How jobs are started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launcher {
    /// Program and options that stand before the number of ranks.
    words: &'static [&'static str],
    /// Whether it leaves processes alone for a moment when one of them is gone. MPICH's kills the
    /// others at once and says itself what happened.
    pub(crate) lets_survivors_speak: bool,
}

impl Launcher {
    /// The launcher of this machine.
    pub(crate) fn find() -> Option<Self> {
        let answer = Command::new("mpirun").arg("--version").output().ok();
        let text = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned());
        match text {
            Some(text) if text.contains("Open MPI") => Some(Self {
                words: &["mpirun", "--allow-run-as-root", "--oversubscribe", "-n"],
                lets_survivors_speak: true,
            }),
            Some(text) if text.contains("HYDRA") => {
                Some(Self { words: &["mpirun", "-n"], lets_survivors_speak: false })
            }
            _ => {
                println!("skipped: neither Open MPI nor MPICH is installed (no mpirun)");
                None
            }
        }
    }

    /// Two hosts that this machine plays, if it can.
    pub(crate) fn of_two_hosts() -> Option<Self> {
        let check = Command::new(TWO_HOSTS).arg("--check").output().unwrap();
        if !check.status.success() {
            println!("skipped: {}", String::from_utf8_lossy(&check.stderr).trim());
            return None;
        }
        Some(Self { words: &[TWO_HOSTS], lets_survivors_speak: true })
    }
}

/// Ranks of one job after the other: those of several would keep each other waiting.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A job that runs.
pub(crate) struct Job {
    launcher: Child,
    pids: OnceLock<Vec<u32>>,
    size: usize,
    output: PathBuf,
    struck: Mutex<Option<Instant>>,
    _session: tempfile::TempDir,
    _turn: std::sync::MutexGuard<'static, ()>,
}

/// A job that has ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    /// From the signal to the end, or to the word that was waited for.
    pub(crate) since_signal: Option<Duration>,
    pids: Vec<u32>,
}

impl Job {
    pub(crate) fn start(
        launcher: Launcher,
        folder: &Folder,
        size: usize,
        arguments: &[&str],
    ) -> Self {
        Self::start_mixed(launcher, folder, size, arguments, None)
    }

    /// The same with one rank more, which is started by other words: a program and its arguments.
    pub(crate) fn start_mixed(
        launcher: Launcher,
        folder: &Folder,
        size: usize,
        arguments: &[&str],
        last: Option<&[&str]>,
    ) -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // Launchers that run side by side would make and remove one folder of sessions.
        let session = tempfile::tempdir().unwrap();
        let output = session.path().join("output");
        let file = std::fs::File::create(&output).unwrap();
        let zoetrope = command(&folder.path(""), arguments);
        let mut mpirun = Command::new(launcher.words[0]);
        mpirun.args(&launcher.words[1..]).arg(size.to_string());
        mpirun.arg(zoetrope.get_program()).args(zoetrope.get_args());
        if let Some(last) = last {
            mpirun.args([":", "-n", "1"]).args(last);
        }
        mpirun.current_dir(folder.path("")).env("TMPDIR", session.path());
        mpirun.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let launcher = mpirun.spawn().unwrap();
        let (pids, struck) = (OnceLock::new(), Mutex::new(None));
        Self { launcher, pids, size, output, struck, _session: session, _turn: turn }
    }

    /// Waits until a run has recorded so many epochs, and notes its processes.
    pub(crate) fn await_epochs(&self, folder: &Folder, run: &str, epochs: usize) {
        let metrics = folder.path(&format!("{run}/metrics.jsonl"));
        let lines = || std::fs::read_to_string(&metrics).unwrap_or_default().lines().count();
        self.await_that(|| lines() >= epochs);
    }

    /// Waits until something is so, and notes the processes.
    pub(crate) fn await_that(&self, is_so: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < LONGEST, "{}", self.said());
            std::thread::sleep(Duration::from_millis(2));
        }
        let pids = (0..self.size).map(|rank| self.process_of(rank)).collect();
        self.pids.set(pids).unwrap();
    }

    /// The process of a rank: the child of the launcher that was told so.
    fn process_of(&self, rank: usize) -> u32 {
        let told = [format!("OMPI_COMM_WORLD_RANK={rank}"), format!("PMI_RANK={rank}")];
        let is_rank = |pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut entries = environment.split(|&byte| byte == 0);
            entries.any(|entry| told.iter().any(|told| told.as_bytes() == entry))
        };
        let found = descendants(self.launcher.id()).into_iter().find(is_rank);
        found.unwrap_or_else(|| panic!("no process of rank {rank}: {}", self.said()))
    }

    pub(crate) fn signal(&self, rank: usize, signal: Signal) {
        let pid = self.pids.get().unwrap()[rank];
        *self.struck.lock().unwrap() = Some(Instant::now());
        kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.output).unwrap()).into_owned()
    }

    /// Waits for the end.
    pub(crate) fn end(self) -> Ended {
        self.end_with(None)
    }

    /// Waits for the end, and notes when a word was said.
    pub(crate) fn end_after_word(self, word: &str) -> Ended {
        self.end_with(Some(word))
    }

    fn end_with(mut self, word: Option<&str>) -> Ended {
        let start = Instant::now();
        let struck = *self.struck.lock().unwrap();
        let mut noted = None;
        let status = loop {
            let status = self.launcher.try_wait().unwrap();
            let is_said = || word.is_some_and(|word| self.said().contains(word));
            if noted.is_none() && (status.is_some() || is_said()) {
                noted = Some(Instant::now());
            }
            if let Some(status) = status {
                break status;
            }
            if start.elapsed() > LONGEST {
                let _ = self.launcher.kill();
                panic!("it does not end: {}", self.said());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Ended {
            code: status.code(),
            output: self.said(),
            since_signal: struck.zip(noted).map(|(struck, noted)| noted - struck),
            pids: self.pids.get().cloned().unwrap_or_default(),
        }
    }
}

impl Ended {
    /// Processes of the job that are still there, after a moment to disappear.
    pub(crate) fn orphans(&self) -> Vec<u32> {
        let lives = |pid: &&u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // A zombie has ended.
            stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline && self.pids.iter().any(|pid| lives(&pid)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.pids.iter().filter(lives).copied().collect()
    }
}

/// All processes below one.
fn descendants(of: u32) -> Vec<u32> {
    let mut found = vec![of];
    let mut at = 0;
    while at < found.len() {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", found[at]));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        at += 1;
    }
    found.split_off(1)
}
