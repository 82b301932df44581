//! A fault on request, for tests: a rank that ends or hangs at a named collective of a real run.
//!
//! Compiled in with the feature `faults` only. `ZOETROPE_FAULT=RANK:COLLECTIVE:MOMENT:FAULT` says who,
//! at which collective, `before` it or `in` it (its messages are on their way), and what: `kill`, `stop`
//! (signals to the process), `exit`, `panic` or `loop`.

use std::io::Write;
use std::process::Command;
use std::sync::OnceLock;
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

/// What was asked for.
#[derive(Debug)]
struct Order {
    rank: usize,
    collective: u64,
    moment: Moment,
    fault: String,
}

fn order() -> Option<&'static Order> {
    static ORDER: OnceLock<Option<Order>> = OnceLock::new();
    ORDER.get_or_init(|| parse(&std::env::var(VARIABLE).ok()?)).as_ref()
}

fn parse(text: &str) -> Option<Order> {
    let [rank, collective, moment, fault] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    let moment = match moment {
        "before" => Moment::Before,
        "in" => Moment::In,
        _ => return None,
    };
    let (rank, collective) = (rank.parse().ok()?, collective.parse().ok()?);
    Some(Order { rank, collective, moment, fault: fault.to_owned() })
}

/// Strikes a rank that comes by the place that was named.
pub(crate) fn pass(rank: usize, site: Site, moment: Moment) {
    let Some(order) = order() else { return };
    if (order.rank, order.collective, order.moment) != (rank, site.number, moment) {
        return;
    }
    // Whoever measures has the time from here.
    let _ = writeln!(std::io::stderr(), "fault: {} of rank {rank} at {site}", order.fault);
    match order.fault.as_str() {
        "exit" => std::process::exit(3),
        "panic" => panic!("asked for by {VARIABLE}"),
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
        let order = parse("1:200:in:kill").unwrap();
        assert_eq!((order.rank, order.collective, order.moment), (1, 200, Moment::In));
        assert_eq!(order.fault, "kill");
        assert!(parse("1:200:after:kill").is_none() && parse("1:2:in").is_none());
    }
}
