//! Stable order by time.
//!
//! Time and position are packed into one 64-bit key where both fit (they do unless the stream
//! spans more than 2^64 / events ticks), so that one parallel sort of plain integers is stable.
//! The keys are made in the time column itself and become times again after the sort; extra
//! memory is 8 bytes an event for the passes, then 4 for the order.

use rayon::prelude::*;

use crate::error::GraphError;
use crate::time::Time;

/// Whether times do not decrease.
pub(crate) fn is_ordered(time: &[Time]) -> bool {
    time.par_windows(2).with_min_len(1 << 16).all(|pair| pair[0] <= pair[1])
}

/// Sorts `time` and returns, for each place, the place that its time came from; equal times keep
/// their order.
///
/// # Errors
/// [`GraphError::TooMany`] where positions do not fit 32 bits.
pub(crate) fn sort(time: &mut [Time]) -> Result<Vec<u32>, GraphError> {
    let events = time.len();
    if events as u64 > u64::from(u32::MAX) {
        return Err(GraphError::TooMany {
            what: "events that are not in time order",
            count: events as u64,
            limit: u64::from(u32::MAX),
        });
    }
    let (Some(&low), Some(&high)) = (time.par_iter().min(), time.par_iter().max()) else {
        return Ok(Vec::new());
    };
    let span = high.wrapping_sub(low) as u64;
    let position_bits = u64::BITS - (events as u64).leading_zeros();
    if span.leading_zeros() < position_bits {
        return Ok(sort_apart(time));
    }
    let keys: &mut [u64] = bytemuck::cast_slice_mut(time);
    keys.par_iter_mut().enumerate().for_each(|(position, key)| {
        *key = key.wrapping_sub(low as u64) << position_bits | position as u64;
    });
    sort_keys(keys, position_bits, u64::BITS - span.leading_zeros());
    let mask = (1u64 << position_bits) - 1;
    let order = keys.par_iter().map(|key| (key & mask) as u32).collect();
    keys.par_iter_mut().for_each(|key| {
        *key = (*key >> position_bits).wrapping_add(low as u64);
    });
    Ok(order)
}

/// Bits sorted by in one pass: 2,048 counters stay in the level-1 cache.
const DIGIT_BITS: u32 = 11;

/// Sorts keys by the `bits` bits above `low_bit`; the bits below ascend already and a radix sort
/// keeps their order. Streams that span up to a few years of seconds take three passes, about a
/// third of the time of a comparison sort; wide spans go to the latter.
fn sort_keys(keys: &mut [u64], low_bit: u32, bits: u32) {
    let passes = bits.div_ceil(DIGIT_BITS);
    if passes > 4 || keys.len() < 1 << 12 {
        keys.par_sort_unstable();
        return;
    }
    let mut other = vec![0; keys.len()];
    for pass in 0..passes {
        let shift = low_bit + pass * DIGIT_BITS;
        match pass % 2 {
            0 => scatter(keys, &mut other, shift),
            _ => scatter(&other, keys, shift),
        }
    }
    if passes % 2 == 1 {
        keys.copy_from_slice(&other);
    }
}

/// One pass: `to` becomes `from`, stably ordered by one digit.
fn scatter(from: &[u64], to: &mut [u64], shift: u32) {
    let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT_BITS) - 1);
    let mut places = [0usize; 1 << DIGIT_BITS];
    from.iter().for_each(|&key| places[digit(key)] += 1);
    let mut total = 0;
    for place in &mut places {
        total += std::mem::replace(place, total);
    }
    for &key in from {
        let place = &mut places[digit(key)];
        to[*place] = key;
        *place += 1;
    }
}

/// The same where time and position do not fit one word.
fn sort_apart(time: &mut [Time]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..time.len() as u32).collect();
    order.par_sort_by_key(|&position| time[position as usize]);
    let sorted: Vec<Time> = order.par_iter().map(|&position| time[position as usize]).collect();
    time.copy_from_slice(&sorted);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(mut time: Vec<Time>) {
        let mut expected: Vec<u32> = (0..time.len() as u32).collect();
        expected.sort_by_key(|&position| time[position as usize]);
        let sorted: Vec<Time> = expected.iter().map(|&position| time[position as usize]).collect();
        assert_eq!(sort(&mut time).unwrap(), expected);
        assert_eq!(time, sorted);
        assert!(is_ordered(&time));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn narrow_times_are_sorted_stably(time in proptest::collection::vec(-20i64..20, 0..200)) {
            check(time);
        }

        #[test]
        fn long_streams_are_sorted_stably(seed: u64, bits in 1u32..45) {
            let random = crate::random::Random::new(seed, 0);
            check((0..5_000).map(|at| (random.u64(at) >> (64 - bits)) as i64 - 7).collect());
        }

        #[test]
        fn times_over_the_whole_range_are_sorted_stably(
            time in proptest::collection::vec(prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX)], 0..200),
        ) {
            check(time);
        }
    }
}
