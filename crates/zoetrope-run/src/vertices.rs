//! The vertices of a run whose weights have a row for each of them.
//!
//! Vertices are numbered anew in every file, so a row is found again by the vertex's name and never by
//! its number.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use zoetrope_graph::{NameTable, VertexNames};

use super::files;
use super::folder::RunFolder;
use crate::error::RunError;

/// The name of the file.
pub(super) const NAME: &str = "vertices.json";

/// The names of a run's vertices, in the order of the rows of its weights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunVertices {
    /// All vertices, or those of the source side.
    first: Vec<String>,
    /// Those of the destination side, if it has identifiers of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second: Option<Vec<String>>,
}

impl From<&VertexNames> for RunVertices {
    fn from(names: &VertexNames) -> Self {
        let all =
            |table: &NameTable| (0..table.len()).map(|i| table.name(i).into_owned()).collect();
        Self { first: all(&names.first), second: names.second.as_ref().map(all) }
    }
}

impl RunVertices {
    /// Reads the vertices of a run; None if its weights have no rows for vertices.
    ///
    /// # Errors
    /// [`RunError::Io`] if the file cannot be read, [`RunError::Damaged`] if it is something
    /// else.
    pub fn read(root: &Path) -> Result<Option<Self>, RunError> {
        files::read_json(&root.join(NAME))
    }

    /// Which row of the run belongs to each vertex of other data, None for a vertex that the run does not
    /// know; None if they are the same vertices in the same order.
    pub fn rows_for(&self, names: &VertexNames) -> Option<Vec<Option<u32>>> {
        let own = Self::from(names);
        if own == *self {
            return None;
        }
        let known = |names: &[String], from: usize| -> HashMap<String, u32> {
            let places = names.iter().enumerate();
            places.map(|(place, name)| (name.clone(), (from + place) as u32)).collect()
        };
        let first = known(&self.first, 0);
        let second = self.second.as_ref().map(|second| known(second, self.first.len()));
        let find = |side: &HashMap<String, u32>, name: &String| side.get(name).copied();
        let sources = own.first.iter().map(|name| find(&first, name));
        let others = own.second.iter().flatten();
        let destinations = others.map(|name| find(second.as_ref().unwrap_or(&first), name));
        Some(sources.chain(destinations).collect())
    }
}

impl RunFolder {
    /// Saves the vertices of the run.
    ///
    /// # Errors
    /// [`RunError::Io`] if the disk is full or fails.
    pub fn write_vertices(&self, names: &VertexNames) -> Result<(), RunError> {
        let text = serde_json::to_vec(&RunVertices::from(names))
            .map_err(|error| RunError::io(self.root().join(NAME), error.into()))?;
        self.write_file(NAME, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(first: &[i64], second: Option<&[i64]>) -> VertexNames {
        VertexNames {
            first: NameTable::Integers(first.into()),
            second: second.map(|second| NameTable::Integers(second.into())),
        }
    }

    #[test]
    fn rows_are_found_by_name_and_side() {
        let run = RunVertices::from(&names(&[3, 5, 9], None));
        assert_eq!(run.rows_for(&names(&[3, 5, 9], None)), None);
        let rows = run.rows_for(&names(&[1, 3, 9], None)).unwrap();
        assert_eq!(rows, [None, Some(0), Some(2)]);
        let run = RunVertices::from(&names(&[3, 5], Some(&[3, 4])));
        let rows = run.rows_for(&names(&[5], Some(&[3, 5]))).unwrap();
        assert_eq!(rows, [Some(1), Some(2), None]);
    }
}
