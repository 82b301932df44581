//! Amounts of memory as people read them.

use std::fmt;

/// Bytes in kB, MB or GB with one decimal, rounded up: given back as a limit, it is enough. Showing it
/// allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
        match UNITS.iter().find(|(_, unit)| self.0 >= *unit) {
            Some((name, unit)) => {
                let tenths = self.0.div_ceil(unit / 10);
                write!(f, "{}.{} {name}", tenths / 10, tenths % 10)
            }
            None => write!(f, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_up_to_a_tenth_of_their_unit() {
        let shown = |bytes| Bytes(bytes).to_string();
        assert_eq!(shown(999), "999 bytes");
        assert_eq!(shown(1_000), "1.0 kB");
        assert_eq!(shown(74_213_884), "74.3 MB");
        assert_eq!(shown(66_000_000), "66.0 MB");
        assert_eq!(shown(u64::MAX), "18446744073.8 GB");
    }
}
