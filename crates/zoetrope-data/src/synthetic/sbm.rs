//! `sbm`: communities that vertices join and leave, with links that follow.

use zoetrope_graph::random::Random;
use zoetrope_graph::snapshot::edge_key;
use zoetrope_graph::{SnapshotSequence, Targets, VertexFeatures, VertexId};

use super::edges::{Columns, Reach, any_pair, draw_distinct, replace, scale};
use super::parameter::{Arguments, Generator, SEED, integer, real};
use super::power::units;
use super::power_law::normals;
use crate::dataset::Dataset;
use crate::error::DataError;
use crate::progress::Progress;

const STREAM_FIRST: u32 = 0x0501;
const STREAM_MOVES: u32 = 0x0502;
const STREAM_ADDED: u32 = 0x0503;
const STREAM_REMOVED: u32 = 0x0504;
const STREAM_MEANS: u32 = 0x0505;
const STREAM_NOISE: u32 = 0x0506;

pub(super) const GENERATOR: Generator = Generator {
    name: "sbm",
    summary: "communities that drift, with learnable classes and links",
    model: "A stochastic block model in time. Every vertex starts in one of `communities`, evenly, \
            and at each step moves to another with probability `move`. There are always \
            round(vertices × (inside + outside) / 2) links (both directions stored). Each step \
            replaces a share 1 - `keep` of them; a new link stays in the community of its first \
            end with probability inside/(inside + outside), and else goes anywhere. Classes are \
            the communities of the step. Features are `signal` × the community's mean (standard \
            normal per feature) + standard normal noise.",
    source: "Holland, Laskey and Leinhardt, Stochastic blockmodels, 1983; Xu and Hero, Dynamic \
             stochastic blockmodels for time-evolving social networks, 2014",
    parameters: &[
        integer("vertices", "500", 8, 1 << 28, "vertices"),
        integer("steps", "50", 1, 1_000_000, "snapshots"),
        integer("communities", "20", 1, 65_536, "communities, which are the classes"),
        real("inside", "8", 0.0, 1e4, "mean links of a vertex drawn in its own community"),
        real("outside", "0.5", 0.0, 1e4, "mean links of a vertex drawn anywhere"),
        real("move", "0.02", 0.0, 1.0, "probability to change community at a step"),
        real("keep", "0.5", 0.0, 1.0, "share of the links that stays from step to step"),
        integer("features", "8", 0, 4096, "features per vertex and step"),
        real("signal", "0.5", 0.0, 100.0, "how far features tell communities apart"),
        SEED,
    ],
    example: "synthetic:sbm?vertices=2000&steps=100&communities=8",
    build,
    stream: None,
};

fn build(arguments: &Arguments, progress: &dyn Progress) -> Result<Dataset, DataError> {
    let vertices = arguments.integer("vertices") as u32;
    let (steps, width) = (arguments.count("steps"), arguments.count("features"));
    if arguments.integer("communities") > u64::from(vertices) {
        return Err(arguments.reject("communities", "at most as many as there are vertices"));
    }
    let degree = arguments.real("inside") + arguments.real("outside");
    let links = (f64::from(vertices) * degree / 2.0).round();
    if links > f64::from(vertices) * f64::from(vertices - 1) / 8.0 {
        return Err(arguments.reject("inside", "inside + outside at most (vertices - 1) / 4"));
    }
    let dense = f64::from(vertices) * 4.0 * (width + 2) as f64;
    let bytes = steps as f64 * (16.0 * links + dense) + 64.0 * links;
    arguments.require_memory(bytes, "vertices, steps, inside, outside or features")?;
    let links = links as usize;
    progress.begin("generating", Some((steps * links * 2) as u64));
    let communities = memberships(arguments, vertices, steps);
    let sequence = topology(arguments, vertices, &communities, links, progress)?;
    let features = (width > 0).then(|| features(arguments, &communities, vertices as usize));
    let classes = arguments.integer("communities") as u32;
    let values = communities.iter().flatten().map(|&community| community as f32).collect();
    let targets = Targets::new(steps, vertices as usize, Some(classes), values)
        .map_err(arguments.graph_error())?;
    Ok(super::snapshots(sequence, features, Some(targets)))
}

/// The community of every vertex at every step.
fn memberships(arguments: &Arguments, vertices: u32, steps: usize) -> Vec<Vec<u32>> {
    let count = arguments.integer("communities") as u32;
    let (seed, rate) = (arguments.seed(), arguments.real("move"));
    let first = Random::new(seed, STREAM_FIRST);
    let mut current: Vec<u32> = (0..u64::from(vertices))
        .map(|vertex| first.below(vertex, u64::from(count)) as u32)
        .collect();
    let mut all = Vec::with_capacity(steps);
    for step in 0..steps {
        let moves = Random::new(seed, STREAM_MOVES).at_step(step as u32);
        if step > 0 && count > 1 {
            for (vertex, community) in (0u64..).zip(&mut current) {
                let block = moves.block(vertex);
                if units(block)[0] < rate {
                    *community = (*community + 1 + scale(block[1], count - 1)) % count;
                }
            }
        }
        all.push(current.clone());
    }
    all
}

fn topology(
    arguments: &Arguments,
    vertices: u32,
    communities: &[Vec<u32>],
    links: usize,
    progress: &dyn Progress,
) -> Result<SnapshotSequence, DataError> {
    let (inside, outside) = (arguments.real("inside"), arguments.real("outside"));
    let share_inside = if links > 0 { inside / (inside + outside) } else { 0.0 };
    let replaced = ((1.0 - arguments.real("keep")) * links as f64).round() as usize;
    let random = |stream, step: usize| Random::new(arguments.seed(), stream).at_step(step as u32);
    let count = arguments.count("communities");
    let mut columns = Columns::with_capacity(communities.len(), communities.len() * links * 2);
    let mut current = Vec::new();
    for (step, community) in communities.iter().enumerate() {
        let mut members: Vec<Vec<VertexId>> = vec![Vec::new(); count];
        for (vertex, &community) in (0u32..).zip(community) {
            members[community as usize].push(vertex);
        }
        // Drawn once per link, from the lower to the higher number; the backward pass is added below.
        let draw = |block: [u32; 4], reach| {
            let (from, mut to) = any_pair(block, vertices);
            let [lot, _] = units([block[2], 0, 0, 0]);
            if reach == Reach::Model && lot < share_inside {
                let own = &members[community[from as usize] as usize];
                to = own[scale(block[1], own.len() as u32) as usize];
            }
            (from.min(to), from.max(to))
        };
        let streams = (random(STREAM_REMOVED, step), random(STREAM_ADDED, step));
        current = match step {
            0 => draw_distinct(links, streams.1, &[], draw),
            _ => replace(&current, replaced, streams, draw),
        };
        let mut both: Vec<u64> = current
            .iter()
            .flat_map(|&key| [key, edge_key((key >> 32) as u32, key as u32)])
            .collect();
        both.sort_unstable();
        progress.advance(both.len() as u64);
        columns.push(&both);
    }
    columns.finish(vertices, arguments)
}

fn features(arguments: &Arguments, communities: &[Vec<u32>], vertices: usize) -> VertexFeatures {
    let (width, signal) = (arguments.count("features"), arguments.real("signal") as f32);
    let means = Random::new(arguments.seed(), STREAM_MEANS);
    let means = normals(means, arguments.count("communities"), width);
    let noise = Random::new(arguments.seed(), STREAM_NOISE);
    let mut values = normals(noise, communities.len(), vertices * width);
    let all = communities.iter().flatten();
    for (row, &community) in values.chunks_mut(width).zip(all) {
        let mean = &means[community as usize * width..][..width];
        row.iter_mut().zip(mean).for_each(|(value, mean)| *value += signal * mean);
    }
    VertexFeatures::new(communities.len(), vertices, width, values).expect("sized by its shape")
}

#[cfg(test)]
mod tests {
    use crate::synthetic::tests::snapshots_of;

    const NAME: &str = "synthetic:sbm?vertices=500&steps=30&communities=5&outside=2&move=0.02";

    #[test]
    fn the_majority_of_the_neighbours_tells_the_class() {
        let data = snapshots_of(NAME);
        let targets = data.targets.unwrap();
        assert_eq!(targets.classes(), Some(5));
        let mut right = 0;
        for step in 0..30 {
            let class = &targets.values()[step * 500..(step + 1) * 500];
            let mut votes = vec![[0; 5]; 500];
            let view = data.sequence.at(step);
            for (&src, &dst) in view.src.iter().zip(view.dst) {
                votes[dst as usize][class[src as usize] as usize] += 1;
            }
            for (votes, &class) in votes.iter().zip(class) {
                let most = (0..5).max_by_key(|&at| votes[at]).unwrap();
                right += usize::from(most == class as usize);
            }
        }
        // Chance is 20 %; 8 links of 10 stay inside, so the vote is nearly always right.
        assert!(right as f64 / 15_000.0 > 0.85, "{right} of 15000");
    }

    #[test]
    fn features_alone_tell_the_class_better_than_chance_but_not_well() {
        let data = snapshots_of(NAME);
        let (features, targets) = (data.features.unwrap(), data.targets.unwrap());
        let class = |step: usize, vertex: usize| targets.values()[step * 500 + vertex] as usize;
        let mut sums = [([0.0f32; 8], 0.0f32); 5];
        for step in 0..15 {
            for (vertex, row) in features.at(step).chunks(8).enumerate() {
                let (sum, count) = &mut sums[class(step, vertex)];
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
                *count += 1.0;
            }
        }
        let distance = |row: &[f32], (sum, count): &([f32; 8], f32)| {
            row.iter().zip(sum).map(|(value, sum)| (value - sum / count).powi(2)).sum::<f32>()
        };
        let mut right = 0;
        for step in 15..30 {
            for (vertex, row) in features.at(step).chunks(8).enumerate() {
                let near = |a: &usize, b: &usize| {
                    distance(row, &sums[*a]).total_cmp(&distance(row, &sums[*b]))
                };
                let nearest = (0..5).min_by(near).unwrap();
                right += usize::from(nearest == class(step, vertex));
            }
        }
        let share = right as f64 / 7500.0;
        assert!((0.3..0.85).contains(&share), "{share}");
    }

    #[test]
    fn new_links_follow_the_communities() {
        let data = snapshots_of(NAME);
        let targets = data.targets.unwrap();
        let (mut inside, mut all) = (0.0, 0.0);
        for step in 1..30 {
            // Classes of the step before: what a predictor of future links may know.
            let class = &targets.values()[(step - 1) * 500..step * 500];
            let (before, view) = (data.sequence.at(step - 1), data.sequence.at(step));
            let known: Vec<u64> = (0..before.len()).map(|edge| before.key(edge)).collect();
            for edge in (0..view.len()).filter(|&e| known.binary_search(&view.key(e)).is_err()) {
                let (src, dst) = (view.src[edge] as usize, view.dst[edge] as usize);
                inside += f64::from(u8::from(class[src] == class[dst]));
                all += 1.0;
            }
        }
        // 0.8 drawn inside and a fifth of the rest by chance, a little less after moves.
        assert!((0.78..0.86).contains(&(inside / all)), "{}", inside / all);
    }

    #[test]
    fn vertices_move_as_often_as_asked() {
        let data = snapshots_of(NAME);
        let values = data.targets.as_ref().unwrap().values();
        let moved = (500..15_000).filter(|&at| values[at] != values[at - 500]).count();
        // 14,500 chances at 2 %: 290, deviation 17.
        assert!((205..375).contains(&moved), "{moved}");
    }

    #[test]
    fn links_are_as_many_as_asked_and_the_kept_share_stays() {
        let data = snapshots_of(NAME);
        for step in 1..30 {
            let (before, view) = (data.sequence.at(step - 1), data.sequence.at(step));
            assert_eq!(view.len(), 5000);
            let known: Vec<u64> = (0..before.len()).map(|edge| before.key(edge)).collect();
            let kept = (0..view.len()).filter(|&e| known.binary_search(&view.key(e)).is_ok());
            assert_eq!(kept.count(), 2500);
        }
    }
}
