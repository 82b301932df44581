//! Checkpoints that are damaged: noticed, and the run continues from the one before to the same bits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Campaign;
use super::table::Table;
use super::training::{End, LONGEST, TRAININGS, Training, end_of, keep, same};
use crate::process::run_measured;
use crate::random::Random;

const BEFORE: usize = 3;
const AFTER: usize = 4;

/// How a file is damaged.
const DAMAGES: [&str; 5] = ["cut", "bit", "longer", "missing", "zeros"];

pub(super) fn try_all(campaign: &Campaign, table: &mut Table) -> Result<(), String> {
    for training in [TRAININGS[0], TRAININGS[2]] {
        let program = &campaign.program;
        let whole = training.whole(program, &campaign.scratch, AFTER)?.end;
        let honest = campaign.scratch.join(format!("whole-{}-{BEFORE}", training.name));
        training.whole(program, &campaign.scratch, BEFORE)?;
        let newest = newest_checkpoint(&honest).ok_or("a run without checkpoints")?;
        let mut files: Vec<PathBuf> = fs::read_dir(honest.join(&newest))
            .map_err(|error| error.to_string())?
            .flatten()
            .map(|entry| newest.join(entry.file_name()))
            .collect();
        files.sort();
        for round in 0..campaign.rounds {
            for damage in DAMAGES {
                for file in &files {
                    if !table.has_time() {
                        return Ok(());
                    }
                    let number = (round * 1000 + damage.len()) as u64;
                    let mut random = Random::new(campaign.seed ^ 0xda3a, number);
                    let run = campaign.scratch.join("damaged");
                    let outcome = disturb(
                        program,
                        &training,
                        &whole,
                        &honest,
                        &run,
                        file,
                        damage,
                        &mut random,
                    );
                    let outcome = outcome.map_err(|how| {
                        let name = format!("damage-{}-{damage}-{round}", training.name);
                        let folder = keep(&campaign.kept, &name, &run);
                        format!(
                            "{} {damage} {}: {how} ({})",
                            training.name,
                            file.display(),
                            folder.display()
                        )
                    });
                    table.note(&format!("damaged checkpoint: {damage}"), outcome);
                }
            }
        }
    }
    Ok(())
}

/// The newest checkpoint of a run, from its folder.
fn newest_checkpoint(run: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(run.join("checkpoints")).ok()?.flatten();
    let steps = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_prefix("step-")?.parse::<u64>().ok()
    });
    Some(Path::new("checkpoints").join(format!("step-{}", steps.max()?)))
}

#[allow(clippy::too_many_arguments, reason = "one attempt has that many parts")]
fn disturb(
    program: &Path,
    training: &Training,
    whole: &End,
    honest: &Path,
    run: &Path,
    file: &Path,
    damage: &str,
    random: &mut Random,
) -> Result<f64, String> {
    let failed = |error: std::io::Error| error.to_string();
    let _ = fs::remove_dir_all(run);
    let copied = Command::new("cp").arg("-a").arg(honest).arg(run).status().map_err(failed)?;
    if !copied.success() {
        return Err("the run could not be copied".into());
    }
    let path = run.join(file);
    let mut bytes = fs::read(&path).map_err(failed)?;
    match damage {
        "cut" => bytes.truncate(random.below(bytes.len())),
        "bit" => {
            let bit = random.below(8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        "longer" => bytes.push(b'\n'),
        "zeros" => {
            let from = random.below(bytes.len());
            // A block that was never written; one that held zeros before would be no damage.
            bytes[from..].fill(0);
            bytes[from] ^= 0xff;
        }
        _ => {}
    }
    match damage {
        "missing" => fs::remove_file(&path).map_err(failed)?,
        _ => fs::write(&path, bytes).map_err(failed)?,
    }
    let mut verify = Command::new(program);
    verify.args(["checkpoint", "verify"]).arg(run);
    let verified = run_measured(verify, LONGEST).map_err(failed)?;
    if verified.code() != Some(3) {
        return Err(format!("`checkpoint verify` ended with {}", verified.status));
    }
    let resumed =
        run_measured(training.command(program, run, true, AFTER), LONGEST).map_err(failed)?;
    let said = resumed.stderr_text();
    if resumed.code() != Some(0) {
        return Err(format!("{}: {said}", resumed.status));
    }
    if !said.contains("going on from") {
        return Err(format!("it does not say that it fell back: {said}"));
    }
    same(whole, &end_of(run).ok_or("no summary")?)?;
    Ok(resumed.seconds)
}
