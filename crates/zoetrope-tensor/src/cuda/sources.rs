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
/// A cell of an LSTM.
const LSTM_CELL: &str = include_str!("lstm/cell.cuh");
/// Products of tiles by tensor cores.
const TILES: &str = include_str!("tiles.cuh");
/// What the files of sparse products begin with.
const SPMM: &str = include_str!("spmm.cuh");

impl Source {
    /// What the compiler gets.
    pub fn text(&self) -> String {
        let shared = match self.name {
            "gru" => RECURRENT.to_owned(),
            "lstm" | "evolve" => [RECURRENT, LSTM_CELL].concat(),
            "lstm/tiled" => [RECURRENT, LSTM_CELL, TILES].concat(),
            "matmul/tiled" | "recurrent/tiled" => TILES.to_owned(),
            "spmm" | "spmm/difference" => SPMM.to_owned(),
            _ => String::new(),
        };
        format!("{PRELUDE}{shared}#line 1 \"{}.cu\"\n{}", self.name, self.body)
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
    "evolve"
    "gat"
    "gather"
    "gru"
    "link"
    "link_ranks"
    "loss"
    "lstm"
    "lstm/tiled"
    "matmul"
    "matmul/thin"
    "matmul/tiled"
    "message_cell"
    "neighbour_attention"
    "norm"
    "optimiser"
    "pairs"
    "recurrent"
    "recurrent/tiled"
    "reduce"
    "softmax"
    "spmm"
    "spmm/difference"
    "steps"
    "table"
    "temporal"
    "time_encoding"
}

/// The file of that name.
pub(super) fn find(name: &str) -> Option<&'static Source> {
    SOURCES.iter().find(|source| source.name == name)
}
