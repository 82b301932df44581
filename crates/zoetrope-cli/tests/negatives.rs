//! `zoetrope data negatives`, from outside.

mod binary;

use binary::Folder;

const SOURCE: &str = "synthetic:bipartite?users=30&items=20&events=400&features=0";

#[test]
fn a_list_is_the_same_for_the_same_seed_and_threads_do_not_matter() {
    let folder = Folder::new();
    let make = |out: &str, seed: &str, threads: &str| {
        let common = ["data", "negatives", SOURCE, "--k", "5", "--out", out];
        let more = ["--seed", seed, "--threads", threads];
        folder.text(&[&common[..], &more[..]].concat());
        std::fs::read(folder.path(out)).unwrap()
    };
    let first = make("a.npz", "3", "1");
    assert_eq!(first, make("b.npz", "3", "8"));
    assert_ne!(first, make("c.npz", "4", "2"));
}

#[test]
fn every_strategy_writes_a_list_and_says_what_is_in_it() {
    let folder = Folder::new();
    for strategy in ["random", "all", "historical", "inductive", "mixed"] {
        let out = format!("{strategy}.npz");
        let done = folder.json(&[
            "data",
            "negatives",
            SOURCE,
            "--k",
            "3",
            "--out",
            &out,
            "--strategy",
            strategy,
            "--json",
        ]);
        assert_eq!(done["list"]["strategy"], strategy);
        assert_eq!(done["list"]["per_event"], 3);
        let rows = done["list"]["validation_events"].as_u64().unwrap()
            + done["list"]["test_events"].as_u64().unwrap();
        assert!((100..=140).contains(&rows), "{rows}");
        assert!(folder.path(&out).metadata().unwrap().len() > 0);
    }
}

#[test]
fn wrong_requests_are_refused_before_anything_is_written() {
    let folder = Folder::new();
    for arguments in [
        &["--k", "0"][..],
        &["--strategy", "hard"],
        &["--train-end", "0.9", "--validation-end", "0.8"],
    ] {
        let mut all = vec!["data", "negatives", SOURCE, "--out", "x.npz"];
        all.extend(arguments);
        let outcome = folder.run(&all);
        assert_eq!(outcome.code(), Some(2), "{arguments:?}: {}", outcome.stderr_text());
    }
    let snapshots = "synthetic:uniform?vertices=9&steps=2&density=1";
    let outcome = folder.run(&["data", "negatives", snapshots, "--out", "x.npz"]);
    assert_eq!(outcome.code(), Some(3));
    assert!(!folder.path("x.npz").exists());
}
