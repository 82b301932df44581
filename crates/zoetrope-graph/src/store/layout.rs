//! Header and section table: encoding, decoding and every check that needs no section content.

use xxhash_rust::xxh3::Xxh3;

use super::StoreProblem;
use crate::time::{TimeScale, TimeUnit};

/// The first eight bytes of a store.
pub const MAGIC: [u8; 8] = *b"\x89ZOE\r\n\x1a\n";
/// The version that this crate writes and the only one that it reads.
pub const VERSION: u32 = 1;

pub(super) const HEADER_BYTES: usize = 64;
pub(super) const ENTRY_BYTES: usize = 64;
pub(super) const ALIGNMENT: u64 = 64;
const NAME_BYTES: usize = 32;
const MAX_SECTIONS: usize = 32;
const CHECKSUM_AT: usize = 56;

const FLAG_UNIX: u32 = 1;
const FLAG_SECOND: u32 = 2;

const UNITS: [TimeUnit; 5] = [
    TimeUnit::Step,
    TimeUnit::Second,
    TimeUnit::Millisecond,
    TimeUnit::Microsecond,
    TimeUnit::Nanosecond,
];

/// What a section's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum ValueType {
    U8 = 1,
    U32 = 2,
    U64 = 3,
    I64 = 4,
    F32 = 5,
}

impl ValueType {
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U32 | Self::F32 => 4,
            Self::U64 | Self::I64 => 8,
        }
    }
}

/// How many values a section must have.
#[derive(Debug, Clone, Copy)]
enum Count {
    Events,
    EventFeatures,
    FirstVertices,
    SecondVertices,
    Vertices,
    VertexFeatures,
    Any,
}

/// All sections that version 1 knows.
const KNOWN: [(&str, ValueType, Count); 21] = [
    ("src", ValueType::U32, Count::Events),
    ("dst", ValueType::U32, Count::Events),
    ("time", ValueType::I64, Count::Events),
    ("weight", ValueType::F32, Count::Events),
    ("label", ValueType::F32, Count::Events),
    ("kind", ValueType::U8, Count::Events),
    ("features", ValueType::F32, Count::EventFeatures),
    ("first.integers", ValueType::I64, Count::FirstVertices),
    ("first.ends", ValueType::U64, Count::FirstVertices),
    ("first.bytes", ValueType::U8, Count::Any),
    ("second.integers", ValueType::I64, Count::SecondVertices),
    ("second.ends", ValueType::U64, Count::SecondVertices),
    ("second.bytes", ValueType::U8, Count::Any),
    ("labels.ends", ValueType::U64, Count::Any),
    ("labels.bytes", ValueType::U8, Count::Any),
    ("feature_names.ends", ValueType::U64, Count::Any),
    ("feature_names.bytes", ValueType::U8, Count::Any),
    ("vertex_features", ValueType::F32, Count::VertexFeatures),
    ("vertex_labels", ValueType::F32, Count::Vertices),
    ("vertex_label_names.ends", ValueType::U64, Count::Any),
    ("vertex_label_names.bytes", ValueType::U8, Count::Any),
];

/// The numbers of the header that the content decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) events: u64,
    pub(super) first: u32,
    pub(super) second: Option<u32>,
    pub(super) scale: TimeScale,
    pub(super) feature_width: u32,
    pub(super) vertex_feature_width: u32,
}

/// One section of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) checksum: u64,
}

impl Section {
    pub(super) fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// The next multiple of the alignment, or `None` beyond 2^64.
pub(super) fn aligned(offset: u64) -> Option<u64> {
    offset.checked_next_multiple_of(ALIGNMENT)
}

/// Where the first section starts.
pub(super) fn sections_start(sections: usize) -> u64 {
    (HEADER_BYTES + sections * ENTRY_BYTES) as u64
}

/// Header and table as bytes. Sections must be known and in place.
pub(super) fn encode(header: &Header, sections: &[Section]) -> Vec<u8> {
    let length = sections.last().map_or(sections_start(0), Section::end);
    let second = header.second.map_or(0, |_| FLAG_SECOND);
    let unix = if header.scale.unix { FLAG_UNIX } else { 0 };
    let unit = UNITS.iter().position(|&unit| unit == header.scale.unit).unwrap_or(0);
    let mut bytes = Vec::with_capacity(HEADER_BYTES + sections.len() * ENTRY_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&header.events.to_le_bytes());
    for word in [
        header.first,
        header.second.unwrap_or(0),
        second | unix,
        unit as u32,
        header.feature_width,
        header.vertex_feature_width,
    ] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&[0; 8]);
    for section in sections {
        let mut name = [0; NAME_BYTES];
        name[..section.name.len()].copy_from_slice(section.name.as_bytes());
        bytes.extend_from_slice(&name);
        let value = value_type(section.name).map_or(0, |value| value as u32);
        bytes.extend_from_slice(&value.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for word in [section.offset, section.length, section.checksum] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    let checksum = header_checksum(&bytes);
    bytes[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

pub(super) fn value_type(name: &str) -> Option<ValueType> {
    KNOWN.iter().find(|known| known.0 == name).map(|known| known.1)
}

fn header_checksum(bytes: &[u8]) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&bytes[..CHECKSUM_AT]);
    hasher.update(&bytes[HEADER_BYTES..]);
    hasher.digest()
}

/// Header and sections of a file, checked against its length.
pub(super) fn decode(file: &[u8]) -> Result<(Header, Vec<Section>), StoreProblem> {
    let table = envelope(file)?;
    let word = |at: usize| u32_at(file, at);
    let problem =
        |byte, expected, found: String| StoreProblem::new(byte, "header", expected, found);
    let flags = word(40);
    if flags & !(FLAG_UNIX | FLAG_SECOND) != 0 {
        return Err(problem(40, "flags 0 to 3", flags.to_string()));
    }
    let Some(&unit) = UNITS.get(word(44) as usize) else {
        return Err(problem(44, "a unit of time from 0 to 4", word(44).to_string()));
    };
    let second = (flags & FLAG_SECOND != 0).then_some(word(36));
    if second.is_none() && word(36) != 0 {
        return Err(problem(36, "0 without a second name table", word(36).to_string()));
    }
    if word(32).checked_add(word(36)).is_none() {
        return Err(problem(
            32,
            "at most 2^32 - 1 vertices",
            format!("{} + {}", word(32), word(36)),
        ));
    }
    let header = Header {
        events: u64_at(file, 24),
        first: word(32),
        second,
        scale: TimeScale { unit, unix: flags & FLAG_UNIX != 0 },
        feature_width: word(48),
        vertex_feature_width: word(52),
    };
    let sections = decode_table(&header, table, file.len() as u64)?;
    Ok((header, sections))
}

/// Checks magic, version, length and header checksum; returns the section table.
fn envelope(file: &[u8]) -> Result<&[u8], StoreProblem> {
    let problem = |byte, expected: String, found: String| {
        Err(StoreProblem::new(byte, "header", expected, found))
    };
    if file.len() < HEADER_BYTES {
        let found = format!("{} bytes", file.len());
        return problem(0, format!("a header of {HEADER_BYTES} bytes"), found);
    }
    if file[..8] != MAGIC {
        return problem(0, "the magic bytes of a store".into(), format!("{:02x?}", &file[..8]));
    }
    if u32_at(file, 8) != VERSION {
        return problem(8, format!("version {VERSION}"), format!("version {}", u32_at(file, 8)));
    }
    let count = u32_at(file, 12) as usize;
    if count > MAX_SECTIONS {
        return problem(12, format!("at most {MAX_SECTIONS} sections"), count.to_string());
    }
    let length = u64_at(file, 16);
    if length != file.len() as u64 {
        let found = format!("{} bytes", file.len());
        return problem(16, format!("a file of {length} bytes"), found);
    }
    let Some(head) = file.get(..HEADER_BYTES + count * ENTRY_BYTES) else {
        return problem(12, "a section table within the file".into(), format!("{count} sections"));
    };
    let (stored, computed) = (u64_at(file, CHECKSUM_AT), header_checksum(head));
    if stored != computed {
        return problem(56, format!("header checksum {computed:016x}"), format!("{stored:016x}"));
    }
    Ok(&head[HEADER_BYTES..])
}

fn decode_table(
    header: &Header,
    table: &[u8],
    file_length: u64,
) -> Result<Vec<Section>, StoreProblem> {
    let mut sections: Vec<Section> = Vec::new();
    let mut end = (HEADER_BYTES + table.len()) as u64;
    for (index, entry) in table.chunks_exact(ENTRY_BYTES).enumerate() {
        let byte = sections_start(index);
        let (name, zeros) = split_name(&entry[..NAME_BYTES]);
        let found = KNOWN.iter().find(|known| zeros && known.0.as_bytes() == name);
        let Some(&(name, value, count)) = found else {
            let found = String::from_utf8_lossy(name).escape_debug().to_string();
            return Err(StoreProblem::new(byte, "section table", "a known section name", found));
        };
        let problem = |at, expected: String, found: String| {
            Err(StoreProblem::new(byte + at, name, expected, found))
        };
        if sections.iter().any(|section| section.name == name) {
            return problem(0, "each section once".into(), "a second one".into());
        }
        if u32_at(entry, 32) != value as u32 || u32_at(entry, 36) != 0 {
            let found = format!("{} and {}", u32_at(entry, 32), u32_at(entry, 36));
            return problem(32, format!("value type {} and 0", value as u32), found);
        }
        let (offset, length) = (u64_at(entry, 40), u64_at(entry, 48));
        if aligned(end) != Some(offset) {
            let expected = match aligned(end) {
                Some(place) => format!("offset {place}"),
                None => "an offset below 2^64".into(),
            };
            return problem(40, expected, offset.to_string());
        }
        if offset.checked_add(length).is_none_or(|end| end > file_length) {
            let expected = format!("a section within the file of {file_length} bytes");
            return problem(48, expected, format!("{length} bytes from {offset}"));
        }
        if let Some(values) = expected_count(header, count) {
            if values.checked_mul(value.bytes().into()) != Some(u128::from(length)) {
                let expected = format!("{values} values of {} bytes", value.bytes());
                return problem(48, expected, format!("{length} bytes"));
            }
        } else if length % value.bytes() != 0 {
            return problem(
                48,
                format!("whole values of {} bytes", value.bytes()),
                length.to_string(),
            );
        }
        end = offset + length;
        sections.push(Section { name, offset, length, checksum: u64_at(entry, 56) });
    }
    let missing = ["src", "dst", "time"]
        .into_iter()
        .find(|wanted| !sections.iter().any(|section| section.name == *wanted));
    if let Some(missing) = missing {
        return Err(StoreProblem::new(12, missing, "the section", "none"));
    }
    if end != file_length {
        let expected = format!("the last section to end at {file_length}");
        return Err(StoreProblem::new(end, "section table", expected, format!("its end at {end}")));
    }
    Ok(sections)
}

/// The name before the padding, and whether the padding is all zeros.
fn split_name(field: &[u8]) -> (&[u8], bool) {
    let length = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    (&field[..length], field[length..].iter().all(|&byte| byte == 0))
}

fn expected_count(header: &Header, count: Count) -> Option<u128> {
    let vertices = u128::from(header.first) + u128::from(header.second.unwrap_or(0));
    match count {
        Count::Events => Some(header.events.into()),
        Count::EventFeatures => Some(u128::from(header.events) * u128::from(header.feature_width)),
        Count::FirstVertices => Some(header.first.into()),
        Count::SecondVertices => Some(header.second.unwrap_or(0).into()),
        Count::Vertices => Some(vertices),
        Count::VertexFeatures => Some(vertices * u128::from(header.vertex_feature_width)),
        Count::Any => None,
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
