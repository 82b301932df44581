//! Numbers with units, as machine files have them: `"900 GB/s"`, `"5 us"`, `"32 GiB"`.

/// A kind of quantity: its units with how many of the basic one each is.
pub(super) struct Quantity {
    /// What it is, with an example.
    pub(super) expected: &'static str,
    units: &'static [(&'static str, f64)],
}

const KIB: f64 = 1024.0;
const HOUR: f64 = 3600.0;

/// Bytes.
pub(super) const BYTES: Quantity = Quantity {
    expected: "a size with its unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), such as \"32 GiB\"",
    units: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("KiB", KIB),
        ("MiB", KIB * KIB),
        ("GiB", KIB * KIB * KIB),
        ("TiB", KIB * KIB * KIB * KIB),
    ],
};

/// Bytes a second.
pub(super) const BYTE_RATE: Quantity = Quantity {
    expected: "a rate with its unit (kB/s, MB/s, GB/s, TB/s, Mbit/s, Gbit/s), such as \"25 GB/s\"",
    units: &[
        ("kB/s", 1e3),
        ("MB/s", 1e6),
        ("GB/s", 1e9),
        ("TB/s", 1e12),
        ("Mbit/s", 1e6 / 8.0),
        ("Gbit/s", 1e9 / 8.0),
    ],
};

/// Operations a second.
pub(super) const FLOP_RATE: Quantity = Quantity {
    expected: "a rate with its unit (MFLOP/s, GFLOP/s, TFLOP/s), such as \"15.7 TFLOP/s\"",
    units: &[("MFLOP/s", 1e6), ("GFLOP/s", 1e9), ("TFLOP/s", 1e12)],
};

/// Seconds.
pub(super) const TIME: Quantity = Quantity {
    expected: "a time with its unit (ns, us, ms, s, min, h, d), such as \"5 us\"",
    units: &[
        ("ns", 1e-9),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", HOUR),
        ("d", 24.0 * HOUR),
    ],
};

impl Quantity {
    /// The text in the basic unit, if it is a finite number with one of the units.
    pub(super) fn read(&self, text: &str) -> Option<f64> {
        let text = text.trim();
        let number = text.trim_end_matches(|letter: char| letter.is_alphabetic() || letter == '/');
        let unit = text[number.len()..].trim();
        let factor = self.units.iter().find(|(name, _)| *name == unit)?.1;
        let value = number.trim().parse::<f64>().ok()? * factor;
        value.is_finite().then_some(value)
    }
}
