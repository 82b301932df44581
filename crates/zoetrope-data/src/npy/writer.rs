//! Writing arrays as `.npy`, version 1, little-endian, C order.

use std::io::{self, Write};

/// A number that an array may hold.
pub trait NpyElement: Copy {
    /// NumPy's name of the type.
    const DESCR: &'static str;

    /// Appends the little-endian bytes.
    fn append_to(self, bytes: &mut Vec<u8>);
}

macro_rules! element {
    ($type:ty, $descr:literal) => {
        impl NpyElement for $type {
            const DESCR: &'static str = $descr;

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

element!(u8, "|u1");
element!(i32, "<i4");
element!(u32, "<u4");
element!(u64, "<u8");
element!(i64, "<i8");
element!(f32, "<f4");
element!(f64, "<f8");

/// Writes one array; `values` in C order.
///
/// # Errors
/// If the stream refuses bytes.
///
/// # Panics
/// If `values` does not have as many elements as `shape` says.
pub fn write_npy<T: NpyElement>(
    out: &mut impl Write,
    shape: &[usize],
    values: &[T],
) -> io::Result<()> {
    write_npy_parts(out, shape, &[values])
}

/// As [`write_npy`], for values that come in several slices.
///
/// # Errors
/// If the stream refuses bytes.
///
/// # Panics
/// If `parts` do not have as many elements together as `shape` says.
pub fn write_npy_parts<T: NpyElement>(
    out: &mut impl Write,
    shape: &[usize],
    parts: &[&[T]],
) -> io::Result<()> {
    let elements: usize = parts.iter().map(|part| part.len()).sum();
    assert_eq!(shape.iter().product::<usize>(), elements, "shape {shape:?}");
    out.write_all(&header(T::DESCR, shape))?;
    let mut bytes = Vec::with_capacity(64 << 10);
    for chunk in parts.iter().flat_map(|part| part.chunks(8 << 10)) {
        bytes.clear();
        for &value in chunk {
            value.append_to(&mut bytes);
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Magic number, version and dictionary, padded so that the elements start at a multiple of 64.
fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let lengths: Vec<String> = shape.iter().map(|length| format!("{length},")).collect();
    let shape = match lengths.as_slice() {
        [one] => format!("({one})"),
        several => format!("({})", several.join(" ").trim_end_matches(',')),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}
