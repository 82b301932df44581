//! Where windows of time begin: a list, or a rule that takes no memory however many there are.

use std::ops::Range;

use crate::time::Time;

/// The start of each window and the end of the last, rising.
#[derive(Debug, Clone)]
pub enum Boundaries {
    /// At `start + i × width`; what would lie beyond [`Time::MAX`] stands there.
    Regular {
        /// The first one.
        start: Time,
        /// From one to the next.
        width: Time,
        /// How many there are.
        count: usize,
    },
    /// As they are given.
    Listed(Vec<Time>),
}

impl Boundaries {
    /// How many there are: one more than windows.
    pub fn len(&self) -> usize {
        match self {
            Self::Regular { count, .. } => *count,
            Self::Listed(times) => times.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn at(&self, index: usize) -> Time {
        assert!(index < self.len(), "boundary {index} of {}", self.len());
        match self {
            Self::Regular { start, width, .. } => {
                // 128 bits: the stretch from `Time::MIN` to `Time::MAX` does not fit into 64.
                let time = i128::from(*start) + index as i128 * i128::from(*width);
                time.min(Time::MAX.into()) as Time
            }
            Self::Listed(times) => times[index],
        }
    }

    /// The last one.
    pub fn last(&self) -> Option<Time> {
        self.len().checked_sub(1).map(|last| self.at(last))
    }

    /// When the window after the last one would end: it is as long as the longest. None without a window.
    pub fn end_of_next(&self) -> Option<Time> {
        let longest = match self {
            Self::Regular { width, count, .. } => (*count > 1).then_some(*width),
            Self::Listed(times) => {
                times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max()
            }
        };
        self.last().zip(longest).map(|(last, longest)| last.saturating_add(longest))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Time> + Clone + '_ {
        (0..self.len()).map(|index| self.at(index))
    }

    /// The first `count` of them.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn first(&self, count: usize) -> Self {
        assert!(count <= self.len(), "{count} of {} boundaries", self.len());
        match self {
            Self::Regular { start, width, .. } => {
                Self::Regular { start: *start, width: *width, count }
            }
            Self::Listed(times) => Self::Listed(times[..count].to_vec()),
        }
    }

    /// Those of some consecutive windows.
    ///
    /// # Panics
    /// If there are no such windows.
    pub fn of_windows(&self, windows: Range<usize>) -> Self {
        assert!(windows.end < self.len(), "window {} of {}", windows.end, self.len());
        (windows.start..=windows.end).map(|at| self.at(at)).collect::<Vec<Time>>().into()
    }

    /// How many lie before or at a time.
    pub fn up_to(&self, time: Time) -> usize {
        match self {
            Self::Regular { start, width, count } => {
                let after = i128::from(time) - i128::from(*start);
                let whole = (after.div_euclid(i128::from((*width).max(1))) + 1).max(0);
                let count = (*count).min(usize::try_from(whole).unwrap_or(usize::MAX));
                // The last one may stand at the end of time, before its place in the rule.
                match self.last() {
                    Some(last) if last <= time => self.len(),
                    _ => count,
                }
            }
            Self::Listed(times) => times.partition_point(|&boundary| boundary <= time),
        }
    }
}

impl From<Vec<Time>> for Boundaries {
    fn from(times: Vec<Time>) -> Self {
        Self::Listed(times)
    }
}

impl PartialEq for Boundaries {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Boundaries {}

impl PartialEq<[Time]> for Boundaries {
    fn eq(&self, other: &[Time]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl<const N: usize> PartialEq<[Time; N]> for Boundaries {
    fn eq(&self, other: &[Time; N]) -> bool {
        *self == other[..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_what_its_list_says() {
        for (start, width, count) in [(0, 1, 5), (-7, 3, 4), (Time::MAX - 5, 2, 4), (4, 9, 1)] {
            let rule = Boundaries::Regular { start, width, count };
            let list = Boundaries::Listed(rule.iter().collect());
            assert_eq!(rule, list);
            assert_eq!(rule.last(), list.last());
            for time in (-10..12).chain(Time::MAX - 6..=Time::MAX) {
                assert_eq!(rule.up_to(time), list.up_to(time), "{start} {width} {count} {time}");
            }
            assert_eq!(rule.first(1), list.first(1));
        }
    }
}
