//! Dense f32 matrices, a reverse-mode tape and the operators that dynamic-graph models need.
//!
//! `cpu/` holds the kernels: plain functions over slices. `ops/` holds the operators of the tape:
//! they check shapes, record what happened and call the kernel of the same file name. The crate
//! knows no model and no file.
//!
//! Invariants: results do not depend on the number of threads; an operator allocates no heap
//! memory once the pools of its tape are warm.

pub mod cpu;
