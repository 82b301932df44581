//! Sorting packed records: radix over just the bits that differ, small inputs by comparison.
//!
//! A record is an edge key above a position. Positions enter in ascending order and the radix
//! sort is stable, so only key bits are sorted; the comparison sort looks at whole records. Both
//! give the same order.

/// Below this many records a comparison sort is faster (measured: equal at about 300).
const RADIX_FROM: usize = 320;
/// From this many records on, wider digits pay for their larger tables.
const WIDE_FROM: usize = 4_096;

/// An edge key above a position, in one integer.
pub(super) trait Word: Copy + Ord + Default + Send + Sync {
    /// Packs a key above `position_bits` bits of position.
    fn pack(key: u64, position: u64, position_bits: u32) -> Self;
    /// The key.
    fn key(self, position_bits: u32) -> u64;
    /// The position.
    fn position(self, position_bits: u32) -> usize;
    /// `mask` many low bits from bit `shift` on.
    fn digit(self, shift: u32, mask: usize) -> usize;
}

impl Word for u64 {
    fn pack(key: u64, position: u64, position_bits: u32) -> Self {
        key << position_bits | position
    }

    fn key(self, position_bits: u32) -> u64 {
        self >> position_bits
    }

    fn position(self, position_bits: u32) -> usize {
        (self & !(u64::MAX << position_bits)) as usize
    }

    fn digit(self, shift: u32, mask: usize) -> usize {
        (self >> shift) as usize & mask
    }
}

impl Word for u128 {
    fn pack(key: u64, position: u64, position_bits: u32) -> Self {
        Self::from(key) << position_bits | Self::from(position)
    }

    fn key(self, position_bits: u32) -> u64 {
        (self >> position_bits) as u64
    }

    fn position(self, position_bits: u32) -> usize {
        (self & !(Self::MAX << position_bits)) as usize
    }

    fn digit(self, shift: u32, mask: usize) -> usize {
        (self >> shift) as usize & mask
    }
}

/// Sorts `words`, whose bits below `low` ascend already and whose bits from `high` on are equal.
/// `scratch` only lends its memory.
pub(super) fn sort<W: Word>(words: &mut Vec<W>, scratch: &mut Vec<W>, low: u32, high: u32) {
    if words.len() < RADIX_FROM || low >= high {
        words.sort_unstable();
        return;
    }
    let widest = if words.len() < WIDE_FROM { 8 } else { 10 };
    let passes = (high - low).div_ceil(widest);
    let width = (high - low).div_ceil(passes);
    let mask = (1_usize << width) - 1;
    let mut counts = vec![0_u32; passes as usize * (mask + 1)];
    for &word in words.iter() {
        for (pass, counts) in counts.chunks_exact_mut(mask + 1).enumerate() {
            counts[word.digit(low + pass as u32 * width, mask)] += 1;
        }
    }
    scratch.clear();
    scratch.resize(words.len(), W::default());
    for (pass, counts) in counts.chunks_exact_mut(mask + 1).enumerate() {
        let shift = low + pass as u32 * width;
        if counts[words[0].digit(shift, mask)] as usize == words.len() {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &word in words.iter() {
            let place = &mut counts[word.digit(shift, mask)];
            scratch[*place as usize] = word;
            *place += 1;
        }
        std::mem::swap(words, scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn check<W: Word + std::fmt::Debug>(records: usize, key_bits: u32, position_bits: u32) {
        let random = Random::new(7, records as u32);
        let key = |at: u64| random.u64(at) >> (64 - key_bits);
        let mut words: Vec<W> =
            (0..records as u64).map(|at| W::pack(key(at), at, position_bits)).collect();
        let mut expected: Vec<(u64, usize)> =
            words.iter().map(|w| (w.key(position_bits), w.position(position_bits))).collect();
        expected.sort();
        sort(&mut words, &mut Vec::new(), position_bits, position_bits + key_bits);
        let sorted: Vec<(u64, usize)> =
            words.iter().map(|w| (w.key(position_bits), w.position(position_bits))).collect();
        assert_eq!(sorted, expected, "{records} records, {key_bits} + {position_bits} bits");
    }

    #[test]
    fn records_come_out_by_key_then_position() {
        for records in [0, 1, 2, RADIX_FROM - 1, RADIX_FROM, 1_000, WIDE_FROM, 20_000] {
            for key_bits in [1, 2, 7, 8, 9, 17, 34, 44] {
                check::<u64>(records, key_bits, 20);
                check::<u128>(records, key_bits, 20);
            }
            check::<u128>(records, 64, 40);
        }
    }
}
