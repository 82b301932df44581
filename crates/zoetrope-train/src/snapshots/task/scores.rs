//! What a rank found about one snapshot: all that is needed of it to judge, small enough to be sent.

use zoetrope_nn::metrics::BinaryScores;

/// Numbers and counts of one snapshot, in an order that the task knows that wrote them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores {
    /// Scores of pairs, predictions of vertices.
    pub numbers: Vec<f32>,
    /// How many there are of what, and ranks.
    pub counts: Vec<u32>,
}

/// Reads scores from their beginning, in the order in which they were written.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    numbers: &'a [f32],
    counts: &'a [u32],
}

impl Scores {
    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.counts.clear();
    }

    /// As words, to be sent.
    pub fn pack(&self) -> Vec<u32> {
        let numbers = self.numbers.iter().map(|number| number.to_bits());
        [self.counts.len() as u32]
            .into_iter()
            .chain(self.counts.iter().copied())
            .chain(numbers)
            .collect()
    }

    /// What was packed; nothing if there is nothing.
    pub fn unpack(words: &[u32]) -> Self {
        let Some((&count, rest)) = words.split_first() else { return Self::default() };
        let (counts, numbers) = rest.split_at((count as usize).min(rest.len()));
        let numbers = numbers.iter().map(|&bits| f32::from_bits(bits)).collect();
        Self { numbers, counts: counts.to_vec() }
    }

    /// Adds scores of pairs with their labels: those of positives, then those of negatives.
    pub(super) fn put_pairs(&mut self, scores: &[f32], labels: &[f32]) {
        let before = self.numbers.len();
        for wanted in [true, false] {
            let of_kind = scores.iter().zip(labels).filter(|(_, label)| (**label == 1.0) == wanted);
            self.numbers.extend(of_kind.map(|(score, _)| score));
            if wanted {
                self.counts.push((self.numbers.len() - before) as u32);
            }
        }
        self.counts.push(scores.len() as u32);
    }

    pub(super) fn read(&self) -> Reader<'_> {
        Reader { numbers: &self.numbers, counts: &self.counts }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn count(&mut self) -> u32 {
        let (&count, rest) = self.counts.split_first().expect("what was written is there");
        self.counts = rest;
        count
    }

    pub(super) fn counts(&mut self, len: usize) -> &'a [u32] {
        let (counts, rest) = self.counts.split_at(len);
        self.counts = rest;
        counts
    }

    fn numbers(&mut self, len: usize) -> &'a [f32] {
        let (numbers, rest) = self.numbers.split_at(len);
        self.numbers = rest;
        numbers
    }

    /// The next pairs: scores of positives, and of negatives.
    pub(super) fn pairs(&mut self) -> [&'a [f32]; 2] {
        let [positives, all] = [self.count() as usize, self.count() as usize];
        [self.numbers(positives), self.numbers(all - positives)]
    }

    /// Adds the next pairs to others.
    pub(super) fn add_pairs(&mut self, to: &mut BinaryScores) {
        let [positives, negatives] = self.pairs();
        to.add_all(positives, true);
        to.add_all(negatives, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_come_back_from_words_to_the_bit() {
        let mut scores = Scores::default();
        scores.put_pairs(&[0.25, -0.0, f32::NAN, 3.0], &[1.0, 0.0, 1.0, 0.0]);
        scores.counts.extend([7, u32::MAX]);
        let again = Scores::unpack(&scores.pack());
        let bits = |scores: &Scores| scores.numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        assert_eq!((bits(&again), &again.counts), (bits(&scores), &scores.counts));
        let mut read = again.read();
        let [positives, negatives] = read.pairs();
        assert!(positives[0] == 0.25 && positives[1].is_nan() && negatives == [-0.0, 3.0]);
        assert_eq!(read.counts(2), [7, u32::MAX]);
        assert_eq!(Scores::unpack(&[]), Scores::default());
    }
}
