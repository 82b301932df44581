//! Asking another program a question, with a limit on how long it may think.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program that does not answer within this time is treated as if it were not there.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How much of an answer is read.
const MOST_BYTES: u64 = 64 << 10;

/// The first program of this name on the path.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// What a program prints, if it ends well and in time.
pub(super) fn ask(program: &Path, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut answer = Vec::new();
        // What was read before a failure is all there is.
        let _ = stdout.take(MOST_BYTES).read_to_end(&mut answer);
        answer
    });
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(None) if start.elapsed() < TIMEOUT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(Some(_)) => return None,
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    Some(String::from_utf8_lossy(&reader.join().ok()?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_answers_or_there_is_none() {
        let shell = on_path("sh").expect("every system that runs the tests has a shell");
        assert_eq!(ask(&shell, &["-c", "echo yes"]).as_deref(), Some("yes\n"));
        assert_eq!(ask(&shell, &["-c", "exit 3"]), None);
        assert_eq!(on_path("no-such-program-of-zoetrope"), None);
    }
}
