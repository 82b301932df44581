//! Original identifiers to dense vertices, in ascending order of the identifier.
//!
//! Integers whose range is not much wider than the number of events go through a table indexed
//! by value; sparse integers and text through sorted distinct values and a hash map. Vertex
//! numbers depend on the set of identifiers alone, not on row order, block size or threads.

use std::path::Path;

use hashbrown::HashMap;
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

/// Numbers the vertices of two columns that come in blocks.
///
/// # Errors
/// [`DataError::Graph`] where there are more distinct identifiers than 32 bits can number.
pub(crate) fn number(
    path: &Path,
    src: Vec<IdChunk>,
    dst: Vec<IdChunk>,
    bipartite: bool,
) -> Result<Numbered, DataError> {
    let too_many = |source| DataError::Graph { path: path.to_owned(), source };
    if bipartite {
        let first = Numbering::of(&[&src]).map_err(too_many)?;
        let second = Numbering::of(&[&dst]).map_err(too_many)?;
        let shift = first.len() as u32;
        if u64::from(shift) + second.len() as u64 > u64::from(u32::MAX) {
            return Err(too_many(too_many_vertices(u64::from(shift) + second.len() as u64)));
        }
        let src = first.apply(src, 0);
        let dst = second.apply(dst, shift);
        let names = VertexNames { first: first.names(), second: Some(second.names()) };
        return Ok(Numbered { src, dst, names });
    }
    let numbering = Numbering::of(&[&src, &dst]).map_err(too_many)?;
    let src = numbering.apply(src, 0);
    let dst = numbering.apply(dst, 0);
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
    fn of(columns: &[&Vec<IdChunk>]) -> Result<Self, GraphError> {
        let chunks: Vec<&IdChunk> = columns.iter().flat_map(|column| column.iter()).collect();
        if chunks.iter().any(|chunk| chunk.is_text()) {
            return Self::of_texts(&chunks);
        }
        let rows: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        let bounds = chunks.par_iter().filter_map(|chunk| bounds(chunk));
        let Some((low, high)) = bounds.reduce_with(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
            return Ok(Self::Identity(0));
        };
        let range = i128::from(high) - i128::from(low) + 1;
        if range <= (2 * rows as i128).max(1 << 16) {
            return Ok(Self::of_range(&chunks, low, range as usize));
        }
        Self::of_sparse(&chunks)
    }

    fn of_range(chunks: &[&IdChunk], low: i64, range: usize) -> Self {
        // One table per thread would double the memory: marking is cheap, so one thread marks.
        let mut table = vec![0u32; range];
        for chunk in chunks {
            match chunk {
                IdChunk::Narrow(ids) => {
                    ids.iter().for_each(|&id| table[(i64::from(id) - low) as usize] = 1);
                }
                IdChunk::Wide(ids) => ids.iter().for_each(|&id| table[(id - low) as usize] = 1),
                IdChunk::Text { .. } => unreachable!("text has a numbering of its own"),
            }
        }
        let mut distinct = Vec::new();
        for (offset, slot) in table.iter_mut().enumerate() {
            if *slot != 0 {
                *slot = distinct.len() as u32;
                distinct.push(low + offset as i64);
            }
        }
        match low == 0 && distinct.len() == range {
            true => Self::Identity(range as u32),
            false => Self::Table { low, table, distinct },
        }
    }

    fn of_sparse(chunks: &[&IdChunk]) -> Result<Self, GraphError> {
        let mut distinct: Vec<i64> = chunks
            .par_iter()
            .flat_map_iter(|chunk| {
                let mut ids: Vec<i64> = match chunk {
                    IdChunk::Narrow(ids) => ids.iter().map(|&id| i64::from(id)).collect(),
                    IdChunk::Wide(ids) => ids.clone(),
                    IdChunk::Text { .. } => unreachable!("text has a numbering of its own"),
                };
                ids.sort_unstable();
                ids.dedup();
                ids
            })
            .collect();
        distinct.par_sort_unstable();
        distinct.dedup();
        check_count(distinct.len())?;
        let map = distinct.iter().zip(0u32..).map(|(&id, vertex)| (id, vertex)).collect();
        Ok(Self::Hashed { map, distinct })
    }

    fn of_texts(chunks: &[&IdChunk]) -> Result<Self, GraphError> {
        let mut distinct: HashMap<Vec<u8>, u32> = HashMap::new();
        for chunk in chunks {
            match chunk {
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

    /// Translates the blocks into one column, block by block, and frees each behind it.
    fn apply(&self, chunks: Vec<IdChunk>, shift: u32) -> Vec<VertexId> {
        let rows = chunks.iter().map(IdChunk::len).sum();
        let mut column = vec![0; rows];
        let mut rest = &mut column[..];
        let mut pieces = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let (piece, tail) = rest.split_at_mut(chunk.len());
            pieces.push((chunk, piece));
            rest = tail;
        }
        pieces.into_par_iter().for_each(|(chunk, piece)| self.translate(chunk, shift, piece));
        column
    }

    fn translate(&self, chunk: IdChunk, shift: u32, piece: &mut [VertexId]) {
        match (self, chunk) {
            (Self::Identity(_), IdChunk::Narrow(ids)) if shift == 0 => piece.copy_from_slice(&ids),
            (_, IdChunk::Narrow(ids)) => {
                fill(piece, &ids, |&id| self.vertex(i64::from(id)) + shift);
            }
            (_, IdChunk::Wide(ids)) => fill(piece, &ids, |&id| self.vertex(id) + shift),
            (_, IdChunk::Text { codes, table }) => {
                let vertices: Vec<u32> = (0..table.len() as u32)
                    .map(|code| self.text_vertex(table.text(code)))
                    .collect();
                fill(piece, &codes, |&code| vertices[code as usize] + shift);
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

fn fill<T>(piece: &mut [VertexId], ids: &[T], vertex: impl Fn(&T) -> VertexId) {
    for (slot, id) in piece.iter_mut().zip(ids) {
        *slot = vertex(id);
    }
}

fn check_count(count: usize) -> Result<(), GraphError> {
    match count as u64 <= u64::from(u32::MAX) {
        true => Ok(()),
        false => Err(too_many_vertices(count as u64)),
    }
}

fn bounds(chunk: &IdChunk) -> Option<(i64, i64)> {
    match chunk {
        IdChunk::Narrow(ids) => {
            let low = ids.iter().min()?;
            Some((i64::from(*low), i64::from(*ids.iter().max()?)))
        }
        IdChunk::Wide(ids) => Some((*ids.iter().min()?, *ids.iter().max()?)),
        IdChunk::Text { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(src: Vec<IdChunk>, dst: Vec<IdChunk>, bipartite: bool) -> Numbered {
        number(Path::new("test"), src, dst, bipartite).unwrap()
    }

    #[test]
    fn dense_identifiers_keep_their_value() {
        let got =
            numbered(vec![IdChunk::Narrow(vec![2, 0])], vec![IdChunk::Narrow(vec![1, 1])], false);
        assert_eq!((got.src, got.dst), (vec![2, 0], vec![1, 1]));
        assert_eq!(got.names, VertexNames::identity(3));
    }

    #[test]
    fn identifiers_are_numbered_in_ascending_order() {
        let wide = i64::MAX;
        let got = numbered(
            vec![IdChunk::Wide(vec![wide, -5]), IdChunk::Narrow(vec![7])],
            vec![IdChunk::Narrow(vec![7, 9]), IdChunk::Wide(vec![wide])],
            false,
        );
        assert_eq!((got.src, got.dst), (vec![3, 0, 1], vec![1, 2, 3]));
        assert_eq!(got.names.first, NameTable::Integers(vec![-5, 7, 9, wide]));
    }

    #[test]
    fn two_sides_are_numbered_one_behind_the_other() {
        let got =
            numbered(vec![IdChunk::Narrow(vec![0, 1])], vec![IdChunk::Narrow(vec![5, 0])], true);
        assert_eq!((got.src, got.dst), (vec![0, 1], vec![3, 2]));
        assert_eq!(got.names.name(3), "5");
        assert_eq!(got.names.find_destination("5"), Some(3));
    }

    #[test]
    fn texts_are_ordered_by_bytes_and_unused_ones_are_dropped() {
        let mut src = IdChunk::text(0);
        src.push_text(b"b");
        src.push_text(b"unused");
        src.truncate(1);
        let mut dst = IdChunk::text(0);
        dst.push_text(b"a");
        let got = numbered(vec![src], vec![dst], false);
        assert_eq!((got.src, got.dst), (vec![1], vec![0]));
        assert_eq!(got.names.len(), 2);
    }
}
