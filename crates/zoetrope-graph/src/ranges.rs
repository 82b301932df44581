//! Consecutive ranges of one arena, of which the empty ones take no memory.
//!
//! A stream that is cut into short windows has mostly empty ones: two events a year apart make thirty
//! million seconds. What is stored grows with the ranges that hold something.

use std::ops::Range;

/// Consecutive ranges without gaps: the end of one is the start of the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges {
    len: usize,
    /// The start of the first range.
    start: u64,
    /// The ranges that are not empty, ascending.
    filled: Vec<u32>,
    /// Where each of these ends.
    ends: Vec<u64>,
}

impl Ranges {
    /// `len` ranges, all of them empty, that begin at `start`.
    ///
    /// # Panics
    /// If there are more than 2^32.
    pub fn empty(len: usize, start: u64) -> Self {
        assert!(u32::try_from(len).is_ok(), "{len} ranges");
        Self { len, start, filled: Vec::new(), ends: Vec::new() }
    }

    /// The ranges between offsets that do not fall, of which there is one more than ranges.
    ///
    /// # Panics
    /// If there is no offset, or they fall.
    pub fn from_offsets(offsets: &[u64]) -> Self {
        let mut ranges = Self::empty(offsets.len() - 1, offsets[0]);
        for (at, pair) in offsets.windows(2).enumerate() {
            ranges.fill(at, pair[1] - pair[0]);
        }
        ranges
    }

    /// Gives a range its length. Ranges are filled in ascending order.
    ///
    /// # Panics
    /// If one behind it is filled already.
    pub fn fill(&mut self, at: usize, length: u64) {
        assert!(at < self.len, "range {at} of {}", self.len);
        if length > 0 {
            assert!(self.filled.last().is_none_or(|&last| (last as usize) < at));
            self.ends.push(self.end() + length);
            self.filled.push(at as u32);
        }
    }

    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the first range begins.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Where the last range ends.
    pub fn end(&self) -> u64 {
        self.ends.last().copied().unwrap_or(self.start)
    }

    /// Where a range begins; also of the one that would follow the last.
    ///
    /// # Panics
    /// If there is no such range.
    pub fn start_of(&self, at: usize) -> u64 {
        assert!(at <= self.len, "range {at} of {}", self.len);
        self.end_before(self.place(at))
    }

    /// A range of the arena.
    ///
    /// # Panics
    /// If there is no such range.
    pub fn get(&self, at: usize) -> Range<usize> {
        assert!(at < self.len, "range {at} of {}", self.len);
        let place = self.place(at);
        let start = self.end_before(place);
        let end = match self.filled.get(place) {
            Some(&filled) if filled as usize == at => self.ends[place],
            _ => start,
        };
        start as usize..end as usize
    }

    /// The ranges that are not empty, with their numbers, in order.
    pub fn filled(&self) -> impl ExactSizeIterator<Item = (usize, Range<usize>)> + '_ {
        (0..self.filled.len()).map(|place| self.nth_filled(place))
    }

    /// One of the ranges that are not empty, with its number.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn nth_filled(&self, place: usize) -> (usize, Range<usize>) {
        let range = self.end_before(place) as usize..self.ends[place] as usize;
        (self.filled[place] as usize, range)
    }

    /// The range that holds a position of the arena.
    pub fn holding(&self, position: u64) -> Option<usize> {
        let place = self.ends.partition_point(|&end| end <= position);
        self.filled.get(place).map(|&at| at as usize).filter(|_| position >= self.start)
    }

    /// The first `len` ranges.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn first(&self, len: usize) -> Self {
        assert!(len <= self.len, "{len} of {} ranges", self.len);
        let place = self.place(len);
        let (filled, ends) = (self.filled[..place].to_vec(), self.ends[..place].to_vec());
        Self { len, start: self.start, filled, ends }
    }

    /// Some consecutive ranges; nothing is copied, they point to the same places of the arena.
    ///
    /// # Panics
    /// If there are no such ranges.
    pub fn part(&self, ranges: Range<usize>) -> Self {
        assert!(ranges.end <= self.len, "range {} of {}", ranges.end, self.len);
        let places = self.place(ranges.start)..self.place(ranges.end);
        let filled = self.filled[places.clone()].iter().map(|&at| at - ranges.start as u32);
        Self {
            len: ranges.len(),
            start: self.end_before(places.start),
            filled: filled.collect(),
            ends: self.ends[places].to_vec(),
        }
    }

    /// Where each range begins and the last one ends.
    pub fn offsets(&self) -> Vec<u64> {
        let mut offsets = vec![self.start; self.len + 1];
        for place in 0..self.filled.len() {
            let next = self.filled.get(place + 1).map_or(self.len, |&next| next as usize);
            offsets[self.filled[place] as usize + 1..=next].fill(self.ends[place]);
        }
        offsets
    }

    /// How many filled ranges come before this one.
    fn place(&self, at: usize) -> usize {
        // If none is empty, there is nothing to look for.
        if self.filled.len() == self.len {
            return at;
        }
        self.filled.partition_point(|&filled| (filled as usize) < at)
    }

    fn end_before(&self, place: usize) -> u64 {
        place.checked_sub(1).map_or(self.start, |before| self.ends[before])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn empty_ranges_take_no_memory() {
        let mut ranges = Ranges::empty(4_000_000, 0);
        ranges.fill(0, 1);
        ranges.fill(3_999_999, 1);
        assert_eq!((ranges.filled.len(), ranges.ends.len()), (2, 2));
        assert_eq!(ranges.get(2_000_000), 1..1);
        assert_eq!(ranges.get(3_999_999), 1..2);
    }

    proptest! {
        #[test]
        fn they_say_what_a_list_of_offsets_says(
            start in 0_u64..5,
            lengths in prop::collection::vec(prop_oneof![3 => Just(0), 1 => 1_u64..4], 0..40),
            first in 0_usize..40,
        ) {
            let mut offsets = vec![start];
            lengths.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
            let ranges = Ranges::from_offsets(&offsets);
            prop_assert_eq!(ranges.offsets(), offsets.clone());
            for at in 0..lengths.len() {
                let range = offsets[at] as usize..offsets[at + 1] as usize;
                prop_assert_eq!(ranges.get(at), range.clone());
                prop_assert!(range.clone().all(|place| ranges.holding(place as u64) == Some(at)));
            }
            for (at, &offset) in offsets.iter().enumerate() {
                prop_assert_eq!(ranges.start_of(at), offset);
            }
            prop_assert_eq!(ranges.holding(ranges.end()), None);
            let first = first.min(lengths.len());
            prop_assert_eq!(ranges.first(first), Ranges::from_offsets(&offsets[..=first]));
            prop_assert_eq!(ranges.part(first..lengths.len()), Ranges::from_offsets(&offsets[first..]));
        }
    }
}
