//! Ctrl-C once sets the flag, twice ends the process, as a real process sees it.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zoetrope_train::interrupt::Interrupt;

/// Set if this program is the process that is to be interrupted.
const CHILD: &str = "INTERRUPTED_CHILD";

/// What the interrupted process does; without the variable it is an empty test.
#[test]
fn the_interrupted_process() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let interrupt = Interrupt::on_signals().unwrap();
    // On the standard error, which the test harness does not hold back.
    eprintln!("ready");
    let give_up = Instant::now() + Duration::from_secs(600);
    while !interrupt.is_asked() && Instant::now() < give_up {
        std::thread::yield_now();
    }
    eprintln!("asked");
    while Instant::now() < give_up {
        std::thread::park_timeout(Duration::from_secs(1));
    }
}

#[test]
fn the_first_signal_asks_and_the_second_ends_the_process_at_once() {
    for signal in ["-INT", "-TERM"] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_interrupted_process", "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id().to_string();
        let send = || {
            assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        };
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut wait_for = |text: &str| {
            assert!(lines.by_ref().any(|line| line.unwrap().contains(text)), "{text}");
        };
        wait_for("ready");
        send();
        wait_for("asked");
        let start = Instant::now();
        send();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(1), "{signal}");
        // It does not go on until it gives up; a busy machine may take a while to end it.
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}
