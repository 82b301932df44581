//! How what ranks have on cards goes from one to the other: from card to card, or by way of the host.

use zoetrope_dist::Ranks;
use zoetrope_tensor::Device;

use crate::config::{self, Config};
use crate::error::TrainError;
use crate::run::DeviceTransport;

/// Chooses the way that the configuration asks for, and links the cards where it is theirs. All ranks call
/// it, and all get the same; None where they compute on processors.
///
/// # Errors
/// [`TrainError::Unavailable`] where NCCL is asked for and cannot be had; where a rank is lost.
pub(crate) fn choose(
    config: &Config,
    device: &Device,
    ranks: &Ranks,
) -> Result<Option<DeviceTransport>, TrainError> {
    let asked = config.plan.device_transport;
    let refuse = |why: String| TrainError::Unavailable {
        what: format!("plan.device_transport = \"nccl\" ({why})"),
        advice: "leave it out to go by way of the host".to_owned(),
    };
    let by =
        |name: &str, reason: String| Ok(Some(DeviceTransport { name: name.to_owned(), reason }));
    let Some(gpu) = device.gpu() else {
        return match asked {
            config::DeviceTransport::Nccl => Err(refuse("ranks compute on processors".to_owned())),
            _ => Ok(None),
        };
    };
    if asked == config::DeviceTransport::Host {
        return by("host", "as asked".to_owned());
    }
    match (ranks.link_cards(gpu)?, asked) {
        (Ok(()), config::DeviceTransport::Nccl) => by("nccl", "as asked".to_owned()),
        (Ok(()), _) => by("nccl", "every rank has a card of its own".to_owned()),
        (Err(reason), config::DeviceTransport::Nccl) => Err(refuse(reason.to_string())),
        (Err(reason), _) => by("host", reason.to_string()),
    }
}
