//! A machine as numbers: nodes, devices, links, what they cost and how often they fail.
//!
//! Everything is in bytes, seconds and operations; the text of a machine file has units
//! ([`Machine::parse`]). A rank is a device: rank `r` is on node `r / devices`.

mod built_in;
pub mod calibration;
mod fields;
mod measured;
mod problem;
mod quantity;
mod reading;
mod scaled;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use calibration::Calibration;
pub use problem::{MachineError, MachineProblem};
pub use scaled::Part;

/// What computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A core of a processor; all of a node share the memory of the host.
    Cpu,
    /// A GPU with memory of its own.
    Gpu,
}

/// What a link is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Copies in the memory of the host, which computing shares.
    Memory,
    /// PCI Express.
    Pcie,
    /// NVLink, with or without a switch.
    Nvlink,
    /// InfiniBand.
    Infiniband,
    /// Ethernet.
    Ethernet,
}

/// How ranks add up values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllReduce {
    /// Everyone sends to everyone, as ranks that are threads or processes of an MPI job do here.
    Direct,
    /// One ring through all ranks, node by node.
    Ring,
    /// A ring inside of each node, then rings through all nodes, one for each device, then inside again.
    Hierarchical,
}

/// What a device does in a second, and what it has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Device {
    /// What it is.
    pub kind: DeviceKind,
    /// Bytes of memory; of the host, for a core.
    pub memory_bytes: u64,
    /// Bytes a second that it reads and writes in its memory at most.
    pub memory_bytes_per_second: f64,
    /// Floating-point operations a second at most.
    pub flops_per_second: f64,
    /// Seconds that a kernel takes whatever it computes.
    pub launch_seconds: f64,
    /// The fraction of `flops_per_second` that dense products reach.
    pub dense_fraction: f64,
    /// The fraction of `memory_bytes_per_second` that products with the graph reach.
    pub sparse_fraction: f64,
    /// The fraction of `memory_bytes_per_second` that everything else reaches.
    pub elementwise_fraction: f64,
}

/// A way for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Link {
    /// What it is made of.
    pub kind: LinkKind,
    /// Seconds from sending a byte to its arrival.
    pub latency_seconds: f64,
    /// Seconds between the starts of two messages of one sender.
    pub gap_seconds: f64,
    /// Bytes a second in each direction.
    pub bytes_per_second: f64,
    /// Whether all devices of a node share it, and both directions do.
    pub shared: bool,
}

/// How often something breaks, and what that costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Failures {
    /// The mean seconds between two failures of a node.
    pub node_seconds: f64,
    /// Seconds from a failure until training goes on from a checkpoint.
    pub restart_seconds: f64,
    /// Bytes of a checkpoint that are written in a second.
    pub checkpoint_bytes_per_second: f64,
}

/// A machine, or a cluster of equal ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Where its numbers come from.
    pub source: String,
    /// How many nodes there are.
    pub nodes: usize,
    /// Devices of a node.
    pub devices: usize,
    /// Each of them.
    pub device: Device,
    /// Bytes a second that all cores of a host read and write together.
    pub host_bytes_per_second: f64,
    /// From host to GPU and back; None without GPUs.
    pub copy: Option<Link>,
    /// Between devices of a node.
    pub inside: Link,
    /// Between nodes: all that a node sends or receives. None if there is one node.
    pub between: Option<Link>,
    /// How values are added up.
    pub all_reduce: AllReduce,
    /// What an hour of a node costs, in dollars, if known.
    pub node_dollars_per_hour: Option<f64>,
    /// Failures, if they are expected.
    pub failures: Option<Failures>,
    /// Bytes of a checkpoint that a node writes in a second, if known.
    pub checkpoint_bytes_per_second: Option<f64>,
    /// What was measured of it, if it was.
    #[serde(skip)]
    pub calibration: Option<Calibration>,
}

impl Machine {
    /// How many ranks it has room for.
    pub fn ranks(&self) -> usize {
        self.nodes * self.devices
    }

    /// The nodes that so many ranks are on.
    pub fn nodes_of(&self, ranks: usize) -> usize {
        ranks.div_ceil(self.devices)
    }
}
