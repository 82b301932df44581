//! Who meets whom: degrees, distinct pairs, repeats, reciprocity, the two sides of a bipartite
//! graph.
//!
//! Destinations are grouped by source with one counting pass and sorted per source, which costs
//! four bytes an event and finds repeats without a hash table.

use rayon::prelude::*;
use zoetrope_graph::VertexId;

use super::report::{Bipartite, Counts, DegreeBin, Degrees};

pub(super) struct Structure {
    /// Events that touch each vertex.
    events: Vec<u64>,
    /// Distinct pairs that touch each vertex.
    degree: Vec<u64>,
    pairs: u64,
    loop_pairs: u64,
    self_loops: u64,
    reciprocal: u64,
    sources: u64,
    destinations: u64,
    both: u64,
}

impl Structure {
    pub(super) fn of(vertices: u32, src: &[VertexId], dst: &[VertexId]) -> Self {
        let (out, into) = rayon::join(|| tally(vertices, src), || tally(vertices, dst));
        let offsets = starts(&out);
        let mut neighbours = group(&offsets, src, dst);
        sort_groups(&offsets, &mut neighbours);
        let neighbours = &neighbours[..];
        let of =
            |vertex: usize| &neighbours[offsets[vertex] as usize..offsets[vertex + 1] as usize];

        let per_source: Vec<(u32, u32, bool)> = (0..vertices as usize)
            .into_par_iter()
            .map(|source| {
                let (mut distinct, mut reciprocal, mut looped) = (0, 0, false);
                for neighbour in deduplicated(of(source)) {
                    distinct += 1;
                    if neighbour as usize == source {
                        looped = true;
                    } else if of(neighbour as usize).binary_search(&(source as u32)).is_ok() {
                        reciprocal += 1;
                    }
                }
                (distinct, reciprocal, looped)
            })
            .collect();

        let mut degree: Vec<u64> = per_source.iter().map(|&(out, ..)| u64::from(out)).collect();
        for source in 0..vertices as usize {
            for neighbour in deduplicated(of(source)) {
                degree[neighbour as usize] += 1;
            }
        }
        let occurs = |counts: &[u64]| counts.iter().filter(|&&count| count > 0).count() as u64;
        Self {
            pairs: per_source.iter().map(|&(distinct, ..)| u64::from(distinct)).sum(),
            reciprocal: per_source.iter().map(|&(_, reciprocal, _)| u64::from(reciprocal)).sum(),
            loop_pairs: per_source.iter().filter(|&&(.., looped)| looped).count() as u64,
            self_loops: src.par_iter().zip(dst).filter(|(src, dst)| src == dst).count() as u64,
            sources: occurs(&out),
            destinations: occurs(&into),
            both: out.iter().zip(&into).filter(|&(&out, &into)| out > 0 && into > 0).count() as u64,
            events: out.iter().zip(&into).map(|(out, into)| out + into).collect(),
            degree,
        }
    }

    /// Sources and destinations, if no vertex is both.
    pub(super) fn bipartite(&self) -> Option<Bipartite> {
        (self.both == 0 && self.sources > 0)
            .then_some(Bipartite { sources: self.sources, destinations: self.destinations })
    }

    pub(super) fn counts(&self, vertices: u32, events: u64, snapshots: u64) -> Counts {
        let possible = match self.bipartite() {
            Some(sides) => sides.sources as f64 * sides.destinations as f64,
            None => f64::from(vertices) * (f64::from(vertices) - 1.0),
        };
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let proper_pairs = self.pairs - self.loop_pairs;
        Counts {
            pairs: self.pairs,
            active_vertices: self.sources + self.destinations - self.both,
            self_loops: self.self_loops,
            repeats: share((events - self.pairs) as f64, events as f64),
            reciprocity: share(self.reciprocal as f64, proper_pairs as f64),
            density: share(proper_pairs as f64, possible),
            mean_density: share(
                (events - self.self_loops) as f64,
                possible * snapshots.max(1) as f64,
            ),
        }
    }

    pub(super) fn degrees(&self) -> Degrees {
        let (min, median, mean, max) = spread(&self.degree);
        let (_, events_median, events_mean, events_max) = spread(&self.events);
        Degrees {
            min,
            median,
            mean,
            max,
            events_mean,
            events_median,
            events_max,
            histogram: histogram(&self.degree),
        }
    }
}

fn tally(vertices: u32, column: &[VertexId]) -> Vec<u64> {
    let mut counts = vec![0; vertices as usize];
    for &vertex in column {
        counts[vertex as usize] += 1;
    }
    counts
}

fn starts(counts: &[u64]) -> Vec<u64> {
    let mut offsets = Vec::with_capacity(counts.len() + 1);
    let mut total = 0;
    offsets.push(0);
    for count in counts {
        total += count;
        offsets.push(total);
    }
    offsets
}

fn group(offsets: &[u64], src: &[VertexId], dst: &[VertexId]) -> Vec<VertexId> {
    let mut next = offsets.to_vec();
    let mut grouped = vec![0; dst.len()];
    for (&source, &destination) in src.iter().zip(dst) {
        let place = &mut next[source as usize];
        grouped[*place as usize] = destination;
        *place += 1;
    }
    grouped
}

fn sort_groups(offsets: &[u64], neighbours: &mut [VertexId]) {
    let mut rest = neighbours;
    let mut groups = Vec::with_capacity(offsets.len());
    for pair in offsets.windows(2) {
        let (group, tail) = rest.split_at_mut((pair[1] - pair[0]) as usize);
        if group.len() > 1 {
            groups.push(group);
        }
        rest = tail;
    }
    // A hub can hold most of the events, so large groups are sorted in parallel themselves.
    groups.into_par_iter().for_each(|group| group.par_sort_unstable());
}

fn deduplicated(sorted: &[VertexId]) -> impl Iterator<Item = VertexId> + '_ {
    sorted.chunk_by(|left, right| left == right).map(|run| run[0])
}

/// Least, median, mean and greatest of some counts; zeros if there are none.
fn spread(counts: &[u64]) -> (u64, u64, f64, u64) {
    if counts.is_empty() {
        return (0, 0, 0.0, 0);
    }
    let mut sorted = counts.to_vec();
    sorted.par_sort_unstable();
    let mean = sorted.iter().sum::<u64>() as f64 / sorted.len() as f64;
    (sorted[0], sorted[(sorted.len() - 1) / 2], mean, sorted[sorted.len() - 1])
}

fn histogram(degrees: &[u64]) -> Vec<DegreeBin> {
    let mut bins: Vec<u64> = Vec::new();
    for &degree in degrees {
        // Bin 0 is degree 0; bin k is 2^(k-1) up to 2^k - 1.
        let bin = (u64::BITS - degree.leading_zeros()) as usize;
        if bin >= bins.len() {
            bins.resize(bin + 1, 0);
        }
        bins[bin] += 1;
    }
    let first = bins.iter().position(|&vertices| vertices > 0).unwrap_or(0);
    let range = |bin: usize| match bin {
        0 => (0, 0),
        _ => (1 << (bin - 1), (1_u64 << bin).wrapping_sub(1)),
    };
    (first..bins.len())
        .map(|bin| {
            let (from, to) = range(bin);
            DegreeBin { from, to, vertices: bins[bin] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_graph_is_counted_as_by_hand() {
        // 0→1 twice, 1→0, 2→2, 0→2; vertex 3 never occurs.
        let structure = Structure::of(4, &[0, 0, 1, 2, 0], &[1, 1, 0, 2, 2]);
        let counts = structure.counts(4, 5, 1);
        assert_eq!(counts.pairs, 4);
        assert_eq!(counts.active_vertices, 3);
        assert_eq!(counts.self_loops, 1);
        assert_eq!(counts.repeats, 1.0 / 5.0);
        assert_eq!(counts.reciprocity, 2.0 / 3.0);
        assert_eq!(counts.density, 3.0 / 12.0);
        assert_eq!(structure.bipartite(), None);
        let degrees = structure.degrees();
        assert_eq!((degrees.min, degrees.median, degrees.max), (0, 2, 3));
        assert_eq!(degrees.events_max, 4);
        let bins: Vec<_> =
            degrees.histogram.iter().map(|bin| (bin.from, bin.to, bin.vertices)).collect();
        assert_eq!(bins, [(0, 0, 1), (1, 1, 0), (2, 3, 3)]);
    }

    #[test]
    fn sides_that_never_mix_are_bipartite() {
        let structure = Structure::of(5, &[0, 1, 0], &[3, 4, 3]);
        assert_eq!(structure.bipartite(), Some(Bipartite { sources: 2, destinations: 2 }));
        assert_eq!(structure.counts(5, 3, 1).density, 2.0 / 4.0);
    }

    #[test]
    fn an_empty_graph_has_zeros_everywhere() {
        let structure = Structure::of(0, &[], &[]);
        assert_eq!(structure.counts(0, 0, 1).density, 0.0);
        assert_eq!(structure.degrees().histogram, []);
        assert_eq!(structure.bipartite(), None);
    }
}
