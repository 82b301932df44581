//! Verification: everything about a store that opening does not look at, in parallel.

use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::StoreProblem;
use super::checksum::{BLOCK, combine};
use super::layout::Section;
use super::open::StoreFile;
use crate::column::Bytes;
use crate::error::GraphError;
use crate::events::EventKind;
use crate::ids::VertexId;
use crate::time::Time;

impl StoreFile {
    /// Checks all checksums, that gaps are zero, that times ascend, that vertices and kinds are in
    /// range and that names are readable. Each byte is read once: a block is hashed and scanned
    /// while it is in cache. `advance` hears how many bytes were done, from several threads.
    ///
    /// # Errors
    /// [`GraphError::Damaged`] with the first problem of each kind and section, by position.
    pub fn verify(&self, advance: &(dyn Fn(u64) + Sync)) -> Result<(), GraphError> {
        let mut problems: Vec<StoreProblem> = self.gaps();
        for section in &self.sections {
            problems.extend(self.verify_section(section, advance));
        }
        if problems.is_empty() {
            return self.events().map(drop);
        }
        problems.sort_by_key(|problem| problem.byte);
        Err(self.damaged(problems))
    }

    fn verify_section(
        &self,
        section: &Section,
        advance: &(dyn Fn(u64) + Sync),
    ) -> Vec<StoreProblem> {
        let content = self.content(section);
        let vertices = self.vertices();
        let blocks: Vec<(u64, Option<StoreProblem>)> = (0..content.len().div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let range = block * BLOCK..content.len().min((block + 1) * BLOCK);
                let hash = xxh3_64(&content[range.clone()]);
                let problem = scan(section, content, range.clone(), vertices);
                // Who reads it next reads it from the system's cache: a process has no more of the file than it uses.
                let first = section.offset as usize;
                self.mapping.let_go(first + range.start..first + range.end);
                advance(range.len() as u64);
                (hash, problem)
            })
            .collect();
        let computed = combine(blocks.iter().map(|block| block.0));
        let mut problems = Vec::new();
        if computed != section.checksum {
            let expected = format!("content with checksum {:016x}", section.checksum);
            let found = format!("{computed:016x}");
            problems.push(StoreProblem::new(section.offset, section.name, expected, found));
        }
        problems.extend(blocks.into_iter().find_map(|block| block.1));
        problems
    }

    /// Bytes between sections that are not zero.
    fn gaps(&self) -> Vec<StoreProblem> {
        let bytes = self.mapping.bytes();
        let mut end = super::layout::sections_start(self.sections.len());
        let mut problems = Vec::new();
        for section in &self.sections {
            let gap = &bytes[end as usize..section.offset as usize];
            if let Some(at) = gap.iter().position(|&byte| byte != 0) {
                let byte = end + at as u64;
                let found = gap[at].to_string();
                problems.push(StoreProblem::new(
                    byte,
                    section.name,
                    "0 in the gap before it",
                    found,
                ));
            }
            end = section.end();
        }
        problems
    }
}

/// The first value in `content[range]` that the section may not hold.
fn scan(
    section: &Section,
    content: &[u8],
    range: Range<usize>,
    vertices: u32,
) -> Option<StoreProblem> {
    let report = |at: usize, expected: String, found: String| {
        Some(StoreProblem::new(section.offset + at as u64, section.name, expected, found))
    };
    match section.name {
        "src" | "dst" => {
            let (at, vertex) = first::<VertexId>(content, &range, |&vertex| vertex >= vertices)?;
            report(at, format!("a vertex below {vertices}"), vertex.to_string())
        }
        "kind" => {
            let last = EventKind::Remove as u8;
            let (at, kind) = first::<u8>(content, &range, |&kind| kind > last)?;
            report(at, "0 (add) or 1 (remove)".into(), kind.to_string())
        }
        "time" => {
            // One value back, so that the step into the block is checked too.
            let times: &[Time] = values(content, range.start.saturating_sub(8)..range.end);
            let position = times.windows(2).position(|pair| pair[0] > pair[1])?;
            let at = range.start.saturating_sub(8) + 8 * (position + 1);
            let expected = format!("a time from {} on", times[position]);
            report(at, expected, times[position + 1].to_string())
        }
        _ => None,
    }
}

fn first<T: Pod>(
    content: &[u8],
    range: &Range<usize>,
    bad: impl Fn(&T) -> bool,
) -> Option<(usize, T)> {
    let values: &[T] = values(content, range.clone());
    // A whole block without an early exit vectorises; blocks are almost always good.
    if values.iter().fold(false, |any, value| any | bad(value)) {
        let position = values.iter().position(&bad)?;
        return Some((range.start + position * size_of::<T>(), values[position]));
    }
    None
}

/// Block and section starts are multiples of 64 and section lengths whole values (checked when
/// the file was opened), so the cast holds.
fn values<T: Pod>(content: &[u8], range: Range<usize>) -> &[T] {
    bytemuck::cast_slice(&content[range])
}
