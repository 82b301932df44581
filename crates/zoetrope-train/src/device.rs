//! The device that a configuration names, ready to compute.

use zoetrope_config::Config;
use zoetrope_dist::Ranks;
use zoetrope_plan::Precision;
use zoetrope_run::Timeline;
use zoetrope_tensor::cuda::{self, CudaError, Queue, TraceStart};
use zoetrope_tensor::{Device, Gpu};

use crate::error::TrainError;

/// Opens the device, with the memory that the configuration allows.
///
/// # Errors
/// [`TrainError::Device`] if it, its driver or a library is missing.
pub(crate) fn open(
    config: &Config,
    timeline: &Timeline,
    ranks: Option<&Ranks>,
) -> Result<Device, TrainError> {
    let zoetrope_config::Device::Cuda(number) = config.train.device else { return Ok(Device::Cpu) };
    let gpu = match ranks {
        None => Gpu::open(number as usize)?,
        // One GPU after the other; ranks share them if there are fewer.
        Some(ranks) => {
            let gpus = cuda::devices()?.len().max(1);
            Gpu::open((number as usize + local_rank(ranks)) % gpus)?
        }
    };
    if let Some(limit) = config.memory_limit() {
        gpu.limit_memory(limit as usize);
    }
    if timeline.is_traced() {
        let TraceStart { zero, fallback, end } = gpu.start_trace();
        timeline.follow(zero, end);
        tell(&gpu, timeline, fallback);
    }
    Ok(Device::Cuda(gpu))
}

/// From now on dense products of a GPU round as a plan says.
pub(crate) fn obey(device: &Device, precision: Option<Precision>) {
    if let (Some(gpu), Some(precision)) = (device.gpu(), precision) {
        gpu.set_precision(match precision {
            Precision::F32 => cuda::Precision::F32,
            Precision::Tf32 => cuda::Precision::Tf32,
            Precision::Bf16 => cuda::Precision::Bf16,
        });
    }
}

/// The number of a rank among those of its machine, as the launcher tells; among all if it does not.
fn local_rank(ranks: &Ranks) -> usize {
    let told = ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"];
    let told = told.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    told.filter(|_| ranks.engine() != "threads").unwrap_or(ranks.rank())
}

/// Moves what a GPU did since the last time into the trace.
pub(crate) fn show(device: &Device, timeline: &Timeline) {
    let Some(gpu) = device.gpu().filter(|gpu| gpu.trace_source().is_some()) else { return };
    match gpu.take_trace() {
        Ok(spans) => {
            for span in spans {
                let copies = span.queue == Queue::Copy;
                timeline.add_device_span(span.name, copies, span.start, span.seconds);
            }
        }
        Err(problem) => tell(gpu, timeline, Some(problem)),
    }
}

/// Says in the trace who measures it, and to the user why it is not the profiler.
fn tell(gpu: &Gpu, timeline: &Timeline, problem: Option<CudaError>) {
    let Some(source) = gpu.trace_source() else { return };
    timeline.name_source(source.name());
    if let Some(problem) = problem {
        timeline.remark(format!(
            "the trace is kept by {}, which slows launches and keeps updates from being recorded: {problem}",
            source.name()
        ));
    }
}
