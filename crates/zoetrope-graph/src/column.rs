//! A column of plain values: owned, or borrowed from a memory-mapped store.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;

/// Bytes that live as long as the columns cut out of them, e.g. a mapped file.
pub trait Bytes: Send + Sync {
    /// The bytes; the same slice on every call.
    fn bytes(&self) -> &[u8];

    /// Some of the bytes will not be read soon: what can be read again need not stay in memory.
    fn let_go(&self, _: Range<usize>) {}
}

/// A read-only column of plain values; dereferences to a slice.
///
/// Cloning an owned column copies it; cloning a mapped one copies a pointer.
#[derive(Clone)]
pub struct Column<T: Pod>(Inner<T>);

#[derive(Clone)]
enum Inner<T: Pod> {
    Owned(Vec<T>),
    Mapped { bytes: Arc<dyn Bytes>, start: usize, end: usize },
}

impl<T: Pod> Column<T> {
    /// Cuts `bytes[start..end]` out as a column, or `None` if the range is out of bounds,
    /// misaligned for `T` or not a whole number of values.
    pub fn mapped(bytes: Arc<dyn Bytes>, start: usize, end: usize) -> Option<Self> {
        let range = bytes.bytes().get(start..end)?;
        bytemuck::try_cast_slice::<u8, T>(range).ok()?;
        Some(Self(Inner::Mapped { bytes, start, end }))
    }

    /// The values as an owned vector, without a copy if they are owned already.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Inner::Owned(values) => values,
            Inner::Mapped { .. } => self.to_vec(),
        }
    }

    /// Says that some values will not be read soon: the pages of a mapped file that they lie on leave this process
    /// until then. Nothing happens to values on the heap.
    ///
    /// # Panics
    /// If there are no such values.
    pub fn let_go(&self, values: Range<usize>) {
        if let Inner::Mapped { bytes, start, end } = &self.0 {
            let [from, until] = [values.start, values.end].map(|at| start + at * size_of::<T>());
            assert!(from <= until && until <= *end, "values {values:?} of a column");
            bytes.let_go(from..until);
        }
    }

    /// Shows all values in chunks and releases the memory pages of each chunk afterwards. For a single pass over a column.
    pub fn scan(&self, mut see: impl FnMut(&[T])) {
        const VALUES_AT_ONCE: usize = 1 << 20;
        for from in (0..self.len()).step_by(VALUES_AT_ONCE) {
            let until = self.len().min(from + VALUES_AT_ONCE);
            see(&self[from..until]);
            self.let_go(from..until);
        }
    }

    /// Whether the values live in a mapped file rather than on the heap.
    pub fn is_mapped(&self) -> bool {
        matches!(self.0, Inner::Mapped { .. })
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Inner::Owned(values) => values,
            // The cast was tried in `mapped` and the bytes do not move, so it cannot fail here.
            Inner::Mapped { bytes, start, end } => {
                bytemuck::cast_slice(&bytes.bytes()[*start..*end])
            }
        }
    }
}

impl<T: Pod> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Inner::Owned(values))
    }
}

impl<T: Pod> Default for Column<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

impl<T: Pod + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self.deref() == other.deref()
    }
}
