//! A point in time as a user types it.

use zoetrope_graph::{Time, TimeScale};

use crate::table::timestamp::{iso, rescale};

/// A whole number of the data's own ticks, or, where ticks are Unix time, a date such as
/// `2013-12-31` or `2013-12-31 16:39:18`.
///
/// ```
/// # use zoetrope_data::parse_time;
/// # use zoetrope_graph::TimeScale;
/// assert_eq!(parse_time("86400", TimeScale::SECONDS), Some(86_400));
/// assert_eq!(parse_time("1970-01-02", TimeScale::UNIX_SECONDS), Some(86_400));
/// assert_eq!(parse_time("1970-01-02", TimeScale::SECONDS), None);
/// ```
pub fn parse_time(text: &str, scale: TimeScale) -> Option<Time> {
    let text = text.trim();
    if let Ok(ticks) = text.parse() {
        return Some(ticks);
    }
    let per_second = scale.unit.ticks_per_second().filter(|_| scale.unix)?;
    let stamp = iso(text.as_bytes())?;
    rescale(stamp.ticks, stamp.digits, per_second.ilog10() as u8)
}
