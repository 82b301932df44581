//! Numbers from text: cursor parsers for the fast path, whole-field parsers for the rest.
//!
//! The cursor parsers accept only the plain forms that almost every row consists of and give up
//! (`None`) on anything else; the caller then takes the slow path, which accepts all forms and
//! explains what is wrong. Both round identically, so which one read a field cannot be seen.

/// 10^0 … 10^8; single precision holds powers up to 10^10 exactly.
const EXACT_POWERS: [f32; 9] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];

/// 10^0 … 10^8.
const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Digits from `bytes[at..]`: the value and the position behind it. At most 15 digits; longer
/// numbers take the slow path.
#[inline(always)]
pub(crate) fn unsigned_at(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (first, digits) = eight_digits(bytes, at)?;
    if digits < 8 {
        return (digits != 0).then_some((first, at + digits));
    }
    let (second, more) = eight_digits(bytes, at + 8)?;
    (more < 8).then(|| (first * POWERS[more] + second, at + 8 + more))
}

/// Up to eight digits at once: how many there are and their value. Eight bytes are one 64-bit
/// word, so there is no branch per digit to mispredict.
#[inline(always)]
fn eight_digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let Some(word) = bytes.get(at..at + 8) else { return few_digits(bytes, at) };
    let word = u64::from_le_bytes(word.try_into().ok()?) ^ 0x3030_3030_3030_3030;
    // The high bit of a byte of `other` is set if that byte is not 0..=9.
    let other = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let digits = (other.trailing_zeros() / 8) as usize;
    if digits == 0 {
        return Some((0, 0));
    }
    // Leading zeros take the place of the missing digits; then neighbours are joined into
    // pairs, fours and eight.
    let word = word << (64 - 8 * digits);
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some((low.wrapping_add(high) >> 32, digits))
}

/// The same near the end of the bytes.
#[cold]
fn few_digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let rest = bytes.get(at..)?;
    let digits = rest.iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
    let value = rest[..digits].iter().fold(0, |value, byte| value * 10 + u64::from(byte - b'0'));
    Some((value, digits))
}

/// A decimal that single precision represents with one exact division (Clinger's fast path), or
/// anything else through the full parser.
#[inline(always)]
pub(crate) fn float_at(bytes: &[u8], at: usize) -> Option<(f32, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    let (whole, whole_digits) = eight_digits(bytes, start)?;
    let mut mantissa = whole;
    let mut end = start + whole_digits;
    let mut fraction_digits = 0;
    if bytes.get(end) == Some(&b'.') {
        let (fraction, digits) = eight_digits(bytes, end + 1)?;
        mantissa = whole * POWERS[digits] + fraction;
        fraction_digits = digits;
        end += 1 + digits;
    }
    let plain = whole_digits < 8
        && fraction_digits < 8
        && whole_digits + fraction_digits != 0
        && mantissa <= 1 << 24
        && !matches!(bytes.get(end), Some(b'e' | b'E'));
    if !plain {
        return any_float_at(bytes, at);
    }
    let value = mantissa as f32 / EXACT_POWERS[fraction_digits];
    Some((if negative { -value } else { value }, end))
}

/// Any spelling of a finite number.
#[inline(never)]
fn any_float_at(bytes: &[u8], at: usize) -> Option<(f32, usize)> {
    let (value, length) = fast_float2::parse_partial::<f32, _>(&bytes[at..]).ok()?;
    (length > 0 && value.is_finite()).then_some((value, at + length))
}

/// A whole field as an integer; an integral float such as `12.0` counts.
pub(crate) fn integer(field: &[u8]) -> Option<i64> {
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let whole = match digits.iter().position(|&byte| byte == b'.') {
        Some(point) if digits[point + 1..].iter().all(|&byte| byte == b'0') => &digits[..point],
        Some(_) => return None,
        None => digits,
    };
    if whole.is_empty() || whole.len() > 20 {
        return None;
    }
    let mut value = 0i128;
    for &byte in whole {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i128::from(digit);
    }
    i64::try_from(if negative { -value } else { value }).ok()
}

/// Whether fields name vertices by whole numbers, although some are written as decimals: pandas writes `12.0`
/// in a column of integers that lacks a value.
pub(crate) fn are_whole<'a>(fields: impl IntoIterator<Item = &'a str>) -> bool {
    let mut present =
        fields.into_iter().map(str::as_bytes).filter(|field| !is_missing(field)).peekable();
    present.peek().is_some() && present.all(|field| integer(field).is_some())
}

/// A whole field as a float; the usual spellings of infinity and NaN count.
pub(crate) fn float(field: &[u8]) -> Option<f32> {
    fast_float2::parse::<f32, _>(field).ok()
}

/// Whether a field says that there is no value.
pub(crate) fn is_missing(field: &[u8]) -> bool {
    matches!(
        field,
        b"" | b"NA" | b"N/A" | b"null" | b"NULL" | b"None" | b"nan" | b"NaN" | b"NAN" | b"\\N"
    )
}

/// Whether a field is a number with zeros in front, such as `007`: a name, as `7` is another one.
pub(crate) fn is_padded(field: &[u8]) -> bool {
    field.len() > 1 && field[0] == b'0' && field.iter().all(u8::is_ascii_digit)
}

/// A number with a decimal comma, and perhaps points between thousands, with a decimal point:
/// `1.234,5` is 1234.5. `None` if the field has no comma or is no such number.
pub(crate) fn with_point(field: &[u8]) -> Option<Vec<u8>> {
    let comma = field.iter().position(|&byte| byte == b',')?;
    let (whole, fraction) = (&field[..comma], &field[comma + 1..]);
    let unsigned = whole.strip_prefix(b"-").unwrap_or(whole);
    let mut groups = unsigned.split(|&byte| byte == b'.');
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let first = groups.next().is_some_and(digits);
    let grouped = groups.all(|group| group.len() == 3 && digits(group));
    (first && grouped && digits(fraction)).then(|| {
        let whole = whole.iter().copied().filter(|&byte| byte != b'.');
        whole.chain(*b".").chain(fraction.iter().copied()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn integers_take_signs_and_integral_floats() {
        assert_eq!(integer(b"12"), Some(12));
        assert_eq!(integer(b"-12"), Some(-12));
        assert_eq!(integer(b"+12.00"), Some(12));
        assert_eq!(integer(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(integer(b"-9223372036854775808"), Some(i64::MIN));
        for bad in [&b"9223372036854775808"[..], b"12.5", b"", b"-", b"1e3", b"0x10", b"."] {
            assert_eq!(integer(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn decimal_commas_become_points_and_zeros_in_front_are_seen() {
        assert_eq!(with_point(b"41,66").unwrap(), b"41.66");
        assert_eq!(with_point(b"-1.234,5").unwrap(), b"-1234.5");
        for bad in [&b"41"[..], b"1,2,3", b"1.5,2", b",5", b"5,", b"a,1", b"12.34,5"] {
            assert_eq!(with_point(bad), None, "{}", String::from_utf8_lossy(bad));
        }
        assert!(is_padded(b"007") && is_padded(b"00"));
        assert!(!is_padded(b"0") && !is_padded(b"70") && !is_padded(b"0.5") && !is_padded(b"0x1"));
    }

    proptest! {
        #[test]
        fn the_cursor_reads_integers_of_every_length(value in 0u64..1_000_000_000_000_000, tail in "[,\n][0-9a-z]{0,9}") {
            let text = format!("{value}{tail}");
            let length = value.to_string().len();
            prop_assert_eq!(unsigned_at(text.as_bytes(), 0), Some((value, length)));
            prop_assert_eq!(unsigned_at(&text.as_bytes()[..length], 0), Some((value, length)));
        }

        #[test]
        fn the_cursor_rounds_floats_as_the_standard_library_does(
            whole in 0u64..1_000_000_000_000, fraction in "[0-9]{0,12}", negative: bool,
        ) {
            let sign = if negative { "-" } else { "" };
            let text = format!("{sign}{whole}.{fraction}");
            let (value, end) = float_at(text.as_bytes(), 0).unwrap();
            prop_assert_eq!(end, text.len());
            prop_assert_eq!(value.to_bits(), text.parse::<f32>().unwrap().to_bits());
        }

        #[test]
        fn the_cursor_reads_what_display_writes(value: f32) {
            prop_assume!(value.is_finite());
            let text = format!("{value:e},");
            let (read, end) = float_at(text.as_bytes(), 0).unwrap();
            prop_assert_eq!(end, text.len() - 1);
            prop_assert_eq!(read.to_bits(), value.to_bits());
        }
    }
}
