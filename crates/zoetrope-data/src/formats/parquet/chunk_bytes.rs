//! The bytes of one column chunk as the decoder wants to see them.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

/// The checked bytes of a column chunk, addressed by their offset in the file.
pub(crate) struct ChunkBytes {
    pub(crate) start: u64,
    pub(crate) bytes: Bytes,
}

impl ChunkBytes {
    fn offset(&self, start: u64) -> parquet::errors::Result<usize> {
        usize::try_from(start.wrapping_sub(self.start))
            .ok()
            .filter(|&offset| offset <= self.bytes.len())
            .ok_or_else(|| ParquetError::General("an offset outside the column".into()))
    }
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for ChunkBytes {
    type T = std::io::Cursor<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(std::io::Cursor::new(self.bytes.slice(self.offset(start)?..)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let offset = self.offset(start)?;
        if length <= self.bytes.len() - offset {
            Ok(self.bytes.slice(offset..offset + length))
        } else {
            Err(ParquetError::General("a page beyond the end of its column".into()))
        }
    }
}
