//! Drawing distinct positions evenly, with draws that depend on the question alone.

use super::Moment;
use crate::random::Random;

/// Names the draws that make a key of a moment.
const STREAM_MOMENTS: u32 = 0x5a01;
/// Names the draws of a moment's slots.
const STREAM_SLOTS: u32 = 0x5a02;

/// The draws of a moment, one for each slot.
///
/// Seed, vertex and time make a key of 64 bits; step and slot count under it.
pub(super) fn keyed(seed: u64, step: u32, moment: &Moment) -> Random {
    let key = Random::new(seed, STREAM_MOMENTS).at_step(moment.vertex).u64(moment.time as u64);
    Random::new(key, STREAM_SLOTS).at_step(step)
}

/// Fills `chosen` with distinct numbers below `bound`, ascending; every set of that size is equally
/// likely.
///
/// Floyd's way: the slot that may take numbers up to `last` draws one of them, or takes `last`
/// itself if the draw has been taken before. That is one draw a slot, whatever `bound` is.
/// R. Floyd and J. Bentley, "A sample of brilliance", CACM 30(9), 1987.
///
/// # Panics
/// If there are fewer numbers than places.
pub(super) fn distinct(random: Random, bound: u64, chosen: &mut [u64]) {
    let first = bound.checked_sub(chosen.len() as u64).expect("as many numbers as places");
    // A block of four words serves two slots. Draws do not depend on what was drawn before.
    for (block, pair) in chosen.chunks_mut(2).enumerate() {
        let [a, b, c, d] = random.block(block as u64);
        let words = [u64::from(b) << 32 | u64::from(a), u64::from(d) << 32 | u64::from(c)];
        for (half, (draw, word)) in pair.iter_mut().zip(words).enumerate() {
            let numbers = first + (2 * block + half) as u64 + 1;
            *draw = ((u128::from(word) * u128::from(numbers)) >> 64) as u64;
        }
    }
    match (chosen.len(), i32::try_from(bound)) {
        (0..=16, Ok(_)) => settle::<16>(first, chosen),
        (17..=32, Ok(_)) => settle::<32>(first, chosen),
        _ => settle_many(first, chosen),
    }
}

/// Replaces draws that came before by the number that their slot adds, and sorts.
fn settle_many(first: u64, chosen: &mut [u64]) {
    for slot in 0..chosen.len() {
        let draw = chosen[slot];
        match chosen[..slot].binary_search(&draw) {
            // Every number taken so far is below the one that the slot adds.
            Ok(_) => chosen[slot] = first + slot as u64,
            Err(place) => {
                chosen.copy_within(place..slot, place + 1);
                chosen[place] = draw;
            }
        }
    }
}

/// As [`settle_many`] for at most `N` numbers below 2^31: comparing each with all takes a few
/// vector instructions and no branch that depends on the draws, as long as all are different.
fn settle<const N: usize>(first: u64, chosen: &mut [u64]) {
    let mut draws = [i32::MAX; N];
    draws.iter_mut().zip(&*chosen).for_each(|(number, &draw)| *number = draw as i32);
    let (draws, mut equals) = (draws, 0);
    for &draw in &draws[..chosen.len()] {
        let smaller: i32 = draws.iter().map(|&other| i32::from(other < draw)).sum();
        equals += draws.iter().map(|&other| i32::from(other == draw)).sum::<i32>();
        chosen[smaller as usize] = draw as u64;
    }
    if equals as usize > chosen.len() {
        chosen.iter_mut().zip(draws).for_each(|(place, draw)| *place = draw as u64);
        settle_many(first, chosen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_three_out_of_six_is_equally_likely() {
        let draws = 200_000;
        let mut counts = std::collections::BTreeMap::new();
        for time in 0..draws {
            let mut chosen = [0; 3];
            let moment = Moment { vertex: 7, time, before: u64::MAX };
            distinct(keyed(3, 1, &moment), 6, &mut chosen);
            assert!(chosen.is_sorted_by(|a, b| a < b) && chosen[2] < 6, "{chosen:?}");
            *counts.entry(chosen).or_insert(0_i64) += 1;
        }
        assert_eq!(counts.len(), 20);
        let expected = draws as f64 / 20.0;
        let square = |count: i64| (count as f64 - expected).powi(2) / expected;
        let statistic: f64 = counts.values().map(|&count| square(count)).sum();
        // Chi-squared with 19 degrees of freedom exceeds 43.8 once in a thousand times.
        assert!(statistic < 43.8, "{statistic}");
    }

    #[test]
    fn seed_step_vertex_and_time_each_change_the_draws() {
        let draw = |seed, step, vertex, time| {
            let mut chosen = [0; 8];
            let moment = Moment { vertex, time, before: u64::MAX };
            distinct(keyed(seed, step, &moment), 1 << 40, &mut chosen);
            chosen
        };
        let one = draw(1, 2, 3, 4);
        assert_eq!(one, draw(1, 2, 3, 4));
        for other in [draw(0, 2, 3, 4), draw(1, 0, 3, 4), draw(1, 2, 0, 4), draw(1, 2, 3, 0)] {
            assert!(one.iter().all(|number| !other.contains(number)));
        }
    }

    #[test]
    fn comparing_all_with_all_settles_as_searching_does() {
        let random = Random::new(8, 8);
        for case in 0..4_000 {
            let places = random.below(2 * case, 33);
            let bound = places + random.below(2 * case + 1, 3 * places + 1);
            let first = bound - places;
            let mut searched: Vec<u64> =
                (0..places).map(|slot| random.below(case << 32 | slot, first + slot + 1)).collect();
            let (mut by_16, mut by_32) = (searched.clone(), searched.clone());
            settle_many(first, &mut searched);
            settle::<32>(first, &mut by_32);
            assert_eq!(by_32, searched);
            if places <= 16 {
                settle::<16>(first, &mut by_16);
                assert_eq!(by_16, searched);
            }
        }
    }

    #[test]
    fn all_numbers_are_taken_where_there_are_as_many_places() {
        let mut chosen = [0; 9];
        distinct(Random::new(1, 1), 9, &mut chosen);
        assert_eq!(chosen, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
