//! Heads: from embeddings of vertices to what a task asks for.

mod edge;
mod vertex;

pub use edge::{EdgeDecoder, EdgeRule, Ends};
pub use vertex::{VertexDecoder, VertexRule};
