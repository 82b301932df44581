//! That all ranks of a job were started alike.
//!
//! Processes of a job are started one by one and could differ in anything: another learning rate would
//! give a mixed result, another width messages of other lengths. So before the first exchange of a run
//! every rank tells what it was started with; a difference ends them all with its name. The plan is then
//! made by the first rank, for all of them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zoetrope_config::Config;
use zoetrope_dist::watch::Cause;
use zoetrope_dist::{DistError, Ranks};
use zoetrope_plan::Plan;
use zoetrope_run::{FailureKind, digest};
use zoetrope_tensor::cpu::simd;

use super::open::Opened;
use crate::error::TrainError;

/// Keys that may differ from rank to rank: where files lie (contents are compared), and what changes
/// no result.
const FREE: [&str; 7] = [
    "data.path",
    "train.threads",
    "train.device",
    "train.resume",
    "train.weights",
    "output.dir",
    "plan.timeout",
];

const ADVICE: &str = "start all ranks with the same program, settings and data";

/// The difference that another rank ended with: whoever hears of its end before the end of the comparison
/// would have said the same.
pub(super) fn found_by_another(error: &DistError) -> Option<TrainError> {
    let DistError::Lost { verdict, .. } = error else { return None };
    let Cause::Ended { how } = &verdict.cause else { return None };
    let what = how.strip_suffix(ADVICE)?.strip_suffix("; ")?.to_owned();
    Some(TrainError::Unfit { what, advice: ADVICE.to_owned() })
}

/// A document of a plan that is longer is told by its digest.
const TOLD_CHARACTERS: usize = 120;

/// Refuses to go on if ranks were started with different programs, settings, data or saved plans. All ranks
/// call it at the same place.
///
/// # Errors
/// [`TrainError::Unfit`] with the first difference, the same on all ranks; and if a rank is lost.
pub(super) fn must_agree(
    ranks: &Ranks,
    config: &Config,
    opened: &Opened,
    plan: Option<&Plan>,
) -> Result<(), TrainError> {
    let mut lines = told(config, opened);
    match plan {
        Some(plan) => lines.extend(parts(plan)),
        None => lines.push("no saved plan".to_owned()),
    }
    compare(ranks, &lines, "was started with")
}

/// Refuses to go on if ranks were started with different programs or settings, before they read any data. All ranks
/// call it at the same place.
///
/// # Errors
/// As [`must_agree`].
pub(super) fn must_agree_on_settings(ranks: &Ranks, config: &Config) -> Result<(), TrainError> {
    compare(ranks, &settings(config), "was started with")
}

/// The plan that the first rank makes, on all ranks, which all call this. If it cannot make one, all end with
/// its refusal.
///
/// # Errors
/// What the first rank found; and if a rank is lost.
pub(crate) fn told_by_first(
    ranks: &Ranks,
    make: impl FnOnce() -> Result<Plan, TrainError>,
) -> Result<Plan, TrainError> {
    let text = found_by_first(ranks, || Ok(make()?.to_json()))?;
    Ok(Plan::from_json(&text)?)
}

/// What the first rank finds, on all ranks, which all call this. If it finds a reason to end, all end with it.
///
/// # Errors
/// What the first rank found; and if a rank is lost.
pub(crate) fn found_by_first<T: Serialize + DeserializeOwned>(
    ranks: &Ranks,
    find: impl FnOnce() -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    ranks.take_time();
    let own = (ranks.rank() == 0).then(|| ranks.at_work(find));
    let mut text = match &own {
        None => Ok(Vec::new()),
        Some(Ok(found)) => serde_json::to_vec(&Told { found: Some(found), refusal: None }),
        Some(Err(error)) => {
            let refusal = Some((error.to_string(), error.kind().exit_code()));
            serde_json::to_vec(&Told::<&T> { found: None, refusal })
        }
    }
    .unwrap_or_default();
    let mut length = [text.len() as u64];
    ranks.broadcast(0, &mut length)?;
    text.resize(length[0] as usize, 0);
    ranks.broadcast(0, &mut text)?;
    if let Some(own) = own {
        return own;
    }
    match serde_json::from_slice(&text) {
        Ok(Told { found: Some(found), .. }) => Ok(found),
        told => {
            let refusal = told.ok().and_then(|told: Told<T>| told.refusal);
            let (message, exit_code) = refusal.unwrap_or_default();
            Err(TrainError::OfFirstRank { message, kind: FailureKind::of_exit_code(exit_code) })
        }
    }
}

/// What the first rank tells.
#[derive(Serialize, Deserialize)]
struct Told<T> {
    found: Option<T>,
    refusal: Option<(String, u8)>,
}

fn compare(ranks: &Ranks, own: &[String], does: &str) -> Result<(), TrainError> {
    let all = ranks.all_gather_varied(&own.join("\n").into_bytes())?;
    let all: Vec<_> = all.iter().map(|text| String::from_utf8_lossy(text)).collect();
    let lines: Vec<Vec<&str>> = all.iter().map(|text| text.lines().collect()).collect();
    match difference(&lines) {
        None => Ok(()),
        Some((rank, first, other)) => Err(TrainError::Unfit {
            what: format!(
                "rank {rank} {does} {}, rank 0 with {}",
                other.unwrap_or("less"),
                first.unwrap_or("less")
            ),
            advice: ADVICE.to_owned(),
        }),
    }
}

/// What of a saved plan decides who computes and sends what, a line for each thing.
fn parts(plan: &Plan) -> Vec<String> {
    let document = serde_json::to_value(plan).unwrap_or_default();
    let fields = document.as_object().into_iter().flatten();
    let told = fields.filter(|(name, _)| !DESCRIBING.contains(&name.as_str()));
    told.map(|(name, value)| {
        let text = value.to_string();
        if text.len() <= TOLD_CHARACTERS {
            format!("plan: {name} = {text}")
        } else {
            format!("plan: {name} of sha256 {}", digest::of_bytes(text.as_bytes()))
        }
    })
    .collect()
}

/// Parts of a plan that nobody executes.
const DESCRIBING: [&str; 5] = ["data", "memory", "reasons", "warnings", "candidates"];

/// What a rank was started with, a line for each thing.
fn told(config: &Config, opened: &Opened) -> Vec<String> {
    let mut lines = settings(config);
    lines.insert(2, format!("data of sha256 {}", opened.sha256()));
    lines
}

/// The program and the settings of a rank, a line for each thing.
fn settings(config: &Config) -> Vec<String> {
    let mut lines = vec![
        format!("zoetrope {}", env!("CARGO_PKG_VERSION")),
        format!("vector units {}", simd::level()),
    ];
    let fixed = config.values().filter(|(key, _)| !FREE.contains(&key.as_str()));
    lines.extend(fixed.map(|(key, value)| format!("{key} = {value}").replace('\n', " ")));
    lines
}

/// The first rank that differs from the first one, with both lines.
fn difference<'a>(ranks: &[Vec<&'a str>]) -> Option<(usize, Option<&'a str>, Option<&'a str>)> {
    let first = &ranks[0];
    ranks.iter().enumerate().skip(1).find_map(|(rank, lines)| {
        let most = lines.len().max(first.len());
        let places = (0..most).map(|at| (first.get(at).copied(), lines.get(at).copied()));
        places.into_iter().find(|(a, b)| a != b).map(|(a, b)| (rank, a, b))
    })
}

#[cfg(test)]
mod tests {
    use zoetrope_dist::watch::Verdict;

    use super::*;

    #[test]
    fn a_difference_that_another_rank_found_is_told_as_it_is() {
        let unfit =
            TrainError::Unfit { what: "rank 1 was started with x".into(), advice: ADVICE.into() };
        let lost = |how: String| {
            let verdict = Verdict { rank: 1, cause: Cause::Ended { how }, positions: Vec::new() };
            DistError::Lost { rank: 0, site: None, verdict: Box::new(verdict) }
        };
        let told = found_by_another(&lost(unfit.to_string())).unwrap();
        assert_eq!((told.to_string(), told.kind().exit_code()), (unfit.to_string(), 2));
        assert!(found_by_another(&lost("killed".to_owned())).is_none());
    }

    #[test]
    fn the_first_difference_is_named_with_its_rank() {
        let same = vec!["train.lr = 0.1", "train.seed = 1"];
        assert_eq!(difference(&[same.clone(), same.clone()]), None);
        let other = vec!["train.lr = 0.1", "train.seed = 2"];
        assert_eq!(
            difference(&[same.clone(), same.clone(), other]),
            Some((2, Some("train.seed = 1"), Some("train.seed = 2")))
        );
        let short = vec!["train.lr = 0.1"];
        assert_eq!(difference(&[same, short]), Some((1, Some("train.seed = 1"), None)));
    }
}
