//! What textbooks say: rings, all-to-all, shared links, streams side by side, stragglers, checkpoints.

use super::*;
use crate::error::SimError;
use crate::failures::{daly, expected, young};

#[test]
fn a_ring_all_reduce_takes_its_closed_form() {
    let values = 4.0 * WEIGHTS as f64;
    for ranks in [2, 4, 8, 64] {
        let part = 2.0 * (ranks as f64 - 1.0) / ranks as f64;
        let sum = [message(TaskKind::AllReduce, (part * values) as u64, &[])];
        let found = run_all(&cluster(ranks, 1, "ring"), ranks, &sum);
        expect_seconds(found.seconds, 2.0 * (ranks as f64 - 1.0) * 1e-3 + part * values / 1e9);
        assert_eq!(found.bytes.between, (part * values) as u64 * ranks as u64);
    }
}

#[test]
fn a_hierarchical_all_reduce_sends_less_between_nodes_and_as_much_in_all() {
    let values = 4.0 * WEIGHTS as f64;
    let (nodes, devices) = (4.0, 8.0);
    let bytes = (2.0 * (31.0 / 32.0) * values) as u64;
    let sum = [message(TaskKind::AllReduce, bytes, &[])];
    let run = |algorithm| run_all(&cluster(4, 8, algorithm), 32, &sum);
    let found = run("hierarchical");
    // Every node sends 2(N-1)/N of the values, over one link; a device 2(L-1)/L of them inside.
    let between = 2.0 * (nodes - 1.0) / nodes * values / 1e9;
    let inside = 2.0 * (devices - 1.0) / devices * values / 4e9;
    expect_seconds(found.seconds, 2.0 * (nodes - 1.0) * 1e-3 + between.max(inside));
    for algorithm in ["direct", "ring", "hierarchical"] {
        let found = run(algorithm);
        assert_eq!(found.bytes.inside + found.bytes.between, 32 * bytes, "{algorithm}");
    }
    assert!(run("direct").bytes.between > 2 * found.bytes.between);
}

#[test]
fn a_direct_all_reduce_takes_two_rounds_of_messages_to_everyone() {
    let values = 4.0 * WEIGHTS as f64;
    for ranks in [2, 8, 64] {
        let mut machine = cluster(ranks, 1, "direct");
        machine.between.as_mut().unwrap().gap_seconds = 1e-4;
        let part = 2.0 * (ranks as f64 - 1.0) / ranks as f64;
        let sum = [message(TaskKind::AllReduce, (part * values) as u64, &[])];
        let found = run_all(&machine, ranks, &sum);
        let latency = 2.0 * (1e-3 + (ranks as f64 - 2.0) * 1e-4);
        expect_seconds(found.seconds, latency + part * values / 1e9);
    }
}

#[test]
fn an_all_to_all_takes_its_closed_form_if_every_node_has_its_own_link() {
    for ranks in [2, 5, 16] {
        let mut machine = cluster(ranks, 1, "ring");
        machine.between.as_mut().unwrap().gap_seconds = 1e-4;
        let exchange = [message(TaskKind::Exchange, 3_000_000, &[])];
        let found = run_all(&machine, ranks, &exchange);
        expect_seconds(found.seconds, 1e-3 + (ranks as f64 - 2.0) * 1e-4 + 3e-3);
    }
}

#[test]
fn an_all_to_all_of_several_devices_a_node_shares_its_link() {
    // The inter-node part of ESDG's redistribution is (K - 1)/K of it, here of K = 4 nodes of 8.
    let exchange = [message(TaskKind::Exchange, 31_000_000, &[])];
    let found = run_all(&cluster(4, 8, "ring"), 32, &exchange);
    expect_seconds(found.seconds, 1e-3 + 8.0 * 24e6 / 1e9);
    assert_eq!(found.bytes.between, 32 * 24_000_000);
    assert_eq!(found.bytes.inside, 32 * 7_000_000);
}

#[test]
fn copies_over_one_link_share_it_and_over_two_do_not() {
    let tasks = [copy(5_000_000, &[])];
    let own = cluster_of(1, 2, "ring", "0 s", "");
    let shared = cluster_of(1, 2, "ring", "0 s", "shared = true");
    expect_seconds(run_all(&own, 2, &tasks).seconds, 5e-3);
    expect_seconds(run_all(&shared, 2, &tasks).seconds, 10e-3);
    // The shorter one ends at twice its time, the longer one has the link for itself from then on.
    let unlike = job(vec![vec![copy(2_000_000, &[])], vec![copy(5_000_000, &[])]]);
    let found = run(&shared, &unlike, &Options::default());
    expect_seconds(found.classes[0].seconds.transfer, 4e-3);
    expect_seconds(found.seconds, 7e-3);
}

#[test]
fn independent_streams_overlap_and_dependent_tasks_follow() {
    let machine = cluster(1, 1, "ring");
    let side_by_side = [copy(5_000_000, &[]), update(&[])];
    expect_seconds(run_all(&machine, 1, &side_by_side).seconds, 5e-3);
    let one_after_the_other = [copy(5_000_000, &[]), update(&[0])];
    expect_seconds(run_all(&machine, 1, &one_after_the_other).seconds, 6e-3);
    // A stream does one thing at a time, whether or not its tasks wait for each other.
    expect_seconds(run_all(&machine, 1, &[update(&[]), update(&[])]).seconds, 2e-3);
}

#[test]
fn a_straggler_lets_the_others_wait() {
    let tasks = [update(&[]), message(TaskKind::Exchange, 0, &[0]), update(&[1])];
    let machine = cluster_of(4, 1, "ring", "0 s", "");
    expect_seconds(run_all(&machine, 4, &tasks).seconds, 2e-3);
    let slow = Options { stragglers: vec![(2, 0.5)], ..Options::default() };
    let found = run(&machine, &job(vec![tasks.to_vec(); 4]), &slow);
    expect_seconds(found.seconds, 4e-3);
    let wait = |ranks| found.classes.iter().find(|one| one.ranks == ranks).unwrap().seconds.wait;
    expect_seconds(wait(3), 1e-3);
    expect_seconds(wait(1), 0.0);
}

#[test]
fn cores_share_the_memory_of_their_host() {
    let mut machine = Machine::named("laptop").unwrap();
    machine.device.launch_seconds = 0.0;
    machine.device.elementwise_fraction = 1.0;
    // One core reads 12 GB/s, two together 16.
    let alone = run_all(&machine, 1, &[update(&[])]).seconds;
    expect_seconds(alone, 3e6 / 12e9);
    expect_seconds(run_all(&machine, 2, &[update(&[])]).seconds, 2.0 * 3e6 / 16e9);
}

#[test]
fn dalys_interval_is_the_best_and_youngs_is_near_if_failures_are_rare() {
    let (cost, restart, mean) = (30.0, 120.0, 6.0 * 3600.0);
    let time = |interval: f64| expected(1e6, interval, cost, restart, mean);
    let best = (1..5_000).map(|at| time(f64::from(at) * 2.0)).fold(f64::INFINITY, f64::min);
    assert!(time(daly(cost, mean)) <= best * (1.0 + 1e-6));
    assert!(time(young(cost, mean)) <= best * 1.001);
    expect_seconds(young(cost, mean), (2.0 * cost * mean).sqrt());
    // Without failures worth the name there is the work and its checkpoints.
    expect_seconds(expected(1e3, 100.0, 1.0, 0.0, 1e12) / 1010.0, 1.0);
}

#[test]
fn what_cannot_be_run_is_refused_with_the_reason() {
    let machine = cluster(2, 2, "ring");
    let run = |job: &Job, options: &Options| machine.run(job, options, &mut |_, _| ());
    let five = job(vec![vec![update(&[])]; 5]);
    let error = run(&five, &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "5 ranks, but test has 2 nodes of 2 devices; ask for at most 4 ranks, or describe a larger machine"
    );
    let two = job(vec![vec![update(&[])]; 2]);
    let slow = |rank, speed| Options { stragglers: vec![(rank, speed)], ..Options::default() };
    assert_eq!(run(&two, &slow(2, 0.5)), Err(SimError::NoSuchRank { rank: 2, ranks: 2 }));
    assert!(matches!(run(&two, &slow(1, 0.0)), Err(SimError::Speed { .. })));
    let alone = job(vec![vec![message(TaskKind::Exchange, 1, &[])], vec![update(&[])]]);
    assert!(matches!(run(&alone, &Options::default()), Err(SimError::Disagree { message: 0, .. })));
    assert_eq!(run(&Job::default(), &Options::default()), Err(SimError::NoRanks));
}

#[test]
fn a_timeline_shows_every_task_once_and_waiting_before_its_message() {
    let machine = cluster_of(4, 1, "ring", "0 s", "");
    let tasks = vec![update(&[]), message(TaskKind::Exchange, 1_000_000, &[0])];
    let options = Options { stragglers: vec![(0, 0.5)], timeline: true, ..Options::default() };
    let found = run(&machine, &job(vec![tasks; 4]), &options);
    let pictures = found.pictures().unwrap();
    let trace: serde_json::Value = serde_json::from_str(&pictures.trace()).unwrap();
    let events = trace.as_array().unwrap();
    let of = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    // Two kinds of ranks: the slow one, and the three others that wait for it.
    assert_eq!([of("update"), of("exchange"), of("wait"), of("process_name")], [2, 2, 1, 2]);
    let waits = events.iter().find(|event| event["name"] == "wait").unwrap();
    assert_eq!([waits["ts"].as_f64(), waits["dur"].as_f64()], [Some(1000.0), Some(1000.0)]);
    let svg = pictures.svg();
    assert!(svg.contains("rank 1 and 2 like it") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(run(&machine, &job(vec![vec![update(&[])]]), &Options::default()).pictures().is_none());
}
