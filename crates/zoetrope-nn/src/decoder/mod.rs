//! Heads: from embeddings of vertices to what a task asks for.

mod edge;
mod link;
mod vertex;

pub use edge::{EdgeDecoder, EdgeRule, Ends};
pub use link::LinkDecoder;
pub use vertex::{VertexDecoder, VertexRule};
