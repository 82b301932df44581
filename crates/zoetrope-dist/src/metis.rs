//! METIS (Karypis and Kumar), which divides the vertices of a graph, if it is installed: found at run time.
//!
//! One function is used, with the library's own options: at most 3 % imbalance, and the same parts for the same graph and
//! version of the library. It does not know what is divided or why.

#![allow(unsafe_code)]

use std::ffi::{OsString, c_int};
use std::fmt;

use libloading::Library;

/// Names the library to use.
const VARIABLE: &str = "ZOETROPE_METIS_LIBRARY";

const NAMES: [&str; 3] = ["libmetis.so.5", "libmetis.so", "libmetis.dylib"];

/// What its functions return if all went well.
const OK: c_int = 1;

/// Options of METIS 5, in its integers.
const OPTIONS: usize = 40;

/// Why METIS does not divide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetisError {
    /// The library is not there.
    #[error("METIS is not installed ({why})")]
    Missing {
        /// What the system said.
        why: String,
    },
    /// It counts in other integers.
    #[error("{name} was built with integers of 64 bits, not of 32")]
    Wide {
        /// The library.
        name: String,
    },
    /// A graph has more than its integers can count.
    #[error("a graph of {entries} ends of edges is larger than METIS can count")]
    TooLarge {
        /// Both ends of all edges.
        entries: usize,
    },
    /// It refused or failed.
    #[error("{name} returned {code}")]
    Failed {
        /// The library.
        name: String,
        /// The code that METIS gives: -2 for a wrong graph, -3 for memory.
        code: i32,
    },
}

type Kway = unsafe extern "C" fn(
    *mut i32,
    *mut i32,
    *mut i32,
    *mut i32,
    *mut i32,
    *mut i32,
    *mut i32,
    *mut i32,
    *mut f32,
    *mut f32,
    *mut i32,
    *mut i32,
    *mut i32,
) -> c_int;

/// The library.
pub struct Metis {
    name: String,
    kway: Kway,
    /// Keeps the function in memory.
    _library: Library,
}

impl fmt::Debug for Metis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metis").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A graph without direction: each edge stands in the lists of both of its ends.
#[derive(Debug, Clone, Default)]
pub struct MetisGraph {
    /// The start of the list of each vertex, and the end of the last list.
    pub offsets: Vec<i32>,
    /// The other ends.
    pub neighbours: Vec<i32>,
    /// The weight of each entry, above 0; their sum is an `i32`.
    pub weights: Vec<i32>,
}

impl Metis {
    /// Finds the library: the file that `ZOETROPE_METIS_LIBRARY` names, or one that the system's loader finds.
    ///
    /// # Errors
    /// [`MetisError::Missing`] or [`MetisError::Wide`].
    pub fn open() -> Result<Self, MetisError> {
        let named = std::env::var_os(VARIABLE);
        let names: Vec<OsString> = match named {
            Some(name) => vec![name],
            None => NAMES.iter().map(OsString::from).collect(),
        };
        let mut why = String::new();
        for name in names {
            // SAFETY: the obligation is that initialisers of the library are sound; METIS has none, and who names
            // another library answers for it.
            match unsafe { Library::new(&name) } {
                Ok(library) => return Self::of(library, name.to_string_lossy().into_owned()),
                Err(error) if why.is_empty() => why = error.to_string(),
                Err(_) => {}
            }
        }
        Err(MetisError::Missing { why })
    }

    fn of(library: Library, name: String) -> Result<Self, MetisError> {
        let missing = |error: libloading::Error| MetisError::Missing { why: error.to_string() };
        // SAFETY: the obligation is that the symbol has this type; METIS declares
        // `int METIS_SetDefaultOptions(idx_t *options)`.
        let defaults = unsafe {
            library.get::<unsafe extern "C" fn(*mut i32) -> c_int>(b"METIS_SetDefaultOptions\0")
        };
        // Room for integers of 64 bits, with a value that no default has.
        let mut options = [7_i32; 2 * OPTIONS];
        let set = defaults.map_err(missing)?;
        // SAFETY: the obligation is room for 40 integers of the library, which there is whether they have 32 bits or 64.
        unsafe { set(options.as_mut_ptr()) };
        if options[OPTIONS..].iter().any(|&value| value != 7) {
            return Err(MetisError::Wide { name });
        }
        // SAFETY: the obligation is that the symbol has this type; METIS 5 declares it so, with integers of 32 bits, which
        // was looked at, and reals that are only passed as null.
        let kway = unsafe { library.get::<Kway>(b"METIS_PartGraphKway\0") };
        let kway = *kway.map_err(missing)?;
        Ok(Self { name, kway, _library: library })
    }

    /// The library's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Divides the vertices into parts with few edges between them, none more than 3 % heavier than the mean.
    ///
    /// # Errors
    /// [`MetisError::TooLarge`] and [`MetisError::Failed`].
    ///
    /// # Panics
    /// If lists differ in length, an offset falls, or an end is no vertex.
    pub fn divide(&self, mut graph: MetisGraph, parts: u32) -> Result<Vec<u32>, MetisError> {
        let entries = graph.neighbours.len();
        let Ok(mut vertices) = i32::try_from(graph.offsets.len().saturating_sub(1)) else {
            return Err(MetisError::TooLarge { entries });
        };
        let is_vertex = |&end: &i32| (0..vertices).contains(&end);
        assert!(graph.neighbours.iter().all(is_vertex), "ends are vertices");
        assert_eq!(graph.weights.len(), entries, "a weight for each end");
        assert!(graph.offsets.is_sorted() && graph.offsets.first() == Some(&0), "offsets rise");
        assert_eq!(graph.offsets.last().map(|&end| end as usize), Some(entries), "lists end");
        let (mut constraints, mut count, mut cut) = (1, parts as i32, 0);
        let mut part = vec![0_i32; vertices as usize];
        let null = std::ptr::null_mut();
        // SAFETY: the obligations are those of METIS's manual: numbers that are not null point to one integer; lists have
        // the lengths that `vertices` and `offsets` say, with ends that are vertices (all asserted above); `part` has room
        // for each vertex. Weights of vertices, shares of parts, imbalances and options may be null. Nothing is kept.
        let code = unsafe {
            (self.kway)(
                &raw mut vertices,
                &raw mut constraints,
                graph.offsets.as_mut_ptr(),
                graph.neighbours.as_mut_ptr(),
                null,
                null,
                graph.weights.as_mut_ptr(),
                &raw mut count,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                null,
                &raw mut cut,
                part.as_mut_ptr(),
            )
        };
        if code != OK {
            return Err(MetisError::Failed { name: self.name.clone(), code });
        }
        Ok(part.into_iter().map(|part| part as u32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_triangles_are_divided_at_the_edge_between_them() {
        let metis = match Metis::open() {
            Ok(metis) => metis,
            Err(error @ MetisError::Missing { .. }) => {
                println!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
        let mut graph = MetisGraph { offsets: vec![0], ..MetisGraph::default() };
        for vertex in 0..6 {
            for (a, b) in edges {
                if a == vertex || b == vertex {
                    graph.neighbours.push(a + b - vertex);
                    graph.weights.push(1);
                }
            }
            graph.offsets.push(graph.neighbours.len() as i32);
        }
        let parts = metis.divide(graph.clone(), 2).unwrap();
        assert!(parts[0] == parts[1] && parts[1] == parts[2], "{parts:?}");
        assert!(parts[3] == parts[4] && parts[4] == parts[5], "{parts:?}");
        assert_ne!(parts[0], parts[3]);
        assert_eq!(metis.divide(graph, 2).unwrap(), parts);
    }
}
