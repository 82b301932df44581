//! Programs as Chakra execution traces, the input of ASTRA-sim: one file for each rank.
//!
//! The schema is `et_def.proto` of `mlcommons/chakra` (package `ChakraProtoMsg`). A file is a `GlobalMetadata` and then
//! one `Node` for each task, each with its length before it. Few fields are used, so that they are written here without
//! a library (`docs/decisions/chakra.md`).
//!
//! | task | node | attributes |
//! | --- | --- | --- |
//! | computing, drawing | `COMP_NODE` | `num_ops`, `tensor_size` (bytes through memory), `duration_micros` |
//! | copies to a GPU, and back | `MEM_LOAD_NODE`, `MEM_STORE_NODE` | `tensor_size` |
//! | sums | `COMM_COLL_NODE`, `ALL_REDUCE` | `comm_size`: bytes of what is summed |
//! | gathering | `COMM_COLL_NODE`, `ALL_GATHER` | `comm_size`: bytes that a rank gives |
//! | exchanges | `COMM_COLL_NODE`, `ALL_TO_ALL` | `comm_size`: bytes that a rank gives, what it keeps included |
//!
//! ASTRA-sim takes one `comm_size` for all ranks of a collective; here each rank tells its own. Messages among some ranks
//! name their group (`pg_name`), whose ranks stand in [`Job::chakra_groups`].

use std::collections::BTreeMap;

use zoetrope_plan::TaskKind;

use crate::classes::{Circle, Topology};
use crate::job::Job;
use crate::machine::Machine;
use crate::messages::{ONE_ROUND_BYTES, circle};
use crate::program::lane;

/// The version of the schema.
const VERSION: &str = "0.0.4";

/// Types of nodes, and of collectives.
const MEM_LOAD: u64 = 2;
const MEM_STORE: u64 = 3;
const COMP: u64 = 4;
const COMM_COLL: u64 = 7;
const ALL_REDUCE: i64 = 0;
const ALL_GATHER: i64 = 2;
const ALL_TO_ALL: i64 = 6;

/// A message as protobuf encodes it.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number in a field; 0 is the default and is not written.
    fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// Numbers in a repeated field.
    fn numbers(&mut self, field: u64, values: impl Iterator<Item = u64>) {
        let mut packed = Self::default();
        values.for_each(|value| packed.varint(value));
        if !packed.0.is_empty() {
            self.bytes(field, &packed.0);
        }
    }

    fn attribute(&mut self, name: &str, value: impl FnOnce(&mut Self)) {
        let mut attribute = Self::default();
        attribute.bytes(1, name.as_bytes());
        value(&mut attribute);
        self.bytes(10, &attribute.0);
    }

    /// A value of a `oneof` is written even if it is the default.
    fn whole_number(&mut self, name: &str, value: i64) {
        self.attribute(name, |one| {
            one.varint(9 << 3);
            one.varint(value as u64);
        });
    }

    fn end(self, file: &mut Vec<u8>) {
        let mut length = Self::default();
        length.varint(self.0.len() as u64);
        file.extend_from_slice(&length.0);
        file.extend_from_slice(&self.0);
    }
}

impl Job {
    /// The trace of a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn chakra(&self, machine: &Machine, rank: usize) -> Vec<u8> {
        let tasks = &self.programs[self.of_rank[rank]];
        let work = self.model.work_of(tasks, machine);
        let (mut file, mut head) = (Vec::new(), Message::default());
        head.bytes(1, VERSION.as_bytes());
        head.end(&mut file);
        let topology = self.topology(machine);
        let mut before = [None; crate::program::STREAMS];
        for (at, (task, work)) in tasks.iter().zip(&work).enumerate() {
            let (mut node, bytes) = (Message::default(), task.bytes.unwrap_or(0));
            let ranks = topology.circle_of(circle(task), rank).len();
            let (kind, collective) = match task.kind {
                TaskKind::Copy => (MEM_LOAD, None),
                TaskKind::Store => (MEM_STORE, None),
                TaskKind::AllReduce => (COMM_COLL, Some((ALL_REDUCE, summed(bytes, ranks)))),
                TaskKind::AllGather => (COMM_COLL, Some((ALL_GATHER, given(bytes, ranks)))),
                TaskKind::Exchange => (COMM_COLL, Some((ALL_TO_ALL, bytes + given(bytes, ranks)))),
                _ => (COMP, None),
            };
            let stream = &mut before[lane(task.stream)];
            node.number(1, at as u64);
            node.bytes(2, task.kind.name().as_bytes());
            node.number(3, kind);
            node.numbers(4, stream.iter().copied());
            node.numbers(5, task.after.iter().map(|&earlier| earlier as u64));
            *stream = Some(at as u64);
            if kind == COMP {
                let launch = work.launches * machine.device.launch_seconds;
                let seconds = work.seconds(&machine.device) + launch;
                node.number(7, (seconds * 1e6).round() as u64);
            }
            node.attribute("is_cpu_op", |one| {
                one.varint(27 << 3);
                one.varint(0);
            });
            match collective {
                Some((of_kind, size)) => {
                    node.whole_number("comm_type", of_kind);
                    node.whole_number("comm_size", size as i64);
                    if let Some(group) = topology.group_of(circle(task), rank) {
                        node.attribute("pg_name", |one| {
                            one.bytes(29, group.to_string().as_bytes());
                        });
                    }
                }
                None if kind == COMP => {
                    node.whole_number("num_ops", work.dense_flops as i64);
                    node.whole_number("tensor_size", work.bytes(&machine.device) as i64);
                }
                None => node.whole_number("tensor_size", bytes as i64),
            }
            node.end(&mut file);
        }
        file
    }

    /// The ranks of the groups that traces name: nothing if messages are among all ranks.
    pub fn chakra_groups(&self, machine: &Machine) -> BTreeMap<String, Vec<usize>> {
        let (topology, mut groups) = (self.topology(machine), BTreeMap::new());
        for rank in 0..self.ranks() {
            for circle in [Circle::SameSnapshots, Circle::SameVertices] {
                if let Some(group) = topology.group_of(circle, rank) {
                    let ranks = || topology.circle_of(circle, rank);
                    groups.entry(group.to_string()).or_insert_with(ranks);
                }
            }
        }
        groups
    }

    fn topology(&self, machine: &Machine) -> Topology {
        Topology { ranks: self.ranks(), devices: machine.devices, members: self.members }
    }
}

/// What each of some ranks adds up, if so many bytes leave it.
fn summed(bytes: u64, ranks: usize) -> u64 {
    let (ranks, others) = (ranks as u64, ranks.saturating_sub(1).max(1) as u64);
    let small = bytes / others;
    if small <= ONE_ROUND_BYTES as u64 { small } else { bytes * ranks / (2 * others) }
}

/// What goes to each other rank.
fn given(bytes: u64, ranks: usize) -> u64 {
    bytes / ranks.saturating_sub(1).max(1) as u64
}
