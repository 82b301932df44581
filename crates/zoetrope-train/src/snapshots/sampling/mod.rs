//! Which pairs of vertices are asked about: link prediction and edge classification.
//!
//! A query at step `t` knows snapshots `0..=t` and is asked about snapshot `t + 1`, the *target*;
//! everything here is handed the target alone, so a pair cannot depend on a later snapshot.
//!
//! - Positives are the links of the target: its distinct edges between different vertices.
//!   Self-loops are left out, because a negative is never one and a model could tell them by that.
//! - Negatives are never positives of the target and never self-loops. They may be links of an
//!   earlier or a later snapshot.
//! - [`LinkSampler`] makes pairs to train on, and to measure accuracy with as ESDG does;
//!   [`OneVersusMany`] gives each positive its own negatives to be ranked among; [`AllPairs`]
//!   compares with everything, as EvolveGCN's evaluation does; [`LinkCandidates`] is one of these
//!   two, and [`LinkScores`] and [`AllPairScores`] are what the scores of pairs amount to. [`EdgeClassRule`] says what the
//!   class of an edge is.
//!
//! Draws are functions of (seed, purpose, epoch, step, position): they depend neither on threads
//! nor on what was drawn before. All buffers are flat and reused: after the largest snapshot
//! nothing is allocated.

mod all_pair_scores;
mod all_pairs;
mod candidates;
mod draw_key;
mod edge_classes;
mod link_candidates;
mod link_ranks;
mod link_sampler;
mod link_scores;
mod one_versus_many;
pub mod pace;
mod pairs;
#[cfg(test)]
mod tests;

pub use all_pair_scores::{AllPairScores, StepMeasures};
pub use all_pairs::AllPairs;
pub use candidates::Candidates;
pub use draw_key::DrawKey;
pub use edge_classes::{EdgeClassRule, hide_weights, label_snapshots};
pub use link_candidates::LinkCandidates;
pub use link_sampler::{LinkSampler, LinkSampling, NegativeEnds};
pub use link_scores::LinkScores;
pub use one_versus_many::OneVersusMany;
pub use pairs::Pairs;
