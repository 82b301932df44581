//! Named, timed steps that run one after the other until one fails.

use std::process::Command;
use std::time::Instant;

use crate::test_counts::{self, Counts};

/// One step: a name and what it does.
pub(crate) struct Step {
    name: &'static str,
    action: Action,
}

enum Action {
    Run(Command),
    Test(Command),
    Call(Box<dyn Fn() -> bool>),
    Skip(String),
}

impl Step {
    /// A step that runs a program and passes if it exits with 0.
    pub(crate) fn command(name: &'static str, command: Command) -> Self {
        Self { name, action: Action::Run(command) }
    }

    /// A step that runs tests, whose results are counted.
    pub(crate) fn tests(name: &'static str, command: Command) -> Self {
        Self { name, action: Action::Test(command) }
    }

    /// A step inside this program.
    pub(crate) fn call(name: &'static str, action: impl Fn() -> bool + 'static) -> Self {
        Self { name, action: Action::Call(Box::new(action)) }
    }

    /// A step that this machine cannot take, and why.
    pub(crate) fn skip(name: &'static str, reason: impl Into<String>) -> Self {
        Self { name, action: Action::Skip(reason.into()) }
    }
}

/// Runs the steps in order and prints what each took; stops at the first that fails. The last
/// line sums up all tests that ran, as cargo's own runner would.
pub(crate) fn run_all(steps: Vec<Step>) -> bool {
    let start = Instant::now();
    let mut counts = Counts::default();
    let passed = run_until_failure(steps, &mut counts);
    println!("{}", counts.summary(passed, start.elapsed()));
    passed
}

fn run_until_failure(steps: Vec<Step>, counts: &mut Counts) -> bool {
    let mut times = Vec::new();
    for step in steps {
        eprintln!("── {}", step.name);
        let start = Instant::now();
        let passed = match step.action {
            Action::Run(mut command) => run(&mut command),
            Action::Test(command) => test_counts::run(command, counts),
            Action::Call(action) => action(),
            Action::Skip(reason) => {
                eprintln!("   skipped: {reason}");
                continue;
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        if !passed {
            eprintln!("── {} FAILED after {seconds:.1} s", step.name);
            return false;
        }
        times.push((step.name, seconds));
    }
    for (name, seconds) in &times {
        eprintln!("{name:<24} ok {seconds:>8.1} s");
    }
    true
}

fn run(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("   cannot start {:?}: {error}", command.get_program());
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn steps_after_a_failure_do_not_run() {
        let ran = Rc::new(Cell::new(0));
        let counted = |passes: bool| {
            let ran = Rc::clone(&ran);
            Step::call("counted", move || {
                ran.set(ran.get() + 1);
                passes
            })
        };
        assert!(!run_all(vec![counted(true), counted(false), counted(true)]));
        assert_eq!(ran.get(), 2);
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_failure_and_not_a_panic() {
        let missing = Command::new("no-such-program-of-zoetrope");
        assert!(!run_all(vec![Step::command("missing", missing)]));
    }

    #[test]
    fn a_skipped_step_does_not_fail_the_rest() {
        assert!(run_all(vec![Step::skip("skipped", "not here"), Step::call("rest", || true)]));
    }
}
