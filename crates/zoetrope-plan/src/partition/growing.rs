//! Growing one side of a bisection from a random vertex, best gain first.

use std::collections::BinaryHeap;

use zoetrope_graph::random::Random;

use super::gains::Gains;
use super::hypergraph::Hypergraph;
use super::pins::State;

/// Sides 0 and 1 of the vertices, side 0 about as heavy as `target`: it starts with one vertex and takes
/// the one that adds least to the cut, until it is full. If no net leads on, it takes the next
/// vertex in random order.
pub(super) fn grow(graph: &Hypergraph, target: i64, random: Random) -> Vec<u32> {
    let count = graph.vertices();
    let mut state = State::new(graph, vec![1; count], 2);
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by_key(|&vertex| random.u64(u64::from(vertex)));
    let mut others = order.into_iter();
    let mut queue: BinaryHeap<(i64, u32, u32)> = BinaryHeap::new();
    let mut newest = vec![i64::MIN; count];
    let mut gains = Gains::new(&state).expect("a bisection is of a small hypergraph");
    while state.weights[0] < target {
        let found = match queue.pop() {
            Some((gain, _, vertex)) => {
                let current = state.of[vertex as usize] == 1 && newest[vertex as usize] == gain;
                if !current { None } else { Some(vertex) }
            }
            None => match others.find(|&vertex| state.of[vertex as usize] == 1) {
                Some(vertex) => Some(vertex),
                None => break,
            },
        };
        let Some(vertex) = found else { continue };
        let size = graph.vertex_weights[vertex as usize];
        // The last one only if the part is nearer to the target with it than without.
        if state.weights[0] > 0 && state.weights[0] + size - target > target - state.weights[0] {
            newest[vertex as usize] = i64::MIN;
            if queue.is_empty() && others.len() == 0 {
                break;
            }
            continue;
        }
        gains.apply(&mut state, vertex, 0);
        for &pin in gains.risen.iter().filter(|&&pin| state.of[pin as usize] == 1) {
            let gain = gains.gain(pin, 0);
            if gain != newest[pin as usize] {
                newest[pin as usize] = gain;
                queue.push((gain, random.u64(u64::from(pin)) as u32, pin));
            }
        }
    }
    state.of
}
