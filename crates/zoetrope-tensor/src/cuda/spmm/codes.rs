//! Weights replaced by numbers of one byte, if a snapshot has few different ones.
//!
//! Smoothing adds up equal weights: those of a snapshot are then multiples of one number, and while the
//! window fills all of them change with every step, but not which multiple each is. So 1, the weight of
//! loops, has number 0, and the others that of the multiple if that is possible, or of their rank.

/// The most different weights that get numbers: numbers are bytes.
const CODES_MAX: usize = 256;

/// Slots of a table of weights: few of them are filled.
const TABLE_SLOTS: usize = 4 * CODES_MAX;

const ONE: u32 = 1.0f32.to_bits();

/// Weights, each with a number.
struct Table {
    slots: Vec<Option<(u32, u8)>>,
}

impl Table {
    fn new() -> Self {
        Self { slots: vec![None; TABLE_SLOTS] }
    }

    /// Where a weight is or would be.
    fn slot(&self, weight: u32) -> usize {
        let mut at = weight.wrapping_mul(0x9e37_79b1) as usize >> (u32::BITS - TABLE_SLOTS.ilog2());
        while self.slots[at].is_some_and(|(other, _)| other != weight) {
            at = (at + 1) % TABLE_SLOTS;
        }
        at
    }
}

/// Replaces the bits of weights by numbers. Returns the bits by number; None, and nothing is replaced,
/// if too many differ.
pub(super) fn number(weights: &mut [u32]) -> Option<Vec<u32>> {
    let (mut table, mut different) = (Table::new(), Vec::new());
    for &weight in &*weights {
        let slot = table.slot(weight);
        if table.slots[slot].is_none() {
            table.slots[slot] = Some((weight, 0));
            different.push(weight);
            if different.len() > CODES_MAX {
                return None;
            }
        }
    }
    let numbers = multiples(&mut different).unwrap_or_else(|| (0..different.len()).collect());
    let mut bits = vec![0; numbers.iter().max().map_or(0, |most| most + 1)];
    for (&weight, number) in different.iter().zip(numbers) {
        let slot = table.slot(weight);
        table.slots[slot] = Some((weight, number as u8));
        bits[number] = weight;
    }
    for weight in weights {
        *weight = table.slots[table.slot(*weight)].map_or(0, |(_, number)| u32::from(number));
    }
    Some(bits)
}

/// Sorts different weights, 1 first, and returns which multiple of the least each is; None if that
/// does not tell them apart.
fn multiples(different: &mut [u32]) -> Option<Vec<usize>> {
    let value = |bits: u32| f32::from_bits(bits);
    different.sort_by(|&a, &b| (b == ONE).cmp(&(a == ONE)).then(value(a).total_cmp(&value(b))));
    let least = different.iter().copied().map(value).min_by(f32::total_cmp)?;
    let number = |&bits: &u32| match bits {
        ONE => Some(0),
        bits => Some((value(bits) / least).round())
            .filter(|at| (1.0..CODES_MAX as f32).contains(at))
            .map(|at| at as usize),
    };
    let numbers: Vec<usize> = different.iter().map(number).collect::<Option<_>>()?;
    numbers.is_sorted_by(|a, b| a < b).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(weights: &[f32]) -> (Vec<u32>, Option<Vec<f32>>) {
        let mut bits: Vec<u32> = weights.iter().map(|weight| weight.to_bits()).collect();
        let known = number(&mut bits);
        (bits, known.map(|known| known.into_iter().map(f32::from_bits).collect()))
    }

    #[test]
    fn a_mean_keeps_its_number_while_the_window_fills() {
        for window in 2..40 {
            let mean = |times: u32| (f64::from(times) / f64::from(window)) as f32;
            let (found, bits) = numbers(&[mean(1), 1.0, mean(2), mean(1), mean(window)]);
            assert_eq!(found, [1, 0, if window == 2 { 0 } else { 2 }, 1, 0]);
            assert!(bits.unwrap()[..2] == [1.0, mean(1)]);
        }
    }

    #[test]
    fn weights_that_are_no_multiples_have_ranks() {
        let weights = [7.5, -2.0, 0.1, 1.0, 0.1001, -2.0];
        let (found, bits) = numbers(&weights);
        assert_eq!(bits.as_deref(), Some(&[1.0, -2.0, 0.1, 0.1001, 7.5][..]));
        assert_eq!(found, [4, 1, 2, 0, 3, 1]);
        assert_eq!(numbers(&[]), (vec![], Some(vec![])));
    }

    #[test]
    fn too_many_different_weights_stay_as_they_are() {
        let weights: Vec<f32> = (0..257).map(|at| 1.5 + at as f32).collect();
        let (found, bits) = numbers(&weights);
        assert_eq!(bits, None);
        assert!(found.iter().zip(&weights).all(|(&bits, weight)| bits == weight.to_bits()));
        assert!(numbers(&weights[1..]).1.is_some());
    }
}
