//! The files of kernels, as text inside the binary.

/// A file of kernels.
#[derive(Debug)]
pub struct Source {
    /// The file's name without its ending, also the name of the launcher's file.
    pub name: &'static str,
    body: &'static str,
}

/// What every file begins with.
const PRELUDE: &str = include_str!("prelude.cuh");
/// What the files of recurrent units begin with after that.
const RECURRENT: &str = include_str!("recurrent.cuh");

impl Source {
    /// What the compiler gets.
    pub fn text(&self) -> String {
        let family = if matches!(self.name, "gru" | "lstm") { RECURRENT } else { "" };
        format!("{PRELUDE}{family}#line 1 \"{}.cu\"\n{}", self.name, self.body)
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
    "attention"
    "attention/layer"
    "chain"
    "concat"
    "dropout"
    "elementwise"
    "gat"
    "gather"
    "gru"
    "loss"
    "lstm"
    "matmul"
    "matmul/thin"
    "message_cell"
    "neighbour_attention"
    "norm"
    "optimiser"
    "pairs"
    "recurrent"
    "reduce"
    "softmax"
    "spmm"
    "steps"
    "table"
    "temporal"
    "time_encoding"
}

/// The file of that name.
pub(super) fn find(name: &str) -> Option<&'static Source> {
    SOURCES.iter().find(|source| source.name == name)
}
