//! Traces for ASTRA-sim, read back by a reader of protobuf that shares nothing with the writer.

use super::*;

/// A field of a message: its number and what it holds.
#[derive(Debug, Clone, PartialEq)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (first, rest) = bytes.split_first().expect("a number ends");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return value;
        }
        shift += 7;
    }
}

fn take<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let length = varint(bytes) as usize;
    let (own, rest) = bytes.split_at(length);
    *bytes = rest;
    own
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            2 => Field::Bytes(take(&mut bytes).to_vec()),
            other => panic!("wire type {other}"),
        };
        found.push((tag >> 3, field));
    }
    found
}

fn number(fields: &[(u64, Field)], wanted: u64) -> u64 {
    match fields.iter().find(|(field, _)| *field == wanted) {
        Some((_, Field::Number(value))) => *value,
        None => 0,
        Some(other) => panic!("{other:?}"),
    }
}

fn bytes(fields: &[(u64, Field)], wanted: u64) -> Vec<u8> {
    match fields.iter().find(|(field, _)| *field == wanted) {
        Some((_, Field::Bytes(value))) => value.clone(),
        None => Vec::new(),
        Some(other) => panic!("{other:?}"),
    }
}

fn packed(fields: &[(u64, Field)], wanted: u64) -> Vec<u64> {
    let list = bytes(fields, wanted);
    let (mut rest, mut values) = (&list[..], Vec::new());
    while !rest.is_empty() {
        values.push(varint(&mut rest));
    }
    values
}

/// A node: its fields, and those of its attributes by name.
struct Node {
    own: Vec<(u64, Field)>,
    attributes: BTreeMap<String, Vec<(u64, Field)>>,
}

impl Node {
    fn whole_number(&self, name: &str) -> i64 {
        number(&self.attributes[name], 9) as i64
    }
}

/// The version of a trace and its nodes.
fn read(trace: &[u8]) -> (String, Vec<Node>) {
    let mut rest = trace;
    let version = String::from_utf8(bytes(&fields(take(&mut rest)), 1)).unwrap();
    let mut nodes = Vec::new();
    while !rest.is_empty() {
        let own = fields(take(&mut rest));
        let of = own.iter().filter_map(|(field, value)| match value {
            Field::Bytes(attribute) if *field == 10 => {
                let attribute = fields(attribute);
                Some((String::from_utf8(bytes(&attribute, 1)).unwrap(), attribute))
            }
            _ => None,
        });
        let attributes = of.collect();
        nodes.push(Node { own, attributes });
    }
    (version, nodes)
}

#[test]
fn a_trace_has_every_task_with_its_bytes_and_what_it_waits_for() {
    let machine = cluster(1, 4, "ring");
    let tasks = vec![
        copy(1 << 40, &[]),
        update(&[0]),
        message(TaskKind::Exchange, 3_000, &[1]),
        message(TaskKind::AllReduce, 60_000, &[2]),
        message(TaskKind::AllReduce, 300, &[]),
        message(TaskKind::AllGather, 900, &[3, 4]),
        update(&[]),
    ];
    let job = job(vec![tasks; 4]);
    let (version, nodes) = read(&job.chakra(&machine, 2));
    assert_eq!(version, "0.0.4");
    let types: Vec<u64> = nodes.iter().map(|node| number(&node.own, 3)).collect();
    assert_eq!(types, [2, 4, 7, 7, 7, 7, 4]);
    let ids: Vec<u64> = nodes.iter().map(|node| number(&node.own, 1)).collect();
    assert_eq!(ids, (0..7).collect::<Vec<_>>());
    let waits: Vec<Vec<u64>> = nodes.iter().map(|node| packed(&node.own, 5)).collect();
    assert_eq!(waits, [vec![], vec![0], vec![1], vec![2], vec![], vec![3, 4], vec![]]);
    // A stream does one after the other.
    let streams: Vec<Vec<u64>> = nodes.iter().map(|node| packed(&node.own, 4)).collect();
    assert_eq!(streams, [vec![], vec![], vec![], vec![2], vec![3], vec![4], vec![1]]);
    assert_eq!(nodes[0].whole_number("tensor_size"), 1 << 40);
    // An update takes a millisecond.
    assert_eq!(number(&nodes[1].own, 7), 1_000);
    let sizes: Vec<[i64; 2]> = (2..6)
        .map(|at| [nodes[at].whole_number("comm_type"), nodes[at].whole_number("comm_size")])
        .collect();
    // To each of three others a thousand bytes; a ring sends 2·3/4 of what it adds up; small sums and
    // gathering send the same to everyone.
    assert_eq!(sizes, [[6, 4_000], [0, 40_000], [0, 100], [2, 300]]);
    assert!(nodes.iter().all(|node| !node.attributes.contains_key("pg_name")));
    assert!(job.chakra_groups(&machine).is_empty());
}

#[test]
fn messages_among_some_ranks_name_their_group() {
    let machine = cluster(2, 2, "ring");
    let mut halo = message(TaskKind::Exchange, 100, &[]);
    halo.purpose = Some(Purpose::Halo);
    let to_time = message(TaskKind::Exchange, 100, &[]);
    let sum = message(TaskKind::AllReduce, 300, &[]);
    let mut job = job(vec![vec![halo, to_time, sum]; 4]);
    job.members = 2;
    let (_, nodes) = read(&job.chakra(&machine, 3));
    let group = |at: usize| nodes[at].attributes.get("pg_name").map(|one| bytes(one, 29));
    let groups = job.chakra_groups(&machine);
    let ranks =
        |at: usize| group(at).map(|name| groups[std::str::from_utf8(&name).unwrap()].clone());
    assert_eq!(ranks(0), Some(vec![2, 3]), "those that have the same snapshots");
    assert_eq!(ranks(1), Some(vec![1, 3]), "those that have the same vertices");
    assert_eq!(group(2), None);
}
