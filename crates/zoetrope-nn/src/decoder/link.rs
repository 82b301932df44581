//! The head of event models: whether two vertices meet.

use zoetrope_tensor::{Activation, PairLayers, Var};

use super::edge::Ends;
use crate::error::NnError;
use crate::forward::Forward;
use crate::layer::Linear;
use crate::parameters::Builder;
use crate::stream::{Convention, Reused};

/// `W·relu(W_src·z_u + b_src + W_dst·z_v + b_dst) + b`, PyG's `LinkPredictor` and TGL's
/// `EdgePredictor`.
///
/// Each row is projected once as a source if any pair has it as source, and once as a
/// destination likewise. Parameters, uniform in `±1/√D`: by PyG's convention
/// `link_pred.lin_{src,dst,final}.*`, by TGL's `edge_predictor.{src_fc,dst_fc,out_fc}.*`, weights
/// `D × D` and `outputs × D`.
#[derive(Debug)]
pub struct LinkDecoder {
    source: Linear,
    destination: Linear,
    last: Linear,
    sides: [Side; 2],
}

/// The rows that are one side of any pair, and the pairs in their numbering.
#[derive(Debug, Default)]
struct Side {
    rows: Reused<Vec<u32>>,
    pairs: Reused<Vec<u32>>,
    place_of_row: Vec<u32>,
}

impl LinkDecoder {
    /// A head over embeddings of `width`, with `outputs` numbers for each pair.
    pub fn new(
        builder: &mut Builder<'_>,
        convention: Convention,
        width: usize,
        outputs: usize,
    ) -> Self {
        let (part, names) = match convention {
            Convention::Pyg => ("link_pred", ["lin_src", "lin_dst", "lin_final"]),
            Convention::Tgl => ("edge_predictor", ["src_fc", "dst_fc", "out_fc"]),
        };
        let mut builder = builder.child(part);
        Self {
            source: Linear::new(&mut builder.child(names[0]), width, width),
            destination: Linear::new(&mut builder.child(names[1]), width, width),
            last: Linear::new(&mut builder.child(names[2]), width, outputs),
            sides: Default::default(),
        }
    }

    /// From `rows × width` to `pairs × outputs`.
    ///
    /// # Errors
    /// If the embeddings have another width, or a pair names a row that is not there.
    pub fn decode(
        &mut self,
        forward: &mut Forward<'_>,
        rows: Var,
        ends: &Ends,
    ) -> Result<Var, NnError> {
        let [left, right] = &mut self.sides;
        let source = left.project(forward, self.source, rows, &ends.src)?;
        let destination = right.project(forward, self.destination, rows, &ends.dst)?;
        let (weight, bias) = (self.last.weight(forward), self.last.bias(forward));
        let layers = PairLayers { source, destination, weight, bias };
        let ends = [left.pairs.shared(), right.pairs.shared()];
        Ok(forward.tape.pair_scores(layers, ends)?)
    }
}

impl Side {
    /// The layer over the rows that `ends` names, each once in the order of first appearance.
    fn project(
        &mut self,
        forward: &mut Forward<'_>,
        layer: Linear,
        rows: Var,
        ends: &[u32],
    ) -> Result<Var, NnError> {
        let count = forward.tape.shape(rows).rows;
        let named = self.rows.refill();
        let pairs = self.pairs.refill();
        self.place_of_row.clear();
        self.place_of_row.resize(count, u32::MAX);
        for &row in ends {
            let place = match self.place_of_row.get_mut(row as usize) {
                Some(place) if *place == u32::MAX => {
                    *place = named.len() as u32;
                    named.push(row);
                    *place
                }
                Some(place) => *place,
                // The gathering below refuses it with a proper message.
                None => {
                    named.push(row);
                    0
                }
            };
            pairs.push(place);
        }
        let own = forward.tape.gather(rows, self.rows.shared())?;
        layer.apply(forward, own, Activation::Identity)
    }
}
