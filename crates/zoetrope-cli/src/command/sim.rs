//! `zoetrope sim`: how long a plan would take on a machine that is described, not there.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use zoetrope_calibrate::kept::{self, Known};
use zoetrope_config::Config;
use zoetrope_data::{GraphFacts, facts_file, regular_file};
use zoetrope_sim::machine::DeviceKind;
use zoetrope_sim::{Job, Machine, Options};
use zoetrope_tensor::Device;
use zoetrope_train::snapshots::session::ForetoldRun;
use zoetrope_train::train::{Opened, load_plan};

use crate::command::simulation::Simulation;
use crate::command::start_threads;
use crate::exit::Failure;
use crate::input::{data_must_exist, may_write, must_exist};
use crate::progress::{Bars, Unit};
use crate::report::sim as report;
use crate::saved_model;
use crate::settings::Settings;

/// Predict how long an epoch takes on a machine that is described, not there
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    settings: Settings,
    /// The machine: a file, or this (as measured; taken if nothing is given and it was), laptop, h200, esdg, dgc, a100x4, sven, blad-2080ti, blad-dgx2, pipad, h100x1024
    #[arg(long, value_name = "FILE|NAME")]
    machine: Option<String>,
    /// A rank whose device is slower, e.g. 3=0.7 for 0.7 times its speed; repeat for several
    #[arg(long, value_name = "RANK=SPEED", value_parser = straggler)]
    straggler: Vec<(usize, f64)>,
    /// Write the timeline of the epoch as a trace for Perfetto
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write the timeline of the epoch as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the programs of all ranks as Chakra execution traces, for ASTRA-sim: zoetrope.RANK.et
    #[arg(long, value_name = "DIR")]
    chakra: Option<PathBuf>,
    /// Replace the files
    #[arg(long)]
    force: bool,
    /// Print one JSON document instead of the report
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  zoetrope sim --data 'synthetic:demo?vertices=50&steps=60' --machine laptop --ranks 2
  zoetrope sim job.toml --machine esdg --ranks 128
  zoetrope sim job.toml --machine esdg --ranks 16 --straggler 3=0.7 --svg epoch.svg
  zoetrope sim job.toml --plan plan.json --machine my-cluster.toml --ranks 8 --json
  zoetrope data inspect graph.npz --json > graph-facts.json
  zoetrope sim --data facts:graph-facts.json --model tm-gcn --machine esdg --ranks 128";

/// The machine if none is given and this one was not measured.
const DEFAULT: &str = "laptop";

/// More bytes than this are not a machine file.
const MOST_BYTES: u64 = 1 << 20;

fn straggler(text: &str) -> Result<(usize, f64), String> {
    let expected = "expected RANK=SPEED with a speed above 0, for example 3=0.7";
    let (rank, speed) = text.split_once('=').ok_or(expected)?;
    let (rank, speed) = (rank.trim().parse::<usize>(), speed.trim().parse::<f64>());
    match (rank, speed) {
        (Ok(rank), Ok(speed)) if speed.is_finite() && speed > 0.0 => Ok((rank, speed)),
        _ => Err(expected.to_owned()),
    }
}

/// What was simulated and what was found.
pub(crate) struct Simulated {
    pub(crate) machine: Machine,
    pub(crate) run: ForetoldRun,
    pub(crate) outcome: zoetrope_sim::Outcome,
    /// Different programs of the ranks.
    pub(crate) programs: usize,
    pub(crate) epochs: usize,
    /// Seconds, dollars and failures of all epochs.
    pub(crate) whole_run: WholeRun,
}

/// All epochs together.
pub(crate) struct WholeRun {
    pub(crate) seconds: f64,
    pub(crate) dollars: Option<f64>,
    pub(crate) failures: Option<zoetrope_sim::failures::Expectation>,
}

impl Simulated {
    /// Within which seconds an epoch ends, if the machine was measured.
    pub(crate) fn interval(&self) -> Option<[f64; 2]> {
        let spread = self.machine.calibration.as_ref()?.spread;
        let seconds = self.outcome.seconds;
        Some([seconds / (1.0 + spread), seconds * (1.0 + spread)])
    }

    /// Bytes that a rank holds: on its GPU if it has one, otherwise in the memory of the host.
    pub(crate) fn rank_bytes(&self) -> u64 {
        match self.run.plan.gpu {
            Some(gpu) => gpu.memory.total(),
            None => self.run.plan.head.memory.total(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &SimArgs) -> Result<String, Failure> {
    let machine = machine(args.machine.as_deref())?;
    let mut config = configuration(args, &machine)?;
    for path in args.trace.iter().chain(&args.svg).chain(&args.chakra) {
        may_write(path, args.force)?;
    }
    let facts = facts_file(&config.data.path);
    match &facts {
        Some(path) => must_exist(path)?,
        None => data_must_exist(&config.data.path)?,
    }
    start_threads(config.train.threads_to_start())?;
    let bars = Bars::new(Unit::Bytes, args.quiet || args.json);
    let opened = match &facts {
        Some(path) => Opened::of_facts(&mut config, &GraphFacts::read(path)?)?,
        None => Opened::open(&mut config, &bars)?,
    };
    bars.finish();
    let given = load_plan(&config)?;
    let Opened::Snapshots(material) = opened else {
        return Err(Failure::usage(format!(
            "{} learns from events: the tasks of its batches do not say yet how large they are",
            config.model.name
        ))
        .hint("simulate a model that learns from snapshots, such as tgcn or cd-gcn"));
    };
    for warning in material.warnings.iter().filter(|_| !args.quiet && !args.json) {
        saved_model::tell("note:", warning);
    }
    let (ranks, epochs) = (config.train.ranks, config.train.epochs);
    let pictured = args.trace.is_some() || args.svg.is_some();
    let options =
        Options { stragglers: args.straggler.clone(), timeline: pictured, one_by_one: false };
    let bars = Bars::new(Unit::Events, args.quiet || args.json);
    let simulation = Simulation { machine: &machine, options: &options, bars: &bars };
    let (foretold, outcome, job) = simulation.run(config, &material, given)?;
    bars.finish();
    if let Some(pictures) = outcome.pictures() {
        let write = |path: &Path, text: String| {
            std::fs::write(path, text).map_err(|error| Failure::writing(path, error))
        };
        args.trace.as_ref().map_or(Ok(()), |path| write(path, pictures.trace()))?;
        args.svg.as_ref().map_or(Ok(()), |path| write(path, pictures.svg()))?;
    }
    if let Some(folder) = &args.chakra {
        write_chakra(folder, &job, &machine)?;
    }
    let programs = job.programs();
    let whole_run = whole_run(&machine, &foretold, ranks, outcome.seconds * epochs as f64);
    let found = Simulated { machine, run: foretold, outcome, programs, epochs, whole_run };
    Ok(if args.json { document(&found) } else { report::render(&found) })
}

/// A machine that is built in, or of a file.
pub(crate) fn machine(named: Option<&str>) -> Result<Machine, Failure> {
    let kept = || kept::find(&Device::Cpu, env!("CARGO_PKG_VERSION"));
    let named = match named {
        None => match kept() {
            Known::Measured(machine) => return Ok(*machine),
            Known::Not(_) => DEFAULT,
        },
        Some("this") => {
            return match kept() {
                Known::Measured(machine) => Ok(*machine),
                Known::Not(why) => {
                    Err(Failure::usage(why).hint("measure this machine with zoetrope calibrate"))
                }
            };
        }
        Some(named) => named,
    };
    let is_path = named.ends_with(".toml") || named.contains(std::path::is_separator);
    if !is_path {
        return Machine::named(named).map_err(|error| {
            Failure::usage(error.to_string()).hint("files of machines end in .toml")
        });
    }
    let path = Path::new(named);
    let fail = |error: std::io::Error| Failure::usage(format!("{named}: {error}"));
    let file = regular_file::open(path).map_err(fail)?;
    let bytes = file.metadata().map_err(fail)?.len();
    if bytes > MOST_BYTES {
        return Err(Failure::usage(format!("{named}: {bytes} bytes are too many for a machine")));
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::Read::take(file, MOST_BYTES), &mut text)
        .map_err(fail)?;
    Machine::parse(&text, named).map_err(|error| Failure::usage(error.to_string()))
}

/// The configuration, on the device of the machine.
fn configuration(args: &SimArgs, machine: &Machine) -> Result<Config, Failure> {
    let on_gpu = machine.device.kind == DeviceKind::Gpu;
    let device = if on_gpu { "cuda" } else { "cpu" };
    let below = Config::builder().flag("--machine", "train.device", device);
    let config = args.settings.over(below).build()?;
    if matches!(config.train.device, zoetrope_config::Device::Cuda(_)) != on_gpu {
        let has = if on_gpu { "GPUs" } else { "no GPUs" };
        return Err(Failure::usage(format!(
            "train.device = {}, but {} has {has}",
            config.train.device, machine.name
        ))
        .hint("leave the device out: that of the machine is taken"));
    }
    Ok(config)
}

/// A trace for each rank, and the groups that they name, if they name any.
fn write_chakra(folder: &Path, job: &Job, machine: &Machine) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::writing(folder, error))?;
    let write = |name: String, bytes: Vec<u8>| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| Failure::writing(&path, error))
    };
    for rank in 0..job.ranks() {
        write(format!("zoetrope.{rank}.et"), job.chakra(machine, rank))?;
    }
    let groups = job.chakra_groups(machine);
    if groups.is_empty() {
        return Ok(());
    }
    write("comm_group.json".to_owned(), json!(groups).to_string().into_bytes())
}

fn whole_run(machine: &Machine, run: &ForetoldRun, ranks: usize, seconds: f64) -> WholeRun {
    let nodes = machine.nodes_of(ranks);
    let failures = machine
        .failures
        .map(|failures| failures.expect(seconds, nodes, run.plan.head.memory.parameters));
    let all = failures.map_or(seconds, |failures| failures.seconds);
    let dollars = machine.node_dollars_per_hour.map(|price| price * nodes as f64 * all / 3600.0);
    WholeRun { seconds, dollars, failures }
}

fn document(found: &Simulated) -> String {
    let head = &found.run.plan.head;
    let document = json!({
        "schema": 1,
        "machine": found.machine,
        "calibrated": found.machine.calibration.is_some(),
        "interval": found.interval(),
        "plan": {
            "planner": head.planner,
            "data": head.data,
            "model": head.model,
            "ranks": head.ranks,
            "sharing": found.run.plan.sharing.as_ref().map(|sharing| sharing.name()),
        },
        "epoch": found.outcome,
        "rank_bytes": found.rank_bytes(),
        "device_bytes": found.machine.device.memory_bytes,
        "run": {
            "epochs": found.epochs,
            "seconds": found.whole_run.seconds,
            "dollars": found.whole_run.dollars,
            "failures": found.whole_run.failures,
        },
        "different_programs": found.programs,
        "unknown": found.run.unknown,
    });
    format!("{document:#}\n")
}
