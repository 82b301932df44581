//! Machine files: those that are built in, and wrong ones.

use super::*;

fn laptop_with(from: &str, to: &str) -> Result<Machine, MachineError> {
    let text = Machine::text_of("laptop").unwrap();
    assert!(text.contains(from), "{from}");
    Machine::parse(&text.replacen(from, to, 1), "my.toml")
}

#[track_caller]
fn expect_refusal(from: &str, to: &str, expected: &str) {
    let message = laptop_with(from, to).unwrap_err().to_string();
    assert!(message.contains(expected), "{message}");
}

#[test]
fn every_machine_that_is_built_in_can_be_read_and_is_called_by_its_name() {
    for name in Machine::names() {
        let machine = Machine::named(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(machine.name, name);
        assert!(machine.source.contains("not measured"), "{name}");
        assert_eq!(machine.between.is_some(), machine.nodes > 1, "{name}");
    }
    let ranks = |name| Machine::named(name).unwrap().ranks();
    assert_eq!(["laptop", "esdg", "sven", "h100x1024"].map(ranks), [2, 128, 64, 1024]);
}

#[test]
fn units_are_what_they_say() {
    let esdg = Machine::named("esdg").unwrap();
    assert_eq!(esdg.device.memory_bytes, 32 << 30);
    assert_eq!(esdg.between.unwrap().bytes_per_second, 25e9);
    assert_eq!(esdg.device.flops_per_second, 15.7e12);
    assert!((esdg.copy.unwrap().latency_seconds - 10e-6).abs() < 1e-18);
    let failures = Machine::named("h100x1024").unwrap().failures.unwrap();
    assert_eq!(failures.node_seconds, 6334.0 * 3600.0);
}

#[test]
fn a_name_that_there_is_not_is_told_with_the_nearest() {
    let message = Machine::named("h20").unwrap_err().to_string();
    assert!(message.contains("did you mean `h200`"), "{message}");
    assert!(message.contains("laptop"), "{message}");
}

#[test]
fn wrong_files_are_told_with_line_key_and_what_was_meant() {
    expect_refusal(
        "launch =",
        "lunch =",
        "my.toml:12: unknown key `device.lunch`, did you mean `device.launch`?",
    );
    expect_refusal("launch =", "lunch =", "my.toml: device.launch is missing");
    expect_refusal("\"2 us\"", "2", "my.toml:12: device.launch: expected a time with its unit");
    expect_refusal("\"2 us\"", "\"2 parsec\"", "got \"2 parsec\"");
    expect_refusal("\"2 us\"", "\"-2 us\"", "0 or more");
    expect_refusal("= 0.7", "= 1.7", "above 0 and at most 1, got 1.7");
    expect_refusal(
        "devices = 2 ",
        "devices = 0 ",
        "my.toml:5: devices: expected a whole number from 1",
    );
    expect_refusal("\"direct\"", "\"butterfly\"", "one of direct, ring, hierarchical");
    expect_refusal("nodes = 1", "nodes = 1 1", "my.toml:4:");
    expect_refusal("\"12 GB/s\"", "\"inf GB/s\"", "my.toml:10: device.memory_rate");
}

#[test]
fn keys_that_could_not_act_are_refused() {
    let more =
        "[links.copy]\nkind = \"pcie\"\nlatency = \"1 us\"\nrate = \"8 GB/s\"\n\n[collectives]";
    expect_refusal("[collectives]", more, "unknown key `links.copy.kind`");
    let more = more.replace("copy", "between");
    expect_refusal("[collectives]", &more, "unknown key `links.between.kind`");
    expect_refusal("[collectives]", "[clusters]\n[collectives]", "unknown key `clusters`");
}

#[test]
fn all_problems_are_told_in_the_order_of_the_file() {
    let text = Machine::text_of("laptop").unwrap();
    let text = text.replace("\"2 us\"", "2").replace("\"8 GB/s\"", "8").replace("nodes", "node");
    let Err(MachineError::Wrong { problems }) = Machine::parse(&text, "my.toml") else { panic!() };
    let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(
        all[0].contains("node") && all[1].contains(":12:") && all[2].contains(":23:"),
        "{all:?}"
    );
    assert!(all[3].contains("nodes is missing"), "{all:?}");
}
