//! The known name that a misspelt one was probably meant to be.
//!
//! Every crate that takes names from users measures with it: names of generators, settings, weights,
//! files.

/// Names longer than this are compared by their beginnings: a hostile name must not cost quadratic
/// time.
const MOST_LETTERS: usize = 64;

/// The known name nearest to `wanted`, if so few letters differ that it may be a typo.
///
/// Equally near names: the first. Case does not count; `_` and blanks count as `-`.
///
/// ```
/// # use zoetrope_graph::spelling::nearest;
/// assert_eq!(nearest("evolvgcn_o", ["tgcn", "evolvegcn-o"]), Some("evolvegcn-o"));
/// assert_eq!(nearest("resnet", ["tgcn", "evolvegcn-o"]), None);
/// ```
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Half of the letters wrong is another word, not a typo.
    let most = (wanted.chars().take(MOST_LETTERS).count() / 2).clamp(1, 4);
    known
        .into_iter()
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Insertions, deletions, substitutions and swaps of neighbours between two words (optimal
/// string alignment), of their first 64 letters. Case does not count; `_` and blanks count as `-`.
pub fn distance(left: &str, right: &str) -> usize {
    let (left, right) = (folded(left), folded(right));
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for row in 1..=left.len() {
        let mut line = vec![row];
        for column in 1..=right.len() {
            let (from, to) = (left[row - 1], right[column - 1]);
            let replaced = last[column - 1] + usize::from(from != to);
            let mut best = replaced.min(last[column] + 1).min(line[column - 1] + 1);
            if row > 1 && column > 1 && from == right[column - 2] && left[row - 2] == to {
                best = best.min(before[column - 2] + 1);
            }
            line.push(best);
        }
        before = std::mem::replace(&mut last, line);
    }
    last[right.len()]
}

fn folded(name: &str) -> Vec<char> {
    name.chars()
        .take(MOST_LETTERS)
        .map(|letter| match letter {
            '_' | ' ' => '-',
            letter => letter.to_ascii_lowercase(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits_and_swaps() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
        assert_eq!(distance("tcgn", "tgcn"), 1);
    }

    #[test]
    fn slips_find_their_name_and_other_words_find_none() {
        let known = ["epochs", "optimiser", "lr", "weight_decay", "evolvegcn-o"];
        let find = |wanted| nearest(wanted, known);
        assert_eq!(find("epoch"), Some("epochs"));
        assert_eq!(find("optimizer"), Some("optimiser"));
        assert_eq!(find("weight-decay"), Some("weight_decay"));
        assert_eq!(find("EvolveGCN_O"), Some("evolvegcn-o"));
        assert_eq!(find("rl"), Some("lr"));
        assert_eq!(find("temperature"), None);
        assert_eq!(find(""), None);
    }

    #[test]
    fn a_name_of_a_million_letters_is_decided_at_once() {
        assert_eq!(nearest(&"x".repeat(1_000_000), ["epochs"]), None);
    }
}
