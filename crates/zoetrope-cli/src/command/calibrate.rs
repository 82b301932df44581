//! `zoetrope calibrate`: measures this machine for the simulator.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use zoetrope_calibrate::{CalibrateError, Options, kept, text};
use zoetrope_config::Config;
use zoetrope_data::Progress;
use zoetrope_sim::Machine;
use zoetrope_tensor::{Device, Gpu};
use zoetrope_train::TrainError;
use zoetrope_train::snapshots::sampling::pace::seconds_of_a_pair;

use crate::exit::Failure;
use crate::input::may_write;
use crate::progress::{Bars, Unit};
use crate::report::calibrate as report;

/// Measure this machine, so that `plan`, `train` and `sim` know how long things take here
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// The device to measure: cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: String,
    /// Write the machine file there instead of the cache folder
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Measure for two seconds instead of 45: coarser
    #[arg(long)]
    quick: bool,
    /// Replace the file
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
  zoetrope calibrate
  zoetrope calibrate --device cuda
  zoetrope calibrate --out machine.toml
  zoetrope sim job.toml --machine machine.toml

Without --out the file is kept in the user's cache folder (ZOETROPE_MACHINE_CACHE names another one), where plan, train \
and sim find it as long as the machine and the version of the program are the same. Let nothing else run meanwhile.";

/// What a measurement may take.
const BUDGET: Duration = Duration::from_secs(45);
const QUICK: Duration = Duration::from_secs(2);

/// Runs the command.
pub(crate) fn run(args: &CalibrateArgs) -> Result<String, Failure> {
    let config = Config::builder().flag("--device", "train.device", &args.device).build()?;
    if let Some(path) = &args.out {
        may_write(path, args.force)?;
    }
    let device = match config.train.device {
        zoetrope_config::Device::Cuda(number) => {
            Device::Cuda(Gpu::open(number as usize).map_err(TrainError::from)?)
        }
        zoetrope_config::Device::Cpu => Device::Cpu,
    };
    let options = Options {
        device,
        budget: if args.quick { QUICK } else { BUDGET },
        folder: std::env::temp_dir(),
        pair_seconds: Some(|| seconds_of_a_pair().ok()),
        program: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let bars = Bars::new(Unit::Events, args.quiet || args.json);
    let mut begun = false;
    let mut tell = |_: &str, done: u64, all: u64| {
        if all > 1 && !begun {
            bars.begin("measuring", Some(all));
            begun = true;
        } else if done > 0 {
            bars.advance(1);
        }
    };
    let text = text(&options, &mut tell).map_err(failure)?;
    bars.finish();
    let machine = Machine::parse(&text, "what was measured")
        .map_err(|error| Failure::other(error.to_string()))?;
    let path = match &args.out {
        Some(path) => {
            std::fs::write(path, &text).map_err(|error| Failure::writing(path, error))?;
            path.clone()
        }
        None => kept::keep(&options.device, &text).map_err(|error| {
            Failure::resource(format!("the measurement cannot be kept: {error}"))
                .hint("write it to a file with --out")
        })?,
    };
    Ok(if args.json { document(&machine, &path) } else { report::render(&machine, &path) })
}

fn failure(error: CalibrateError) -> Failure {
    match error {
        CalibrateError::Threads { .. } | CalibrateError::Storage { .. } => {
            Failure::resource(error.to_string())
        }
        _ => Failure::other(error.to_string()),
    }
}

fn document(machine: &Machine, path: &std::path::Path) -> String {
    let measured = machine.calibration.as_ref();
    let document = json!({
        "schema": 1,
        "file": path.display().to_string(),
        "machine": machine,
        "date": measured.map(|one| &one.date),
        "program": measured.map(|one| &one.program),
        "host": measured.map(|one| &one.host),
        "spread": measured.map(|one| one.spread),
        "points": measured.map(|one| one.tables.iter().map(|(_, table)| table.points()).sum::<usize>()),
    });
    format!("{document:#}\n")
}
