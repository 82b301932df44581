//! How ranks exchange GPU data: from GPU to GPU, or by way of the host.

use zoetrope_config::{Config, PlannedRanks};
use zoetrope_dist::Ranks;
use zoetrope_plan::{FramePlan, Transport};
use zoetrope_run::DeviceTransport;
use zoetrope_tensor::Device;

use crate::error::TrainError;

/// What was asked for: by a saved plan, or by the configuration.
fn asked(config: &Config, given: Option<&FramePlan>) -> Option<Transport> {
    let planned = given.and_then(|plan| plan.gpu.and_then(|gpu| gpu.transport));
    planned.or_else(|| wished(config))
}

/// Links the GPUs of ranks with each other, unless rows are to go by way of the host. All ranks call it, and
/// all get the same: why they are not linked, if they are not.
///
/// # Errors
/// If NCCL is asked for although ranks compute on processors; if a rank is lost.
pub(crate) fn link(
    config: &Config,
    given: Option<&FramePlan>,
    device: &Device,
    ranks: &Ranks,
) -> Result<Result<(), String>, TrainError> {
    let asked = asked(config, given);
    let Some(gpu) = device.gpu() else {
        let why = "ranks compute on processors".to_owned();
        return match asked {
            Some(Transport::Nccl) => Err(not_linked(&why)),
            _ => Ok(Err(why)),
        };
    };
    if asked == Some(Transport::Host) {
        return Ok(Err("as asked".to_owned()));
    }
    Ok(ranks.link_gpus(gpu)?.map_err(|reason| reason.to_string()))
}

/// The way that a plan takes, for the summary; None if ranks compute on processors, or there is one.
///
/// # Errors
/// If a plan says NCCL and GPUs are not linked.
pub(crate) fn declare(
    config: &Config,
    plan: &FramePlan,
    linked: &Result<(), String>,
) -> Result<Option<DeviceTransport>, TrainError> {
    let Some(transport) = plan.gpu.and_then(|gpu| gpu.transport) else { return Ok(None) };
    let asked = asked(config, None) == Some(transport);
    let (name, reason) = match (transport, linked) {
        (Transport::Nccl, Ok(())) if asked => ("nccl", "as asked"),
        (Transport::Nccl, Ok(())) => ("nccl", "every rank has a GPU of its own"),
        (Transport::Nccl, Err(why)) => return Err(not_linked(why)),
        (Transport::Host, Err(why)) => ("host", why.as_str()),
        (Transport::Host, Ok(())) => ("host", "as planned"),
    };
    Ok(Some(DeviceTransport { name: name.to_owned(), reason: reason.to_owned() }))
}

fn not_linked(why: &str) -> TrainError {
    TrainError::Unavailable {
        what: format!("plan.device_transport = \"nccl\" ({why})"),
        advice: "leave it out to go by way of the host".to_owned(),
    }
}

/// How what ranks have on GPUs is asked to go from one to the other.
fn wished(config: &Config) -> Option<Transport> {
    let rule = zoetrope_plan::FrameRule { frame: None, stride: 1, truncate: None };
    config.wishes(PlannedRanks::ALONE, rule, false).transport
}
