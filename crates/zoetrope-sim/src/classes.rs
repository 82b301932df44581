//! Ranks that do the same at the same time: each class of them is simulated once.
//!
//! Two ranks are of one class if they run the same program at the same speed, and if so do, one by one, the
//! ranks beside them on their node and in their groups. Classes are found by refining until nothing changes.

use std::collections::BTreeMap;

/// How ranks stand to each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Topology {
    pub(crate) ranks: usize,
    /// Devices of a node.
    pub(crate) devices: usize,
    /// Ranks of a group that shares the vertices of a snapshot.
    pub(crate) members: usize,
}

/// Which ranks a message is between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Circle {
    /// All of them.
    All,
    /// Those that have the same snapshots.
    SameSnapshots,
    /// Those that have the same vertices.
    SameVertices,
}

impl Topology {
    pub(crate) fn node(&self, rank: usize) -> usize {
        rank / self.devices
    }

    pub(crate) fn nodes(&self) -> usize {
        self.ranks.div_ceil(self.devices)
    }

    fn has_groups(&self) -> bool {
        self.members > 1 && self.members < self.ranks
    }

    /// The number of a rank's circle.
    fn circle(&self, circle: Circle, rank: usize) -> usize {
        match circle {
            _ if !self.has_groups() => 0,
            Circle::All => 0,
            Circle::SameSnapshots => rank / self.members,
            Circle::SameVertices => rank % self.members,
        }
    }

    /// The number of the group that a rank's circle is, counted from 1; nothing if it is all ranks.
    pub(crate) fn group_of(&self, circle: Circle, rank: usize) -> Option<usize> {
        let number = self.circle(circle, rank) + 1;
        match circle {
            _ if !self.has_groups() => None,
            Circle::All => None,
            Circle::SameSnapshots => Some(number),
            Circle::SameVertices => Some(self.ranks / self.members + number),
        }
    }

    /// The ranks of a rank's circle.
    pub(crate) fn circle_of(&self, circle: Circle, rank: usize) -> Vec<usize> {
        let number = self.circle(circle, rank);
        (0..self.ranks).filter(|&other| self.circle(circle, other) == number).collect()
    }
}

/// A class of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    /// One of its ranks.
    pub(crate) rank: usize,
    /// How many ranks it has.
    pub(crate) count: usize,
    /// The kind of its node.
    pub(crate) node: usize,
}

/// A kind of node: the classes of its ranks, with how many of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeKind {
    pub(crate) classes: Vec<(usize, usize)>,
    /// How many nodes are like this.
    pub(crate) count: usize,
}

/// All classes.
#[derive(Debug, Clone)]
pub(crate) struct Classes {
    pub(crate) of_rank: Vec<usize>,
    pub(crate) classes: Vec<Class>,
    pub(crate) nodes: Vec<NodeKind>,
}

/// Numbers for things, equal for equal ones, in the order of their first appearance.
fn numbered<T: Ord>(things: impl Iterator<Item = T>) -> (Vec<usize>, usize) {
    let mut known = BTreeMap::new();
    let numbers = things
        .map(|thing| {
            let next = known.len();
            *known.entry(thing).or_insert(next)
        })
        .collect();
    (numbers, known.len())
}

impl Classes {
    /// The classes of ranks that differ in `own`; every rank is one of its own if not `collapse`.
    pub(crate) fn of(topology: &Topology, own: &[usize], collapse: bool) -> Self {
        let ranks = topology.ranks;
        let (mut colours, mut count) =
            if collapse { numbered(own.iter().copied()) } else { ((0..ranks).collect(), ranks) };
        while count < ranks {
            let around = |place: &dyn Fn(usize) -> usize| {
                let mut all: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
                (0..ranks).for_each(|rank| all.entry(place(rank)).or_default().push(colours[rank]));
                all.values_mut().for_each(|group| group.sort_unstable());
                let (numbers, _) = numbered(all.values());
                let numbers: BTreeMap<usize, usize> = all.keys().copied().zip(numbers).collect();
                (0..ranks).map(|rank| numbers[&place(rank)]).collect::<Vec<_>>()
            };
            let node = around(&|rank| topology.node(rank));
            let snapshots = around(&|rank| topology.circle(Circle::SameSnapshots, rank));
            let vertices = around(&|rank| topology.circle(Circle::SameVertices, rank));
            let signature =
                |rank: usize| (colours[rank], node[rank], snapshots[rank], vertices[rank]);
            let (refined, found) = numbered((0..ranks).map(signature));
            if found == count {
                break;
            }
            (colours, count) = (refined, found);
        }
        let mut per_node = vec![BTreeMap::new(); topology.nodes()];
        for rank in 0..ranks {
            *per_node[topology.node(rank)].entry(colours[rank]).or_insert(0) += 1;
        }
        let (kinds, kind_count) = numbered(per_node.iter());
        let mut nodes = vec![NodeKind { classes: Vec::new(), count: 0 }; kind_count];
        for (node, &kind) in kinds.iter().enumerate() {
            nodes[kind].count += 1;
            nodes[kind].classes = per_node[node].iter().map(|(&class, &n)| (class, n)).collect();
        }
        let mut classes: Vec<Option<Class>> = vec![None; count];
        for (rank, &colour) in colours.iter().enumerate() {
            let node = kinds[topology.node(rank)];
            classes[colour].get_or_insert(Class { rank, count: 0, node }).count += 1;
        }
        Self { of_rank: colours, classes: classes.into_iter().flatten().collect(), nodes }
    }
}
