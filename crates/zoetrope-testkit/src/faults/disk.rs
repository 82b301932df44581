//! A file system of a few hundred kilobytes that runs full under a run.

use std::fs;
use std::process::Command;

use super::Campaign;
use super::table::Table;
use super::training::{LONGEST, TRAININGS, end_of, same};
use crate::process::run_measured;
use crate::random::Random;

const EPOCHS: usize = 5;

/// Inside a mount of our own: a small disk, a run on it, then space, then the run again. What comes
/// back: the two exit codes and the run.
const SCRIPT: &str = r#"
mount -t tmpfs -o size="$1" tmpfs "$2" || exit 77
shift
folder=$1
shift
cd "$folder" || exit 77
"$@" --out run >first.log 2>&1
echo "$?" >"$folder.first"
cat first.log >"$folder.said" 2>/dev/null
mount -o remount,size=64m "$folder" || exit 77
"$PROGRAM" train --resume run --quiet >"$folder.second.log" 2>&1
code=$?
if [ "$code" = 2 ]; then "$@" --out run >"$folder.second.log" 2>&1; code=$?; fi
echo "$code" >"$folder.second"
cp -r run "$folder.run"
"#;

pub(super) fn try_all(campaign: &Campaign, table: &mut Table) -> Result<(), String> {
    const KIND: &str = "disk runs full";
    let training = TRAININGS[0];
    let whole = training.whole(&campaign.program, &campaign.scratch, EPOCHS)?;
    let mut random = Random::new(campaign.seed, 1 << 34);
    for round in 0..campaign.rounds.div_ceil(2) * 2 {
        if !table.has_time() {
            return Ok(());
        }
        let folder = campaign.scratch.join(format!("disk-{round}"));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        // The first is full before anything of a run is there; a run takes some 300 kB.
        let kilobytes = if round == 0 { 8 } else { 8 + random.below(300) };
        let begin = training.command(&campaign.program, "run".as_ref(), false, EPOCHS);
        let mut arguments: Vec<_> = begin.get_args().map(ToOwned::to_owned).collect();
        // `--out` is added by the script.
        let out = arguments.iter().position(|word| word == "--out").unwrap_or(arguments.len());
        arguments.drain(out..(out + 2).min(arguments.len()));
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"]);
        command.arg(format!("{kilobytes}k")).arg(&folder).arg(&campaign.program).args(arguments);
        command.env("PROGRAM", &campaign.program);
        let Ok(outcome) = run_measured(command, LONGEST) else {
            table.leave_out(KIND, "this machine has no unshare");
            return Ok(());
        };
        let read = |suffix: &str| {
            let path = format!("{}.{suffix}", folder.display());
            fs::read_to_string(path).unwrap_or_default().trim().to_owned()
        };
        if outcome.code() == Some(77) || read("first").is_empty() {
            table
                .leave_out(KIND, &format!("no mount of our own: {}", outcome.stderr_text().trim()));
            return Ok(());
        }
        let (first, second) = (read("first"), read("second"));
        let ended = end_of(format!("{}.run", folder.display()).as_ref());
        let said = format!("{} {}", read("said"), read("second.log"));
        let verdict = match (first.as_str(), second.as_str(), ended) {
            ("0" | "4", "0", Some(end)) => same(&whole.end, &end).map(|()| outcome.seconds),
            _ => Err(format!("{kilobytes} kB: exit codes {first} and {second}: {said}")),
        };
        table.note(KIND, verdict);
    }
    Ok(())
}
