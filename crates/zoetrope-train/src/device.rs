//! The device that a configuration names, ready to compute.

use zoetrope_tensor::cuda::{self, Queue};
use zoetrope_tensor::{Device, Gpu};

use crate::config::{self, Config, Precision};
use crate::error::TrainError;
use crate::run::Timeline;

/// Opens the device, with the precision and the memory that the configuration allows.
///
/// # Errors
/// [`TrainError::Device`] where it, its driver or a library is missing.
pub(crate) fn open(config: &Config, timeline: &Timeline) -> Result<Device, TrainError> {
    let config::Device::Cuda(number) = config.train.device else { return Ok(Device::Cpu) };
    let gpu = Gpu::open(number as usize)?;
    gpu.set_precision(match config.train.precision {
        Precision::F32 => cuda::Precision::F32,
        Precision::Tf32 => cuda::Precision::Tf32,
        Precision::Bf16 => cuda::Precision::Bf16,
    });
    if let Some(limit) = config.plan.memory_limit {
        gpu.limit_memory(limit.0 as usize);
    }
    if timeline.is_traced() {
        timeline.follow(gpu.start_trace());
    }
    Ok(Device::Cuda(gpu))
}

/// Moves what a card did since the last time into the trace.
pub(crate) fn show(device: &Device, timeline: &Timeline) {
    let Some(gpu) = device.gpu().filter(|gpu| gpu.is_traced()) else { return };
    for span in gpu.take_trace() {
        let copies = span.queue == Queue::Copy;
        timeline.add_device_span(span.name, copies, span.start, span.seconds);
    }
}
