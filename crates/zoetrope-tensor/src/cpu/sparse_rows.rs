//! Parallel loops over the rows of a sparse matrix, split by the work in them.

use super::spmm::CsrRef;

/// Whether an output has its values per row or per entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Per {
    Row,
    Entry,
}

/// An output that is split together with the rows; a `width` of 0 stands for none.
pub(crate) struct SplitOutput<'a> {
    pub(crate) per: Per,
    pub(crate) width: usize,
    pub(crate) data: &'a mut [f32],
}

impl<'a> SplitOutput<'a> {
    pub(crate) fn rows(data: &'a mut [f32], width: usize) -> Self {
        Self { per: Per::Row, width, data }
    }

    pub(crate) fn entries(data: &'a mut [f32], width: usize) -> Self {
        Self { per: Per::Entry, width, data }
    }

    /// No output.
    pub(crate) fn none() -> Self {
        Self::rows(&mut [], 0)
    }

    /// An output per row that may not be wanted.
    pub(crate) fn maybe_rows(data: Option<&'a mut [f32]>, width: usize) -> Self {
        data.map_or_else(Self::none, |data| Self::rows(data, width))
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.width > 0
    }

    fn split(self, m: CsrRef, from: usize, middle: usize) -> (Self, Self) {
        let count = match self.per {
            Per::Row => middle - from,
            Per::Entry => (m.offsets[middle] - m.offsets[from]) as usize,
        };
        let (left, right) = self.data.split_at_mut(count * self.width);
        let Self { per, width, .. } = self;
        (Self { per, width, data: left }, Self { per, width, data: right })
    }
}

/// Calls `f(from, to, parts)` for ranges of rows with at most `block` entries and rows, in
/// parallel; the parts begin at the range's first row and entry.
pub(crate) fn for_each_range<F>(m: CsrRef, block: usize, parts: [SplitOutput; 3], f: &F)
where
    F: Fn(usize, usize, [SplitOutput; 3]) + Sync,
{
    if m.rows > 0 {
        halves(m, 0, m.rows, block, parts, f);
    }
}

fn halves<F>(m: CsrRef, from: usize, to: usize, block: usize, [a, b, c]: [SplitOutput; 3], f: &F)
where
    F: Fn(usize, usize, [SplitOutput; 3]) + Sync,
{
    if to - from == 1 || m.work(from, to) <= block {
        return f(from, to, [a, b, c]);
    }
    let middle = m.halve(from, to);
    let (a0, a1) = a.split(m, from, middle);
    let (b0, b1) = b.split(m, from, middle);
    let (c0, c1) = c.split(m, from, middle);
    rayon::join(
        || halves(m, from, middle, block, [a0, b0, c0], f),
        || halves(m, middle, to, block, [a1, b1, c1], f),
    );
}
