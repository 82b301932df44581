//! Real MPI jobs of this very program, started by every launcher that the machine has.
//!
//! A launcher runs the test `as_a_rank` in several processes; what it does there is named by the
//! environment. If no launcher is installed, the tests say so and pass.

mod bodies;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use zoetrope_dist::{DistError, Exchange, ExchangePlan, Ranks, Reduction, Timeouts, mpi, threads};

const SCENARIO: &str = "ZOETROPE_TEST_SCENARIO";
const FOLDER: &str = "ZOETROPE_TEST_FOLDER";

const OPEN_MPI: &str = "Open MPI";

/// No job takes longer.
const LONGEST: Duration = Duration::from_secs(180);

/// Timeout of the jobs that are to hang, longer than a busy machine keeps a process from running; that of
/// the others is out of reach.
const TIMEOUT: Duration = Duration::from_secs(4);

/// What may be added to a time limit by a busy machine.
const SLACK: Duration = Duration::from_secs(60);

/// What a rank does that is to be named.
const MOMENTS: [(&str, usize); 5] =
    [("before", 1), ("between", 0), ("between", 1), ("in", 1), ("waiting", 1)];

/// A way to start jobs.
#[derive(Debug, Clone, Copy)]
struct Launcher {
    program: &'static str,
    options: &'static [&'static str],
    /// Whether it leaves processes alone for a moment when one of them is gone. MPICH's kills the
    /// others at once and says itself what happened.
    lets_survivors_speak: bool,
}

/// The launchers of this machine, one for each MPI.
fn launchers() -> Vec<Launcher> {
    let mut found = Vec::new();
    let mut families = Vec::new();
    for program in ["mpirun", "mpirun.openmpi", "mpirun.mpich"] {
        let Ok(output) = Command::new(program).arg("--version").output() else { continue };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (family, options): (_, &[&str]) = match text {
            text if text.contains("Open MPI") || text.contains("OpenRTE") => {
                (OPEN_MPI, &["--allow-run-as-root", "--oversubscribe"])
            }
            text if text.contains("HYDRA") => ("MPICH", &[]),
            _ => continue,
        };
        let lets_survivors_speak = family == OPEN_MPI;
        if !families.contains(&family) {
            families.push(family);
            found.push(Launcher { program, options, lets_survivors_speak });
        }
    }
    if found.is_empty() {
        println!("skipped: neither Open MPI nor MPICH is installed (no mpirun)");
    }
    found
}

/// A job that has ended.
struct Ended {
    output: String,
    code: Option<i32>,
    time: Duration,
    folder: tempfile::TempDir,
}

impl Ended {
    /// What a rank left in a file.
    fn said(&self, rank: usize, what: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(format!("{what}-{rank}"))).ok()
    }

    /// Processes of the job that are still there, after a moment to disappear.
    fn orphans(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().path());
        let pids = names.filter(|path| path.to_string_lossy().contains("pid-"));
        let pids: Vec<String> = pids.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        let lives = |pid: &&String| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // A zombie has ended.
            stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
        };
        let deadline = Instant::now() + SLACK;
        while Instant::now() < deadline && pids.iter().any(|pid| lives(&pid)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        pids.iter().filter(lives).cloned().collect()
    }
}

/// Runs a scenario on `size` processes to its end.
fn job(launcher: Launcher, size: usize, scenario: &str) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(launcher.program);
    command.args(launcher.options).arg("-n").arg(size.to_string());
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "as_a_rank", "--ignored", "--nocapture", "--quiet"]);
    // Launchers that run side by side would make and remove one folder of sessions.
    let session = folder.path().join("session");
    std::fs::create_dir(&session).unwrap();
    command.env(SCENARIO, scenario).env(FOLDER, folder.path()).env("TMPDIR", session);
    let path = folder.path().join("output");
    let file = std::fs::File::create(&path).unwrap();
    command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    let start = Instant::now();
    let mut running = command.spawn().unwrap();
    while running.try_wait().unwrap().is_none() && start.elapsed() < LONGEST {
        std::thread::sleep(Duration::from_millis(10));
    }
    let time = start.elapsed();
    // Does nothing if it has ended.
    let _ = running.kill();
    let code = running.wait().unwrap().code();
    let output = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    assert!(time < LONGEST, "{launcher:?} {scenario} does not end: {output}");
    Ended { output, code, time, folder }
}

#[test]
fn the_same_comes_out_as_on_threads() {
    for launcher in launchers() {
        for size in [1, 2, 3, 4, 8] {
            let ended = job(launcher, size, "conform");
            assert_eq!(ended.code, Some(0), "{launcher:?} {size}: {}", ended.output);
            let expected = threads::run(size, Timeouts::default(), |ranks| conform(&ranks));
            for (rank, expected) in expected.unwrap().into_iter().enumerate() {
                let expected = format!("{expected:x}");
                assert_eq!(ended.said(rank, "hash"), Some(expected), "{launcher:?} {size} {rank}");
            }
        }
    }
}

fn conform(ranks: &Ranks) -> Result<u64, DistError> {
    let mut hash = 0;
    for seed in 1..4 {
        hash ^= bodies::collectives(ranks, seed)?.rotate_left(seed as u32);
        hash ^= bodies::exchanges(ranks, seed)?;
    }
    Ok(hash)
}

#[test]
fn a_rank_that_ends_is_named_and_nobody_is_left_behind() {
    for launcher in launchers() {
        for fault in ["kill", "exit", "panic"] {
            for (moment, victim) in MOMENTS {
                // Only another thread can end a rank that waits.
                if (fault, moment) == ("panic", "waiting") {
                    continue;
                }
                let context = format!("{} {fault} {moment} {victim}", launcher.program);
                let ended = job(launcher, 3, &format!("{fault} {moment} {victim}"));
                let Ended { output, time, .. } = &ended;
                assert_ne!(ended.code, Some(0), "{context}: {output}");
                assert!(*time < SLACK, "{context} took {time:?}: {output}");
                assert_eq!(ended.orphans(), [""; 0], "{context}");
                let named = check_survivors(&ended, &context, victim, "ended", SLACK);
                assert!(
                    named > 0 || fault != "panic" && !launcher.lets_survivors_speak,
                    "{context}: {output}"
                );
            }
        }
    }
}

#[test]
fn a_rank_that_hangs_is_named_and_nobody_is_left_behind() {
    for launcher in launchers() {
        for fault in ["stop", "loop"] {
            for (moment, victim) in MOMENTS {
                // A rank that waits for others does not hang by itself.
                if (fault, moment) == ("loop", "waiting") {
                    continue;
                }
                let context = format!("{} {fault} {moment} {victim}", launcher.program);
                let ended = job(launcher, 3, &format!("{fault} {moment} {victim}"));
                let Ended { output, .. } = &ended;
                assert_ne!(ended.code, Some(0), "{context}: {output}");
                assert_eq!(ended.orphans(), [""; 0], "{context}");
                let limit = TIMEOUT + SLACK;
                let named = check_survivors(&ended, &context, victim, "hangs", limit);
                assert!(named > 0, "{context}: {output}");
            }
        }
    }
}

#[test]
fn a_rank_that_is_not_there_when_mpi_comes_up_is_named() {
    for launcher in launchers() {
        for (fault, says) in [
            ("absent 1", "rank 1 ended before MPI was up"),
            ("late 1", "rank 1 ended before MPI was up"),
            ("asleep 1", "rank 1 is stopped"),
        ] {
            let ended = job(launcher, 2, fault);
            let Ended { output, time, .. } = &ended;
            assert_ne!(ended.code, Some(0), "{fault}: {output}");
            assert!(*time < SLACK + SLACK, "{fault} took {time:?}: {output}");
            // MPICH's launcher ends the others as soon as one of them has ended.
            if launcher.lets_survivors_speak || fault == "asleep 1" {
                assert!(output.contains(says), "{fault}: {output}");
            }
        }
    }
}

#[test]
fn messages_of_a_wrong_length_are_refused_before_they_are_written() {
    // Short ones come with their envelope, long ones are fetched by the receiver.
    const LONG_VALUES: usize = 1 << 20;
    let lengths =
        [(10, 5), (5, 10), (LONG_VALUES, 10), (10, LONG_VALUES), (LONG_VALUES, LONG_VALUES / 2)];
    let cases = lengths.iter().flat_map(|lengths| [("point", lengths), ("exchange", lengths)]);
    let cases: Vec<_> =
        cases.chain([("gather", &(LONG_VALUES, 10)), ("spread", &(LONG_VALUES, 10))]).collect();
    for launcher in launchers() {
        for &(how, (sent, expected)) in &cases {
            let context = format!("{} {how} {sent} {expected}", launcher.program);
            let ended = job(launcher, 2, &format!("length {how} {sent} {expected}"));
            let Ended { output, .. } = &ended;
            assert_eq!(ended.code, Some(mpi::EXIT_CODE), "{context}: {output}");
            let said = ended.said(0, "error").unwrap_or_default();
            let lengths = [format!("{} bytes", 4 * expected), format!("{} bytes", 4 * sent)];
            for part in ["rank 1", &lengths[0], &lengths[1]] {
                assert!(said.contains(part), "{context}: no {part} in {said}: {output}");
            }
            for sign in ["SIGSEGV", "Segmentation", "corrupt", "free()", "malloc"] {
                assert!(!output.contains(sign), "{context}: {output}");
            }
        }
    }
}

/// Rank 1 sends more or fewer values than rank 0 expects.
fn disagree(ranks: &Ranks, scenario: &str) -> Result<(), DistError> {
    let words: Vec<&str> = scenario.split(' ').collect();
    let [sent, expected] = [2, 3].map(|at: usize| words[at].parse::<usize>().unwrap());
    let is_sender = ranks.rank() == 1;
    // Memory beside which others lie: what is written too far is noticed.
    let around: Vec<Vec<f32>> = (0..64).map(|at| vec![at as f32; 512]).collect();
    let result = match words[1] {
        "point" if is_sender => ranks.send(0, 1, vec![1.0f32; sent]),
        "point" => ranks.receive::<f32>(1, 1, expected).map(drop),
        "gather" => {
            let lengths = if is_sender { [3, sent] } else { [3, expected] };
            let own = if is_sender { sent } else { 3 };
            ranks.start_all_gather(vec![1.0f32; own], &lengths)?.wait().map(drop)
        }
        "spread" => {
            let (sends, lengths) = if is_sender {
                (vec![vec![1.0f32; sent], Vec::new()], [0, 0])
            } else {
                (vec![Vec::new(), Vec::new()], [0, expected])
            };
            ranks.all_to_all_known(sends, &lengths).map(drop)
        }
        _ => {
            let (sends, receives) = if is_sender {
                ([(0..sent as u32).collect(), Vec::new()], [Vec::new(), Vec::new()])
            } else {
                ([Vec::new(), Vec::new()], [Vec::new(), (0..expected as u32).collect()])
            };
            let rows = sent.max(expected);
            let plan = ExchangePlan::new(ranks.rank(), [rows, rows], sends.into(), receives.into());
            let exchange = Exchange::new(ranks, plan.unwrap());
            exchange.rows(&vec![1.0; rows], 1, &mut vec![0.0; rows])
        }
    };
    let whole = around.iter().enumerate().all(|(at, list)| list.iter().all(|v| *v == at as f32));
    assert!(whole, "memory of others was written");
    result?;
    // Who sent is told by those who noticed.
    ranks.barrier()
}

/// How many survivors have named the victim, within the limit and with where everyone was. The launcher may
/// end the last one before it can speak, and the first one may have ended before the last one hears
/// of the victim: then that is the rank it names.
fn check_survivors(
    ended: &Ended,
    context: &str,
    victim: usize,
    how: &str,
    limit: Duration,
) -> usize {
    let mut named = 0;
    for rank in (0..3).filter(|&rank| rank != victim) {
        let Some(said) = ended.said(rank, "error") else { continue };
        if !said.contains(&format!("rank {victim} {how}")) {
            assert!(said.contains("rank "), "{context}: {said}");
            eprintln!("{context}: rank {rank} said: {said}");
            continue;
        }
        for other in 0..3 {
            assert!(said.contains(&format!("rank {other}: step")), "{context}: {said}");
        }
        let at = |what, rank| -> u128 { ended.said(rank, what).unwrap().parse().unwrap() };
        let took = Duration::from_millis((at("error-at", rank) - at("fault-at", victim)) as u64);
        assert!(took <= limit, "{context}: rank {rank} needed {took:?}");
        named += 1;
    }
    named
}

/// What a rank of a job does. Run by a launcher, and by nobody else.
#[test]
#[ignore = "the other tests have it run by a launcher of MPI"]
fn as_a_rank() {
    let Ok(scenario) = std::env::var(SCENARIO) else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    // As the command line does: SIGTERM is a wish, not the end.
    let wish = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, wish).unwrap();
    let told = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"];
    let rank = told.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
    match scenario.split_once(' ') {
        Some(("absent", victim)) if victim == rank => return,
        Some(("late", victim)) if victim == rank => {
            return std::thread::sleep(Duration::from_secs(3));
        }
        Some(("asleep", victim)) if victim == rank => signal(rustix::process::Signal::STOP),
        _ => {}
    }
    let hangs = ["stop", "loop", "asleep"].iter().any(|word| scenario.starts_with(word));
    let timeout = if hangs { TIMEOUT } else { LONGEST };
    let timeouts = Timeouts { timeout, grace: Duration::from_secs(2) };
    let result = mpi::run(timeouts, |ranks| {
        write(&folder, "pid", ranks.rank(), std::process::id());
        let result = match scenario.as_str() {
            "conform" => conform(&ranks).map(|hash| {
                write(&folder, "hash", ranks.rank(), format!("{hash:x}"));
            }),
            scenario if scenario.starts_with("length ") => disagree(&ranks, scenario),
            fault => suffer(&ranks, fault, &folder),
        };
        if let Err(error) = &result {
            write(&folder, "error-at", ranks.rank(), now());
            write(&folder, "error", ranks.rank(), error);
        }
        result
    });
    if let Err(failure) = result {
        eprintln!("{failure}");
        std::process::exit(mpi::EXIT_CODE);
    }
}

fn suffer(ranks: &Ranks, scenario: &str, folder: &Path) -> Result<(), DistError> {
    let mut words = scenario.split(' ');
    let [fault, moment, victim] = [(); 3].map(|()| words.next().unwrap().to_owned());
    let is_victim = victim == ranks.rank().to_string();
    let struck = folder.join(format!("fault-at-{victim}"));
    let folder = folder.to_owned();
    let (rank, own) = (ranks.rank(), fault.clone());
    let strike = move || {
        write(&folder, "fault-at", rank, now());
        match own.as_str() {
            "kill" => signal(rustix::process::Signal::KILL),
            "stop" => signal(rustix::process::Signal::STOP),
            "exit" => std::process::exit(3),
            "panic" => panic!("struck"),
            _ => loop {
                std::thread::sleep(Duration::from_millis(10));
            },
        }
    };
    if is_victim && moment == "before" {
        strike();
    }
    for step in 1..=3 {
        ranks.set_step(step);
        ranks.all_reduce(&mut vec![1.0f32; 5000], Reduction::Sum)?;
    }
    if is_victim && moment == "between" {
        strike();
    }
    if is_victim && moment == "in" {
        let _started = ranks.start_all_reduce(vec![1.0f32; 1 << 20], Reduction::Sum)?;
        strike();
    }
    if moment == "waiting" {
        // The others come late, so that the victim is struck while it waits for them.
        if is_victim {
            drop(std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                strike();
            }))
        } else {
            let deadline = Instant::now() + LONGEST;
            while !struck.exists() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            // It says so just before.
            std::thread::sleep(Duration::from_millis(400));
        }
    }
    ranks.all_reduce(&mut vec![1.0f32; 1 << 20], Reduction::Sum)?;
    ranks.barrier()
}

fn signal(signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::getpid(), signal).unwrap();
}

fn now() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()
}

fn write(folder: &Path, what: &str, rank: usize, text: impl std::fmt::Display) {
    std::fs::write(folder.join(format!("{what}-{rank}")), text.to_string()).unwrap();
}
