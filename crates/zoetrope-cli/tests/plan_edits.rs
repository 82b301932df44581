//! A saved plan repeats its run to the same bits; an edited one is obeyed, which shows in what the run
//! computes, moves or says, or it is refused with the reason.

mod binary;

use binary::Folder;
use serde_json::{Value, json};

/// Snapshots: frames of 4 in updates of 3, the last of which may be smaller.
const SNAPSHOTS: [&str; 14] = [
    "--data",
    "synthetic:demo?vertices=24&steps=24",
    "--model",
    "tm-gcn",
    "--hidden",
    "8",
    "--frame",
    "4",
    "--batch-size",
    "3",
    "--epochs",
    "2",
    "--quiet",
    "--json",
];

/// A stream of events.
const EVENTS: [&str; 12] = [
    "--data",
    "synthetic:bipartite?events=400",
    "--model",
    "tgn",
    "--hidden",
    "8",
    "--batch-size",
    "50",
    "--epochs",
    "2",
    "--quiet",
    "--json",
];

/// A change of a plan.
type Edit<'e> = &'e dyn Fn(&mut Value);

struct Runs {
    folder: Folder,
}

impl Runs {
    fn new() -> Self {
        Self { folder: Folder::new() }
    }

    /// Trains; the summary and the plan that was executed.
    fn train(&self, job: &[&str], more: &[&str], out: &str) -> (Value, Value) {
        let arguments = [&["train"], job, more, &["--out", out]].concat();
        let summary = self.folder.json(&arguments);
        let plan = self.folder.bytes(&format!("{out}/plan.json"));
        (summary, serde_json::from_slice(&plan).unwrap())
    }

    /// Trains by an edited plan.
    fn by(&self, job: &[&str], more: &[&str], plan: &Value, out: &str) -> (Value, Value) {
        self.write(plan);
        self.train(job, &[more, &["--plan", "edited.json"]].concat(), out)
    }

    fn write(&self, plan: &Value) {
        std::fs::write(self.folder.path("edited.json"), plan.to_string()).unwrap();
    }

    /// What is said of a plan that is refused, and the exit code.
    fn refusal(&self, job: &[&str], more: &[&str], plan: &Value) -> (Option<i32>, String) {
        self.write(plan);
        let arguments = [&["train"], job, more, &["--plan", "edited.json"]].concat();
        let outcome = self.folder.run(&arguments);
        (outcome.code(), outcome.stderr_text())
    }
}

fn edited(plan: &Value, edit: impl FnOnce(&mut Value)) -> Value {
    let mut plan = plan.clone();
    edit(&mut plan);
    plan
}

fn loss(summary: &Value) -> f64 {
    summary["epochs"].as_array().unwrap().last().unwrap()["loss"].as_f64().unwrap()
}

fn expect_near(one: &Value, other: &Value) {
    let (one, other) = (loss(one), loss(other));
    assert!((one - other).abs() <= 1e-5 * one.abs(), "{one} {other}");
}

#[test]
fn the_plan_of_any_run_repeats_it_to_the_same_bits() {
    let runs = Runs::new();
    let ranks = ["--ranks", "2"];
    for (number, (job, more)) in [
        (&SNAPSHOTS[..], &[][..]),
        (&SNAPSHOTS[..], &["--set", "plan.blocks=2", "--set", "plan.group=2"][..]),
        (&EVENTS[..], &[][..]),
        (&EVENTS[..], &["--set", "train.chunks=5"][..]),
    ]
    .into_iter()
    .chain(["frames", "snapshot", "hypergraph"].map(|name| {
        let strategy = match name {
            "frames" => "plan.strategy=frames",
            "snapshot" => "plan.strategy=snapshot",
            _ => "plan.strategy=hypergraph",
        };
        (&SNAPSHOTS[..], Box::leak(Box::new(["--ranks", "2", "--set", strategy])) as &[&str])
    }))
    .enumerate()
    {
        let (first, plan) = runs.train(job, more, &format!("first{number}"));
        // What the plan says is not said again.
        let again: Vec<&str> = if more.contains(&"--ranks") { ranks.to_vec() } else { vec![] };
        let chunks: Vec<&str> =
            if more.contains(&"train.chunks=5") { more.to_vec() } else { again };
        let (second, same) = runs.by(job, &chunks, &plan, &format!("second{number}"));
        assert_eq!(first["state_hash"], second["state_hash"], "{more:?}");
        let executed = |plan: &Value| edited(plan, |plan| plan["reasons"] = Value::Null);
        assert_eq!(executed(&plan), executed(&same), "{more:?}");
    }
}

#[test]
fn edits_of_frames_groups_orders_blocks_and_updates_are_obeyed() {
    let runs = Runs::new();
    let (plain, plan) = runs.train(&SNAPSHOTS, &["--set", "plan.reuse=false"], "plain");
    let frames = plan["frames"].as_array().unwrap().len();
    let by = |edit: Edit<'_>, out: &str| {
        let (summary, executed) = runs.by(&SNAPSHOTS, &[], &edited(&plan, edit), out);
        (summary, executed)
    };
    // Frames: one less is another epoch.
    let (fewer, executed) = by(
        &|plan| {
            plan["frames"].as_array_mut().unwrap().pop();
            let last = plan["updates"].as_array_mut().unwrap().last_mut().unwrap();
            last["frames"] = json!(last["frames"].as_u64().unwrap() - 1);
        },
        "fewer",
    );
    assert_ne!(fewer["state_hash"], plain["state_hash"]);
    assert_eq!(executed["frames"].as_array().unwrap().len(), frames - 1);
    // Updates: one frame each is what a batch size of one learns.
    let singly = |plan: &mut Value| {
        plan["updates"] = json!(vec![json!({ "frames": 1 }); frames]);
    };
    let (single, _) = by(&singly, "single");
    let job: Vec<&str> =
        SNAPSHOTS.iter().map(|&word| if word == "3" { "1" } else { word }).collect();
    let (one, _) = runs.train(&job, &["--set", "plan.reuse=false"], "one");
    assert_eq!(single["state_hash"], one["state_hash"]);
    // Groups, of one frame and of all; the order of products; blocks: the same mathematics.
    let edits: [(&str, Edit<'_>); 5] = [
        ("one group", &|plan| plan["frames"][0]["group"] = json!(1)),
        ("groups", &|plan| {
            plan["frames"].as_array_mut().unwrap().iter_mut().for_each(|f| f["group"] = json!(3));
        }),
        ("order", &|plan| plan["orders"][1]["order"] = json!("update-first")),
        ("order of some snapshots", &|plan| {
            plan["orders"][0]["other_order"] = json!([[2, 5], [9, 10]]);
        }),
        ("blocks", &|plan| plan["blocks"]["count"] = json!(2)),
    ];
    for (name, edit) in edits {
        let (summary, executed) = by(edit, name);
        expect_near(&plain, &summary);
        // Sums in another order end in other bits, but for blocks of one tape.
        let same = summary["state_hash"] == plain["state_hash"];
        assert!(!same || !name.starts_with("order"), "{name} was not obeyed");
        let asked = edited(&plan, edit);
        for key in ["frames", "orders", "blocks"] {
            assert_eq!(executed[key], asked[key], "{name}");
        }
    }
}

#[test]
fn an_edited_owner_moves_rows_and_an_edited_rank_moves_a_frame() {
    let runs = Runs::new();
    let ranks = ["--ranks", "2"];
    let with = |strategy: &'static str| [&ranks[..], &["--set", strategy]].concat();
    let (before, plan) = runs.train(&SNAPSHOTS, &with("plan.strategy=vertex"), "vertex");
    let edit = edited(&plan, |plan| {
        let owners = plan["sharing"]["owners"].as_array_mut().unwrap();
        for owner in owners.iter_mut().take(9) {
            *owner = json!(1 - owner.as_u64().unwrap());
        }
    });
    let (after, _) = runs.by(&SNAPSHOTS, &ranks, &edit, "moved");
    expect_near(&before, &after);
    let rows = |summary: &Value| summary["bytes"]["all_to_all"].as_u64().unwrap();
    assert_ne!(rows(&before), rows(&after), "other vertices have other neighbours");
    let (before, plan) = runs.train(&SNAPSHOTS, &with("plan.strategy=frames"), "frames");
    let edit = edited(&plan, |plan| plan["updates"][0]["ranks"] = json!([1, 0, 0]));
    let (after, executed) = runs.by(&SNAPSHOTS, &ranks, &edit, "other ranks");
    expect_near(&before, &after);
    assert_eq!(executed["updates"][0]["ranks"], json!([1, 0, 0]));
}

#[test]
fn edited_batches_of_events_are_trained_on() {
    let runs = Runs::new();
    let batch = ["--set", "task.equal_times=batch"];
    let (before, plan) = runs.train(&EVENTS, &batch, "plain");
    let sizes = |plan: &Value| plan["batches"].as_array().unwrap().len();
    let edit = edited(&plan, |plan| {
        let batches = plan["batches"].as_array_mut().unwrap();
        let last = batches.pop().unwrap().as_u64().unwrap();
        let before = batches.pop().unwrap().as_u64().unwrap();
        batches.push(json!(before + last));
    });
    let (after, executed) = runs.by(&EVENTS, &batch, &edit, "joined");
    assert_eq!(sizes(&executed), sizes(&plan) - 1);
    assert_ne!(after["state_hash"], before["state_hash"]);
    // Nothing is prepared ahead: the same bits.
    let edit = edited(&plan, |plan| plan["prefetch"] = json!(0));
    let (alone, _) = runs.by(&EVENTS, &batch, &edit, "alone");
    assert_eq!(alone["state_hash"], before["state_hash"]);
}

#[test]
fn edits_that_cannot_be_obeyed_are_refused_with_the_reason() {
    let runs = Runs::new();
    let (_, plan) = runs.train(&SNAPSHOTS, &[], "plain");
    let refused = |edit: Edit<'_>| runs.refusal(&SNAPSHOTS, &[], &edited(&plan, edit));
    let edits: [(&str, i32, Edit<'_>); 10] = [
        ("aggregation that does not come first", 3, &|plan| {
            plan["orders"][0]["order"] = json!("update-first");
        }),
        ("a range without a snapshot", 3, &|plan| {
            plan["orders"][1]["other_order"] = json!([[4, 4]]);
        }),
        ("made for vertices 25", 2, &|plan| plan["vertices"] = json!(25)),
        ("made for model tgcn", 2, &|plan| plan["model"] = json!("tgcn")),
        ("updates have", 3, &|plan| plan["updates"][0]["frames"] = json!(2)),
        ("unknown key `sharding`", 3, &|plan| plan["sharding"] = json!(1)),
        ("version 1", 3, &|plan| plan["schema"] = json!(1)),
        ("snapshots to train on", 2, &|plan| plan["frames"][0]["start"] = json!(19)),
        ("one rank shares it", 3, &|plan| plan["sharing"] = json!({ "by": "frames" })),
        ("lays out batches", 2, &|plan| {
            let (_, events) = runs.train(&EVENTS, &[], "events");
            *plan = events;
        }),
    ];
    for (says, code, edit) in edits {
        let (found, message) = refused(edit);
        assert_eq!(found, Some(code), "{says}: {message}");
        let says = if says == "snapshots to train on" { "to train on" } else { says };
        assert!(message.contains(says), "{message} does not say {says}");
    }
    // Wishes beside a plan that decides are refused, too.
    let beside = runs.refusal(&SNAPSHOTS, &["--set", "plan.group=2"], &plan);
    assert_eq!(beside.0, Some(2), "{}", beside.1);
    assert!(beside.1.contains("plan.group"), "{}", beside.1);
}

#[test]
fn a_batch_that_ends_inside_of_a_time_is_refused() {
    let runs = Runs::new();
    let mut rows = "src,dst,time\n".to_owned();
    for event in 0..240 {
        let time = 100 + event / 4;
        rows.push_str(&format!("{},{},{time}\n", event * 7 % 12, 20 + event * 5 % 9));
    }
    std::fs::write(runs.folder.path("ties.csv"), rows).unwrap();
    let job = ["--data", "ties.csv", "--model", "jodie", "--batch-size", "40", "--epochs", "1"];
    let job = [&job[..], &["--hidden", "8", "--quiet", "--json"]].concat();
    let (_, plan) = runs.train(&job, &[], "plain");
    let shifted = |by: u64| {
        edited(&plan, |plan| {
            let batches = plan["batches"].as_array_mut().unwrap();
            batches[0] = json!(batches[0].as_u64().unwrap() + by);
            batches[1] = json!(batches[1].as_u64().unwrap() - by);
        })
    };
    runs.by(&job, &[], &shifted(4), "whole time");
    // Memory would know events of a question's own time.
    let (code, message) = runs.refusal(&job, &[], &shifted(1));
    assert_eq!(code, Some(3), "{message}");
    assert!(message.contains("ends between two events of one time"), "{message}");
}
