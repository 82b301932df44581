//! The mapped file: the one place of this crate with unsafe code.
//!
//! Owns a read-only, private mapping of a whole file. It does not interpret the bytes.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;

use memmap2::{Mmap, UncheckedAdvice};
use zoetrope_heap::Held;

use crate::column::Bytes;

/// A file mapped into memory, read-only.
///
/// # When the file changes
/// Zoetrope's own writers never change a file in place: they write a new one and rename it, and a
/// mapping keeps the old one alive. If another program overwrites the mapped file, values read
/// from it may change between two reads; if it shortens the file, touching a page beyond the new
/// end stops the process (SIGBUS on Unix). Nothing in a process can prevent either: do not edit a
/// store that is in use.
pub(super) struct Mapping {
    map: Mmap,
    _held: Held,
}

impl Mapping {
    /// Maps all of `file`, whose bytes are counted already.
    pub(super) fn new(file: &File, held: Held) -> io::Result<Self> {
        // SAFETY: the obligation is that the bytes do not change while slices of them are alive.
        // The mapping is read-only and no writer of this crate modifies an existing file (they
        // replace it by renaming), so it holds unless another program edits the file, which is
        // documented above. All values cut out of it are plain numbers, valid for every bit
        // pattern, so even then no invalid value comes into being.
        unsafe { Mmap::map(file) }.map(|map| Self { map, _held: held })
    }
}

impl Bytes for Mapping {
    fn bytes(&self) -> &[u8] {
        &self.map
    }

    #[cfg(unix)]
    fn let_go(&self, range: Range<usize>) {
        // SAFETY: the obligation is that nothing that was written to the pages is lost, and that what is read from
        // them later is what was read before. The mapping is read-only, and pages of a file that leave a mapping are
        // read from the file again, under the condition of `Mapping::new` that it does not change.
        // Advice that the system does not take only leaves the pages where they are.
        let _ = unsafe {
            self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len())
        };
    }
}
