//! Dense products by cuBLASLt.

/// The library's handle and its plans.
#[derive(Debug)]
pub(super) struct Products {}
