//! Horizontal bars in eighths of a character.

/// A bar for `value` of `most`, at most `width` characters long; anything above zero shows.
pub(crate) fn bar(value: f64, most: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if value.is_nan() || value <= 0.0 || most <= 0.0 {
        return String::new();
    }
    let eighths = (value / most * (width * 8) as f64).round() as usize;
    let eighths = eighths.clamp(1, width * 8);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_eighths_and_never_vanish() {
        assert_eq!(bar(10.0, 10.0, 4), "████");
        assert_eq!(bar(5.0, 10.0, 4), "██");
        assert_eq!(bar(1.0, 16.0, 2), "▏");
        assert_eq!(bar(1e-9, 10.0, 4), "▏");
        assert_eq!(bar(0.0, 10.0, 4), "");
        assert_eq!(bar(f64::NAN, 10.0, 4), "");
    }
}
