//! What tasks share: links, and the memory of hosts. One of each for every kind of node and class of ranks.

use serde::Serialize;

use crate::classes::Classes;
use crate::fluid::Demand;
use crate::machine::{DeviceKind, LinkKind, Machine};
use crate::messages::Moved;
use crate::work::Work;

/// What a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceKind {
    /// The memory that all cores of a host share.
    HostMemory,
    /// From host to GPU and back.
    Copies,
    /// Between the devices of a node.
    LinksInside,
    /// Between nodes.
    LinksBetween,
}

impl ResourceKind {
    /// A few words for a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostMemory => "memory of a host",
            Self::Copies => "copies to and from a GPU",
            Self::LinksInside => "links inside a node",
            Self::LinksBetween => "links between nodes",
        }
    }
}

/// The resources of a simulation.
#[derive(Debug)]
pub(crate) struct Resources<'m> {
    machine: &'m Machine,
    classes: &'m Classes,
    pub(crate) capacity: Vec<f64>,
    pub(crate) kinds: Vec<ResourceKind>,
    host: Vec<usize>,
    /// Up and down, by class; the same if they share.
    copies: Vec<[usize; 2]>,
    /// Out and in, by class.
    inside: Vec<[usize; 2]>,
    /// Out and in, by kind of node.
    between: Vec<[usize; 2]>,
}

impl<'m> Resources<'m> {
    pub(crate) fn new(machine: &'m Machine, classes: &'m Classes) -> Self {
        let mut made = Self {
            machine,
            classes,
            capacity: Vec::new(),
            kinds: Vec::new(),
            host: Vec::new(),
            copies: Vec::new(),
            inside: Vec::new(),
            between: Vec::new(),
        };
        let nodes = classes.nodes.len();
        if machine.device.kind == DeviceKind::Cpu {
            made.host = (0..nodes)
                .map(|_| made.add(ResourceKind::HostMemory, machine.host_bytes_per_second))
                .collect();
        }
        if let Some(link) = &machine.copy {
            made.copies = made.ports(ResourceKind::Copies, link.bytes_per_second, link.shared);
        }
        let link = &machine.inside;
        made.inside = made.ports(ResourceKind::LinksInside, link.bytes_per_second, link.shared);
        if let Some(link) = &machine.between {
            made.between = (0..nodes)
                .map(|_| {
                    let out = made.add(ResourceKind::LinksBetween, link.bytes_per_second);
                    if link.shared {
                        return [out, out];
                    }
                    [out, made.add(ResourceKind::LinksBetween, link.bytes_per_second)]
                })
                .collect();
        }
        made
    }

    fn add(&mut self, kind: ResourceKind, capacity: f64) -> usize {
        self.capacity.push(capacity);
        self.kinds.push(kind);
        self.capacity.len() - 1
    }

    /// A port of two directions for each class, or one for each kind of node.
    fn ports(&mut self, kind: ResourceKind, capacity: f64, shared: bool) -> Vec<[usize; 2]> {
        if shared {
            let count = self.classes.nodes.len();
            let bus: Vec<usize> = (0..count).map(|_| self.add(kind, capacity)).collect();
            return self.classes.classes.iter().map(|class| [bus[class.node]; 2]).collect();
        }
        let count = self.classes.classes.len();
        (0..count).map(|_| [self.add(kind, capacity), self.add(kind, capacity)]).collect()
    }

    /// How many ranks of a class there are on a node that has any.
    fn on_node(&self, class: usize) -> f64 {
        let node = &self.classes.nodes[self.classes.classes[class].node];
        let own = node.classes.iter().find(|(other, _)| *other == class);
        own.map_or(1.0, |&(_, count)| count as f64)
    }

    /// Computing, on a device that is `speed` times as fast as it should be.
    pub(crate) fn compute(&self, class: usize, work: &Work, speed: f64) -> Demand {
        let least_seconds = work.seconds(&self.machine.device) / speed;
        let bytes = work.bytes(&self.machine.device);
        let host = self.host.get(self.classes.classes[class].node).filter(|_| bytes > 0.0);
        let uses = host.map(|&host| (host, bytes * self.on_node(class))).into_iter().collect();
        Demand { uses, bytes: bytes.max(1.0), least_seconds }
    }

    /// Seconds to start computing.
    pub(crate) fn launch(&self, work: &Work, speed: f64) -> f64 {
        work.launches * self.machine.device.launch_seconds / speed
    }

    /// A copy from host to GPU, and the seconds until it begins.
    pub(crate) fn copy(&self, class: usize, bytes: f64) -> (Demand, f64) {
        let latency = self.machine.copy.map_or(0.0, |link| link.latency_seconds);
        let shared = self.machine.copy.is_some_and(|link| link.shared);
        let amount = if shared { bytes * self.on_node(class) } else { bytes };
        let uses = self.copies.get(class).map(|&[up, _]| (up, amount)).into_iter().collect();
        (Demand { uses, bytes: bytes.max(1.0), least_seconds: 0.0 }, latency)
    }

    /// A message: what each rank of a class moves.
    pub(crate) fn message(&self, moved: &[(usize, Moved)], by_host: bool) -> Demand {
        let mut uses = std::collections::BTreeMap::new();
        let mut most = 1.0_f64;
        let mut put = |resource: usize, bytes: f64| {
            if bytes > 0.0 {
                *uses.entry(resource).or_insert(0.0) += bytes;
            }
        };
        let inside = &self.machine.inside;
        for &(class, one) in moved {
            let (count, node) = (self.on_node(class), self.classes.classes[class].node);
            let [out, into] = self.inside[class];
            // On a bus every byte goes by once.
            let times = if inside.shared { count } else { 1.0 };
            put(out, one.out_inside * times);
            if !inside.shared {
                put(into, one.in_inside);
            }
            if let (LinkKind::Memory, Some(&host)) = (inside.kind, self.host.get(node)) {
                put(host, 2.0 * one.out_inside * count);
            }
            if let Some(&[out, into]) = self.between.get(node) {
                put(out, one.out_between * count);
                put(into, one.in_between * count);
            }
            if let (true, Some(&[up, down])) = (by_host, self.copies.get(class)) {
                let shared = self.machine.copy.is_some_and(|link| link.shared);
                let times = if shared { count } else { 1.0 };
                put(up, (one.in_inside + one.in_between) * times);
                put(down, (one.out_inside + one.out_between) * times);
            }
            most = most.max(one.out_inside + one.out_between);
        }
        Demand { uses: uses.into_iter().collect(), bytes: most, least_seconds: 0.0 }
    }
}
