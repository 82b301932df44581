//! What is checked before the decoder sees a byte.
//!
//! The decoder reserves memory from the sizes that page headers declare, unpacks gzip without a
//! limit and recurses over the schema. So the footer's schema and the header of every page of a
//! column that will be read are walked first. Refused: nesting beyond [`DEEPEST_SCHEMA`], a group
//! that declares more children than the file has, a page that declares more than the expansion
//! limit, a dictionary with more entries than its bytes can hold, and encodings and codecs whose
//! decoder cannot be bounded.

use std::io::Read;

use crate::formats::parquet::thrift::Thrift;

/// Nested groups beyond this are refused; lists of structs of lists need 7.
const DEEPEST_SCHEMA: usize = 32;

/// Why a file or column is not decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The bytes are damaged or lie.
    Damaged(String),
    /// The content is legitimate, but its decoder cannot be bounded.
    Unsupported(&'static str),
    /// A page unpacks to more than the limit.
    TooLarge(u64),
}

/// Checks the schema in a footer (the Thrift bytes of the file's metadata).
pub(crate) fn check_footer(footer: &[u8], most_columns: usize) -> Result<(), Refusal> {
    let damaged = || Refusal::Damaged("a footer that is no Parquet metadata".into());
    let mut thrift = Thrift::new(footer);
    let mut field = 0;
    let mut schemas = 0;
    while let Some(wire) = thrift.field(&mut field).ok_or_else(damaged)? {
        if field == 2 && wire.is_list() {
            let (count, element) = thrift.list().ok_or_else(damaged)?;
            if !element.is_struct() {
                return Err(damaged());
            }
            check_schema(&mut thrift, count, most_columns)?;
            schemas += 1;
        } else {
            thrift.skip(wire).ok_or_else(damaged)?;
        }
    }
    // A second schema would be the one that the decoder takes.
    if schemas == 1 { Ok(()) } else { Err(damaged()) }
}

/// The elements come in depth-first order, each with the number of its children.
fn check_schema(thrift: &mut Thrift<'_>, count: u64, most_columns: usize) -> Result<(), Refusal> {
    let damaged = |what: &str| Refusal::Damaged(what.into());
    if count > most_columns as u64 {
        return Err(Refusal::Damaged(format!("{count} columns and groups of columns")));
    }
    // How many children each open group still expects.
    let mut open: Vec<u64> = Vec::new();
    for index in 0..count {
        let mut children = 0;
        let mut field = 0;
        let unreadable = || damaged("a schema that cannot be read");
        while let Some(wire) = thrift.field(&mut field).ok_or_else(unreadable)? {
            if field == 5 && wire.is_integer() {
                children = thrift.integer().ok_or_else(unreadable)?
            } else {
                thrift.skip(wire).ok_or_else(unreadable)?
            }
        }
        let children = u64::try_from(children).unwrap_or(u64::MAX);
        if children > count - index - 1 {
            return Err(damaged("a schema group with more children than there are columns"));
        }
        if let Some(expected) = open.last_mut() {
            *expected -= 1;
        }
        if children != 0 {
            open.push(children);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if open.len() > DEEPEST_SCHEMA {
            return Err(damaged("a schema of groups nested too deeply"));
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(damaged("a schema with fewer columns than its groups declare"))
    }
}

/// What the walk over a column chunk needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkFacts {
    /// Bytes of one plainly encoded value; for byte arrays those of the length.
    pub(crate) value_bytes: u64,
    /// Whether pages are packed with gzip.
    pub(crate) gzip: bool,
    /// Values and nulls that the footer declares.
    pub(crate) values: u64,
    /// The most bytes that a page may unpack to.
    pub(crate) page_limit_bytes: u64,
}

/// Walks the page headers of a column chunk and returns where its last page ends: bytes behind
/// that were not checked and must not reach the decoder.
pub(crate) fn check_pages(chunk: &[u8], facts: ChunkFacts) -> Result<usize, Refusal> {
    let mut at = 0;
    let mut values = 0u64;
    while at < chunk.len() {
        if values >= facts.values && facts.values != 0 {
            break;
        }
        let header = PageHeader::read(&chunk[at..])
            .ok_or_else(|| Refusal::Damaged("a page header that cannot be read".into()))?;
        at += header.length;
        let packed = usize::try_from(header.packed_bytes).ok().filter(|&n| n <= chunk.len() - at);
        let Some(packed) = packed else {
            return Err(Refusal::Damaged("a page that is longer than its column".into()));
        };
        let body = &chunk[at..at + packed];
        header.check(body, facts)?;
        values += header.data_values();
        at += packed;
    }
    if values == facts.values {
        Ok(at)
    } else {
        Err(Refusal::Damaged(format!(
            "pages of {values} values, but the footer declares {}",
            facts.values
        )))
    }
}

#[derive(Debug, Default)]
struct PageHeader {
    length: usize,
    kind: i64,
    unpacked_bytes: i64,
    packed_bytes: i64,
    /// What the headers inside say, by the kind of page they are for. A header may carry several;
    /// the decoder takes the one for its kind, so they are kept apart.
    inner: [Inner; 4],
    has_version_2: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Inner {
    values: i64,
    encoding: i64,
    /// Bytes of levels that stand unpacked in front of a page of version 2.
    level_bytes: i64,
    unpacked: bool,
}

const DATA_PAGE: i64 = 0;
const DICTIONARY_PAGE: i64 = 2;
const DATA_PAGE_V2: i64 = 3;

impl PageHeader {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut thrift = Thrift::new(bytes);
        let mut header = Self::default();
        let mut field = 0;
        while let Some(wire) = thrift.field(&mut field)? {
            match field {
                1 if wire.is_integer() => header.kind = thrift.integer()?,
                2 if wire.is_integer() => header.unpacked_bytes = thrift.integer()?,
                3 if wire.is_integer() => header.packed_bytes = thrift.integer()?,
                5 | 7 | 8 if wire.is_struct() => {
                    let kind = match field {
                        5 => DATA_PAGE,
                        7 => DICTIONARY_PAGE,
                        _ => DATA_PAGE_V2,
                    };
                    header.has_version_2 |= kind == DATA_PAGE_V2;
                    header.inner[kind as usize] = Inner::read(&mut thrift, field == 8)?;
                }
                _ => thrift.skip(wire)?,
            }
        }
        header.length = thrift.position();
        Some(header)
    }

    fn inner(&self) -> Inner {
        usize::try_from(self.kind)
            .ok()
            .and_then(|kind| self.inner.get(kind).copied())
            .unwrap_or_default()
    }

    fn data_values(&self) -> u64 {
        match self.kind {
            DATA_PAGE | DATA_PAGE_V2 => u64::try_from(self.inner().values).unwrap_or(0),
            _ => 0,
        }
    }

    fn check(&self, body: &[u8], facts: ChunkFacts) -> Result<(), Refusal> {
        let damaged = |what: &str| Refusal::Damaged(what.into());
        let inner = self.inner();
        let unpacked = u64::try_from(self.unpacked_bytes);
        let (Ok(unpacked), Ok(values)) = (unpacked, u64::try_from(inner.values)) else {
            return Err(damaged("a page header with a negative size"));
        };
        // The decoder would cut levels off the front of such a page.
        if self.has_version_2 && self.kind != DATA_PAGE_V2 {
            return Err(damaged("a page header of two versions"));
        }
        if unpacked > facts.page_limit_bytes {
            return Err(Refusal::TooLarge(facts.page_limit_bytes));
        }
        match self.kind {
            DICTIONARY_PAGE if values.saturating_mul(facts.value_bytes) > unpacked => {
                return Err(damaged("a dictionary with more entries than its bytes can hold"));
            }
            DATA_PAGE | DATA_PAGE_V2 if matches!(inner.encoding, 6 | 7) => {
                return Err(Refusal::Unsupported("delta encoding of text"));
            }
            _ => {}
        }
        let levels = u64::try_from(inner.level_bytes).unwrap_or(u64::MAX);
        if levels > unpacked || levels > body.len() as u64 {
            return Err(damaged("a page whose levels are longer than the page"));
        }
        if facts.gzip && !inner.unpacked && unpacked != levels {
            return check_gzip(&body[levels as usize..], unpacked - levels);
        }
        Ok(())
    }
}

impl Inner {
    fn read(thrift: &mut Thrift<'_>, version_2: bool) -> Option<Self> {
        let mut inner = Self::default();
        let mut field = 0;
        while let Some(wire) = thrift.field(&mut field)? {
            match (field, version_2) {
                (1, _) if wire.is_integer() => inner.values = thrift.integer()?,
                (2, false) | (4, true) if wire.is_integer() => inner.encoding = thrift.integer()?,
                (5 | 6, true) if wire.is_integer() => {
                    inner.level_bytes = inner.level_bytes.checked_add(thrift.integer()?)?;
                }
                (7, true) => {
                    inner.unpacked = wire.is_false();
                    thrift.skip(wire)?;
                }
                _ => thrift.skip(wire)?,
            }
        }
        Some(inner)
    }
}

/// Unpacks a gzip page into nothing and compares its size with the declared one: the decoder
/// itself would unpack without a limit.
fn check_gzip(packed: &[u8], declared: u64) -> Result<(), Refusal> {
    let mut decoder = flate2::read::MultiGzDecoder::new(packed).take(declared + 1);
    let mut scratch = vec![0; 32 << 10];
    let mut total = 0;
    loop {
        match decoder.read(&mut scratch) {
            Ok(0) => break,
            Ok(count) => total += count as u64,
            Err(error) => return Err(Refusal::Damaged(error.to_string())),
        }
    }
    if total == declared {
        Ok(())
    } else {
        Err(Refusal::Damaged("a gzip page of another size than declared".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: ChunkFacts =
        ChunkFacts { value_bytes: 8, gzip: false, values: 2, page_limit_bytes: 1 << 20 };

    /// A page header of version 1 and a body of zeros.
    fn page(kind: u8, unpacked: u8, packed: u8, values: u8, encoding: u8) -> Vec<u8> {
        let inner = if kind == 0 { 0x2c } else { 0x4c };
        let mut bytes = vec![0x15, kind << 1, 0x15, unpacked << 1, 0x15, packed << 1];
        bytes.extend([inner, 0x15, values << 1, 0x15, encoding << 1, 0x00, 0x00]);
        bytes.extend(vec![0; packed as usize]);
        bytes
    }

    #[test]
    fn an_honest_chunk_passes_and_its_end_is_found() {
        let mut chunk = [page(2, 16, 16, 2, 0), page(0, 8, 8, 2, 8)].concat();
        assert_eq!(check_pages(&chunk, FACTS), Ok(chunk.len()));
        let end = chunk.len();
        chunk.extend([7; 100]);
        assert_eq!(check_pages(&chunk, FACTS), Ok(end));
    }

    #[test]
    fn lies_in_page_headers_are_refused() {
        let refused = |chunk: Vec<u8>, facts| check_pages(&chunk, facts).unwrap_err();
        let small = ChunkFacts { page_limit_bytes: 10, ..FACTS };
        assert_eq!(refused(page(0, 16, 16, 2, 0), small), Refusal::TooLarge(10));
        let dictionary = refused(page(2, 16, 16, 3, 0), FACTS);
        assert!(matches!(dictionary, Refusal::Damaged(text) if text.contains("dictionary")));
        let text = refused(page(0, 16, 16, 2, 6), FACTS);
        assert!(matches!(text, Refusal::Unsupported(_)));
        let count = refused(page(0, 16, 16, 1, 0), FACTS);
        assert!(matches!(count, Refusal::Damaged(text) if text.contains("declares 2")));
        let long = refused(page(0, 16, 16, 2, 0)[..20].to_vec(), FACTS);
        assert!(matches!(long, Refusal::Damaged(text) if text.contains("longer")));
    }

    /// A footer with a version and a schema of elements that have only a number of children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 0x02, 0x19, 0xfc];
        assert!(children.len() < 1 << 14);
        bytes.extend([(children.len() & 0x7f) as u8 | 0x80, (children.len() >> 7) as u8]);
        children.iter().for_each(|&count| bytes.extend([0x55, count << 1, 0x00]));
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_schema_must_be_shallow_and_complete() {
        assert_eq!(check_footer(&footer(&[2, 0, 1, 0]), 100), Ok(()));
        for bad in [&[3u8, 0, 0][..], &[1; 1000], &[60, 0]] {
            assert!(matches!(check_footer(&footer(bad), 2000), Err(Refusal::Damaged(_))));
        }
        let wide = [&[60u8][..], &[0; 60]].concat();
        assert_eq!(check_footer(&footer(&wide), 100), Ok(()));
        assert!(check_footer(&footer(&wide), 50).is_err());
    }
}
