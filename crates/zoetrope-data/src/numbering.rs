//! Original identifiers to dense vertices, in ascending order of the identifier.
//!
//! Integers whose range is not much wider than the number of events go through a table indexed
//! by value; sparse integers and text through sorted distinct values and a hash map. Vertex
//! numbers depend on the set of identifiers alone, not on row order, block size or threads.

use std::path::Path;

use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use zoetrope_graph::{GraphError, NameTable, TextTable, VertexId, VertexNames};

use crate::error::DataError;
use crate::table::chunk::IdChunk;

/// Source and destination columns as vertices, and what the vertices were called.
pub(crate) struct Numbered {
    pub(crate) src: Vec<VertexId>,
    pub(crate) dst: Vec<VertexId>,
    pub(crate) names: VertexNames,
}

/// Numbers the vertices of two columns, in place if identifiers are narrow or text.
///
/// # Errors
/// [`DataError::Graph`] if there are more distinct identifiers than 32 bits can number.
pub(crate) fn number(
    path: &Path,
    src: IdChunk,
    dst: IdChunk,
    bipartite: bool,
) -> Result<Numbered, DataError> {
    let too_many = |source| DataError::Graph { path: path.to_owned(), source };
    if bipartite {
        let first = Numbering::of(&[&src]).map_err(too_many)?;
        let second = Numbering::of(&[&dst]).map_err(too_many)?;
        let shift = first.len() as u32;
        let count = first.len() as u64 + second.len() as u64;
        if count > u64::from(u32::MAX) {
            return Err(too_many(too_many_vertices(count)));
        }
        let (src, dst) = rayon::join(|| first.apply(src, 0), || second.apply(dst, shift));
        let names = VertexNames { first: first.names(), second: Some(second.names()) };
        return Ok(Numbered { src, dst, names });
    }
    let numbering = Numbering::of(&[&src, &dst]).map_err(too_many)?;
    let (src, dst) = rayon::join(|| numbering.apply(src, 0), || numbering.apply(dst, 0));
    Ok(Numbered { src, dst, names: VertexNames { first: numbering.names(), second: None } })
}

fn too_many_vertices(count: u64) -> GraphError {
    GraphError::TooMany { what: "distinct vertex identifiers", count, limit: u64::from(u32::MAX) }
}

enum Numbering {
    /// The identifiers are `0..n` already.
    Identity(u32),
    /// `table[id - low]` is the vertex.
    Table { low: i64, table: Vec<u32>, distinct: Vec<i64> },
    /// Sparse integers.
    Hashed { map: HashMap<i64, u32>, distinct: Vec<i64> },
    /// Text, in order.
    Text { map: HashMap<Vec<u8>, u32>, distinct: TextTable },
}

impl Numbering {
    fn of(columns: &[&IdChunk]) -> Result<Self, GraphError> {
        if columns.iter().any(|column| column.is_text()) {
            return Self::of_texts(columns);
        }
        let rows: usize = columns.iter().map(|column| column.len()).sum();
        let bounds = columns.iter().filter_map(|column| bounds(column));
        let Some((low, high)) = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
            return Ok(Self::Identity(0));
        };
        let range = i128::from(high) - i128::from(low) + 1;
        if range <= (4 * rows as i128).max(1 << 16) {
            return Ok(Self::of_range(columns, low, range as usize));
        }
        Self::of_sparse(columns)
    }

    fn of_range(columns: &[&IdChunk], low: i64, range: usize) -> Self {
        let mut seen = columns
            .par_iter()
            .map(|column| Bits::of(column, low, range))
            .reduce_with(Bits::or)
            .unwrap_or_else(|| Bits::new(0));
        let count = seen.count();
        if low == 0 && count == range {
            return Self::Identity(range as u32);
        }
        let mut table = vec![0u32; range];
        let mut distinct = Vec::with_capacity(count);
        for offset in seen.drain() {
            table[offset] = distinct.len() as u32;
            distinct.push(low + offset as i64);
        }
        Self::Table { low, table, distinct }
    }

    fn of_sparse(columns: &[&IdChunk]) -> Result<Self, GraphError> {
        let mut seen: HashSet<i64> = HashSet::new();
        for column in columns {
            match column {
                IdChunk::Narrow(ids) => seen.extend(ids.iter().map(|&id| i64::from(id))),
                IdChunk::Wide(ids) => seen.extend(ids),
                IdChunk::Text { .. } => unreachable!("text has a numbering of its own"),
            }
        }
        check_count(seen.len())?;
        let mut distinct: Vec<i64> = seen.into_iter().collect();
        distinct.par_sort_unstable();
        let map = distinct.iter().zip(0u32..).map(|(&id, vertex)| (id, vertex)).collect();
        Ok(Self::Hashed { map, distinct })
    }

    fn of_texts(columns: &[&IdChunk]) -> Result<Self, GraphError> {
        let mut distinct: HashMap<Vec<u8>, u32> = HashMap::new();
        for column in columns {
            match column {
                IdChunk::Text { codes, table } => {
                    // A code whose rows were all rolled back must not become a vertex.
                    let mut used = vec![false; table.len()];
                    codes.iter().for_each(|&code| used[code as usize] = true);
                    for code in (0..table.len() as u32).filter(|&code| used[code as usize]) {
                        let text = table.text(code);
                        if !distinct.contains_key(text) {
                            distinct.insert(text.to_vec(), 0);
                        }
                    }
                }
                IdChunk::Narrow(ids) => ids.iter().for_each(|id| {
                    distinct.entry(id.to_string().into_bytes()).or_default();
                }),
                IdChunk::Wide(ids) => ids.iter().for_each(|id| {
                    distinct.entry(id.to_string().into_bytes()).or_default();
                }),
            }
        }
        check_count(distinct.len())?;
        let mut sorted: Vec<Vec<u8>> = distinct.keys().cloned().collect();
        sorted.par_sort_unstable();
        for (vertex, text) in (0u32..).zip(&sorted) {
            if let Some(slot) = distinct.get_mut(text) {
                *slot = vertex;
            }
        }
        Ok(Self::Text { map: distinct, distinct: sorted.into_iter().collect() })
    }

    fn len(&self) -> usize {
        match self {
            Self::Identity(count) => *count as usize,
            Self::Table { distinct, .. } | Self::Hashed { distinct, .. } => distinct.len(),
            Self::Text { distinct, .. } => distinct.len(),
        }
    }

    fn names(self) -> NameTable {
        match self {
            Self::Identity(count) => NameTable::Identity(count),
            Self::Table { distinct, .. } | Self::Hashed { distinct, .. } => {
                NameTable::Integers(distinct)
            }
            Self::Text { distinct, .. } => NameTable::Text(distinct),
        }
    }

    /// Identifiers to vertices, in place if the column is as narrow as the result.
    fn apply(&self, column: IdChunk, shift: u32) -> Vec<VertexId> {
        match (self, column) {
            (Self::Identity(_), IdChunk::Narrow(ids)) if shift == 0 => ids,
            (Self::Table { low, table, .. }, IdChunk::Narrow(ids)) => {
                replace(ids, |id| table[(i64::from(id) - low) as usize] + shift)
            }
            (_, IdChunk::Narrow(ids)) => replace(ids, |id| self.vertex(i64::from(id)) + shift),
            (_, IdChunk::Wide(ids)) => ids.par_iter().map(|&id| self.vertex(id) + shift).collect(),
            (_, IdChunk::Text { codes, table }) => {
                let vertices: Vec<u32> = (0..table.len() as u32)
                    .map(|code| self.text_vertex(table.text(code)))
                    .collect();
                replace(codes, |code| vertices[code as usize] + shift)
            }
        }
    }

    fn vertex(&self, id: i64) -> VertexId {
        match self {
            Self::Identity(_) => id as VertexId,
            Self::Table { low, table, .. } => table[(id - low) as usize],
            Self::Hashed { map, .. } => map[&id],
            Self::Text { .. } => self.text_vertex(id.to_string().as_bytes()),
        }
    }

    /// The vertex of a text; 0 for one that no row uses.
    fn text_vertex(&self, text: &[u8]) -> VertexId {
        match self {
            Self::Text { map, .. } => map.get(text).copied().unwrap_or(0),
            _ => unreachable!("text identifiers make a text numbering"),
        }
    }
}

fn replace(mut ids: Vec<u32>, vertex: impl Fn(u32) -> VertexId + Sync) -> Vec<VertexId> {
    ids.par_iter_mut().with_min_len(1 << 16).for_each(|id| *id = vertex(*id));
    ids
}

/// Which values of a range occur: one bit each, so that the set of a hundred thousand vertices
/// stays in the level-1 cache while millions of rows are marked.
struct Bits(Vec<u64>);

impl Bits {
    fn new(range: usize) -> Self {
        Self(vec![0; range.div_ceil(64)])
    }

    fn of(column: &IdChunk, low: i64, range: usize) -> Self {
        let mut bits = Self::new(range);
        let mut mark = |offset: usize| bits.0[offset / 64] |= 1 << (offset % 64);
        match column {
            IdChunk::Narrow(ids) => ids.iter().for_each(|&id| mark((i64::from(id) - low) as usize)),
            IdChunk::Wide(ids) => ids.iter().for_each(|&id| mark((id - low) as usize)),
            IdChunk::Text { .. } => unreachable!("text has a numbering of its own"),
        }
        bits
    }

    fn or(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, more)| *word |= more);
        self
    }

    fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The values that occur, ascending; clears the set.
    fn drain(&mut self) -> impl Iterator<Item = usize> {
        self.0.iter_mut().enumerate().flat_map(|(index, word)| {
            let mut word = std::mem::take(word);
            std::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros() as usize;
                    word &= word - 1;
                    index * 64 + bit
                })
            })
        })
    }
}

fn check_count(count: usize) -> Result<(), GraphError> {
    if count as u64 <= u64::from(u32::MAX) { Ok(()) } else { Err(too_many_vertices(count as u64)) }
}

fn bounds(column: &IdChunk) -> Option<(i64, i64)> {
    match column {
        IdChunk::Narrow(ids) => {
            least_and_most(ids).map(|(low, high)| (i64::from(low), i64::from(high)))
        }
        IdChunk::Wide(ids) => least_and_most(ids),
        IdChunk::Text { .. } => None,
    }
}

fn least_and_most<T: Copy + Ord + Send + Sync>(ids: &[T]) -> Option<(T, T)> {
    ids.par_chunks(1 << 16)
        .filter_map(|part| Some((*part.iter().min()?, *part.iter().max()?)))
        .reduce_with(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(src: IdChunk, dst: IdChunk, bipartite: bool) -> Numbered {
        number(Path::new("test"), src, dst, bipartite).unwrap()
    }

    #[test]
    fn dense_identifiers_keep_their_value() {
        let got = numbered(IdChunk::Narrow(vec![2, 0]), IdChunk::Narrow(vec![1, 1]), false);
        assert_eq!((got.src, got.dst), (vec![2, 0], vec![1, 1]));
        assert_eq!(got.names, VertexNames::identity(3));
    }

    #[test]
    fn identifiers_are_numbered_in_ascending_order() {
        let wide = i64::MAX;
        let got =
            numbered(IdChunk::Wide(vec![wide, -5, 7]), IdChunk::Wide(vec![7, 9, wide]), false);
        assert_eq!((got.src, got.dst), (vec![3, 0, 1], vec![1, 2, 3]));
        assert_eq!(got.names.first, NameTable::Integers(vec![-5, 7, 9, wide]));
    }

    #[test]
    fn two_sides_are_numbered_one_behind_the_other() {
        let got = numbered(IdChunk::Narrow(vec![0, 1]), IdChunk::Narrow(vec![5, 0]), true);
        assert_eq!((got.src, got.dst), (vec![0, 1], vec![3, 2]));
        assert_eq!(got.names.name(3), "5");
        assert_eq!(got.names.find_destination("5"), Some(3));
    }

    #[test]
    fn texts_are_ordered_by_bytes_and_unused_ones_are_dropped() {
        let mut src = IdChunk::text();
        src.push_text(b"b");
        src.push_text(b"unused");
        src.truncate(1);
        let mut dst = IdChunk::text();
        dst.push_text(b"a");
        let got = numbered(src, dst, false);
        assert_eq!((got.src, got.dst), (vec![1], vec![0]));
        assert_eq!(got.names.len(), 2);
    }
}
