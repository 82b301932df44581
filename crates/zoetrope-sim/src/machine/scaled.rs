//! The same machine with a part of it faster or slower: what a choice depends on.

use super::{Link, Machine};

/// A part of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What computes, with its memory.
    Devices,
    /// The rate of all links.
    LinkRates,
    /// What a message takes whatever its length.
    Latencies,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Devices, Self::LinkRates, Self::Latencies];

    /// What it is called in a sentence about how fast it is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Devices => "devices",
            Self::LinkRates => "links",
            Self::Latencies => "messages, whatever their length,",
        }
    }
}

impl Machine {
    /// The machine with a part `factor` times as fast.
    pub fn scaled(&self, part: Part, factor: f64) -> Self {
        let mut machine = self.clone();
        match part {
            Part::Devices => {
                let device = &mut machine.device;
                device.memory_bytes_per_second *= factor;
                device.flops_per_second *= factor;
                device.launch_seconds /= factor;
                machine.host_bytes_per_second *= factor;
                if let Some(measured) = &mut machine.calibration {
                    measured.pair_seconds = measured.pair_seconds.map(|seconds| seconds / factor);
                    let curves = measured.optimiser.iter_mut();
                    curves.for_each(|one| one.is.iter_mut().for_each(|is| *is /= factor));
                }
            }
            Part::LinkRates => machine.links(|link| link.bytes_per_second *= factor),
            Part::Latencies => machine.links(|link| {
                link.latency_seconds /= factor;
                link.gap_seconds /= factor;
            }),
        }
        if part != Part::Devices
            && let Some(messages) =
                machine.calibration.as_mut().and_then(|all| all.messages.as_mut())
        {
            // The shortest message is all latency.
            for curve in [&mut messages.all_to_all, &mut messages.all_reduce] {
                let latency = curve.is.first().copied().unwrap_or(0.0);
                let scaled = |is: f64| match part {
                    Part::LinkRates => latency + (is - latency) / factor,
                    _ => (is - latency) + latency / factor,
                };
                curve.is.iter_mut().for_each(|is| *is = scaled(*is).max(1e-12));
            }
        }
        machine
    }

    fn links(&mut self, change: impl Fn(&mut Link)) {
        let all = self.copy.iter_mut().chain([&mut self.inside]).chain(&mut self.between);
        all.for_each(change);
    }
}
