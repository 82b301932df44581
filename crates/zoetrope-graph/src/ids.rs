//! Identifiers: dense 32-bit vertices inside, whatever the data used outside.
//!
//! Vertices are numbered in ascending order of their original identifier (integers by value,
//! text by bytes), so the numbering depends neither on the order of the rows nor on the number
//! of threads, and identifiers that are `0..n` already keep their value.

use std::borrow::Cow;

/// A vertex, `0..vertices`.
pub type VertexId = u32;

/// An event, by position in the time-ordered stream.
pub type EventId = u64;

/// Strings end to end in one buffer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextTable {
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl TextTable {
    /// Appends a string.
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u64);
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of string `index`.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len).
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The end offset of each string and the bytes of all of them, as they are stored on disk.
    pub fn parts(&self) -> (&[u64], &[u8]) {
        (&self.ends, &self.bytes)
    }

    /// Rebuilds a table from [`parts`](Self::parts), or `None` if the offsets do not rise to
    /// the number of bytes.
    pub fn from_parts(ends: Vec<u64>, bytes: Vec<u8>) -> Option<Self> {
        let rising = ends.windows(2).all(|pair| pair[0] <= pair[1]);
        let last = ends.last().copied().unwrap_or(0);
        (rising && last == bytes.len() as u64).then_some(Self { ends, bytes })
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for TextTable {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut table = Self::default();
        for text in texts {
            table.push(text.as_ref());
        }
        table
    }
}

/// The original identifiers of one set of vertices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameTable {
    /// The identifiers were `0..n`.
    Identity(u32),
    /// Integer identifiers by vertex.
    Integers(Vec<i64>),
    /// Text identifiers by vertex.
    Text(TextTable),
}

impl NameTable {
    /// The number of vertices.
    pub fn len(&self) -> usize {
        match self {
            Self::Identity(count) => *count as usize,
            Self::Integers(names) => names.len(),
            Self::Text(names) => names.len(),
        }
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The original identifier of the vertex at `index`, as text.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len).
    pub fn name(&self, index: usize) -> Cow<'_, str> {
        assert!(index < self.len(), "vertex {index} of {}", self.len());
        match self {
            Self::Identity(_) => index.to_string().into(),
            Self::Integers(names) => names[index].to_string().into(),
            Self::Text(names) => String::from_utf8_lossy(names.get(index)),
        }
    }

    /// The vertex with this original identifier. Logarithmic if names are in order (as every
    /// reader makes them), linear otherwise.
    pub fn find(&self, name: &str) -> Option<usize> {
        match self {
            Self::Identity(count) => {
                name.parse::<u32>().ok().filter(|id| id < count).map(|id| id as usize)
            }
            Self::Integers(names) => {
                let wanted = name.parse::<i64>().ok()?;
                match names.binary_search(&wanted) {
                    Ok(index) => Some(index),
                    Err(_) => names.iter().position(|&found| found == wanted),
                }
            }
            Self::Text(names) => {
                let wanted = name.as_bytes();
                let (mut low, mut high) = (0, names.len());
                while low < high {
                    let middle = (low + high) / 2;
                    match names.get(middle).cmp(wanted) {
                        std::cmp::Ordering::Equal => return Some(middle),
                        std::cmp::Ordering::Less => low = middle + 1,
                        std::cmp::Ordering::Greater => high = middle,
                    }
                }
                names.iter().position(|found| found == wanted)
            }
        }
    }
}

/// The original identifiers of all vertices of a graph.
///
/// Bipartite data whose two sides number from zero separately (JODIE) has a second table; its
/// vertices follow those of the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VertexNames {
    /// All vertices, or the source side.
    pub first: NameTable,
    /// The destination side of bipartite data with identifiers of its own.
    pub second: Option<NameTable>,
}

impl VertexNames {
    /// Vertices whose identifiers were `0..count`.
    pub fn identity(count: u32) -> Self {
        Self { first: NameTable::Identity(count), second: None }
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.first.len() + self.second.as_ref().map_or(0, NameTable::len)
    }

    /// Whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The original identifier of a vertex, as text.
    ///
    /// # Panics
    /// If `vertex` is not below [`len`](Self::len).
    pub fn name(&self, vertex: VertexId) -> Cow<'_, str> {
        let index = vertex as usize;
        match &self.second {
            Some(second) if index >= self.first.len() => second.name(index - self.first.len()),
            _ => self.first.name(index),
        }
    }

    /// The vertex that a source column calls `name`.
    pub fn find_source(&self, name: &str) -> Option<VertexId> {
        self.first.find(name).map(|index| index as VertexId)
    }

    /// The vertex that a destination column calls `name`.
    pub fn find_destination(&self, name: &str) -> Option<VertexId> {
        match &self.second {
            Some(second) => second.find(name).map(|index| (index + self.first.len()) as VertexId),
            None => self.find_source(name),
        }
    }
}
