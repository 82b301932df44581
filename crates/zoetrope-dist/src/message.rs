//! What travels between ranks: values of one of a few types, owned, so that handing them to a
//! thread copies nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of the values of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// Bytes.
    U8,
    /// Positions of rows.
    U32,
    /// Counts.
    U64,
    /// Values and gradients.
    F32,
    /// Sums of many values.
    F64,
}

impl Kind {
    /// Bytes of one value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U32 | Self::F32 => 4,
            Self::U64 | Self::F64 => 8,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// Values that travel.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// Bytes.
    U8(Vec<u8>),
    /// 32-bit integers.
    U32(Vec<u32>),
    /// 64-bit integers.
    U64(Vec<u64>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

/// The same expression for whatever type of values a message has.
macro_rules! with_values {
    ($message:expr, $values:ident => $result:expr) => {
        match $message {
            Message::U8($values) => $result,
            Message::U32($values) => $result,
            Message::U64($values) => $result,
            Message::F32($values) => $result,
            Message::F64($values) => $result,
        }
    };
}

impl Message {
    /// The type of the values.
    pub fn kind(&self) -> Kind {
        match self {
            Self::U8(_) => Kind::U8,
            Self::U32(_) => Kind::U32,
            Self::U64(_) => Kind::U64,
            Self::F32(_) => Kind::F32,
            Self::F64(_) => Kind::F64,
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        with_values!(self, values => values.len())
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values as they lie in memory.
    pub fn as_bytes(&self) -> &[u8] {
        with_values!(self, values => bytemuck::cast_slice(values))
    }

    /// The same, to be written.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        with_values!(self, values => bytemuck::cast_slice_mut(values))
    }

    /// A message of `len` values, each 0.
    pub fn zeros(kind: Kind, len: usize) -> Self {
        match kind {
            Kind::U8 => Self::U8(vec![0; len]),
            Kind::U32 => Self::U32(vec![0; len]),
            Kind::U64 => Self::U64(vec![0; len]),
            Kind::F32 => Self::F32(vec![0.0; len]),
            Kind::F64 => Self::F64(vec![0.0; len]),
        }
    }
}

/// A type whose values travel.
pub trait Element: bytemuck::Pod + Send + Sync + sealed::Sealed {
    /// Its name in messages.
    const KIND: Kind;

    /// Values on their way.
    fn pack(values: Vec<Self>) -> Message;

    /// Values that arrived; None if they are of another type.
    fn unpack(message: Message) -> Option<Vec<Self>>;
}

/// A type whose values are added up and compared between ranks.
pub trait Number: Element {
    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The larger one; not a number if one of both is none.
    fn larger(self, other: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty: $variant:ident),*) => {$(
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const KIND: Kind = Kind::$variant;

            fn pack(values: Vec<Self>) -> Message {
                Message::$variant(values)
            }

            fn unpack(message: Message) -> Option<Vec<Self>> {
                match message {
                    Message::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    )*};
}

elements!(u8: U8, u32: U32, u64: U64, f32: F32, f64: F64);

macro_rules! numbers {
    ($($type:ty: $plus:expr, $larger:expr);*) => {$(
        impl Number for $type {
            fn plus(self, other: Self) -> Self {
                let plus: fn(Self, Self) -> Self = $plus;
                plus(self, other)
            }

            fn larger(self, other: Self) -> Self {
                let larger: fn(Self, Self) -> Self = $larger;
                larger(self, other)
            }
        }
    )*};
}

numbers! {
    u64: u64::wrapping_add, u64::max;
    f32: |a, b| a + b, |a, b| if a.is_nan() || a >= b { a } else { b };
    f64: |a, b| a + b, |a, b| if a.is_nan() || a >= b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_message_are_those_of_its_values() {
        let mut message = u32::pack(vec![1, 0x0203]);
        assert_eq!(message.as_bytes(), bytemuck::cast_slice::<u32, u8>(&[1, 0x0203]));
        message.as_bytes_mut().fill(0);
        assert_eq!(message, Message::zeros(Kind::U32, 2));
        assert_eq!(f32::unpack(message), None);
    }

    #[test]
    fn the_larger_of_a_number_and_none_is_none() {
        assert!(f32::NAN.larger(1.0).is_nan());
        assert!(1.0f32.larger(f32::NAN).is_nan());
        assert_eq!(1.0f64.larger(2.0), 2.0);
        assert_eq!(3u64.larger(2), 3);
    }
}
