//! Writing a store: sections end to end into a temporary file, which then takes the target's place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::cast_slice;

use super::checksum::SectionHasher;
use super::layout::{self, Header, Section};
use super::stream::StoreAttributes;
use crate::error::GraphError;
use crate::events::EventStore;
use crate::ids::{NameTable, TextTable};

/// Bytes handed to the system at a time, so that progress moves.
const PIECE: usize = 4 << 20;

/// Writes a store; the target is replaced whole or not at all. `advance` hears the bytes written.
///
/// # Errors
/// [`GraphError::Io`] if the system refuses (nothing is left behind),
/// [`GraphError::LengthMismatch`] if vertex attributes do not fit the vertices.
pub fn write(path: &Path, store: &EventStore, advance: &dyn Fn(u64)) -> Result<(), GraphError> {
    let attributes = StoreAttributes::of(store);
    let header = attributes.header(store.len() as u64, store.scale(), store.feature_width())?;
    let mut sections = vec![
        ("src", Content::Bytes(cast_slice(store.src()))),
        ("dst", Content::Bytes(cast_slice(store.dst()))),
        ("time", Content::Bytes(cast_slice(store.time()))),
    ];
    let optional = [
        ("weight", store.weight().map(cast_slice)),
        ("label", store.label().map(cast_slice)),
        ("kind", store.kind()),
        ("features", store.features().map(cast_slice)),
    ];
    sections.extend(optional.into_iter().filter_map(|(n, c)| Some((n, Content::Bytes(c?)))));
    attributes.push_sections(&mut sections);
    replace(path, &header, sections, advance).map_err(|source| io_error(path, source))
}

pub(super) fn io_error(path: &Path, source: io::Error) -> GraphError {
    GraphError::Io { path: path.into(), source }
}

/// Where the bytes of a section come from.
pub(super) enum Content<'a> {
    Bytes(&'a [u8]),
    /// A file that holds nothing else, and what was hashed while it was filled.
    Spooled {
        file: File,
        length: u64,
        checksum: u64,
    },
}

/// Named sections in file order.
pub(super) type Sections<'a> = Vec<(&'static str, Content<'a>)>;

/// Sections of a text table; none if it is empty.
pub(super) fn push_text<'a>(
    sections: &mut Sections<'a>,
    ends: &'static str,
    bytes: &'static str,
    table: &'a TextTable,
) {
    let (offsets, content) = table.parts();
    sections.push((ends, Content::Bytes(cast_slice(offsets))));
    sections.push((bytes, Content::Bytes(content)));
}

/// Sections of a name table; none if vertices are numbered from 0.
pub(super) fn push_names<'a>(
    sections: &mut Sections<'a>,
    [integers, ends, bytes]: [&'static str; 3],
    table: &'a NameTable,
) {
    match table {
        NameTable::Identity(_) => {}
        NameTable::Integers(names) => sections.push((integers, Content::Bytes(cast_slice(names)))),
        NameTable::Text(names) => push_text(sections, ends, bytes, names),
    }
}

/// Writes a whole file beside `path`, syncs it and renames it to `path`.
pub(super) fn replace(
    path: &Path,
    header: &Header,
    sections: Sections<'_>,
    advance: &dyn Fn(u64),
) -> io::Result<()> {
    let temporary = Temporary::create(path, "store")?;
    let mut file = &temporary.file;
    let mut table = Vec::with_capacity(sections.len());
    let mut end = layout::sections_start(sections.len());
    for (name, content) in sections {
        let offset = layout::aligned(end).ok_or(io::ErrorKind::FileTooLarge)?;
        // The gap is a hole in the file: it reads as zeros.
        file.seek(SeekFrom::Start(offset))?;
        let (length, checksum) = write_section(file, content, advance)?;
        end = offset + length;
        table.push(Section { name, offset, length, checksum });
    }
    file.set_len(end)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&layout::encode(header, &table))?;
    file.sync_all()?;
    temporary.rename(path)
}

fn write_section(
    mut file: &File,
    content: Content<'_>,
    advance: &dyn Fn(u64),
) -> io::Result<(u64, u64)> {
    match content {
        Content::Bytes(bytes) => {
            let mut hasher = SectionHasher::new();
            for piece in bytes.chunks(PIECE) {
                hasher.update(piece);
                file.write_all(piece)?;
                advance(piece.len() as u64);
            }
            Ok((bytes.len() as u64, hasher.finish()))
        }
        Content::Spooled { file: mut spool, length, checksum } => {
            spool.seek(SeekFrom::Start(0))?;
            let mut left = length;
            while left > 0 {
                let mut piece = io::Read::take(&spool, left.min(16 * PIECE as u64));
                let copied = io::copy(&mut piece, &mut file)?;
                if copied == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                left -= copied;
                advance(copied);
            }
            Ok((length, checksum))
        }
    }
}

/// A file beside the target that is removed unless it takes the target's place.
pub(super) struct Temporary {
    pub(super) file: File,
    path: PathBuf,
}

impl Temporary {
    /// Creates `.NAME.PROCESS-NUMBER.PURPOSE.tmp` in the folder of `target`.
    pub(super) fn create(target: &Path, purpose: &str) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let name = format!(".{name}.{}-{number}.{purpose}.tmp", std::process::id());
            let path = target.with_file_name(name);
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { file, path }),
                // Left by a dead process of the same number: take the next name.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        sync_folder(target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing to remove; when removal fails there is no one to tell.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes the rename itself survive a power failure.
fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if cfg!(unix) { File::open(folder.unwrap_or(Path::new(".")))?.sync_all() } else { Ok(()) }
}
