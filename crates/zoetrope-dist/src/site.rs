//! Where a rank is in its sequence of communications.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Call {
    /// Sums and maxima over ranks.
    AllReduce,
    /// Everyone gets everyone's.
    AllGather,
    /// Everyone sends to everyone.
    AllToAll,
    /// Rows go from one placement to another.
    Exchange,
    /// One sends to everyone.
    Broadcast,
    /// No rank continues before all have arrived.
    Barrier,
    /// One sends to one.
    Send,
    /// One receives from one.
    Receive,
    /// The GPUs of all ranks are linked.
    Link,
    /// The end of a job.
    Finish,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::AllToAll => "all-to-all",
            Self::Exchange => "exchange",
            Self::Broadcast => "broadcast",
            Self::Barrier => "barrier",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Link => "link of GPUs",
            Self::Finish => "finish",
        })
    }
}

/// One communication of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// What it is.
    pub call: Call,
    /// Which one it is, from 1: collectives count together, messages from one to one count apart.
    pub number: u64,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.call, self.number)
    }
}

/// How far a rank has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The step of training, as the rank last told.
    pub step: u64,
    /// How many collectives it has started.
    pub collectives: u64,
    /// The communication it started last.
    pub last: Option<Site>,
    /// The communication it waits for; None if it computes.
    pub waits: Option<Site>,
    /// Whether it said that it takes its time until its next communication.
    #[serde(default)]
    pub takes_time: bool,
    /// How often it showed that it is at work meanwhile.
    #[serde(default)]
    pub signs: u64,
    /// Whether it has finished.
    pub left: bool,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}, ", self.step)?;
        match (self.left, self.waits, self.last) {
            (true, _, Some(last)) => write!(f, "has finished after {last}"),
            (true, _, None) => write!(f, "has finished"),
            (_, Some(site), _) => write!(f, "waits in {site}"),
            (_, None, Some(last)) => write!(f, "computes after {last}"),
            (_, None, None) => write!(f, "has not communicated yet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_as_a_sentence() {
        let site = Site { call: Call::AllReduce, number: 17 };
        let computes = Position { step: 5, last: Some(site), ..Position::default() };
        assert_eq!(computes.to_string(), "step 5, computes after all-reduce 17");
        let waits = Position { waits: Some(site), ..computes };
        assert_eq!(waits.to_string(), "step 5, waits in all-reduce 17");
        assert_eq!(Position::default().to_string(), "step 0, has not communicated yet");
    }
}
