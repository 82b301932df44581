//! `zoetrope doctor`: what this machine offers.

mod conformance;

use clap::Args;
use serde::Serialize;

use self::conformance::{Chosen, Shard};
use super::document;
use crate::exit::Failure;
use crate::machine::{Cuda, CudaDevice, Gpu, Machine, Memory, Mpi, Processor};
use crate::report::human::{bytes, plural};
use crate::report::table::{Align, Table};
use crate::terminal::{Style, WIDTH, wrap};

/// Flags of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zoetrope doctor
  zoetrope doctor --json
  zoetrope doctor --conformance --device cuda            does the GPU compute what the CPU does?
  zoetrope doctor --conformance --device cuda --only gru

Without --conformance, the libraries of CUDA and MPI are loaded, if there are any, and asked for \
GPUs and versions; nothing is computed. --conformance runs every operator and every model on the \
CPU and on the GPU, and ends with exit code 1 if they differ.")]
pub(crate) struct DoctorArgs {
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// Compare a GPU with the CPU, operator by operator and model by model
    #[arg(long)]
    conformance: bool,
    /// The device to compare: cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cuda", requires = "conformance")]
    device: String,
    /// Compare only the operators and models whose name contains this text
    #[arg(long, value_name = "TEXT", requires = "conformance")]
    only: Option<String>,
    /// Compare only part K of N, so that several processes can share the work
    #[arg(long, value_name = "K/N", requires = "conformance")]
    shard: Option<Shard>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    version: &'static str,
    #[serde(flatten)]
    machine: &'a Machine,
    /// What this build can use.
    build: Build,
}

#[derive(Serialize)]
struct Build {
    cpu: bool,
    cuda: bool,
    mpi: bool,
}

const BUILD: Build = Build { cpu: true, cuda: true, mpi: cfg!(feature = "mpi") };

/// The width of the columns before the text of a row.
const BESIDE: usize = 20;

/// The report.
pub(crate) fn run(args: &DoctorArgs) -> Result<String, Failure> {
    if args.conformance {
        let only = args.only.clone().unwrap_or_default();
        let chosen = Chosen { only, shard: args.shard.unwrap_or_default() };
        return conformance::run(&args.device, &chosen, args.json);
    }
    let machine = Machine::look();
    let version = env!("CARGO_PKG_VERSION");
    if args.json {
        document(&Document { schema: 1, version, machine: &machine, build: BUILD })
    } else {
        Ok(render(&machine, version, Style::stdout()))
    }
}

fn render(machine: &Machine, version: &str, style: Style) -> String {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Left)]);
    let mut row = |name: &str, state: Option<bool>, says: String| {
        let mark = match state {
            Some(true) => style.green("✓"),
            Some(false) => style.yellow("–"),
            None => " ".into(),
        };
        table.row([style.dim(name), mark, says]);
    };
    row("system", None, system(machine));
    row("processor", Some(true), processor(&machine.cpu));
    row("vector units", None, vector_units(&machine.cpu));
    row(
        "kernels",
        None,
        format!("{} (ZOETROPE_SIMD=scalar|avx2|avx512 asks for less)", machine.cpu.kernels),
    );
    row("memory", Some(true), memory(&machine.memory));
    for disk in &machine.disk {
        let space = format!("{} free of {}", bytes(disk.available), bytes(disk.total));
        row("disk", Some(disk.available > 1 << 30), format!("{space} ({})", disk.roles.join(", ")));
    }
    row("GPU", Some(!machine.gpu.installed.is_empty()), gpu(&machine.gpu));
    for library in &machine.libraries {
        let says = match &library.path {
            Some(path) => path.display().to_string(),
            None => format!("not found (for {})", library.purpose),
        };
        row(library.name, Some(library.path.is_some()), says);
    }
    let (ready, says) = cuda(&machine.cuda);
    for (at, line) in wrap(&says, WIDTH - BESIDE).into_iter().enumerate() {
        match at {
            0 => row("--device cuda", Some(ready), line),
            _ => row("", None, line),
        }
    }
    for line in machine.cuda.kernel_cache_note.iter().flat_map(|note| wrap(note, WIDTH - BESIDE)) {
        row("kernel cache", Some(false), line);
    }
    let says = match &machine.cuda.profiler {
        Some(file) => file.clone(),
        None => "not found (optional: for traces that do not slow the GPU down)".into(),
    };
    row("CUPTI", Some(machine.cuda.profiler.is_some()), says);
    let says = match &machine.cuda.link {
        Some(nccl) => format!("ready: NCCL {} ({})", nccl.version, nccl.file),
        None => {
            "no NCCL (optional: without it ranks send rows between GPUs through the host)".into()
        }
    };
    row("GPU to GPU", Some(machine.cuda.link.is_some()), says);
    row("MPI launcher", Some(machine.mpi.launcher.is_some()), launcher(&machine.mpi));
    let (ready, says) = mpi(&machine.mpi);
    for (at, line) in wrap(&says, WIDTH - BESIDE).into_iter().enumerate() {
        match at {
            0 => row("MPI", Some(ready), line),
            _ => row("", None, line),
        }
    }
    let heading = style.bold(&format!("zoetrope {version}"));
    let notes = if BUILD.mpi {
        "Ranks are threads (train --ranks N) or processes (mpirun -n N zoetrope train)."
    } else {
        "Ranks are threads (train --ranks N); processes of an MPI job need a build with it."
    };
    format!("{heading}\n{}\n{}\n", table.render(style), style.dim(notes))
}

fn system(machine: &Machine) -> String {
    let system = &machine.system;
    let release = system.release.as_deref().map(|release| format!(" {release}"));
    format!("{}{}, {}", system.os, release.unwrap_or_default(), system.arch)
}

fn processor(cpu: &Processor) -> String {
    let mut says = cpu.model.clone().unwrap_or_else(|| "unknown model".into());
    says.push_str(&format!(", {}", plural(cpu.threads as u64, "thread")));
    if let Some(cores) = cpu.cores {
        says.push_str(&format!(" on {}", plural(cores as u64, "core")));
    }
    if let Some(quota) = cpu.quota {
        says.push_str(&format!(", control group grants {quota:.1}"));
    }
    says
}

fn vector_units(cpu: &Processor) -> String {
    let present: Vec<&str> =
        cpu.features.iter().filter(|feature| feature.present).map(|feature| feature.name).collect();
    if present.is_empty() { "none known".into() } else { present.join(" ") }
}

fn memory(memory: &Memory) -> String {
    let size = |size: Option<u64>| size.map_or_else(|| "unknown".into(), bytes);
    let mut says = format!("{} available of {}", size(memory.available), size(memory.total));
    if let Some(limit) = memory.group_limit {
        says.push_str(&format!(", control group allows {}", bytes(limit)));
    }
    if let Some(limit) = memory.address_limit {
        says.push_str(&format!(", ulimit allows {}", bytes(limit)));
    }
    says
}

fn gpu(gpu: &Gpu) -> String {
    if gpu.installed.is_empty() {
        return match (gpu.device_files, &gpu.driver) {
            (0, None) => "none found".into(),
            (files, driver) => format!(
                "{}, driver {}, but no GPU answers",
                plural(files as u64, "device file"),
                driver.as_deref().unwrap_or("unknown")
            ),
        };
    }
    let installed: Vec<String> = gpu
        .installed
        .iter()
        .map(|gpu| match gpu.memory_bytes {
            Some(size) => format!("{} with {}", gpu.name, bytes(size)),
            None => gpu.name.clone(),
        })
        .collect();
    let driver = gpu.driver.as_deref().map(|driver| format!(", driver {driver}"));
    format!("{}{}", installed.join(", "), driver.unwrap_or_default())
}

fn cuda(cuda: &Cuda) -> (bool, String) {
    match (&cuda.problem, cuda.devices.is_empty()) {
        (Some(problem), _) => (false, problem.clone()),
        (None, true) => (false, "the driver answers, but finds no GPU".into()),
        (None, false) => {
            let one = |device: &CudaDevice| {
                let CudaDevice { name, compute, memory_bytes } = device;
                format!("{name} (compute {compute}, {})", bytes(*memory_bytes))
            };
            let devices: Vec<String> = cuda.devices.iter().map(one).collect();
            (true, format!("ready: {}", devices.join(", ")))
        }
    }
}

fn mpi(mpi: &Mpi) -> (bool, String) {
    if !BUILD.mpi {
        let advice = "cargo build --release --features mpi";
        return (false, format!("not in this build ({advice})"));
    }
    match (&mpi.library, &mpi.problem) {
        (Some(library), _) => (true, format!("ready: {library}")),
        (None, problem) => {
            (false, format!("no library ({})", problem.as_deref().unwrap_or("none was tried")))
        }
    }
}

fn launcher(mpi: &Mpi) -> String {
    match (&mpi.launcher, &mpi.version) {
        (Some(launcher), Some(version)) => format!("{version} ({})", launcher.display()),
        (Some(launcher), None) => format!("{}, version unknown", launcher.display()),
        (None, _) => "no mpirun on the path".into(),
    }
}
