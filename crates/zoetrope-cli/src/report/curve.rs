//! A series of numbers as a small curve, for terminals.

use crate::terminal::Style;

const WIDTH: usize = 60;
const HEIGHT: usize = 8;

/// The curve with its largest and smallest value beside it; empty if there is nothing to draw.
pub(crate) fn curve(style: Style, name: &str, values: &[f64]) -> String {
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    if finite.len() < 2 {
        return String::new();
    }
    let (low, high) = finite
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    let columns = WIDTH.min(2 * finite.len());
    // Braille: two dots across and four down in each character.
    let (dots_across, dots_down) = (2 * columns, 4 * HEIGHT);
    let mut cells = vec![[0u8; WIDTH]; HEIGHT];
    for x in 0..dots_across {
        let at = x as f64 / (dots_across - 1) as f64 * (finite.len() - 1) as f64;
        let (left, share) = (at.floor() as usize, at.fract());
        let right = (left + 1).min(finite.len() - 1);
        let value = finite[left] * (1.0 - share) + finite[right] * share;
        let height = if high > low { (high - value) / (high - low) } else { 0.5 };
        let y = (height * (dots_down - 1) as f64).round() as usize;
        cells[y / 4][x / 2] |= dot(x % 2, y % 4);
    }
    let labels = [super::training::short(high), super::training::short(low)];
    let width = labels.iter().map(String::len).max().unwrap_or(0);
    let mut text = format!("{}\n", style.bold(name));
    for (row, line) in cells.iter().enumerate() {
        let label = match row {
            0 => &labels[0],
            _ if row + 1 == HEIGHT => &labels[1],
            _ => "",
        };
        let dots: String = line[..columns]
            .iter()
            .map(|&bits| char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' '))
            .collect();
        text.push_str(&format!("  {label:>width$} │{}\n", style.blue(dots.trim_end_matches('⠀'))));
    }
    let end = format!("epoch {}", values.len());
    text.push_str(&format!(
        "  {:>width$} └1{:>room$}\n",
        "",
        end,
        room = columns.saturating_sub(1)
    ));
    text
}

/// The bit of a braille character for a dot at a column and a row.
fn dot(x: usize, y: usize) -> u8 {
    match (x, y) {
        (_, 3) => 0x40 << x,
        (0, y) => 1 << y,
        (_, y) => 8 << y,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_series_starts_high_and_ends_low() {
        let values: Vec<f64> = (0..20).map(|x| 1.0 / (1.0 + f64::from(x))).collect();
        let text = curve(Style::PLAIN, "loss", &values);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 2);
        assert!(lines[1].contains("1.0000") && lines[HEIGHT].contains("0.0500"), "{text}");
        assert!(lines[1].chars().any(|c| c > '\u{2800}'), "{text}");
        assert!(lines[9].ends_with("epoch 20"), "{text}");
    }

    #[test]
    fn a_single_epoch_draws_nothing() {
        assert_eq!(curve(Style::PLAIN, "loss", &[1.0]), "");
        assert_eq!(curve(Style::PLAIN, "loss", &[f64::NAN, 1.0]), "");
    }
}
