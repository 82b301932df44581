//! The plan of an epoch: who computes what, where and when.
//!
//! Planners are pure functions: they touch no device and no file.
#![forbid(unsafe_code)]
