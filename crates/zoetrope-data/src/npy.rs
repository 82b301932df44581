//! NumPy `.npy` arrays: safe reading, plain writing.
//!
//! Owns the element types, the streaming reader and (in submodules) the header parser and the
//! writer. Values are converted while they stream in: memory grows with the bytes that are
//! present, never with the shape that a header declares. Fortran order is turned into C order,
//! both byte orders are read.
//!
//! It never unpickles: object arrays are refused by name.

mod header;
mod writer;

use std::io::{self, Read};
use std::path::Path;

pub use header::NpyHeader;
pub use writer::{NpyElement, write_npy, write_npy_parts};

use crate::error::{DataError, Location};
use crate::options::Limits;
use crate::progress::Progress;
use crate::source::Source;

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NpyKind {
    /// True or false, one byte.
    Bool,
    /// A signed integer of 1, 2, 4 or 8 bytes.
    Int(u8),
    /// An unsigned integer of 1, 2, 4 or 8 bytes.
    UInt(u8),
    /// A floating-point number of 4 or 8 bytes.
    Float(u8),
}

impl NpyKind {
    /// The bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Int(size) | Self::UInt(size) | Self::Float(size) => size as usize,
        }
    }

    /// Whether elements are whole numbers (or truth values).
    pub fn is_integer(self) -> bool {
        !matches!(self, Self::Float(_))
    }
}

impl std::fmt::Display for NpyKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int(size) => write!(f, "int{}", size * 8),
            Self::UInt(size) => write!(f, "uint{}", size * 8),
            Self::Float(size) => write!(f, "float{}", size * 8),
        }
    }
}

/// An array whose header was read and whose elements still wait in the stream.
pub struct NpyReader<R> {
    header: NpyHeader,
    reader: R,
    at: Location,
}

impl<'a> NpyReader<Source<'a>> {
    /// Opens an `.npy` file, compressed or not.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`DataError::Io`] if the file cannot be opened.
    pub fn open(
        path: &Path,
        limits: &Limits,
        progress: &'a dyn Progress,
    ) -> Result<Self, DataError> {
        Self::new(Source::open(path, limits, progress)?, Location::file(path))
    }
}

impl<R: Read> NpyReader<R> {
    /// Reads the header; `at` names the file, and the array if the file has several.
    ///
    /// # Errors
    /// [`DataError::Invalid`] if the bytes are no array, [`DataError::Unsupported`] if the
    /// elements are not plain numbers, [`DataError::Limit`] if the header is absurdly long.
    pub fn new(mut reader: R, at: Location) -> Result<Self, DataError> {
        let header = NpyHeader::read(&mut reader, &at)?;
        Ok(Self { header, reader, at })
    }

    /// The length of each dimension, as declared: do not allocate from it.
    pub fn shape(&self) -> &[u64] {
        &self.header.shape
    }

    /// The type of the elements.
    pub fn kind(&self) -> NpyKind {
        self.header.kind
    }

    /// The number of elements, as declared: do not allocate from it.
    pub fn elements(&self) -> u64 {
        self.header.elements
    }

    /// Where the array stands, for messages.
    pub fn location(&self) -> &Location {
        &self.at
    }

    /// All elements as 32-bit floats in C order. NaN and infinities are kept.
    ///
    /// # Errors
    /// [`DataError::Invalid`] if elements are missing, bytes are left over, or a finite number
    /// is too large for 32 bits.
    pub fn read_f32(self) -> Result<Vec<f32>, DataError> {
        let expected = "a number that fits a 32-bit float";
        self.read_with(expected, |element| match element {
            Element::Int(value) => Some(value as f32),
            Element::Float(value) => {
                let narrow = value as f32;
                (narrow.is_finite() || !value.is_finite()).then_some(narrow)
            }
        })
    }

    /// All elements as 32-bit identifiers in C order.
    ///
    /// # Errors
    /// [`DataError::Invalid`] if the elements are not integers, elements are missing, bytes
    /// are left over, or a value is outside `0..2^32`.
    pub fn read_u32(self) -> Result<Vec<u32>, DataError> {
        self.expect_integers()?;
        self.read_with("an integer from 0 to 4294967295", |element| match element {
            Element::Int(value) => u32::try_from(value).ok(),
            Element::Float(_) => None,
        })
    }

    /// All elements as bytes in C order.
    ///
    /// # Errors
    /// As [`read_u32`](Self::read_u32), for values outside `0..256`.
    pub fn read_u8(self) -> Result<Vec<u8>, DataError> {
        self.expect_integers()?;
        self.read_with("an integer from 0 to 255", |element| match element {
            Element::Int(value) => u8::try_from(value).ok(),
            Element::Float(_) => None,
        })
    }

    /// All elements as unsigned 64-bit integers in C order.
    ///
    /// # Errors
    /// As [`read_u32`](Self::read_u32), for negative values.
    pub fn read_u64(self) -> Result<Vec<u64>, DataError> {
        self.expect_integers()?;
        self.read_with("an integer from 0 to 2^64 - 1", |element| match element {
            Element::Int(value) => u64::try_from(value).ok(),
            Element::Float(_) => None,
        })
    }

    /// All elements as signed 64-bit integers in C order.
    ///
    /// # Errors
    /// As [`read_u32`](Self::read_u32), for values from 2^63 on.
    pub fn read_i64(self) -> Result<Vec<i64>, DataError> {
        self.expect_integers()?;
        self.read_with("an integer below 2^63", |element| match element {
            Element::Int(value) => i64::try_from(value).ok(),
            Element::Float(_) => None,
        })
    }

    /// All elements as 64-bit floats in C order: exact but for integers beyond 2^53.
    ///
    /// # Errors
    /// [`DataError::Invalid`] if elements are missing or bytes are left over.
    pub fn read_f64(self) -> Result<Vec<f64>, DataError> {
        self.read_with("a number", |element| match element {
            Element::Int(value) => Some(value as f64),
            Element::Float(value) => Some(value),
        })
    }

    fn expect_integers(&self) -> Result<(), DataError> {
        if self.header.kind.is_integer() {
            Ok(())
        } else {
            Err(DataError::invalid(
                self.at.clone(),
                "an array of integers",
                format!("an array of {}", self.header.kind),
            ))
        }
    }

    fn read_with<T: Copy>(
        mut self,
        expected: &'static str,
        convert: impl Fn(Element) -> Option<T>,
    ) -> Result<Vec<T>, DataError> {
        let size = self.header.kind.size();
        let decode = self.header.decoder();
        let mut values = Vec::with_capacity(self.header.elements.min(1 << 16) as usize);
        let mut buffer = vec![0; 64 << 10];
        let mut left = self.header.elements;
        while left > 0 {
            let want = (left.min((buffer.len() / size) as u64) as usize) * size;
            let filled = fill(&mut self.reader, &mut buffer[..want])
                .map_err(|error| DataError::reading(&self.at.path, error))?;
            if filled < want {
                return Err(self.cut_short(values.len() + filled / size));
            }
            for bytes in buffer[..want].chunks_exact(size) {
                let element = decode(bytes);
                let value = convert(element)
                    .ok_or_else(|| self.refused(values.len(), expected, element))?;
                values.push(value);
            }
            left -= (want / size) as u64;
        }
        let mut rest = [0];
        let extra = fill(&mut self.reader, &mut rest)
            .map_err(|error| DataError::reading(&self.at.path, error))?;
        if extra > 0 {
            let end = self.header.data_start + self.header.elements * size as u64;
            let expected = format!("the end after {} elements", self.header.elements);
            return Err(DataError::invalid(self.at.byte(end), expected, "more bytes"));
        }
        Ok(if self.header.fortran { to_c_order(&self.header.shape, values) } else { values })
    }

    fn cut_short(&self, found: usize) -> DataError {
        let byte = self.header.data_start + (found * self.header.kind.size()) as u64;
        let shape = &self.header.shape;
        let expected = format!("{} elements (shape {shape:?})", self.header.elements);
        DataError::invalid(self.at.clone().byte(byte), expected, format!("{found} elements"))
    }

    fn refused(&self, index: usize, expected: &'static str, element: Element) -> DataError {
        let byte = self.header.data_start + (index * self.header.kind.size()) as u64;
        let found = match element {
            Element::Int(value) => value.to_string(),
            Element::Float(value) => value.to_string(),
        };
        DataError::invalid(self.at.clone().byte(byte), expected, found)
    }
}

/// One element in a type that holds every supported one exactly.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Element {
    Int(i128),
    Float(f64),
}

/// Reads until `buffer` is full or the stream ends; says how much it got.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reorders elements whose first index runs fastest into elements whose last one does.
///
/// `values` has exactly as many elements as `shape` says, so every dimension fits memory.
fn to_c_order<T: Copy>(shape: &[u64], values: Vec<T>) -> Vec<T> {
    if values.is_empty() || shape.iter().filter(|&&length| length > 1).count() < 2 {
        return values;
    }
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1usize;
    for &length in shape {
        strides.push(stride);
        stride *= length as usize;
    }
    let mut index = vec![0u64; shape.len()];
    let mut from = 0;
    let mut ordered = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        ordered.push(values[from]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            from += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            from -= strides[axis] * shape[axis] as usize;
            index[axis] = 0;
        }
    }
    ordered
}

#[cfg(test)]
mod tests;
