//! The processor: model, cores, vector units, quota.

use serde::Serialize;

/// The processor.
#[derive(Debug, Serialize)]
pub(crate) struct Processor {
    /// The name that the manufacturer gave it.
    pub(crate) model: Option<String>,
    /// Threads that this process may run at once.
    pub(crate) threads: usize,
    /// Cores, if the system tells them apart from threads.
    pub(crate) cores: Option<usize>,
    /// Cores' worth of time that the control group grants.
    pub(crate) quota: Option<f64>,
    /// Vector units and whether they are there.
    pub(crate) features: Vec<Feature>,
    /// The instructions that kernels use.
    pub(crate) kernels: String,
}

/// A feature of the processor.
#[derive(Debug, Serialize)]
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    pub(crate) present: bool,
}

impl Processor {
    pub(super) fn look() -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            model: field(&info, "model name").or_else(|| field(&info, "Model")),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            cores: cores(&info),
            quota: quota(),
            features: features(),
            kernels: zoetrope_tensor::cpu::simd::level().to_string(),
        }
    }
}

fn field(info: &str, name: &str) -> Option<String> {
    info.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

/// Distinct (socket, core) pairs.
fn cores(info: &str) -> Option<usize> {
    let mut seen = std::collections::BTreeSet::new();
    for processor in info.split("\n\n") {
        if let (Some(socket), Some(core)) =
            (field(processor, "physical id"), field(processor, "core id"))
        {
            seen.insert((socket, core));
        }
    }
    (!seen.is_empty()).then_some(seen.len())
}

fn quota() -> Option<f64> {
    if let Some(line) = super::line_of("/sys/fs/cgroup/cpu.max") {
        let (quota, period) = line.split_once(' ')?;
        return Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?);
    }
    let quota: f64 = super::line_of("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")?.parse().ok()?;
    let period: f64 = super::line_of("/sys/fs/cgroup/cpu/cpu.cfs_period_us")?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn features() -> Vec<Feature> {
    use std::arch::is_x86_feature_detected as detected;
    vec![
        Feature { name: "sse4.2", present: detected!("sse4.2") },
        Feature { name: "avx2", present: detected!("avx2") },
        Feature { name: "fma", present: detected!("fma") },
        Feature { name: "f16c", present: detected!("f16c") },
        Feature { name: "avx512f", present: detected!("avx512f") },
        Feature { name: "avx512bw", present: detected!("avx512bw") },
        Feature { name: "avx512vl", present: detected!("avx512vl") },
        Feature { name: "avx512bf16", present: detected!("avx512bf16") },
    ]
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<Feature> {
    use std::arch::is_aarch64_feature_detected as detected;
    vec![
        Feature { name: "neon", present: detected!("neon") },
        Feature { name: "fp16", present: detected!("fp16") },
        Feature { name: "bf16", present: detected!("bf16") },
        Feature { name: "sve", present: detected!("sve") },
        Feature { name: "sve2", present: detected!("sve2") },
    ]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
fn features() -> Vec<Feature> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_counted_once_per_socket() {
        let info = "physical id : 0\ncore id : 0\n\nphysical id : 0\ncore id : 0\n\n\
                    physical id : 1\ncore id : 0\n";
        assert_eq!(cores(info), Some(2));
        assert_eq!(cores(""), None);
    }
}
