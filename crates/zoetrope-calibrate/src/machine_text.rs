//! What was measured as the text of a machine file.

use std::fmt::Write;

use zoetrope_sim::machine::Calibration;
use zoetrope_tensor::Device;

use crate::copies::MeasuredLink;
use crate::host;

/// What was measured.
pub(crate) struct Measured<'m> {
    pub(crate) device: &'m Device,
    pub(crate) threads: usize,
    pub(crate) memory: f64,
    pub(crate) host_memory: f64,
    pub(crate) compute: f64,
    pub(crate) copy: Option<MeasuredLink>,
    pub(crate) checkpoint_rate: f64,
    pub(crate) calibration: &'m Calibration,
}

/// Seconds of a message between threads of a machine that has one.
const LATENCY: f64 = 5e-6;

impl Measured<'_> {
    /// The text.
    pub(crate) fn text(&self) -> String {
        let Self { device, threads, memory, host_memory, compute, checkpoint_rate, .. } = *self;
        let on_gpu = device.gpu().is_some();
        let calibration = self.calibration;
        let mut text = String::new();
        let mut line = |words: std::fmt::Arguments<'_>| {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{words}");
        };
        let quoted = |words: &str| words.replace(['"', '\\'], "'");
        line(format_args!(
            "# Measured by zoetrope calibrate; read by zoetrope sim --machine FILE."
        ));
        line(format_args!("name = \"{}\"", if on_gpu { "this-gpu" } else { "this-machine" }));
        line(format_args!(
            "source = \"measured on {} by zoetrope {}: {}\"",
            calibration.date,
            calibration.program,
            quoted(&calibration.host)
        ));
        line(format_args!("nodes = 1\ndevices = {}\n", if on_gpu { 1 } else { threads }));
        line(format_args!("[device]\nkind = \"{}\"", if on_gpu { "gpu" } else { "cpu" }));
        let bytes = host::memory(device) / if on_gpu { 1 } else { threads as u64 };
        line(format_args!("memory = \"{bytes} B\""));
        line(format_args!("memory_rate = \"{:.4} GB/s\"", memory / 1e9));
        line(format_args!("compute_rate = \"{:.4} GFLOP/s\"", compute / 1e9));
        let smallest = calibration
            .table(zoetrope_tensor::Family::Elementwise)
            .map(|table| 3.0 * 4.0 * table.rows[0] / memory / table.forward[0]);
        line(format_args!("launch = \"{:.4} us\"\n", 1e6 * smallest.unwrap_or(1e-6)));
        if !on_gpu {
            line(format_args!("[host]\nmemory_rate = \"{:.4} GB/s\"\n", host_memory / 1e9));
        }
        if let Some(copy) = self.copy {
            line(format_args!("[links.copy]\nkind = \"pcie\""));
            line(format_args!("latency = \"{:.4} us\"", copy.latency * 1e6));
            line(format_args!("rate = \"{:.4} GB/s\"\n", copy.rate / 1e9));
        }
        let (latency, rate) = match &calibration.messages {
            Some(messages) => {
                let (at, is) = (&messages.all_to_all.at, &messages.all_to_all.is);
                let (bytes, seconds) = (at[at.len() - 1], is[is.len() - 1]);
                // Two ranks sent as much at the same time.
                (is[0], 2.0 * bytes / seconds)
            }
            None => (LATENCY, host_memory / 3.0),
        };
        line(format_args!("[links.inside]\nkind = \"memory\""));
        line(format_args!("latency = \"{:.4} us\"", latency * 1e6));
        line(format_args!("rate = \"{:.4} GB/s\"\nshared = true\n", rate / 1e9));
        line(format_args!("[collectives]\nall_reduce = \"direct\""));
        line(format_args!("\n[storage]\ncheckpoint_rate = \"{:.4} GB/s\"", checkpoint_rate / 1e9));
        text + &calibration.text()
    }
}
