//! That all ranks of a job were started alike.
//!
//! Processes of a job are started one by one and could differ in anything: another learning rate would
//! give a mixed result, another width messages of other lengths. So before the first exchange of a run
//! every rank tells what it was started with, and a difference ends them all with its name.

use zoetrope_dist::Ranks;
use zoetrope_tensor::cpu::simd;

use super::open::Opened;
use crate::config::Config;
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

/// Refuses to go on if ranks were started with different programs, settings or data. All ranks call it
/// at the same place.
///
/// # Errors
/// [`TrainError::Unfit`] with the first difference, the same on all ranks; and if a rank is lost.
pub(super) fn must_agree(
    ranks: &Ranks,
    config: &Config,
    opened: &Opened,
) -> Result<(), TrainError> {
    let own = told(config, opened).join("\n").into_bytes();
    let all = ranks.all_gather_varied(&own)?;
    let all: Vec<_> = all.iter().map(|text| String::from_utf8_lossy(text)).collect();
    let lines: Vec<Vec<&str>> = all.iter().map(|text| text.lines().collect()).collect();
    match difference(&lines) {
        None => Ok(()),
        Some((rank, first, other)) => Err(TrainError::Unfit {
            what: format!(
                "rank {rank} was started with {}, rank 0 with {}",
                other.unwrap_or("less"),
                first.unwrap_or("less")
            ),
            advice: "start all ranks with the same program, settings and data".to_owned(),
        }),
    }
}

/// What a rank was started with, a line for each thing.
fn told(config: &Config, opened: &Opened) -> Vec<String> {
    let mut lines = vec![
        format!("zoetrope {}", env!("CARGO_PKG_VERSION")),
        format!("vector units {}", simd::level()),
        format!("data of sha256 {}", opened.sha256()),
    ];
    for (section, entries) in Config::SECTIONS.into_iter().zip(config.entries()) {
        let keys = entries.into_iter().map(|(name, value)| (format!("{section}.{name}"), value));
        let fixed = keys.filter(|(key, _)| !FREE.contains(&key.as_str()));
        lines.extend(fixed.map(|(key, value)| format!("{key} = {value}").replace('\n', " ")));
    }
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
    use super::*;

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
