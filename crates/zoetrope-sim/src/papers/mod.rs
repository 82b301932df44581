//! What papers print, to be put beside what the simulator finds.
//!
//! Values stand in files with their tables and sections, apart from the code. Nothing here simulates.

pub mod esdg;

/// The ranks after which more of them no longer help: the first whose time is not at least a twentieth above that of
/// the next entry. The last ones if all help.
///
/// # Panics
/// If there is no entry.
pub fn knee(times: &[(usize, f64)]) -> usize {
    let stops = times.windows(2).find(|pair| pair[1].1 > pair[0].1 / HELPS);
    stops.map_or_else(|| times.last().expect("at least one entry").0, |pair| pair[0].0)
}

/// More ranks help if they are so many times as fast.
const HELPS: f64 = 1.05;

/// Whether two numbers of ranks are within one doubling of each other.
pub fn within_a_doubling(one: usize, other: usize) -> bool {
    one <= 2 * other && other <= 2 * one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knee_is_where_time_stops_falling() {
        assert_eq!(knee(&[(1, 8.0), (2, 4.0), (4, 3.9), (8, 1.0)]), 2);
        assert_eq!(knee(&[(1, 8.0), (2, 4.0), (4, 2.0)]), 4);
        assert_eq!(knee(&[(1, 8.0), (2, 9.0)]), 1);
        assert!(within_a_doubling(8, 16) && within_a_doubling(16, 8) && !within_a_doubling(8, 32));
    }
}
