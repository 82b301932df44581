//! Ranks that end, hang or disagree, as threads and as processes of an MPI job.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::Campaign;
use super::job::{self, Ended};
use super::table::Table;
use super::training::{end_of, keep, same};

const RANKS: usize = 3;
const VICTIM: usize = 1;

/// `plan.timeout`, in seconds.
const TIMEOUT: f64 = 3.0;

/// Seconds within which a rank that ended is named, and what is added to the timeout for one that
/// hangs.
const NAMED_WITHIN: f64 = 15.0;
const HANG_SLACK: f64 = 5.0;

const LIMIT: Duration = Duration::from_secs(120);

const TRAIN: &str = "train --data synthetic:sbm?vertices=40&steps=20&communities=4 --task \
                     link-prediction --model tm-gcn --hidden 6 --epochs 15 --checkpoint-every 1 --set \
                     train.checkpoint_share=none --set plan.timeout=3 --quiet";

/// Where the victim is struck: before the first collective of the run, between two, and in one.
const MOMENTS: [(u64, &str); 3] = [(1, "before"), (400, "before"), (400, "in")];

/// What one rank may be started with that the others were not (a part of [`TRAIN`] and what stands in
/// its place), and how the difference is called.
const DISAGREEMENTS: [(&str, &str, &str); 6] = [
    ("--quiet", "--quiet --lr 0.5", "train.lr"),
    ("--quiet", "--quiet --seed 9", "train.seed"),
    ("--hidden 6", "--hidden 7", "model.hidden"),
    ("--quiet", "--quiet --frame 4", "train.frame"),
    ("--quiet", "--quiet --set train.optimiser=sgd", "train.optimiser"),
    ("communities=4", "communities=4&seed=5", "data of sha256"),
];

/// How ranks are started.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Engine {
    Threads,
    Mpi,
}

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Mpi => "MPI",
        }
    }

    /// Collectives by which processes get to know each other before the run begins.
    fn earlier(self) -> u64 {
        match self {
            Self::Threads => 0,
            Self::Mpi => 2,
        }
    }

    fn command(self, campaign: &Campaign, arguments: &str, out: &Path) -> Command {
        let resumes = arguments.contains("--resume");
        let mut command = match self {
            Self::Threads => Command::new(&campaign.program),
            Self::Mpi => mpirun(campaign),
        };
        command.args(arguments.split_whitespace());
        if resumes {
            command.arg(out)
        } else {
            command.arg("--out").arg(out)
        };
        if self == Self::Threads && !resumes {
            command.args(["--ranks", &RANKS.to_string()]);
        }
        // Launchers make a folder of sessions there.
        command.env("TMPDIR", &campaign.scratch).env("RUST_BACKTRACE", "0");
        command
    }
}

fn mpirun(campaign: &Campaign) -> Command {
    let mut command = Command::new("mpirun");
    if is_open_mpi() {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.args(["-n", &RANKS.to_string()]).arg(&campaign.program);
    command
}

fn is_open_mpi() -> bool {
    let answer = Command::new("mpirun").arg("--version").output();
    answer.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).contains("Open MPI"))
}

pub(super) fn try_all(campaign: &Campaign, table: &mut Table) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let whole_run = campaign.scratch.join("ranks-whole");
    let mut command = Engine::Threads.command(campaign, TRAIN, &whole_run);
    command.env("ZOETROPE_FAULT", "list");
    let ended = job::run(command, LIMIT).map_err(failed)?;
    let whole = end_of(&whole_run).ok_or_else(|| ended.said())?;
    let mut engines = vec![Engine::Threads];
    match mpi(campaign) {
        Ok(()) => engines.push(Engine::Mpi),
        Err(why) => table.leave_out("ranks over MPI", &why),
    }
    if ended.when("fault point rank-1.in").is_none() {
        let why = "the program was built without the feature faults";
        table.leave_out("ranks that end or hang", why);
        engines.retain(|&engine| engine == Engine::Mpi);
    } else {
        for &engine in &engines {
            for fault in ["kill", "exit", "panic", "stop", "loop"] {
                // A process of threads that is stopped can be continued; nobody inside could notice.
                if (engine, fault) == (Engine::Threads, "stop") {
                    continue;
                }
                for (index, (number, moment)) in MOMENTS.into_iter().enumerate() {
                    // A short campaign tries one moment of each fault, a longer one all of them.
                    if campaign.rounds < MOMENTS.len() && index != fault.len() % MOMENTS.len() {
                        continue;
                    }
                    for _ in 0..campaign.rounds.div_ceil(MOMENTS.len()) {
                        if !table.has_time() {
                            return Ok(());
                        }
                        let run = campaign.scratch.join("ranks");
                        let place =
                            format!("rank-{VICTIM}.{moment}:{}:{fault}", engine.earlier() + number);
                        let outcome =
                            strike(campaign, engine, fault, &place, &run).and_then(|seconds| {
                                restart(campaign, engine, &run, &whole).map(|()| seconds)
                            });
                        let outcome = outcome.map_err(|how| {
                            let name =
                                format!("{}-{}", engine.name(), place.replace([':', '.'], "-"));
                            keep(&campaign.kept, &name, &run);
                            format!("{place}: {how}")
                        });
                        table.note(&format!("rank: {fault} ({})", engine.name()), outcome);
                    }
                }
            }
        }
    }
    if engines.contains(&Engine::Mpi) {
        for (part, other, named) in DISAGREEMENTS {
            if table.has_time() {
                let outcome = disagree(campaign, &TRAIN.replace(part, other), named);
                table.note("ranks that disagree (MPI)", outcome);
            }
        }
    }
    Ok(())
}

/// Whether this machine and this program can do MPI.
fn mpi(campaign: &Campaign) -> Result<(), String> {
    let run = campaign.scratch.join("mpi-check");
    let train = "train --epochs 1 --quiet";
    let mut command = Engine::Mpi.command(campaign, train, &run);
    command.env_remove("ZOETROPE_FAULT");
    match job::run(command, LIMIT) {
        Err(_) => Err("mpirun is not installed".into()),
        Ok(ended) if ended.code == Some(0) && ended.said().matches("Run folder").count() == 1 => {
            Ok(())
        }
        Ok(ended) => Err(format!("three processes are not one job: {}", ended.said())),
    }
}

/// Strikes one rank; the seconds until it was named.
fn strike(
    campaign: &Campaign,
    engine: Engine,
    fault: &str,
    place: &str,
    run: &Path,
) -> Result<f64, String> {
    let _ = fs::remove_dir_all(run);
    let mut command = engine.command(campaign, TRAIN, run);
    command.env("ZOETROPE_FAULT", place);
    let ended = job::run(command, LIMIT).map_err(|error| error.to_string())?;
    let said = ended.said();
    let struck = ended.when("fault: ").ok_or(format!("it was not struck: {said}"))?;
    if ended.orphans > 0 {
        return Err(format!("{} processes are left: {said}", ended.orphans));
    }
    // A signal to a process of threads, and its exit, end all ranks: nobody is left to name anybody.
    if engine == Engine::Threads && matches!(fault, "kill" | "exit") {
        return if ended.code == Some(0) { Err("it went on".into()) } else { Ok(0.0) };
    }
    if ended.code.is_none_or(|code| code == 0) {
        return Err(format!("exit code {:?}: {said}", ended.code));
    }
    let hangs = matches!(fault, "stop" | "loop");
    let named = named(&ended, hangs).ok_or(format!("rank {VICTIM} is not named: {said}"))?;
    let seconds = named.saturating_duration_since(struck).as_secs_f64();
    let limit = if hangs { TIMEOUT + HANG_SLACK } else { NAMED_WITHIN };
    if seconds > limit { Err(format!("named after {seconds:.1} s")) } else { Ok(seconds) }
}

fn named(ended: &Ended, hangs: bool) -> Option<std::time::Instant> {
    let words: &[&str] = if hangs { &["hangs"] } else { &["ended", "panicked"] };
    words.iter().filter_map(|word| ended.when(&format!("rank {VICTIM} {word}"))).min()
}

/// Goes on after a fault, or starts again if there was no run yet, to the bits of a run in one go.
fn restart(
    campaign: &Campaign,
    engine: Engine,
    run: &Path,
    whole: &super::training::End,
) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let resume = "train --quiet --resume";
    let mut ended = job::run(engine.command(campaign, resume, run), LIMIT).map_err(failed)?;
    if ended.code == Some(2) {
        ended = job::run(engine.command(campaign, TRAIN, run), LIMIT).map_err(failed)?;
    }
    if ended.code != Some(0) {
        return Err(format!("restarted: exit code {:?}: {}", ended.code, ended.said()));
    }
    same(whole, &end_of(run).ok_or("no summary after the restart")?)
}

/// One rank is started with something else: refused before the first exchange, the key named.
fn disagree(campaign: &Campaign, other: &str, named: &str) -> Result<f64, String> {
    let run = campaign.scratch.join("disagree");
    let _ = fs::remove_dir_all(&run);
    let begun = std::time::Instant::now();
    let mut command = Engine::Mpi.command(campaign, TRAIN, &run);
    command.args([":", "-n", "1"]).arg(&campaign.program).args(other.split_whitespace());
    command.arg("--out").arg(&run);
    let ended = job::run(command, LIMIT).map_err(|error| error.to_string())?;
    let said = ended.said();
    let names = said.contains(named) && said.contains(&format!("rank {RANKS}"));
    if ended.code != Some(2) || !names || ended.orphans > 0 {
        return Err(format!("{named}: exit code {:?}: {said}", ended.code));
    }
    Ok(begun.elapsed().as_secs_f64())
}
