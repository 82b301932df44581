//! Faults on request, for tests: what happens at a named point of a real run.
//!
//! Compiled in with the feature `faults` only. `ZOETROPE_FAULT=NAME:OCCURRENCE:ACTION` names the point,
//! which of its passings (from 1), and the action:
//!
//! | action | does |
//! | --- | --- |
//! | `kill`, `stop` | sends the process SIGKILL or SIGSTOP |
//! | `exit`, `panic`, `loop` | ends with code 3, panics, or hangs |
//! | `delay` | waits for a second and goes on |
//! | `error`, `full` | the operation fails: input/output error, or no space left (EIO, ENOSPC) |
//! | `short` | half of the bytes are written, then there is no space left |
//! | `flip` | one bit of what is written is another one |
//!
//! `error` to `flip` mean something only at points of the file layer (`disk.…`). Points of ranks are
//! called `rank-R.before` (before a collective) and `rank-R.in` (its messages are on their way), and
//! their occurrence is the number of the collective.
//!
//! `ZOETROPE_FAULT=list` prints the name of each point that is passed to standard error and causes no
//! fault: a program that tries all points gets their list from it.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::site::Site;

const VARIABLE: &str = "ZOETROPE_FAULT";

/// When a rank is struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before a collective: between it and the one before.
    Before,
    /// After its own messages of a collective have left.
    In,
}

/// What becomes of an operation of the file layer.
#[derive(Debug)]
pub enum Mishap {
    /// It fails, and nothing happens.
    Fails(io::Error),
    /// Half of the bytes are written, then there is no space left.
    ShortWrite,
    /// One bit of what is written is another one.
    BitFlip,
}

/// What was asked for.
#[derive(Debug)]
enum Order {
    List,
    Strike { name: String, occurrence: u64, action: String },
}

fn order() -> Option<&'static Order> {
    static ORDER: OnceLock<Option<Order>> = OnceLock::new();
    ORDER.get_or_init(|| parse(&std::env::var(VARIABLE).ok()?)).as_ref()
}

fn parse(text: &str) -> Option<Order> {
    if text == "list" {
        return Some(Order::List);
    }
    let [name, occurrence, action] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    let (name, action) = (name.to_owned(), action.to_owned());
    Some(Order::Strike { name, occurrence: occurrence.parse().ok()?, action })
}

/// Passes a named point: counts it, and causes the fault that was asked for.
pub fn pass(name: &str) -> Option<Mishap> {
    static PASSED: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
    order()?;
    let occurrence = {
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.entry(name.to_owned()).or_default();
        *count += 1;
        *count
    };
    strike(name, occurrence)
}

/// Strikes a rank that comes by the place that was named.
pub(crate) fn pass_rank(rank: usize, site: Site, moment: Moment) {
    if order().is_some() {
        let moment = if moment == Moment::Before { "before" } else { "in" };
        strike(&format!("rank-{rank}.{moment}"), site.number);
    }
}

fn strike(passed: &str, number: u64) -> Option<Mishap> {
    let (name, occurrence, action) = match order()? {
        Order::List => {
            let _ = writeln!(io::stderr(), "fault point {passed}");
            return None;
        }
        Order::Strike { name, occurrence, action } => (name, *occurrence, action.as_str()),
    };
    if (name.as_str(), occurrence) != (passed, number) {
        return None;
    }
    // Whoever measures has the time from here.
    let _ = writeln!(io::stderr(), "fault: {action} at {passed} {number}");
    match action {
        "exit" => std::process::exit(3),
        "panic" => panic!("asked for by {VARIABLE}"),
        "delay" => {
            std::thread::sleep(Duration::from_secs(1));
            return None;
        }
        "error" => return Some(Mishap::Fails(io::Error::other("asked for by a test"))),
        "full" => return Some(Mishap::Fails(ErrorKind::StorageFull.into())),
        "short" => return Some(Mishap::ShortWrite),
        "flip" => return Some(Mishap::BitFlip),
        "kill" => signal("KILL"),
        "stop" => signal("STOP"),
        _ => {}
    }
    loop {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends this process a signal. Should it go on after all, it hangs.
fn signal(name: &str) {
    let _ = Command::new("kill").args(["-s", name, &std::process::id().to_string()]).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let Some(Order::Strike { name, occurrence, action }) = parse("rank-1.in:200:kill") else {
            panic!("it is a place");
        };
        assert_eq!((name.as_str(), occurrence, action.as_str()), ("rank-1.in", 200, "kill"));
        assert!(parse("rank-1.in:x:kill").is_none() && parse("1:200:in:kill").is_none());
        assert!(matches!(parse("list"), Some(Order::List)));
    }

    #[test]
    fn nothing_happens_without_an_order() {
        assert!(pass("disk.write").is_none());
    }
}
