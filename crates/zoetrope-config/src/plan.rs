//! `[plan]`: how the work is laid out.

use toml::Value;

use super::names::names;
use super::rule::{Filled, Positive, Whole};
use super::section::section;
use super::setting::Setting;

section! {
    /// How the work is laid out.
    PlanConfig = "plan" {
        /// Name of a planner, or the file of a saved plan.
        name: String = "auto".into(), Filled("the name of a planner or a file");
        /// Whether the aggregation of the first layer is computed once and kept.
        reuse: bool = true;
        /// Snapshots that one call of a structure encoder takes; chosen by the planner if not
        /// set.
        group: Option<usize> = None, Whole(1, 1 << 30);
        /// Blocks of snapshots that a frame is computed in, so that activations are held for one of
        /// them at a time (ESDG §3.1); as few as fit into `memory_limit` if not set.
        blocks: Option<usize> = None, Whole(1, 1 << 30);
        /// Whether blocks are recomputed in the backward pass instead of being kept. It does not
        /// change the result.
        recompute: bool = true;
        /// How ranks share frames, or the snapshots and vertices of each.
        strategy: StrategyName = StrategyName::Auto;
        /// Ranks that share the vertices of a snapshot if `strategy` is "hybrid"; the fewest
        /// that fit if not set.
        members: Option<usize> = None, Whole(2, 1 << 16);
        /// What divides the vertices if `strategy` is "vertex": zoetrope's own partitioner, or METIS, which has to be
        /// installed.
        partitioner: PartitionerName = PartitionerName::Own;
        /// Whether ranks send the rows of some snapshots or vertices while they compute the next (ESDG
        /// §6.5). `auto`: if it is predicted to be faster over the link between the ranks, which is measured first. It
        /// does not change the result.
        overlap: OverlapRule = OverlapRule::Never;
        /// How ranks exchange GPU data: from GPU to GPU by NCCL, or by way of the host. It does not
        /// change the result.
        device_transport: DeviceTransport = DeviceTransport::Auto;
        /// Seconds that a rank may wait for others before the one that keeps it waiting counts as
        /// hung; 20 times as long for one that reads, writes or measures.
        timeout: f64 = 60.0, Positive;
        /// Whether a layer multiplies with the graph or with the weights first.
        order: OperatorOrder = OperatorOrder::Auto;
        /// The most memory that the process may take, reading and judging included, or that each rank
        /// may on its GPU if it computes on one, for example "4GiB".
        memory_limit: Option<ByteCount> = None;
        /// Whether the graph and the features of a run on a GPU stay there (`resident`), or on the host, which
        /// sends those of every frame or block ahead of their use (`stream`). `auto`: there if all of it fits.
        residency: Residency = Residency::Auto;
        /// Whether the states before blocks that are recomputed wait for the backward pass on the GPU
        /// (`resident`), or all but two of them on the host (`stream`). `auto`: there if they fit. It does not
        /// change the result.
        block_states: Residency = Residency::Auto;
        /// Whether snapshots are sent to a GPU as differences to those before them (ESDG §3.2). `auto`:
        /// if that is faster, as it is frame by frame if snapshots change little; `on`: whenever it takes
        /// fewer bytes, also for those that stay on the GPU. It does not change the result.
        difference: DifferenceRule = DifferenceRule::Auto;
        /// Whether updates that repeat are recorded once, as a CUDA graph, and launched as a whole (on a
        /// GPU). It does not change the result.
        record: bool = true;
        /// Whether equal questions, vertices and neighbour events of a batch are computed once
        /// (event models). It does not change the result.
        deduplicate: bool = true;
        /// Whether the next batch is prepared while this one trains (event models). It does not
        /// change the result.
        prefetch: bool = true;
    }
}

/// Whether rows move beside computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlapRule {
    /// `false`: no.
    Never,
    /// `true`: yes.
    Always,
    /// `"auto"`: if that is predicted to be faster.
    IfItGains,
}

impl Setting for OverlapRule {
    fn expected() -> String {
        "true, false or \"auto\"".into()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Boolean(true) => Some(Self::Always),
            Value::Boolean(false) => Some(Self::Never),
            Value::String(text) if text == "auto" => Some(Self::IfItGains),
            _ => None,
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Never => Value::Boolean(false),
            Self::Always => Value::Boolean(true),
            Self::IfItGains => Value::String("auto".to_owned()),
        }
    }
}

/// A number of bytes, written as such or with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteCount(
    /// The bytes.
    pub u64,
);

/// Units and their bytes, longest name first.
const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

impl Setting for ByteCount {
    fn expected() -> String {
        "a number of bytes above 0 such as 2147483648, \"2GiB\" or \"500MB\"".into()
    }

    fn read(value: &Value) -> Option<Self> {
        let bytes = match value {
            Value::Integer(bytes) => u64::try_from(*bytes).ok()?,
            value => {
                let text = value.as_str()?;
                let (number, unit) = UNITS.iter().find_map(|(name, unit)| {
                    text.strip_suffix(name).map(|number| (number.trim_end(), unit))
                })?;
                number.parse::<u64>().ok()?.checked_mul(*unit)?
            }
        };
        // What does not fit into a TOML integer could not be written back.
        (bytes > 0 && i64::try_from(bytes).is_ok()).then_some(Self(bytes))
    }

    fn write(&self) -> Value {
        Value::Integer(self.0 as i64)
    }
}

names! {
    /// Whether a layer multiplies with the graph or with the weights first.
    OperatorOrder {
        /// What is cheaper.
        Auto = "auto",
        /// `(ÂX)W`.
        AggregateFirst = "aggregate-first",
        /// `Â(XW)`.
        UpdateFirst = "update-first",
    }
}

names! {
    /// How ranks share frames, or the snapshots and vertices of each.
    StrategyName {
        /// Whole snapshots if there are enough for all ranks, else what is predicted to be fastest.
        Auto = "auto",
        /// Different frames of an update on different ranks; only gradients meet.
        Frames = "frames",
        /// Each snapshot on one rank, redistributed for time encoders (ESDG §4.2).
        Snapshot = "snapshot",
        /// Each vertex on one rank, with few edges between ranks (§4.1).
        Vertex = "vertex",
        /// Each vertex on one rank, with few rows between ranks (§4.1).
        Hypergraph = "hypergraph",
        /// Snapshots over groups of ranks, vertices inside of a group (§6.5).
        Hybrid = "hybrid",
    }
}

names! {
    /// What divides the vertices.
    PartitionerName {
        /// The program itself.
        Own = "own",
        /// METIS (`libmetis.so.5`), found at run time.
        Metis = "metis",
    }
}

names! {
    /// How ranks exchange GPU data.
    DeviceTransport {
        /// By NCCL if every rank has it and a GPU of its own, else by way of the host.
        Auto = "auto",
        /// By NCCL; the run is refused if that is not possible.
        Nccl = "nccl",
        /// By way of the host.
        Host = "host",
    }
}

names! {
    /// Whether what a GPU reads several times stays on it.
    Residency {
        /// On the GPU if it fits.
        Auto = "auto",
        /// On the GPU.
        Resident = "resident",
        /// On the host.
        Stream = "stream",
    }
}

names! {
    /// Whether snapshots are sent to a GPU as differences.
    DifferenceRule {
        /// If that is faster.
        Auto = "auto",
        /// Wherever it takes fewer bytes.
        On = "on",
        /// Never: snapshots are sent whole, those that do not stay on the GPU with every frame.
        Off = "off",
    }
}
