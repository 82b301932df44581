//! Exact time: 64-bit ticks and what a tick means.

use serde::{Deserialize, Serialize};

/// A point in time, in ticks of the graph's [`TimeScale`].
pub type Time = i64;

/// How long a tick is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// A step of a sequence, with no length in seconds.
    Step,
    /// 1 s.
    Second,
    /// 1 ms.
    Millisecond,
    /// 1 µs.
    Microsecond,
    /// 1 ns.
    Nanosecond,
}

impl TimeUnit {
    /// Ticks in one second; `None` for steps.
    pub fn ticks_per_second(self) -> Option<i64> {
        match self {
            Self::Step => None,
            Self::Second => Some(1),
            Self::Millisecond => Some(1_000),
            Self::Microsecond => Some(1_000_000),
            Self::Nanosecond => Some(1_000_000_000),
        }
    }
}

/// What the integers of a time column mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeScale {
    /// The length of a tick.
    pub unit: TimeUnit,
    /// Whether tick 0 is 1970-01-01 00:00 UTC; otherwise the origin is unknown.
    pub unix: bool,
}

impl TimeScale {
    /// Seconds with an unknown origin, the convention of the JODIE data sets.
    pub const SECONDS: Self = Self { unit: TimeUnit::Second, unix: false };
    /// Steps of a sequence.
    pub const STEPS: Self = Self { unit: TimeUnit::Step, unix: false };
    /// Unix seconds.
    pub const UNIX_SECONDS: Self = Self { unit: TimeUnit::Second, unix: true };
}
