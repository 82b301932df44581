//! The machine that a run is planned for: as it was measured, or a built-in one that is like it.

use zoetrope_calibrate::kept::{self, Known};
use zoetrope_plan::strategy;
use zoetrope_sim::Machine;
use zoetrope_tensor::Device;

/// The version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// This machine if it was measured by this program, otherwise the one that is built in for its kind of device.
pub(crate) fn of(device: &Device) -> Machine {
    match kept::find(device, VERSION) {
        Known::Measured(machine) => *machine,
        Known::Not(_) => built_in(device.gpu().is_some()),
    }
}

/// The machine of a kind that was not measured.
pub(crate) fn built_in(has_gpus: bool) -> Machine {
    let name = if has_gpus { "h200" } else { "laptop" };
    Machine::named(name).expect("its text is part of the program")
}

/// Rates for strategies that are compared by their bytes.
pub(crate) fn rates(machine: &Machine) -> strategy::Machine {
    let (device, link) = (&machine.device, &machine.inside);
    // On a bus that is shared two ranks get half of it each.
    let sharers = if link.shared { 2.0 } else { 1.0 };
    strategy::Machine {
        memory_bytes_per_second: device.memory_bytes_per_second * device.elementwise_fraction,
        link_bytes_per_second: link.bytes_per_second / sharers,
        message_seconds: link.latency_seconds,
        is_measured: false,
    }
}
