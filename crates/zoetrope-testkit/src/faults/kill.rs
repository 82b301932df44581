//! Processes that are killed, and operations that fail under them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::Campaign;
use super::table::Table;
use super::training::{LONGEST, TRAININGS, Training, Whole, end_of, keep, same};
use crate::process::run_measured;
use crate::random::Random;

const EPOCHS: usize = 5;

/// What a file layer does to an operation that fails.
const MISHAPS: [&str; 4] = ["error", "full", "short", "flip"];

pub(super) fn try_all(campaign: &Campaign, table: &mut Table) -> Result<(), String> {
    let mut whole = Vec::new();
    for training in TRAININGS {
        whole.push((training, training.whole(&campaign.program, &campaign.scratch, EPOCHS)?));
    }
    let places = places(&whole);
    let at_random = if places.is_empty() { campaign.kills } else { campaign.kills.div_ceil(2) };
    random_kills(campaign, table, &whole, at_random);
    if places.is_empty() {
        table.leave_out("kill at fault points", "the program was built without the feature faults");
        return Ok(());
    }
    // Every place is tried once before any is tried twice, in an order that the seed draws.
    let mut random = Random::new(campaign.seed, 1 << 32);
    let mut left = places.clone();
    for attempt in 0..campaign.kills - at_random {
        if !table.has_time() {
            break;
        }
        if left.is_empty() {
            left.clone_from(&places);
        }
        let (index, point, occurrence) = left.swap_remove(random.below(left.len()));
        let (training, whole) = &whole[index];
        let run = campaign.scratch.join("kill");
        let fault = format!("{point}:{occurrence}:kill");
        let outcome = strike(campaign, training, whole, &run, &fault);
        let outcome = described(campaign, outcome, training, &fault, attempt, &run);
        table.note(&format!("kill at {point}"), outcome);
    }
    failing_operations(campaign, table, &whole);
    Ok(())
}

/// Chains of kills at random times: a run is killed again and again while it goes on.
fn random_kills(campaign: &Campaign, table: &mut Table, whole: &[(Training, Whole)], kills: usize) {
    let mut killed = 0;
    let mut chain = 0;
    while killed < kills && table.has_time() {
        let mut random = Random::new(campaign.seed, chain);
        let (training, whole) = &whole[chain as usize % whole.len()];
        let run = campaign.scratch.join("chain");
        let _ = fs::remove_dir_all(&run);
        let kind = format!("kill at a random time ({})", training.name);
        let length = (1 + random.below(4)).min(kills - killed);
        let (outcome, died) = chained(campaign, training, whole, &run, length, &mut random);
        killed += died;
        let outcome = outcome.map_err(|how| {
            let folder = keep(&campaign.kept, &format!("chain-{chain}"), &run);
            format!("{how} ({})", folder.display())
        });
        // The end of a chain says whether all of its kills held.
        (0..died).for_each(|_| table.note(&kind, outcome.clone()));
        chain += 1;
    }
}

/// Starts a run and kills it up to `length` times while it goes on; how it ended, and how often it was
/// killed. A run may be faster than the signal.
fn chained(
    campaign: &Campaign,
    training: &Training,
    whole: &Whole,
    run: &Path,
    length: usize,
    random: &mut Random,
) -> (Result<f64, String>, usize) {
    for link in 0..length {
        let time = whole.seconds * random.below(1000) as f64 / 1000.0;
        let limited = |command| run_measured(command, Duration::from_secs_f64(time));
        let died = match link {
            0 => limited(training.command(&campaign.program, run, false, EPOCHS))
                .map_err(|error| error.to_string()),
            _ => training.go_on(&campaign.program, run, EPOCHS, limited),
        };
        match died {
            Ok(died) if died.code() == Some(0) => {
                let end = end_of(run).ok_or("no summary".to_owned());
                return (end.and_then(|end| same(&whole.end, &end)).map(|()| died.seconds), link);
            }
            Ok(died) if died.timed_out => {}
            Ok(died) => return (Err(format!("{}: {}", died.status, died.stderr_text())), link + 1),
            Err(error) => return (Err(error), link + 1),
        }
    }
    (training.finish(&campaign.program, run, EPOCHS, &whole.end), length)
}

/// First, second and last passing of each fault point of each training.
fn places(whole: &[(Training, Whole)]) -> Vec<(usize, String, usize)> {
    let mut found = Vec::new();
    for (index, (_, whole)) in whole.iter().enumerate() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        whole.points.iter().for_each(|point| *counts.entry(point).or_default() += 1);
        for (point, count) in counts {
            let mut occurrences = vec![1, 2, count.div_ceil(2), count];
            occurrences.retain(|&occurrence| (1..=count).contains(&occurrence));
            occurrences.dedup();
            found.extend(occurrences.into_iter().map(|at| (index, point.to_owned(), at)));
        }
    }
    found
}

/// Every operation of the file layer of a run fails once, in every way.
fn failing_operations(campaign: &Campaign, table: &mut Table, whole: &[(Training, Whole)]) {
    let mut random = Random::new(campaign.seed, 1 << 33);
    for round in 0..campaign.rounds {
        for action in MISHAPS {
            if !table.has_time() {
                return;
            }
            let index = random.below(whole.len());
            let (training, whole) = &whole[index];
            let is_file = |point: &&String| match action {
                "short" | "flip" => *point == "disk.write",
                _ => point.starts_with("disk."),
            };
            let points: Vec<&String> = whole.points.iter().filter(is_file).collect();
            let at = random.below(points.len());
            let point = points[at];
            let occurrence = points[..=at].iter().filter(|&&other| other == point).count();
            let run = campaign.scratch.join("mishap");
            let fault = format!("{point}:{occurrence}:{action}");
            let outcome = strike(campaign, training, whole, &run, &fault);
            let outcome = described(campaign, outcome, training, &fault, round, &run);
            table.note(&format!("file operation fails: {action}"), outcome);
        }
    }
}

/// A run that is struck at a fault point and goes on.
fn strike(
    campaign: &Campaign,
    training: &Training,
    whole: &Whole,
    run: &Path,
    fault: &str,
) -> Result<f64, String> {
    let _ = fs::remove_dir_all(run);
    let mut command = training.command(&campaign.program, run, false, EPOCHS);
    command.env("ZOETROPE_FAULT", fault);
    let struck = run_measured(command, LONGEST).map_err(|error| error.to_string())?;
    let said = struck.stderr_text();
    if !said.contains("fault: ") {
        return Err(format!("it was not struck: {}", struck.status));
    }
    if said.contains("panicked") {
        return Err(format!("it panicked: {said}"));
    }
    // An operation that fails where nothing depends on it may be overcome.
    if fault.ends_with("kill") == struck.code().is_some() {
        return Err(format!("ended with {}: {said}", struck.status));
    }
    if struck.timed_out {
        return Err("it hung".into());
    }
    training.finish(&campaign.program, run, EPOCHS, &whole.end)
}

fn described(
    campaign: &Campaign,
    outcome: Result<f64, String>,
    training: &Training,
    fault: &str,
    attempt: usize,
    run: &Path,
) -> Result<f64, String> {
    outcome.map_err(|how| {
        let name = format!("{}-{}-{attempt}", training.name, fault.replace([':', '.'], "-"));
        let folder = keep(&campaign.kept, &name, run);
        format!("{} with {fault}: {how} ({})", training.name, folder.display())
    })
}
