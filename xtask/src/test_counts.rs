//! Runs tests, passes their output on, and adds up what their runners say.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// How many tests ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    /// One line in the form of cargo's own runner.
    pub(crate) fn summary(&self, all_steps_passed: bool, time: Duration) -> String {
        let Self { passed, failed, ignored } = self;
        let verdict = if all_steps_passed { "ok" } else { "FAILED" };
        let seconds = time.as_secs_f64();
        format!(
            "test result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; \
             finished in {seconds:.2}s"
        )
    }

    /// Adds what one line of output says, if it is a runner's summary.
    fn add_line(&mut self, line: &str) {
        let line = without_colours(line);
        let line = line.trim();
        if let Some((_, rest)) = line.split_once("test result: ") {
            self.passed += number_before(rest, " passed");
            self.failed += number_before(rest, " failed");
            self.ignored += number_before(rest, " ignored");
        } else if line.starts_with("Summary [") {
            self.passed += number_before(line, " passed");
            self.failed += number_before(line, " failed") + number_before(line, " timed out");
            self.ignored += number_before(line, " skipped");
        }
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// Runs a test command and counts; true if it exits with 0.
pub(crate) fn run(mut command: Command, counts: &mut Counts) -> bool {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("   cannot start {:?}: {error}", command.get_program());
            return false;
        }
    };
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let errors = thread::spawn(move || pass_on(stderr, std::io::stderr()));
    counts.add(pass_on(stdout, std::io::stdout()));
    counts.add(errors.join().unwrap_or_default());
    child.wait().is_ok_and(|status| status.success())
}

fn pass_on(from: Option<impl Read>, mut to: impl Write) -> Counts {
    let mut counts = Counts::default();
    let Some(from) = from else { return counts };
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        counts.add_line(&String::from_utf8_lossy(&line));
        // A closed terminal must not stop the tests.
        let _ = to.write_all(&line);
        line.clear();
    }
    counts
}

fn number_before(line: &str, word: &str) -> u64 {
    let before = line.split_once(word).map_or("", |(before, _)| before);
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// The line without the escape sequences that set colours.
fn without_colours(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    plain.extend(parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text)));
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(line: &str) -> Counts {
        let mut counts = Counts::default();
        counts.add_line(line);
        counts
    }

    #[test]
    fn cargo_and_nextest_summaries_are_understood() {
        let cargo = "test result: ok. 36 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out";
        assert_eq!(counted(cargo), Counts { passed: 36, failed: 1, ignored: 2 });
        let nextest =
            "     Summary [   1.234s] 15 tests run: 12 passed (1 slow), 3 failed, 4 skipped";
        assert_eq!(counted(nextest), Counts { passed: 12, failed: 3, ignored: 4 });
        let coloured = "\u{1b}[32;1m     Summary\u{1b}[0m [   0.1s] \u{1b}[1m2\u{1b}[0m tests \
            run: \u{1b}[1m2\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, 0 skipped";
        assert_eq!(counted(coloured), Counts { passed: 2, failed: 0, ignored: 0 });
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(counted("5 passed by the window"), Counts::default());
    }

    #[test]
    fn output_is_passed_on_unchanged_while_it_is_counted() {
        let output = b"running\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\xff".as_slice();
        let mut shown = Vec::new();
        assert_eq!(pass_on(Some(output), &mut shown).passed, 2);
        assert_eq!(shown, output);
    }

    #[test]
    fn the_exit_status_decides_whatever_was_printed() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 1"]);
        assert!(!run(command, &mut Counts::default()));
    }

    #[test]
    fn the_summary_reads_like_cargo_s() {
        let counts = Counts { passed: 3, failed: 0, ignored: 1 };
        let line = counts.summary(true, Duration::from_millis(1500));
        assert_eq!(line, "test result: ok. 3 passed; 0 failed; 1 ignored; finished in 1.50s");
    }
}
