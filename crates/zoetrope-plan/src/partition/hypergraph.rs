//! Hypergraphs: vertices with weights, and nets of vertices with weights.

use rayon::prelude::*;

/// Nets that one task maps.
const NETS_OF_A_TASK: usize = 1 << 14;

/// Vertices and nets. Every net has at least two different pins, no two nets have the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hypergraph {
    pub(super) vertex_weights: Vec<i64>,
    pub(super) net_weights: Vec<i64>,
    net_offsets: Vec<u32>,
    pins: Vec<u32>,
    vertex_offsets: Vec<u32>,
    nets: Vec<u32>,
}

/// Nets while they are collected.
#[derive(Debug, Clone, Default)]
pub(super) struct Nets {
    weights: Vec<i64>,
    ends: Vec<u32>,
    pins: Vec<u32>,
}

impl Nets {
    /// Takes a net of ascending, different pins; one that is smaller than two is nothing.
    pub(super) fn push(&mut self, pins: impl IntoIterator<Item = u32>, weight: i64) {
        let start = self.pins.len();
        self.pins.extend(pins);
        debug_assert!(self.pins[start..].is_sorted_by(|left, right| left < right));
        if self.pins.len() < start + 2 {
            return self.pins.truncate(start);
        }
        self.ends.push(self.pins.len() as u32);
        self.weights.push(weight);
    }

    /// Adds other nets behind these.
    fn append(&mut self, other: Self) {
        let behind = self.pins.len() as u32;
        self.weights.extend(other.weights);
        self.ends.extend(other.ends.iter().map(|end| behind + end));
        self.pins.extend(other.pins);
    }

    /// Pins of all nets.
    pub(super) fn pins(&self) -> usize {
        self.pins.len()
    }

    /// The number of nets.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn net(&self, net: usize) -> &[u32] {
        let start = if net == 0 { 0 } else { self.ends[net - 1] };
        &self.pins[start as usize..self.ends[net] as usize]
    }

    pub(super) fn add_weight(&mut self, net: usize, weight: i64) {
        self.weights[net] += weight;
    }

    /// Equal nets become one with the sum of their weights, at the place of the first.
    fn merged(mut self) -> Self {
        let mut order: Vec<(u64, u32)> = (0..self.len())
            .into_par_iter()
            .map(|net| (fingerprint(self.net(net)), net as u32))
            .collect();
        order.par_sort_unstable();
        let mut gone = vec![false; self.len()];
        for same in order.chunk_by(|left, right| left.0 == right.0) {
            for (at, &(_, net)) in same.iter().enumerate() {
                if gone[net as usize] {
                    continue;
                }
                for &(_, other) in &same[at + 1..] {
                    if !gone[other as usize] && self.net(net as usize) == self.net(other as usize) {
                        gone[other as usize] = true;
                        self.weights[net as usize] += self.weights[other as usize];
                    }
                }
            }
        }
        let mut kept = Self::default();
        for net in (0..self.len()).filter(|&net| !gone[net]) {
            kept.pins.extend_from_slice(self.net(net));
            kept.ends.push(kept.pins.len() as u32);
            kept.weights.push(self.weights[net]);
        }
        kept
    }
}

/// A number that equal nets share and others rarely.
fn fingerprint(pins: &[u32]) -> u64 {
    pins.iter().fold(pins.len() as u64, |mixed, &pin| {
        (mixed ^ u64::from(pin)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
    })
}

impl Hypergraph {
    /// Vertices with these weights, and nets; equal ones are merged.
    pub(super) fn new(vertex_weights: Vec<i64>, nets: Nets) -> Self {
        Self::of_distinct(vertex_weights, nets.merged())
    }

    /// The same with nets of which no two are equal.
    pub(super) fn of_distinct(vertex_weights: Vec<i64>, nets: Nets) -> Self {
        let mut vertex_offsets = vec![0_u32; vertex_weights.len() + 1];
        for &pin in &nets.pins {
            vertex_offsets[pin as usize + 1] += 1;
        }
        for vertex in 0..vertex_weights.len() {
            vertex_offsets[vertex + 1] += vertex_offsets[vertex];
        }
        let mut next = vertex_offsets.clone();
        let mut of_vertex = vec![0_u32; nets.pins.len()];
        for net in 0..nets.len() {
            for &pin in nets.net(net) {
                of_vertex[next[pin as usize] as usize] = net as u32;
                next[pin as usize] += 1;
            }
        }
        let net_offsets = std::iter::once(0).chain(nets.ends).collect();
        Self {
            vertex_weights,
            net_weights: nets.weights,
            net_offsets,
            pins: nets.pins,
            vertex_offsets,
            nets: of_vertex,
        }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertex_weights.len()
    }

    /// The number of nets.
    pub fn nets(&self) -> usize {
        self.net_weights.len()
    }

    /// The vertices of a net, ascending.
    pub fn pins_of(&self, net: u32) -> &[u32] {
        let at = net as usize;
        &self.pins[self.net_offsets[at] as usize..self.net_offsets[at + 1] as usize]
    }

    /// The nets of a vertex, ascending.
    pub fn nets_of(&self, vertex: u32) -> &[u32] {
        let at = vertex as usize;
        &self.nets[self.vertex_offsets[at] as usize..self.vertex_offsets[at + 1] as usize]
    }

    /// The weight of a net.
    pub fn net_weight(&self, net: u32) -> i64 {
        self.net_weights[net as usize]
    }

    /// Pins of all nets.
    pub fn pins(&self) -> usize {
        self.pins.len()
    }

    /// The weight of all vertices.
    pub fn weight(&self) -> i64 {
        self.vertex_weights.iter().sum()
    }

    /// The same with these weights of vertices.
    ///
    /// # Panics
    /// If there are not as many as vertices.
    pub fn weighted(self, vertex_weights: Vec<i64>) -> Self {
        assert_eq!(vertex_weights.len(), self.vertices(), "a weight for each vertex");
        Self { vertex_weights, ..self }
    }

    /// `Σ weight · (parts − 1)` over nets: if nets are edges, the weight of the cut.
    pub fn cost(&self, of: &[u32]) -> i64 {
        let of_net = |found: &mut Vec<u32>, net: u32| {
            found.clear();
            found.extend(self.pins_of(net).iter().map(|&pin| of[pin as usize]));
            found.sort_unstable();
            found.dedup();
            self.net_weight(net) * (found.len() as i64 - 1)
        };
        (0..self.nets() as u32).into_par_iter().map_init(Vec::new, of_net).sum()
    }

    /// Clusters of vertices as vertices; nets inside of one disappear.
    pub(super) fn contracted(&self, cluster_of: &[u32], clusters: usize) -> Self {
        let mut weights = vec![0; clusters];
        for (&cluster, &weight) in cluster_of.iter().zip(&self.vertex_weights) {
            weights[cluster as usize] += weight;
        }
        let all: Vec<u32> = (0..self.nets() as u32).collect();
        let parts = all.par_chunks(NETS_OF_A_TASK).map(|numbers| {
            let (mut nets, mut mapped) = (Nets::default(), Vec::new());
            for &net in numbers {
                mapped.clear();
                mapped.extend(self.pins_of(net).iter().map(|&pin| cluster_of[pin as usize]));
                mapped.sort_unstable();
                mapped.dedup();
                nets.push(mapped.iter().copied(), self.net_weight(net));
            }
            nets
        });
        let mut nets = Nets::default();
        parts.collect::<Vec<_>>().into_iter().for_each(|part| nets.append(part));
        Self::new(weights, nets)
    }

    /// The vertices of one side with the parts of nets that lie there, and which vertices they
    /// are. A net of both sides stays one on each: what it costs later adds to what it costs now.
    pub(super) fn side(&self, of: &[u32], side: u32) -> (Self, Vec<u32>) {
        let mut place = vec![u32::MAX; self.vertices()];
        let inside: Vec<u32> =
            (0..self.vertices() as u32).filter(|&vertex| of[vertex as usize] == side).collect();
        for (at, &vertex) in inside.iter().enumerate() {
            place[vertex as usize] = at as u32;
        }
        let mut nets = Nets::default();
        for net in 0..self.nets() as u32 {
            let here = self.pins_of(net).iter().map(|&pin| place[pin as usize]);
            nets.push(here.filter(|&at| at != u32::MAX), self.net_weight(net));
        }
        let weights = inside.iter().map(|&vertex| self.vertex_weights[vertex as usize]).collect();
        (Self::new(weights, nets), inside)
    }
}
