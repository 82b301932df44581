//! Machine files: the text that describes a machine.

use super::fields::{FRACTION, Fields, NOT_NEGATIVE, POSITIVE};
use super::measured;
use super::problem::MachineError;
use super::quantity::{BYTE_RATE, BYTES, FLOP_RATE, TIME};
use super::{AllReduce, Device, DeviceKind, Failures, Link, LinkKind, Machine};

/// More nodes or devices than this are a typing error.
const MOST: usize = 1 << 20;

const DEVICES: [(&str, DeviceKind); 2] = [("cpu", DeviceKind::Cpu), ("gpu", DeviceKind::Gpu)];

const LINKS: [(&str, LinkKind); 5] = [
    ("memory", LinkKind::Memory),
    ("pcie", LinkKind::Pcie),
    ("nvlink", LinkKind::Nvlink),
    ("infiniband", LinkKind::Infiniband),
    ("ethernet", LinkKind::Ethernet),
];

const SUMS: [(&str, AllReduce); 3] = [
    ("direct", AllReduce::Direct),
    ("ring", AllReduce::Ring),
    ("hierarchical", AllReduce::Hierarchical),
];

/// The keys of a link.
struct LinkKeys {
    kind: &'static str,
    latency: &'static str,
    gap: &'static str,
    rate: &'static str,
    shared: &'static str,
}

macro_rules! link_keys {
    ($name:ident, $section:literal) => {
        const $name: LinkKeys = LinkKeys {
            kind: concat!($section, ".kind"),
            latency: concat!($section, ".latency"),
            gap: concat!($section, ".gap"),
            rate: concat!($section, ".rate"),
            shared: concat!($section, ".shared"),
        };
    };
}

link_keys!(COPY, "links.copy");
link_keys!(INSIDE, "links.inside");
link_keys!(BETWEEN, "links.between");

impl LinkKeys {
    fn read(&self, fields: &Fields<'_>) -> Link {
        Link {
            kind: fields.name(self.kind, &LINKS),
            latency_seconds: fields.quantity(self.latency, &TIME, &NOT_NEGATIVE),
            gap_seconds: fields.quantity_if(self.gap, &TIME, &NOT_NEGATIVE).unwrap_or(0.0),
            bytes_per_second: fields.quantity(self.rate, &BYTE_RATE, &POSITIVE),
            shared: fields.flag(self.shared),
        }
    }
}

impl Machine {
    /// Reads the text of a machine file; `file` is what messages call it.
    ///
    /// # Errors
    /// With all that is wrong: keys that there are not, keys that are missing, values without a unit or out
    /// of their range.
    pub fn parse(text: &str, file: &str) -> Result<Self, MachineError> {
        let fields = Fields::of(text, file)?;
        let (name, source) = (fields.text("name"), fields.text("source"));
        let nodes = fields.count("nodes", MOST);
        let devices = fields.count("devices", MOST);
        let kind = fields.name("device.kind", &DEVICES);
        let fraction = |key| fields.number_if(key, &FRACTION).unwrap_or(1.0);
        let device = Device {
            kind,
            memory_bytes: fields.quantity("device.memory", &BYTES, &POSITIVE) as u64,
            memory_bytes_per_second: fields.quantity("device.memory_rate", &BYTE_RATE, &POSITIVE),
            flops_per_second: fields.quantity("device.compute_rate", &FLOP_RATE, &POSITIVE),
            launch_seconds: fields.quantity("device.launch", &TIME, &NOT_NEGATIVE),
            dense_fraction: fraction("device.dense_fraction"),
            sparse_fraction: fraction("device.sparse_fraction"),
            elementwise_fraction: fraction("device.elementwise_fraction"),
        };
        // What cannot act is refused as unknown: a processor has no copies, one node no network.
        let host_bytes_per_second = match kind {
            DeviceKind::Cpu => fields.quantity("host.memory_rate", &BYTE_RATE, &POSITIVE),
            DeviceKind::Gpu => f64::INFINITY,
        };
        let copy = (kind == DeviceKind::Gpu).then(|| COPY.read(&fields));
        let inside = INSIDE.read(&fields);
        let between = (nodes > 1).then(|| BETWEEN.read(&fields));
        let all_reduce = fields.name("collectives.all_reduce", &SUMS);
        let node_dollars_per_hour = fields.number_if("price.node_dollars_per_hour", &NOT_NEGATIVE);
        let failures = fields.has("failures").then(|| Failures {
            node_seconds: fields.quantity("failures.node_time", &TIME, &POSITIVE),
            restart_seconds: fields.quantity("failures.restart", &TIME, &NOT_NEGATIVE),
            checkpoint_bytes_per_second: fields.quantity(
                "failures.checkpoint_rate",
                &BYTE_RATE,
                &POSITIVE,
            ),
        });
        let checkpoint_bytes_per_second =
            fields.quantity_if("storage.checkpoint_rate", &BYTE_RATE, &POSITIVE);
        let calibration = fields.has("calibration").then(|| measured::read(&fields));
        fields.finish()?;
        Ok(Self {
            name,
            source,
            nodes,
            devices,
            device,
            host_bytes_per_second,
            copy,
            inside,
            between,
            all_reduce,
            node_dollars_per_hour,
            failures,
            checkpoint_bytes_per_second,
            calibration,
        })
    }
}
