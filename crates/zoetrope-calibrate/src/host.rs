//! Which machine this is, in words that stay the same as long as it does.

use zoetrope_tensor::Device;

/// Threads that this process may run at once.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The processor and how many threads it runs, and the GPU if it computes.
pub fn name(device: &Device) -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = |key: &str| {
        let lines = info.lines().filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(name, _)| name.trim() == key);
        found.next().map(|(_, value)| value.trim().to_owned())
    };
    let model = named("model name").or_else(|| named("Model"));
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let host = format!("{model}, {} threads", threads());
    match device.gpu() {
        Some(gpu) => format!("{} in {host}", gpu.name()),
        None => host,
    }
}

/// Bytes of memory of the machine, or of its GPU.
pub(crate) fn memory(device: &Device) -> u64 {
    if let Some(gpu) = device.gpu() {
        return gpu.total_bytes() as u64;
    }
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.map_or(8 << 30, |count| count * 1024)
}

/// Now, as a date of UTC.
pub(crate) fn date() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    date_of(since.map_or(0, |since| since.as_secs()))
}

/// A time, in seconds since 1970, as a date of UTC.
pub(crate) fn date_of(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant's civil_from_days, for days since 1970.
    let shifted = days as i64 + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (of_day / 3600, of_day % 3600 / 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}
