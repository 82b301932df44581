//! What holds for every job: bounds from below, the same by classes as one by one, sums that are the programs'.

use proptest::prelude::*;

use super::*;

/// What a task is before its place is known.
#[derive(Debug, Clone)]
struct Draft {
    what: u8,
    bytes: [u64; 4],
    back: [usize; 2],
}

fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    let one = (0..5_u8, prop::array::uniform4(0..4_000_000_u64), prop::array::uniform2(1..4_usize));
    let one = one.prop_map(|(what, bytes, back)| Draft { what, bytes, back });
    prop::collection::vec(one, 1..12)
}

/// The program of a rank of one of four kinds, `updates` times.
fn program(drafts: &[Draft], kind: usize, updates: usize) -> Vec<Task> {
    let mut tasks = Vec::new();
    for number in 0..updates {
        for draft in drafts {
            let here = tasks.len();
            let mut after: Vec<usize> =
                draft.back.iter().filter_map(|&back| here.checked_sub(back)).collect();
            after.sort_unstable();
            after.dedup();
            let bytes = draft.bytes[kind];
            let mut made = match draft.what {
                0 => message(TaskKind::Exchange, bytes, &after),
                1 => message(TaskKind::AllReduce, bytes, &after),
                2 => copy(bytes, &after),
                _ => update(&after),
            };
            made.update = number;
            tasks.push(made);
        }
    }
    tasks
}

/// Ranks of four kinds, by their number.
fn ranks_of(drafts: &[Draft], kinds: &[usize], updates: usize, members: usize) -> Job {
    let mut job = job(kinds.iter().map(|&kind| program(drafts, kind, updates)).collect());
    job.members = members;
    job
}

#[track_caller]
fn expect_near(left: f64, right: f64, what: &str) -> Result<(), TestCaseError> {
    prop_assert!(
        (left - right).abs() <= 1e-9 * left.abs().max(right.abs()),
        "{what}: {left} {right}"
    );
    Ok(())
}

/// How many tasks are simulated, of whom one stands for all that are alike.
fn simulated(machine: &Machine, job: &Job) -> u64 {
    let mut all = 0;
    machine.run(job, &Options::default(), &mut |_, of| all = of).unwrap();
    all
}

#[test]
fn a_thousand_equal_ranks_cost_no_more_than_eight() {
    let tasks = |updates: usize| {
        let mut tasks = Vec::new();
        for update in 0..updates {
            let first = tasks.len();
            let own = [
                copy(1_000, &[]),
                message(TaskKind::Exchange, 2_000, &[first]),
                message(TaskKind::AllReduce, 8_000, &[first + 1]),
            ];
            tasks.extend(own.map(|task| Task { update, ..task }));
        }
        tasks
    };
    let of = |nodes: usize, updates: usize| {
        let job = job(vec![tasks(updates); nodes * 8]);
        assert_eq!(job.programs(), 1);
        simulated(&cluster(nodes, 8, "hierarchical"), &job)
    };
    assert_eq!((of(1, 1), of(128, 1)), (3, 3));
    // Neither do updates that repeat.
    assert_eq!((of(128, 5), of(128, 900)), (9, 9));
    // A straggler takes the symmetry from its node and its own program from nobody else.
    let slow = Options { stragglers: vec![(3, 0.5)], ..Options::default() };
    let found = run(&cluster(128, 8, "hierarchical"), &job(vec![tasks(1); 1024]), &slow);
    assert_eq!(found.classes.len(), 3, "the slow rank, those of its node, all others");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_faster_than_its_longest_path_or_its_busiest_resource(
        drafts in drafts(),
        kinds in prop::collection::vec(0..4_usize, 8),
        members in prop::sample::select(vec![1, 2, 4, 8]),
        shared in any::<bool>(),
    ) {
        let copy = if shared { "shared = true" } else { "" };
        let machine = cluster_of(2, 4, "hierarchical", "10 us", copy);
        let found = run(&machine, &ranks_of(&drafts, &kinds, 1, members), &Options::default());
        let least = found.seconds * (1.0 + 1e-9);
        prop_assert!(found.critical_path_seconds <= least, "{found:?}");
        for load in &found.loads {
            prop_assert!(load.seconds <= least, "{load:?} {found:?}");
        }
        for class in &found.classes {
            prop_assert!(class.seconds.compute <= least && class.seconds.transfer <= least);
            prop_assert!(class.seconds.wait + class.seconds.communicate <= least);
        }
    }

    #[test]
    fn classes_and_repeated_updates_find_what_one_by_one_finds(
        drafts in drafts(),
        kinds in prop::collection::vec(0..3_usize, 12),
        members in prop::sample::select(vec![1, 2, 3, 6, 12]),
        slow in 0..12_usize,
        shared in any::<bool>(),
    ) {
        let copy = if shared { "shared = true" } else { "" };
        let machine = cluster_of(3, 4, "ring", "10 us", copy);
        // Updates that end together repeat exactly: the last task is a message that waits for all before it.
        let ends = |mut tasks: Vec<Task>| {
            let count = drafts.len();
            let mut ended: Vec<Task> = Vec::new();
            for (at, task) in tasks.drain(..).enumerate() {
                let shift = |earlier: usize| earlier + earlier / count;
                let after = task.after.iter().map(|&earlier| shift(earlier)).collect();
                ended.push(Task { after, ..task.clone() });
                if (at + 1) % count == 0 {
                    let own = ended.len() - count..ended.len();
                    let all: Vec<usize> = own.collect();
                    let gather = message(TaskKind::AllGather, 8, &all);
                    ended.push(Task { update: task.update, ..gather });
                }
            }
            // The next update begins when it is over.
            for (at, task) in ended.iter_mut().enumerate().skip(count + 1) {
                let before = at / (count + 1) * (count + 1) - 1;
                task.after.retain(|&earlier| earlier > before);
                task.after.insert(0, before);
            }
            ended
        };
        let mut job = job(kinds.iter().map(|&kind| ends(program(&drafts, kind, 7))).collect());
        job.members = members;
        let stragglers = vec![(slow, 0.7)];
        let together = Options { stragglers: stragglers.clone(), ..Options::default() };
        let apart = Options { one_by_one: true, ..together.clone() };
        let (together, apart) = (run(&machine, &job, &together), run(&machine, &job, &apart));
        expect_near(together.seconds, apart.seconds, "seconds")?;
        expect_near(together.mean.compute, apart.mean.compute, "compute")?;
        expect_near(together.mean.wait + 1.0, apart.mean.wait + 1.0, "wait")?;
        expect_near(together.mean.communicate, apart.mean.communicate, "communicate")?;
        expect_near(together.mean.transfer, apart.mean.transfer, "transfer")?;
        prop_assert_eq!(together.bytes.copies, apart.bytes.copies);
        prop_assert!(together.bytes.inside.abs_diff(apart.bytes.inside) <= 1);
        prop_assert!(together.bytes.between.abs_diff(apart.bytes.between) <= 1);
        prop_assert_eq!(together.kinds.len(), apart.kinds.len());
        for kind in &apart.kinds {
            prop_assert!(together.kinds.contains(kind), "{kind:?}");
        }
        prop_assert!(together.classes.len() <= apart.classes.len());
        prop_assert!(together.simulated_seconds < apart.simulated_seconds);
    }

    #[test]
    fn faster_links_never_make_it_slower_if_nothing_shares_them(
        drafts in drafts(),
        kinds in prop::collection::vec(0..4_usize, 8),
        faster in 1.0..8.0_f64,
    ) {
        let machine = cluster_of(2, 4, "ring", "10 us", "");
        let mut better = machine.clone();
        better.between.as_mut().unwrap().bytes_per_second *= faster;
        let job = ranks_of(&drafts, &kinds, 1, 1);
        let (before, after) = (run(&machine, &job, &Options::default()), run(&better, &job, &Options::default()));
        prop_assert!(after.seconds <= before.seconds * (1.0 + 1e-9));
        better.copy.as_mut().unwrap().bytes_per_second *= faster;
        let both = run(&better, &job, &Options::default());
        prop_assert!(both.seconds <= after.seconds * (1.0 + 1e-9));
    }

    #[test]
    fn tasks_and_bytes_are_those_of_the_programs_and_runs_repeat_to_the_bit(
        drafts in drafts(),
        kinds in prop::collection::vec(0..4_usize, 6),
        updates in 1..9_usize,
    ) {
        let machine = cluster(2, 3, "direct");
        let job = ranks_of(&drafts, &kinds, updates, 1);
        let found = run(&machine, &job, &Options::default());
        for kind in &found.kinds {
            let graph = |rank: usize| TaskGraph {
                schema: TaskGraph::SCHEMA,
                rank,
                tasks: program(&drafts, kinds[rank], updates),
            };
            let all: Vec<TaskGraph> = (0..6).map(graph).collect();
            let tasks: usize = all.iter().map(|graph| graph.count_of(kind.kind)).sum();
            let bytes: u64 = all.iter().map(|graph| graph.bytes_of(kind.kind)).sum();
            prop_assert_eq!((kind.tasks, kind.bytes), (tasks as u64, bytes));
        }
        let moved: u64 = found.kinds.iter().filter(|one| one.kind != TaskKind::Copy).map(|one| one.bytes).sum();
        prop_assert!((found.bytes.inside + found.bytes.between).abs_diff(moved) <= 1);
        prop_assert_eq!(&found, &run(&machine, &job, &Options::default()));
    }
}
