//! `[output]`: what is written.

use std::path::PathBuf;

use super::section::section;

section! {
    /// What is written.
    OutputConfig = "output" {
        /// Run folder; a fresh one under `runs/` if not set.
        dir: Option<PathBuf> = None;
        /// Whether `trace.json` is written, for Perfetto and Chrome.
        trace: bool = false;
        /// Whether event files for TensorBoard are written.
        tensorboard: bool = true;
    }
}
