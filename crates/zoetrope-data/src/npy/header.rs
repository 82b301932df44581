//! The header of an array: magic number, version, and a Python dictionary of three entries.
//!
//! The dictionary is parsed by a scanner for exactly the literals that NumPy writes, not by a
//! general Python parser.

use std::io::Read;

use super::{Element, NpyKind, fill};
use crate::error::{DataError, Location};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy itself refuses headers beyond 10,000 bytes unless told otherwise.
const LONGEST_HEADER: u32 = 64 << 10;
/// The most dimensions that NumPy 2 can make.
const MOST_DIMENSIONS: usize = 64;

/// What an array's header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    /// The length of each dimension; none for a single value.
    pub shape: Vec<u64>,
    /// The type of the elements.
    pub kind: NpyKind,
    /// Whether elements are stored with their most significant byte first.
    pub big_endian: bool,
    /// Whether the first index runs fastest.
    pub fortran: bool,
    /// The product of the shape.
    pub elements: u64,
    /// Where the elements start, in bytes.
    pub data_start: u64,
}

impl NpyHeader {
    /// Reads magic number, version and dictionary.
    ///
    /// # Errors
    /// As [`NpyReader::new`](super::NpyReader::new).
    pub fn read(reader: &mut impl Read, at: &Location) -> Result<Self, DataError> {
        let mut take = |bytes: &mut [u8], what: &str, start: u64| {
            let got = fill(reader, bytes).map_err(|error| DataError::reading(&at.path, error))?;
            if got == bytes.len() {
                Ok(())
            } else {
                Err(DataError::invalid(at.clone().byte(start + got as u64), what, "the end"))
            }
        };
        let mut start = [0; 8];
        take(&mut start, "the 8 bytes that open an npy array", 0)?;
        if &start[..6] != MAGIC {
            let found = String::from_utf8_lossy(&start[..6]).into_owned();
            return Err(DataError::invalid(at.clone().byte(0), "the npy magic number", found));
        }
        let (length, fixed) = match start[6] {
            1 => {
                let mut length = [0; 2];
                take(&mut length, "the header length", 8)?;
                (u32::from(u16::from_le_bytes(length)), 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                take(&mut length, "the header length", 8)?;
                (u32::from_le_bytes(length), 12)
            }
            version => {
                let found = format!("version {version}");
                return Err(DataError::invalid(at.clone().byte(6), "npy version 1 to 3", found));
            }
        };
        if length > LONGEST_HEADER {
            return Err(DataError::Limit {
                at: at.clone().byte(8),
                what: "the length of the npy header in bytes",
                limit: u64::from(LONGEST_HEADER),
                advice: "save the array again with numpy.save",
            });
        }
        let mut text = vec![0; length as usize];
        take(&mut text, "the whole npy header", fixed)?;
        let entries = Scanner { text: &text, position: 0, at, fixed }.dictionary()?;
        entries.into_header(at, fixed + u64::from(length))
    }

    /// How to turn the bytes of one element into a value.
    pub(super) fn decoder(&self) -> fn(&[u8]) -> Element {
        fn exact<const N: usize>(bytes: &[u8]) -> [u8; N] {
            let mut array = [0; N];
            array.copy_from_slice(bytes);
            array
        }
        macro_rules! number {
            ($type:ty, $to:expr) => {
                if self.big_endian {
                    |bytes| $to(<$type>::from_be_bytes(exact(bytes)))
                } else {
                    |bytes| $to(<$type>::from_le_bytes(exact(bytes)))
                }
            };
        }
        macro_rules! integer {
            ($type:ty) => {
                number!($type, |value| Element::Int(i128::from(value)))
            };
        }
        match self.kind {
            NpyKind::Bool => |bytes| Element::Int(i128::from(bytes[0] != 0)),
            NpyKind::Int(1) => integer!(i8),
            NpyKind::Int(2) => integer!(i16),
            NpyKind::Int(4) => integer!(i32),
            NpyKind::Int(_) => integer!(i64),
            NpyKind::UInt(1) => integer!(u8),
            NpyKind::UInt(2) => integer!(u16),
            NpyKind::UInt(4) => integer!(u32),
            NpyKind::UInt(_) => integer!(u64),
            NpyKind::Float(4) => number!(f32, |value| Element::Float(f64::from(value))),
            NpyKind::Float(_) => number!(f64, Element::Float),
        }
    }
}

#[derive(Default)]
struct Entries {
    descr: Option<String>,
    fortran: Option<bool>,
    shape: Option<Vec<u64>>,
}

impl Entries {
    fn into_header(self, at: &Location, data_start: u64) -> Result<NpyHeader, DataError> {
        let missing = |key: &str| {
            DataError::invalid(at.clone().byte(10), format!("`{key}` in the header"), "no such key")
        };
        let descr = self.descr.ok_or_else(|| missing("descr"))?;
        let fortran = self.fortran.ok_or_else(|| missing("fortran_order"))?;
        let shape = self.shape.ok_or_else(|| missing("shape"))?;
        let (kind, big_endian) = element_type(&descr, at)?;
        let size = kind.size() as u64;
        // A zero among the lengths must not hide that the others overflow.
        let product = shape
            .iter()
            .try_fold(1u64, |product, &length| product.checked_mul(length.max(1)))
            .filter(|&elements| elements.checked_mul(size).is_some_and(|bytes| bytes < 1 << 62));
        let Some(product) = product else {
            let expected = "a shape whose size in bytes is below 2^62";
            return Err(DataError::invalid(at.clone().byte(10), expected, format!("{shape:?}")));
        };
        let elements = if shape.contains(&0) { 0 } else { product };
        Ok(NpyHeader { shape, kind, big_endian, fortran, elements, data_start })
    }
}

fn element_type(descr: &str, at: &Location) -> Result<(NpyKind, bool), DataError> {
    let (order, rest) = match descr.as_bytes() {
        [order @ (b'<' | b'>' | b'|' | b'='), ..] => (*order, &descr[1..]),
        _ => (b'=', descr),
    };
    let big_endian = match order {
        b'>' => true,
        b'=' => cfg!(target_endian = "big"),
        _ => false,
    };
    let kind = match rest {
        "b1" | "?" => NpyKind::Bool,
        "i1" => NpyKind::Int(1),
        "i2" => NpyKind::Int(2),
        "i4" => NpyKind::Int(4),
        "i8" => NpyKind::Int(8),
        "u1" => NpyKind::UInt(1),
        "u2" => NpyKind::UInt(2),
        "u4" => NpyKind::UInt(4),
        "u8" => NpyKind::UInt(8),
        "f4" => NpyKind::Float(4),
        "f8" => NpyKind::Float(8),
        _ if rest.starts_with('O') => {
            return Err(unsupported(
                at,
                "an array of Python objects (a pickle, which could run code)",
                "save plain numbers: array.astype(numpy.float32)",
            ));
        }
        _ => {
            let advice = "convert it to integers or floats of 4 or 8 bytes before saving";
            return Err(unsupported(at, &format!("the element type `{descr}`"), advice));
        }
    };
    Ok((kind, big_endian))
}

fn unsupported(at: &Location, what: &str, advice: &str) -> DataError {
    DataError::Unsupported {
        at: at.clone(),
        what: crate::error::shorten(what),
        advice: advice.to_owned(),
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    position: usize,
    at: &'a Location,
    fixed: u64,
}

impl Scanner<'_> {
    fn dictionary(mut self) -> Result<Entries, DataError> {
        let mut entries = Entries::default();
        self.expect(b'{')?;
        while self.peek() != Some(b'}') {
            let start = self.position;
            let key = self.string()?;
            self.expect(b':')?;
            let fresh = match key.as_str() {
                "descr" if self.peek() == Some(b'[') => {
                    let advice = "save each field as an array of its own";
                    return Err(unsupported(self.at, "an array of records", advice));
                }
                "descr" => entries.descr.replace(self.string()?).is_none(),
                "fortran_order" => entries.fortran.replace(self.truth()?).is_none(),
                "shape" => entries.shape.replace(self.tuple()?).is_none(),
                _ => false,
            };
            if !fresh {
                let expected = "each of descr, fortran_order and shape once";
                return Err(self.wrong_at(start, expected, &key));
            }
            match self.peek() {
                Some(b',') => self.position += 1,
                _ => break,
            }
        }
        self.expect(b'}')?;
        match self.peek() {
            None => Ok(entries),
            Some(_) => Err(self.wrong("nothing after the dictionary")),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.position).is_some_and(u8::is_ascii_whitespace) {
            self.position += 1;
        }
        self.text.get(self.position).copied()
    }

    fn expect(&mut self, wanted: u8) -> Result<(), DataError> {
        match self.peek() {
            Some(byte) if byte == wanted => {
                self.position += 1;
                Ok(())
            }
            _ => Err(self.wrong(&format!("`{}`", wanted as char))),
        }
    }

    fn string(&mut self) -> Result<String, DataError> {
        let quote = match self.peek() {
            Some(quote @ (b'\'' | b'"')) => quote,
            _ => return Err(self.wrong("a quoted string")),
        };
        let start = self.position + 1;
        let length = self.text[start..].iter().position(|&byte| byte == quote);
        let Some(length) = length else { return Err(self.wrong("a closing quote")) };
        self.position = start + length + 1;
        Ok(String::from_utf8_lossy(&self.text[start..start + length]).into_owned())
    }

    fn truth(&mut self) -> Result<bool, DataError> {
        self.peek();
        let rest = &self.text[self.position..];
        let (value, length) = match rest {
            _ if rest.starts_with(b"True") => (true, 4),
            _ if rest.starts_with(b"False") => (false, 5),
            _ => return Err(self.wrong("True or False")),
        };
        self.position += length;
        Ok(value)
    }

    fn tuple(&mut self) -> Result<Vec<u64>, DataError> {
        self.expect(b'(')?;
        let mut lengths = Vec::new();
        while self.peek() != Some(b')') {
            if lengths.len() == MOST_DIMENSIONS {
                return Err(self.wrong("at most 64 dimensions"));
            }
            lengths.push(self.integer()?);
            match self.peek() {
                Some(b',') => self.position += 1,
                _ => break,
            }
        }
        self.expect(b')')?;
        Ok(lengths)
    }

    fn integer(&mut self) -> Result<u64, DataError> {
        self.peek();
        let start = self.position;
        let mut value = 0u64;
        while let Some(digit) = self.text.get(self.position).filter(|byte| byte.is_ascii_digit()) {
            value = value
                .checked_mul(10)
                .and_then(|tens| tens.checked_add(u64::from(digit - b'0')))
                .ok_or_else(|| self.wrong_at(start, "a length below 2^64", "a larger one"))?;
            self.position += 1;
        }
        if self.position == start {
            return Err(self.wrong("a length of at least 0"));
        }
        // Python 2 wrote long integers with a suffix.
        if self.text.get(self.position) == Some(&b'L') {
            self.position += 1;
        }
        Ok(value)
    }

    fn wrong(&self, expected: &str) -> DataError {
        let rest = &self.text[self.position.min(self.text.len())..];
        let found = match rest {
            [] => "the end of the header".into(),
            _ => String::from_utf8_lossy(&rest[..rest.len().min(24)]),
        };
        self.wrong_at(self.position, expected, &found)
    }

    fn wrong_at(&self, position: usize, expected: &str, found: &str) -> DataError {
        let at = self.at.clone().byte(self.fixed + position as u64);
        DataError::invalid(at, expected, found)
    }
}
