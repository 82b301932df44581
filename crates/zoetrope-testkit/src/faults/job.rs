//! A job of one or several processes, watched from outside: when it said what, and what it leaves.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Marks the processes of a job, also those whose parents are gone.
const MARK: &str = "ZOETROPE_TEST_JOB";

/// A job that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// The exit code of what was started; None if a signal or the limit ended it.
    pub(super) code: Option<i32>,
    /// What was said, with the time of each line.
    lines: Vec<(Instant, String)>,
    /// Processes that were left behind (they are ended now).
    pub(super) orphans: usize,
}

type Lines = Arc<Mutex<Vec<(Instant, String)>>>;

/// Runs a job to its end, or ends all of its processes after a time.
pub(super) fn run(mut command: Command, limit: Duration) -> std::io::Result<Ended> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mark = format!("{MARK}={}-{number}", std::process::id());
    command.env(MARK, format!("{}-{number}", std::process::id()));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let lines = Lines::default();
    let readers = [note(child.stdout.take(), &lines), note(child.stderr.take(), &lines)];
    let code = wait(&mut child, limit, &mark)?;
    let start = Instant::now();
    // Processes whose launcher is gone get a moment to end.
    while !marked(&mark).is_empty() && start.elapsed() < Duration::from_secs(3) {
        thread::sleep(Duration::from_millis(20));
    }
    let orphans = end(&mark);
    for reader in readers {
        let _ = reader.join();
    }
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Ended { code, lines, orphans })
}

fn wait(child: &mut Child, limit: Duration, mark: &str) -> std::io::Result<Option<i32>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if start.elapsed() > limit {
            end(mark);
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn note(pipe: Option<impl Read + Send + 'static>, lines: &Lines) -> thread::JoinHandle<()> {
    let lines = Arc::clone(lines);
    thread::spawn(move || {
        let Some(pipe) = pipe else { return };
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            lines.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), line));
        }
    })
}

/// The processes of a job that have not ended.
fn marked(mark: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_marked = |pid: &u32| {
        // A process that has ended has no environment any more.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
    };
    pids.filter(is_marked).collect()
}

/// Ends the processes of a job, and says how many there were.
fn end(mark: &str) -> usize {
    let left = marked(mark);
    for pid in &left {
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    }
    left.len()
}

impl Ended {
    /// When something was first said.
    pub(super) fn when(&self, text: &str) -> Option<Instant> {
        self.lines.iter().find(|(_, line)| line.contains(text)).map(|(at, _)| *at)
    }

    /// All that was said.
    pub(super) fn said(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|(_, line)| line.as_str()).collect();
        lines.join("\n")
    }
}
