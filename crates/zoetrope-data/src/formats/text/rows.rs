//! Events to rows of text, in parallel blocks written in order.
//!
//! Owns how numbers, names and rows look; which columns a format has is the format's business.
//! Floats take the shortest form that reads back to the same bits.

use rayon::prelude::*;
use zoetrope_graph::{EventStore, NameTable, TextTable, VertexId};

use crate::error::DataError;
use crate::format::Format;
use crate::formats::text::times::{TimeFormat, integer, unsigned};
use crate::progress::Progress;
use crate::sink::Sink;

/// Rows formatted at once by a thread.
const BLOCK_ROWS: usize = 16 << 10;

/// A column, or a run of them, in a row of text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    /// The position of the event plus this.
    Row(u64),
    /// The original identifier of the source.
    SourceName,
    /// The original identifier of the destination.
    DestinationName,
    /// The number of the source plus this.
    Source(u64),
    /// The number of the destination plus this.
    Destination(u64),
    /// The time.
    Time(TimeFormat),
    /// The weight.
    Weight,
    /// The label by its name if it has one, 0 if events have none.
    Label,
    /// The label as a number, 0 if events have none.
    LabelNumber,
    /// `add` or `remove`.
    Kind,
    /// Every feature, a column each.
    Features,
    /// 0, 1 or 2: before the first position, before the second, after.
    Split(usize, usize),
}

/// How the rows of one store look.
pub(crate) struct Rows<'a> {
    store: &'a EventStore,
    delimiter: u8,
    fields: Vec<Field>,
    sides: [Names; 2],
    boundary: VertexId,
    label_names: Option<TextTable>,
}

/// The identifiers of one side, ready to be copied.
enum Names {
    Number(u64),
    Integers(Vec<i64>),
    Text(TextTable),
}

impl<'a> Rows<'a> {
    /// Prepares names and labels: quoted once here, copied for each event.
    pub(crate) fn new(
        format: Format,
        store: &'a EventStore,
        delimiter: u8,
        fields: Vec<Field>,
    ) -> Result<Self, DataError> {
        let names = store.names();
        let by_name =
            fields.iter().any(|field| matches!(field, Field::SourceName | Field::DestinationName));
        let first =
            if by_name { Names::new(format, &names.first, delimiter)? } else { Names::Number(0) };
        let (boundary, second) = match &names.second {
            Some(second) if by_name => {
                (names.first.len() as VertexId, Names::new(format, second, delimiter)?)
            }
            _ => (VertexId::MAX, Names::Number(0)),
        };
        let named = fields.iter().any(|field| matches!(field, Field::Label));
        let label_names = if named && !store.label_names.is_empty() {
            Some(quote_all(format, &store.label_names, delimiter)?)
        } else {
            None
        };
        Ok(Self { store, delimiter, fields, sides: [first, second], boundary, label_names })
    }

    /// Writes all events; progress counts events.
    pub(crate) fn write(&self, sink: &mut Sink, progress: &dyn Progress) -> Result<(), DataError> {
        let events = self.store.len();
        progress.begin("writing", Some(events as u64));
        let batch = BLOCK_ROWS * 2 * rayon::current_num_threads();
        let mut ready: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut at = 0;
        while at < events || !ready.is_empty() {
            let end = events.min(at + batch);
            let starts: Vec<usize> = (at..end).step_by(BLOCK_ROWS).collect();
            // The blocks of the last round go out while those of this one are formatted.
            let (written, next) = rayon::join(
                || {
                    ready.iter().try_for_each(|(rows, block)| {
                        sink.put(block)?;
                        progress.advance(*rows as u64);
                        Ok::<(), DataError>(())
                    })
                },
                || {
                    starts
                        .par_iter()
                        .map(|&start| {
                            let stop = end.min(start + BLOCK_ROWS);
                            (stop - start, self.block(start, stop))
                        })
                        .collect::<Vec<_>>()
                },
            );
            written?;
            ready = next;
            at = end;
        }
        Ok(())
    }

    fn block(&self, start: usize, end: usize) -> Vec<u8> {
        let mut buffer = Vec::with_capacity(
            (end - start) * (24 * self.fields.len() + 12 * self.store.feature_width()),
        );
        for event in start..end {
            for (column, field) in self.fields.iter().enumerate() {
                if column != 0 {
                    buffer.push(self.delimiter);
                }
                self.append(*field, event, &mut buffer);
            }
            buffer.push(b'\n');
        }
        buffer
    }

    #[inline]
    fn append(&self, field: Field, event: usize, buffer: &mut Vec<u8>) {
        let store = self.store;
        match field {
            Field::Row(first) => unsigned(first + event as u64, buffer),
            Field::SourceName => self.append_name(store.src()[event], buffer),
            Field::DestinationName => self.append_name(store.dst()[event], buffer),
            Field::Source(first) => unsigned(first + u64::from(store.src()[event]), buffer),
            Field::Destination(first) => unsigned(first + u64::from(store.dst()[event]), buffer),
            Field::Time(format) => format.append(store.time()[event], buffer),
            Field::Weight => float(store.weight().map_or(1.0, |weight| weight[event]), buffer),
            Field::Label => self.append_label(event, buffer),
            Field::LabelNumber => float(store.label().map_or(0.0, |label| label[event]), buffer),
            Field::Kind => {
                let removes = store.kind().is_some_and(|kind| kind[event] != 0);
                buffer.extend_from_slice(if removes { b"remove" } else { b"add" });
            }
            Field::Features => {
                let width = store.feature_width();
                let features = store.features().unwrap_or_default();
                for (index, &value) in features[event * width..][..width].iter().enumerate() {
                    if index != 0 {
                        buffer.push(self.delimiter);
                    }
                    float(value, buffer);
                }
            }
            Field::Split(train, validation) => {
                buffer.push(b'0' + u8::from(event >= train) + u8::from(event >= validation));
            }
        }
    }

    #[inline]
    fn append_name(&self, vertex: VertexId, buffer: &mut Vec<u8>) {
        let (side, index) = if vertex < self.boundary {
            (&self.sides[0], vertex)
        } else {
            (&self.sides[1], vertex - self.boundary)
        };
        match side {
            Names::Number(first) => unsigned(first + u64::from(index), buffer),
            Names::Integers(names) => integer(names[index as usize], buffer),
            Names::Text(names) => buffer.extend_from_slice(names.get(index as usize)),
        }
    }

    fn append_label(&self, event: usize, buffer: &mut Vec<u8>) {
        let label = self.store.label().map_or(0.0, |label| label[event]);
        match &self.label_names {
            None => float(label, buffer),
            Some(_) if label.is_nan() => {}
            Some(names) => {
                if names.len() > label as usize && label >= 0.0 {
                    buffer.extend_from_slice(names.get(label as usize))
                } else {
                    float(label, buffer)
                }
            }
        }
    }
}

impl Names {
    fn new(format: Format, table: &NameTable, delimiter: u8) -> Result<Self, DataError> {
        Ok(match table {
            NameTable::Identity(_) => Self::Number(0),
            NameTable::Integers(names) => Self::Integers(names.clone()),
            NameTable::Text(names) => Self::Text(quote_all(format, names, delimiter)?),
        })
    }
}

/// Quotes the texts that need it.
fn quote_all(format: Format, texts: &TextTable, delimiter: u8) -> Result<TextTable, DataError> {
    let mut quoted = TextTable::default();
    let mut buffer = Vec::new();
    for text in texts.iter() {
        if text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return Err(DataError::CannotHold {
                format,
                what: "names with line breaks",
                advice: "write parquet or the store format, or rename these vertices or classes",
            });
        }
        buffer.clear();
        quote(text, delimiter, &mut buffer);
        quoted.push(&buffer);
    }
    Ok(quoted)
}

/// Appends a text, quoted if a reader would otherwise take it apart or for a comment.
pub(crate) fn quote(text: &[u8], delimiter: u8, buffer: &mut Vec<u8>) {
    let special = |byte: &u8| *byte == delimiter || matches!(byte, b'"' | b'#' | b'%');
    if !text.is_empty() && !text.iter().any(special) && text.trim_ascii() == text {
        buffer.extend_from_slice(text);
        return;
    }
    buffer.push(b'"');
    for &byte in text {
        if byte == b'"' {
            buffer.push(b'"');
        }
        buffer.push(byte);
    }
    buffer.push(b'"');
}

/// Appends the shortest decimal that reads back to the same bits; whole numbers without a point.
pub(crate) fn float(value: f32, buffer: &mut Vec<u8>) {
    let whole = value as i32;
    // Minus zero would lose its sign as an integer.
    if whole as f32 == value
        && whole.unsigned_abs() < 1 << 24
        && (whole != 0 || value.is_sign_positive())
    {
        integer(i64::from(whole), buffer);
    } else if value.is_nan() {
        buffer.extend_from_slice(b"nan");
    } else {
        buffer.extend_from_slice(zmij::Buffer::new().format(value).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn floats_read_back_to_the_same_bits(bits: u32) {
            let value = f32::from_bits(bits);
            let mut buffer = Vec::new();
            float(value, &mut buffer);
            let read: f32 = std::str::from_utf8(&buffer).unwrap().parse().unwrap();
            prop_assert!(read.to_bits() == bits || read.is_nan() && value.is_nan());
        }
    }

    #[test]
    fn minus_zero_and_large_integers_keep_their_bits() {
        for (value, expected) in
            [(-0.0f32, "-0.0"), (0.0, "0"), (3.0, "3"), (-7.0, "-7"), (1.5, "1.5"), (1e20, "1e+20")]
        {
            let mut buffer = Vec::new();
            float(value, &mut buffer);
            assert_eq!(std::str::from_utf8(&buffer).unwrap(), expected);
        }
    }

    #[test]
    fn only_texts_that_need_it_are_quoted() {
        for (text, expected) in [
            ("a b", "a b"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("", "\"\""),
            ("#", "\"#\""),
        ] {
            let mut buffer = Vec::new();
            quote(text.as_bytes(), b',', &mut buffer);
            assert_eq!(std::str::from_utf8(&buffer).unwrap(), expected);
        }
    }
}
