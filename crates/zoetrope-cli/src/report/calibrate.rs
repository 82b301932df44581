//! A measured machine in words.

use std::path::Path;

use zoetrope_sim::Machine;
use zoetrope_sim::machine::DeviceKind;

use super::human;
use super::table::{Align, Table};
use crate::terminal::Style;

/// The report of `zoetrope calibrate`.
pub(crate) fn render(machine: &Machine, path: &Path) -> String {
    let style = Style::stdout();
    let Some(measured) = &machine.calibration else { return String::new() };
    let device = &machine.device;
    let rate = |rate: f64| format!("{}/s", human::bytes(rate as u64));
    let mut text = format!("{} {}\n", style.bold("Measured"), measured.host);
    text.push_str(&format!("  memory {}", rate(device.memory_bytes_per_second)));
    if device.kind == DeviceKind::Cpu {
        text.push_str(&format!(
            " by one thread, {} by all {}",
            rate(machine.host_bytes_per_second),
            machine.devices
        ));
    }
    text.push_str(&format!("; {:.1} GFLOP/s\n", device.flops_per_second / 1e9));
    if let Some(copy) = &machine.copy {
        let latency = copy.latency_seconds * 1e6;
        text.push_str(&format!("  copies {}, {latency:.1} µs\n", rate(copy.bytes_per_second)));
    }
    if let Some(checkpoints) = machine.checkpoint_bytes_per_second {
        text.push_str(&format!("  checkpoints {}\n", rate(checkpoints)));
    }
    let right = |heading| (heading, Align::Right);
    let mut table = Table::new(&[
        ("part of the floor that is reached", Align::Left),
        right("points"),
        right("least"),
        right("most"),
    ]);
    for (family, found) in &measured.tables {
        let all = || found.forward.iter().chain(&found.backward);
        let least = all().copied().fold(f64::INFINITY, f64::min);
        let most = all().copied().fold(0.0, f64::max);
        table.row([
            family.name().replace('_', " "),
            found.points().to_string(),
            format!("{least:.4}"),
            format!("{most:.2}"),
        ]);
    }
    text.push_str(&format!("\n{}", table.render(style)));
    text.push_str(&format!(
        "  between these points times are within {} (three of four that were tried)\n",
        human::percent(measured.spread)
    ));
    text.push_str(&format!("  {}\n", path.display()));
    text
}
