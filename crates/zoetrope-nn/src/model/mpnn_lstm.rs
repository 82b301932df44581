//! MPNN-LSTM: two graph convolutions, then two LSTMs over the sequence of each vertex.
//!
//! Panagopoulos, Nikolentzos and Vazirgiannis, "Transfer graph neural networks for pandemic
//! forecasting", AAAI 2021.
//!
//! ```text
//! R_1 = norm(relu(Â·X·W_1ᵀ + b_1))     R_2 = norm(relu(Â·R_1·W_2ᵀ + b_2))
//! A   = LSTM_1([R_1, R_2])             B   = LSTM_2(A)
//! ```
//!
//! - reference (PyG-Temporal's `MPNNLSTM`): one row a vertex, for the last snapshot:
//!   `[A_T, B_T, S]` with the skip connection `S`: all features of the first snapshot and the last
//!   feature of each later one (with lagged features that is every value of the window once).
//! - paper, as PiPAD and DGC run it: a row for every snapshot, `[A_t, B_t, X_t]`.
//!
//! Batch norms take their statistics over all rows of the frame, those of other ranks included.

use zoetrope_tensor::{Activation, Var};

use super::{Coverage, Embedding, Model, ModelOptions};
use crate::encoder::{Sequence, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::graph::Adjacency;
use crate::layer::BatchNorm;
use crate::parameters::Builder;
use crate::stage::StageKind;
use crate::state::State;
use crate::structure::Gcn;
use crate::time::Lstm;

/// MPNN-LSTM: from `T·N × F` features to `N × (2H + F + T − 1)` (reference) or
/// `T·N × (2H + F)` (paper).
///
/// Parameters under `recurrent.`: [`Gcn`] `_convolution_1`, `_convolution_2`, [`BatchNorm`]
/// `_batch_norm_1`, `_batch_norm_2`, [`Lstm`] `_recurrent_1` (of `2H` inputs), `_recurrent_2`.
#[derive(Debug)]
pub struct MpnnLstm {
    convolutions: [Gcn; 2],
    norms: [BatchNorm; 2],
    memories: [Lstm; 2],
    options: ModelOptions,
}

impl MpnnLstm {
    /// Adds the parameters of the model.
    ///
    /// # Errors
    /// If more than one layer (of two convolutions and two LSTMs) is asked for.
    pub fn new(builder: &mut Builder<'_>, options: &ModelOptions) -> Result<Self, NnError> {
        options.single_layer("mpnn-lstm")?;
        let &ModelOptions { features, hidden, .. } = options;
        let mut builder = builder.child("recurrent");
        let relu = Activation::Relu;
        Ok(Self {
            convolutions: [
                Gcn::new(&mut builder.child("_convolution_1"), features, hidden, relu),
                Gcn::new(&mut builder.child("_convolution_2"), hidden, hidden, relu),
            ],
            norms: [
                BatchNorm::new(&mut builder.child("_batch_norm_1"), hidden),
                BatchNorm::new(&mut builder.child("_batch_norm_2"), hidden),
            ],
            memories: [
                Lstm::new(&mut builder.child("_recurrent_1"), 2 * hidden, hidden),
                Lstm::new(&mut builder.child("_recurrent_2"), hidden, hidden),
            ],
            options: *options,
        })
    }

    /// `R_1` and `R_2`, `T·N × H` each.
    fn structure(&self, forward: &mut Forward<'_>, frame: &Frame<'_>) -> Result<[Var; 2], NnError> {
        let mut x = frame.features;
        let mut both = [x; 2];
        for (at, (convolution, norm)) in self.convolutions.iter().zip(&self.norms).enumerate() {
            x = frame.encode(forward, convolution, at, x)?;
            x = norm.apply(forward, frame, x)?;
            x = frame.dropout(forward, x, self.options.dropout)?;
            both[at] = x;
        }
        Ok(both)
    }

    /// `[A_T, B_T, S]`.
    fn last_with_skip(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        memories: [Var; 2],
    ) -> Result<Var, NnError> {
        let (steps, vertices) = (frame.all_steps(), frame.time_vertices());
        if steps != self.options.frame {
            return Err(NnError::Option {
                model: "mpnn-lstm",
                option: "the length of a frame",
                expected: format!("{}, what it was built for", self.options.frame),
                got: steps.to_string(),
            });
        }
        let all_features = frame.to_time(forward, frame.features)?.rows;
        let tape = &mut *forward.tape;
        let &ModelOptions { features, hidden, .. } = &self.options;
        let mut parts = Vec::with_capacity(steps + 2);
        for memory in memories {
            let last = tape.rows(memory, (steps - 1) * vertices..steps * vertices)?;
            parts.push((last, 0..hidden));
        }
        for step in 0..steps {
            let own = tape.rows(all_features, step * vertices..(step + 1) * vertices)?;
            let new = if step == 0 { 0 } else { features - 1 };
            parts.push((own, new..features));
        }
        Ok(tape.concat_ranges(&parts)?)
    }
}

impl Model for MpnnLstm {
    fn name(&self) -> &'static str {
        "mpnn-lstm"
    }

    fn width(&self) -> usize {
        let &ModelOptions { features, hidden, frame, paper, .. } = &self.options;
        2 * hidden + features + if paper { 0 } else { frame - 1 }
    }

    fn coverage(&self) -> Coverage {
        if self.options.paper { Coverage::Every } else { Coverage::Last }
    }

    fn forms(&self) -> Vec<Adjacency> {
        vec![Adjacency::Gcn]
    }

    fn structure_widths(&self) -> Vec<(usize, usize)> {
        let &ModelOptions { features, hidden, .. } = &self.options;
        vec![(features, hidden), (hidden, hidden)]
    }

    fn can_reuse(&self) -> bool {
        true
    }

    fn carries_state(&self) -> bool {
        true
    }

    /// Batch norms look at all snapshots of a frame together.
    fn works_in_blocks(&self) -> bool {
        false
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        mut state: State,
    ) -> Result<Embedding, NnError> {
        let [x, other] = self.structure(forward, frame)?;
        let sequence = frame.to_time(forward, x)?;
        let both = [sequence.rows, frame.to_time(forward, other)?.rows];
        let [first, second] = &self.memories;
        let a = forward.stage(StageKind::Time, 0, both[0], |forward| {
            first.encode_pair(forward, both, sequence, &mut state, 0)
        })?;
        let sequence = Sequence { rows: a, ..sequence };
        let b = frame.follow(forward, second, (1, first.carried()), sequence, &mut state)?;
        let rows = if self.options.paper {
            let mut parts = [a, b, frame.features];
            for memory in &mut parts[..2] {
                *memory = frame.to_structure(forward, *memory)?;
            }
            forward.tape.concat_columns(&parts)?
        } else {
            self.last_with_skip(forward, frame, [a, b])?
        };
        Ok(Embedding { rows, state })
    }
}
