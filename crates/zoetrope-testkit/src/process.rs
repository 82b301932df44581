//! Child processes with their peak memory, their time and a limit on it.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use wait4::Wait4;

/// What is kept of each stream of a child.
const MOST_OUTPUT_BYTES: u64 = 16 << 20;

/// How a child process ended and what it took.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// The most memory it had resident, in bytes. Linux counts from the fork on, so that this is
    /// never less than what the calling process had resident then.
    pub peak_rss_bytes: u64,
    /// How long it ran.
    pub seconds: f64,
    /// How long it computed, on all cores together: what other programs of the machine do adds little.
    pub cpu_seconds: f64,
    /// Whether it was killed because it ran past the limit.
    pub timed_out: bool,
    /// Whether it was asked to stop (SIGTERM) before that.
    pub asked_to_stop: bool,
}

impl Outcome {
    /// The exit code; `None` if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Standard output as text.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Runs a command to its end, or kills it after `timeout`.
///
/// # Errors
/// If the command cannot be started or waited for.
///
/// # Panics
/// If the operating system refuses another thread.
pub fn run_measured(command: Command, timeout: Duration) -> io::Result<Outcome> {
    run_watched(command, vec![(timeout, "-KILL")])
}

/// Runs a command to its end; asks it to stop (SIGTERM) after `patience`, and kills it after `grace`
/// more.
///
/// # Errors
/// If the command cannot be started or waited for.
pub fn run_stopped(command: Command, patience: Duration, grace: Duration) -> io::Result<Outcome> {
    run_watched(command, vec![(patience, "-TERM"), (grace, "-KILL")])
}

/// Runs a command and sends it signals, each after its time if it still runs.
fn run_watched(
    mut command: Command,
    signals: Vec<(Duration, &'static str)>,
) -> io::Result<Outcome> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn()?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let watch = Watch::start(&child, signals);
    let used = child.wait4()?;
    let seconds = start.elapsed().as_secs_f64();
    let sent = watch.finish();
    Ok(Outcome {
        status: used.status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
        peak_rss_bytes: used.rusage.maxrss,
        seconds,
        cpu_seconds: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
        timed_out: sent.contains(&"-KILL"),
        asked_to_stop: sent.contains(&"-TERM"),
    })
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut content = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before a failure is all there is to show. More than that is read, so that
            // the child does not wait, and not kept: this process must stay small.
            let _ = pipe.by_ref().take(MOST_OUTPUT_BYTES).read_to_end(&mut content);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        content
    })
}

/// Sends signals to a process that outlives its times. The `kill` program is used because std can
/// kill only a `Child` that it owns, and the waiting thread owns this one.
struct Watch {
    done: mpsc::Sender<()>,
    thread: thread::JoinHandle<Vec<&'static str>>,
}

impl Watch {
    fn start(child: &Child, signals: Vec<(Duration, &'static str)>) -> Self {
        let id = child.id().to_string();
        let (done, waiting) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            let mut sent = Vec::new();
            for (after, signal) in signals {
                if waiting.recv_timeout(after) != Err(mpsc::RecvTimeoutError::Timeout) {
                    break;
                }
                let _ = Command::new("kill").args([signal, &id]).status();
                sent.push(signal);
            }
            sent
        });
        Self { done, thread }
    }

    fn finish(self) -> Vec<&'static str> {
        drop(self.done);
        self.thread.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn exit_code_and_both_streams_come_back() {
        let script = "echo out; echo err >&2; exit 3";
        let outcome = run_measured(shell(script), Duration::from_secs(100)).unwrap();
        assert_eq!(outcome.code(), Some(3));
        assert_eq!(outcome.stdout_text(), "out\n");
        assert_eq!(outcome.stderr_text(), "err\n");
        assert!(!outcome.timed_out);
    }

    #[test]
    fn more_output_than_a_pipe_holds_does_not_block() {
        let script = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2";
        let outcome = run_measured(shell(script), Duration::from_secs(100)).unwrap();
        assert_eq!((outcome.stdout.len(), outcome.stderr.len()), (300_000, 300_000));
    }

    #[test]
    fn a_process_that_runs_too_long_is_killed() {
        let outcome = run_measured(shell("exec sleep 60"), Duration::from_millis(200)).unwrap();
        assert!(outcome.timed_out);
        assert_eq!(outcome.code(), None);
        assert!(outcome.seconds < 30.0);
    }

    #[test]
    fn a_process_is_asked_to_stop_before_it_is_killed() {
        let script = "trap 'exit 7' TERM; while :; do sleep 0.05; done";
        let limits = (Duration::from_millis(300), Duration::from_secs(100));
        let outcome = run_stopped(shell(script), limits.0, limits.1).unwrap();
        assert!(outcome.asked_to_stop && !outcome.timed_out);
        assert_eq!(outcome.code(), Some(7));
    }

    #[test]
    fn peak_memory_grows_with_what_the_process_holds() {
        let small = run_measured(shell("exec true"), Duration::from_secs(100)).unwrap();
        // `dd` holds one block in memory: 64 MiB of it.
        let script = "exec dd if=/dev/zero of=/dev/null bs=64M count=1";
        let large = run_measured(shell(script), Duration::from_secs(100)).unwrap();
        assert!(small.peak_rss_bytes > 0);
        assert!(large.peak_rss_bytes > small.peak_rss_bytes + (32 << 20));
    }

    #[test]
    fn a_command_that_does_not_exist_is_an_error() {
        let missing = Command::new("no-such-program-of-zoetrope");
        assert!(run_measured(missing, Duration::from_secs(1)).is_err());
    }
}
