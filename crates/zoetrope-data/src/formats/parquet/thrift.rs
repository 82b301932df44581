//! Just enough of the Thrift compact protocol to check Parquet headers before decoding.
//!
//! The decoder reserves memory from numbers in these headers and recurses by nesting; both are
//! looked at here first, with every length checked against the bytes that are present.

/// A cursor over compact-protocol bytes; every method answers `None` on damage.
pub(crate) struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The wire type of a field or element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wire(u8);

impl Wire {
    const TRUE: u8 = 1;
    const FALSE: u8 = 2;
    const BYTE: u8 = 3;
    const DOUBLE: u8 = 7;
    const BINARY: u8 = 8;
    const MAP: u8 = 11;
    const UUID: u8 = 13;

    /// The truth value "false", which has no bytes of its own as a field.
    pub(crate) fn is_false(self) -> bool {
        self.0 == Self::FALSE
    }

    /// 16, 32 and 64-bit integers are all zigzag varints.
    pub(crate) fn is_integer(self) -> bool {
        (4..=6).contains(&self.0)
    }

    /// A list or a set.
    pub(crate) fn is_list(self) -> bool {
        matches!(self.0, 9 | 10)
    }

    /// A struct.
    pub(crate) fn is_struct(self) -> bool {
        self.0 == 12
    }
}

/// Deepest nesting of structs and lists that a Parquet header has is 6.
const DEEPEST: u32 = 16;

impl<'a> Thrift<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were consumed.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn skip_bytes(&mut self, count: u64) -> Option<()> {
        let left = (self.bytes.len() - self.at) as u64;
        (count <= left).then(|| self.at += count as usize)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A 16, 32 or 64-bit integer.
    pub(crate) fn integer(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// The next field of a struct and its type; the inner `None` is the end of the struct.
    /// `field` holds the number of the last field, 0 at the start.
    pub(crate) fn field(&mut self, field: &mut i64) -> Option<Option<Wire>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *field = match head >> 4 {
            0 => self.integer()?,
            step => field.checked_add(i64::from(step))?,
        };
        Some(Some(Wire(head & 0x0f)))
    }

    /// The number and type of a list's elements. Each takes at least a byte, so a number beyond
    /// the bytes that are left is a lie.
    pub(crate) fn list(&mut self) -> Option<(u64, Wire)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        (count <= (self.bytes.len() - self.at) as u64).then_some((count, Wire(head & 0x0f)))
    }

    /// Skips a value.
    pub(crate) fn skip(&mut self, wire: Wire) -> Option<()> {
        self.skip_nested(wire, 0)
    }

    fn skip_nested(&mut self, wire: Wire, depth: u32) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match wire.0 {
            // A truth value lives in the type of its field.
            Wire::TRUE | Wire::FALSE => Some(()),
            Wire::BYTE => self.skip_bytes(1),
            Wire::DOUBLE => self.skip_bytes(8),
            Wire::UUID => self.skip_bytes(16),
            Wire::BINARY => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            _ if wire.is_integer() => self.varint().map(drop),
            _ if wire.is_list() => {
                let (count, element) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(element, depth + 1))
            }
            _ if wire.is_struct() => {
                let mut field = 0;
                while let Some(wire) = self.field(&mut field)? {
                    self.skip_nested(wire, depth + 1)?;
                }
                Some(())
            }
            Wire::MAP => {
                let count = self.varint()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..count).try_for_each(|_| {
                    self.skip_element(Wire(kinds >> 4), depth + 1)?;
                    self.skip_element(Wire(kinds & 0x0f), depth + 1)
                })
            }
            _ => None,
        }
    }

    /// As a list element a truth value takes a byte of its own.
    fn skip_element(&mut self, wire: Wire, depth: u32) -> Option<()> {
        match wire.0 {
            Wire::TRUE | Wire::FALSE => self.skip_bytes(1),
            _ => self.skip_nested(wire, depth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_struct_of_every_type_is_skipped_to_its_end() {
        let bytes = [
            0x15, 0x02, // field 1: i32 1
            0x18, 0x03, b'a', b'b', b'c', // field 2: binary
            0x11, // field 3: true
            0x19, 0x25, 0x02, 0x04, // field 4: list of two i32
            0x1c, 0x15, 0x01, 0x00, // field 5: struct
            0x00, 0xff,
        ];
        let mut thrift = Thrift::new(&bytes);
        assert_eq!(thrift.skip(Wire(12)), Some(()));
        assert_eq!(thrift.position(), bytes.len() - 1);
    }

    #[test]
    fn lying_lengths_and_endless_nesting_are_refused() {
        assert!(Thrift::new(&[0xf5, 0xff, 0xff, 0x03]).list().is_none());
        assert!(Thrift::new(&[0xff, 0xff, 0xff, 0x7f]).skip(Wire(Wire::BINARY)).is_none());
        let nested = vec![0x1c; 1 << 20];
        assert!(Thrift::new(&nested).skip(Wire(12)).is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, wire in 0u8..16) {
            let mut thrift = Thrift::new(&bytes);
            let _ = thrift.skip(Wire(wire));
            prop_assert!(thrift.position() <= bytes.len());
        }
    }
}
