//! What is asked about the links of snapshots, drawn for several of them at once.
//!
//! Which pairs judge a snapshot is a function of seed and snapshot, so nothing has to happen before they are
//! drawn. Much of drawing is work of one thread after the other; snapshots side by side keep all threads busy.
//! The validation part asks the same after every epoch: what fits into some memory is kept from the first one on.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rayon::prelude::*;
use zoetrope_graph::{LinkSet, SnapshotSequence};
use zoetrope_nn::decoder::Ends;

use super::link_prediction::LinkJudge;
use crate::snapshots::sampling::{Candidates, DrawKey, Pairs};

/// Edges of the snapshots that are drawn for at once: their pairs take about 40 bytes an edge.
const EDGES_AT_ONCE: usize = 1 << 20;

/// Pairs of the questions that are kept from epoch to epoch: 50 MB with the links among them.
const PAIRS_KEPT: usize = 1 << 22;

/// Bytes of a pair that is kept: both ends, and half a link, as at least every other pair is none.
const PAIR_BYTES: u64 = 12;

/// Snapshots that each thread draws for.
const ROUNDS: usize = 2;

/// What one snapshot is judged by, all of it drawn.
#[derive(Debug)]
pub(super) struct LinkQuestions {
    /// Pairs that accuracy is measured on, then those of AP and AUC; of both, links come first.
    pub(super) ends: Ends,
    /// Of the former how many are links, and all; then whether there are others, and the same of these: as
    /// [`Scores`](super::Scores) keep them.
    pub(super) counts: Vec<u32>,
    /// The links of the snapshot.
    pub(super) links: LinkSet,
}

/// Draws for the snapshots that will be judged, some at a time.
#[derive(Debug, Default)]
pub(super) struct QuestionsAhead {
    /// Those that were not drawn for yet, in the order in which they are judged.
    asked: VecDeque<usize>,
    drawn: VecDeque<(usize, Option<Arc<LinkQuestions>>)>,
    /// Those that may be asked again.
    kept: HashMap<usize, Arc<LinkQuestions>>,
    kept_pairs: usize,
}

impl QuestionsAhead {
    /// Says which snapshots will be judged from now on.
    pub(super) fn expect(&mut self, asked: &[usize]) {
        self.asked = asked.iter().copied().collect();
        self.drawn.clear();
    }

    /// What is asked about the links of the snapshot after `step`; None if they are too many to be drawn at once.
    pub(super) fn take(
        &mut self,
        step: usize,
        judge: &LinkJudge,
        sequence: &SnapshotSequence,
    ) -> Option<Arc<LinkQuestions>> {
        if let Some(kept) = self.kept.get(&step) {
            return Some(Arc::clone(kept));
        }
        while let Some((drawn, questions)) = self.drawn.pop_front() {
            if drawn == step {
                return questions;
            }
        }
        let steps = self.next_round(step, sequence);
        let drawn = steps
            .into_par_iter()
            .map_init(|| Drawer::new(judge), |drawer, step| (step, drawer.draw(sequence, step)));
        let drawn: Vec<_> =
            drawn.map(|(step, questions)| (step, questions.map(Arc::new))).collect();
        if has_room(sequence) {
            for (step, questions) in &drawn {
                questions.iter().for_each(|questions| self.keep(*step, questions));
            }
        }
        self.drawn = drawn.into();
        self.drawn.pop_front().and_then(|(_, questions)| questions)
    }

    /// Keeps the questions of a snapshot if there is room beside those of others.
    fn keep(&mut self, step: usize, questions: &Arc<LinkQuestions>) {
        let pairs = self.kept_pairs + questions.ends.src.len();
        if pairs <= PAIRS_KEPT {
            self.kept_pairs = pairs;
            self.kept.insert(step, Arc::clone(questions));
        }
    }

    /// This snapshot and some that come after it.
    fn next_round(&mut self, step: usize, sequence: &SnapshotSequence) -> Vec<usize> {
        let mut steps = vec![step];
        let at = self.asked.iter().position(|&asked| asked == step);
        let Some(at) = at.filter(|_| has_room(sequence)) else { return steps };
        self.asked.drain(..=at);
        let mut edges = sequence.edges_at(step + 1);
        while steps.len() < ROUNDS * rayon::current_num_threads()
            && let Some(&next) = self.asked.front()
        {
            edges += sequence.edges_at(next + 1);
            if edges > EDGES_AT_ONCE {
                break;
            }
            steps.extend(self.asked.pop_front());
        }
        steps
    }
}

/// Whether there is room for what can wait: not under a limit on memory, or if snapshots that are made when they are
/// needed are not all here.
fn has_room(sequence: &SnapshotSequence) -> bool {
    !sequence.is_made() && zoetrope_heap::limit().is_none()
}

/// Bytes of the questions that are kept of a graph, with so many negatives for each edge and for each of a sample of
/// them.
pub(crate) fn kept_bytes(sequence: &SnapshotSequence, negatives: usize) -> u64 {
    if sequence.is_made() {
        return 0;
    }
    let pairs = sequence.stored_edges().saturating_mul(2 * (1 + negatives));
    pairs.min(PAIRS_KEPT) as u64 * PAIR_BYTES
}

/// Who draws, with memory that is used again.
struct Drawer {
    judge: LinkJudge,
    pairs: Pairs,
    candidates: Candidates,
}

impl Drawer {
    fn new(judge: &LinkJudge) -> Self {
        Self { judge: judge.clone(), pairs: Pairs::default(), candidates: Candidates::default() }
    }

    fn draw(&mut self, sequence: &SnapshotSequence, step: usize) -> Option<LinkQuestions> {
        let (target, key) = (sequence.at(step + 1), DrawKey::evaluation(step as u32));
        let chunks = self.judge.few.load(target);
        if chunks > 1 {
            return None;
        }
        self.judge.sampler.fill(target, key, &mut self.pairs);
        let (mut ends, mut counts) = (Ends::default(), Vec::new());
        put(&self.pairs, &mut ends, &mut counts);
        counts.push(chunks as u32);
        if chunks == 1 {
            self.judge.few.fill(0, key, &mut self.candidates);
            put(&self.candidates.pairs, &mut ends, &mut counts);
        }
        Some(LinkQuestions { ends, counts, links: self.judge.few.take_links() })
    }
}

/// Adds pairs to others, first those that are links.
fn put(pairs: &Pairs, ends: &mut Ends, counts: &mut Vec<u32>) {
    let before = ends.src.len();
    for wanted in [true, false] {
        for (from, to) in [(&pairs.src, &mut ends.src), (&pairs.dst, &mut ends.dst)] {
            let labelled = from.iter().zip(&pairs.label);
            let of_kind = labelled.filter(|(_, label)| (**label == 1.0) == wanted);
            Arc::make_mut(to).extend(of_kind.map(|(end, _)| end));
        }
        if wanted {
            counts.push((ends.src.len() - before) as u32);
        }
    }
    counts.push(pairs.len() as u32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshots::task::Scores;
    use zoetrope_config::Config;

    /// A number for each pair.
    fn numbers(src: &[u32], dst: &[u32]) -> Vec<f32> {
        src.iter().zip(dst).map(|(src, dst)| (src * 100 + dst) as f32).collect()
    }

    /// What is asked if nothing is drawn ahead, in the order of scores.
    fn one_by_one(judge: &LinkJudge, graph: &SnapshotSequence, step: usize) -> Scores {
        let mut judge = judge.clone();
        let (target, key) = (graph.at(step + 1), DrawKey::evaluation(step as u32));
        let (mut pairs, mut rows, mut scores) =
            (Pairs::default(), Candidates::default(), Scores::default());
        judge.sampler.fill(target, key, &mut pairs);
        scores.put_pairs(&numbers(&pairs.src, &pairs.dst), &pairs.label);
        let chunks = judge.few.load(target);
        scores.counts.push(chunks as u32);
        for chunk in 0..chunks {
            judge.few.fill(chunk, key, &mut rows);
            scores.put_pairs(&numbers(&rows.pairs.src, &rows.pairs.dst), &rows.pairs.label);
        }
        scores
    }

    #[test]
    fn questions_are_the_same_whether_they_were_drawn_ahead_or_not() {
        let (src, dst): (Vec<u32>, Vec<u32>) =
            (0..120).map(|edge| (edge * 7 % 20, edge * 11 % 19)).unzip();
        // A snapshot without a link among them.
        let offsets = vec![0, 20, 50, 80, 80, 100, 120];
        let graph = SnapshotSequence::new(20, offsets, src, dst, None).unwrap();
        let config = Config::builder().set("task.negatives=2").build().unwrap();
        let judge = LinkJudge::new(&config);
        let mut ahead = QuestionsAhead::default();
        ahead.expect(&[0, 1, 2, 3, 4]);
        // One is left out, one is asked for again, after all.
        for step in [0, 1, 2, 4, 3, 0] {
            let found = ahead.take(step, &judge, &graph).unwrap();
            let numbers = numbers(&found.ends.src, &found.ends.dst);
            let found_scores = Scores { numbers, counts: found.counts.clone() };
            assert_eq!(found_scores, one_by_one(&judge, &graph, step), "snapshot {step}");
            let mut links = LinkSet::default();
            links.load_by_source(graph.at(step + 1));
            assert_eq!(found.links, links, "snapshot {step}");
        }
    }
}
