//! Every key of the configuration acts, or is refused by name, in every kind of run.
//!
//! A kind of run is trained twice, without and with another value of a key: what comes out differs (state,
//! losses, metrics, plan, bytes, files or predictions), or the second run is refused and names the key. Keys and
//! kinds that stay silent for a reason are listed with it in `table.rs`. Each test run draws a sample;
//! `cargo test -p zoetrope-cli --test every_key -- --ignored` goes through all of it, the emulated GPU included.

mod binary;
#[path = "every_key/table.rs"]
mod table;
#[path = "every_key/trial.rs"]
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use table::{KEYS, KINDS, Key, Kind, NOT_HERE, SILENT};
use trial::{Bases, Found, trial};
use zoetrope_config::Config;

/// Pairs of a kind and a key of which a sample takes one.
const SAMPLED: usize = 16;

/// What was found for the pairs that are wanted, two at a time.
fn all_trials(wanted: impl Fn(usize, &Kind) -> bool) -> Vec<(&'static Kind, &'static Key, Found)> {
    let pairs: Vec<(&Kind, &Key)> = KINDS
        .iter()
        .flat_map(|kind| KEYS.iter().map(move |key| (kind, key)))
        .enumerate()
        .filter(|(at, (kind, _))| wanted(*at, kind))
        .map(|(_, pair)| pair)
        .collect();
    let (bases, next, found) = (Bases::default(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(&(kind, key)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = trial(&bases, kind, key);
            found.lock().unwrap().push((kind, key, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    found.into_inner().unwrap()
}

/// The pairs that are silent or refused without a name, and are not listed.
fn failures(found: &[(&'static Kind, &'static Key, Found)]) -> Vec<String> {
    let fails = |(_, key, found): &&(&Kind, &Key, Found)| match found {
        Found::Acts(_) | Found::Refused => false,
        Found::Silent => !SILENT.iter().any(|(name, _)| *name == key.name),
        // Data that is read in another way may be data that nobody can train on.
        Found::Nameless(_) => !key.name.starts_with("data."),
    };
    let show = |(kind, key, found): &(&Kind, &Key, Found)| {
        format!("{} in {}: {found:?}", key.name, kind.name)
    };
    found.iter().filter(fails).map(show).collect()
}

#[test]
fn keys_act_or_are_refused_in_a_sample_of_kinds_of_runs() {
    let found = all_trials(|at, kind| at % SAMPLED == 3 && !kind.on_gpu());
    assert!(found.len() > 60);
    let failures = failures(&found);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[ignore = "some minutes: every key in every kind of run, the emulated GPU included"]
fn every_key_acts_or_is_refused_in_every_kind_of_run() {
    let found = all_trials(|_, _| true);
    let mut acts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (kind, key, found) in &found {
        let kinds = acts.entry(key.name).or_default();
        if matches!(found, Found::Acts(_)) {
            kinds.insert(kind.name);
        }
    }
    let mut failures = failures(&found);
    let idle = acts.iter().filter(|(_, kinds)| kinds.is_empty());
    failures.extend(idle.map(|(key, _)| format!("{key} acts in no kind of run")));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_key_is_in_the_table_or_says_why_not() {
    let listed: BTreeSet<&str> =
        KEYS.iter().map(|key| key.name).chain(NOT_HERE.iter().map(|(name, _)| *name)).collect();
    let known: BTreeSet<String> =
        Config::keys().iter().map(|key| format!("{}.{}", key.section, key.name)).collect();
    let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
    assert_eq!(listed, known);
    let silent: BTreeSet<&str> = SILENT.iter().map(|(name, _)| *name).collect();
    assert!(silent.is_subset(&listed), "{silent:?}");
}
