//! Single members of an archive as the types that the reader wants.

use zoetrope_graph::{NameTable, TextTable};

use super::archive::{Member, NpzArchive};
use crate::error::{DataError, Location};
use crate::npy::{NpyKind, NpyReader};

/// An array of numbers with its shape, checked to be free of empty dimensions.
pub(super) struct Dense {
    pub(super) shape: Vec<usize>,
    pub(super) kind: NpyKind,
    pub(super) values: Vec<f32>,
}

pub(super) struct Members<'a, 'p> {
    pub(super) archive: &'a mut NpzArchive<'p>,
}

impl Members<'_, '_> {
    pub(super) fn at(&self, name: &str) -> Location {
        Location::file(self.archive.path()).column(name)
    }

    pub(super) fn wrong(
        &self,
        name: &str,
        expected: impl Into<String>,
        found: impl AsRef<str>,
    ) -> DataError {
        DataError::invalid(self.at(name), expected, found)
    }

    /// A one-dimensional array.
    pub(super) fn column<T>(
        &mut self,
        name: &str,
        read: impl Fn(NpyReader<Member<'_>>) -> Result<Vec<T>, DataError>,
    ) -> Result<Option<Vec<T>>, DataError> {
        let Some(array) = self.archive.array(name)? else { return Ok(None) };
        if array.shape().len() != 1 {
            let found = format!("shape {:?}", array.shape());
            return Err(DataError::invalid(array.location().clone(), "one dimension", found));
        }
        read(array).map(Some)
    }

    pub(super) fn required<T>(
        &mut self,
        name: &str,
        read: impl Fn(NpyReader<Member<'_>>) -> Result<Vec<T>, DataError>,
    ) -> Result<Vec<T>, DataError> {
        match self.column(name, read)? {
            Some(values) => Ok(values),
            None => {
                let mut names = self.archive.names();
                names.truncate(12);
                let found = format!("only the arrays {}", names.join(", "));
                Err(self.wrong(name, "an array of this name", found))
            }
        }
    }

    /// A single value.
    pub(super) fn scalar(&mut self, name: &str) -> Result<Option<u64>, DataError> {
        let Some(array) = self.archive.array(name)? else { return Ok(None) };
        if array.elements() != 1 {
            let found = format!("shape {:?}", array.shape());
            return Err(DataError::invalid(array.location().clone(), "a single value", found));
        }
        Ok(array.read_u64()?.first().copied())
    }

    /// A number array of one of the given numbers of dimensions.
    pub(super) fn dense(
        &mut self,
        name: &str,
        dimensions: &[usize],
        expected: &str,
    ) -> Result<Option<Dense>, DataError> {
        let Some(array) = self.archive.array(name)? else { return Ok(None) };
        let shape = array.shape().to_vec();
        let named = dimensions.contains(&shape.len())
            && shape.iter().all(|&length| (1..1 << 32).contains(&length));
        if !named {
            let found = format!("shape {shape:?}");
            return Err(DataError::invalid(array.location().clone(), expected, found));
        }
        let kind = array.kind();
        let values = array.read_f32()?;
        let shape = shape.into_iter().map(|length| length as usize).collect();
        Ok(Some(Dense { shape, kind, values }))
    }

    /// The names of one side, if the archive has them.
    pub(super) fn names(&mut self, prefix: &str) -> Result<Option<NameTable>, DataError> {
        if let Some(names) = self.column(&format!("{prefix}names"), |array| array.read_i64())? {
            return Ok(Some(NameTable::Integers(names)));
        }
        let (ends, bytes) = (format!("{prefix}name_ends"), format!("{prefix}name_bytes"));
        let Some(ends) = self.column(&ends, |array| array.read_u64())? else { return Ok(None) };
        let content = self.required(&bytes, |array| array.read_u8())?;
        match TextTable::from_parts(ends, content) {
            Some(table) => Ok(Some(NameTable::Text(table))),
            None => Err(self.wrong(&bytes, "as many bytes as the ends say", "another number")),
        }
    }
}
