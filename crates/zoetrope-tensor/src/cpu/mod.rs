//! Kernels on the processor: plain functions over slices, one file per operator.
