//! The files of kernels, as text inside the binary.

/// A file of kernels.
#[derive(Debug)]
pub struct Source {
    /// The file's name without its ending, also the name of the launcher's file.
    pub name: &'static str,
    body: &'static str,
}

/// What every file begins with.
const COMMON: &str = include_str!("common.cuh");

impl Source {
    /// What the compiler gets.
    pub fn text(&self) -> String {
        format!("{COMMON}#line 1 \"{}.cu\"\n{}", self.name, self.body)
    }
}

macro_rules! sources {
    ($($name:literal)*) => {
        /// All files.
        pub const SOURCES: &[Source] =
            &[$(Source { name: $name, body: include_str!(concat!($name, ".cu")) }),*];
    };
}

sources! {
    "activation"
    "chain"
    "concat"
    "dropout"
    "elementwise"
    "gather"
    "loss"
    "matmul"
    "matmul/thin"
    "norm"
    "optimiser"
    "pairs"
    "reduce"
    "softmax"
    "spmm"
    "steps"
    "time_encoding"
}

/// The file of that name.
pub(super) fn find(name: &str) -> Option<&'static Source> {
    SOURCES.iter().find(|source| source.name == name)
}
