//! The rank of each link of a snapshot among destinations that are drawn for it.

use zoetrope_graph::LinkSet;
use zoetrope_graph::random::Draws;

use crate::cpu::link_ranks::{self, Onlooker, Scoring};
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::ops::pairs::PairLayers;
use crate::tape::{Tape, expect_shape};

/// Links, and how the destinations are drawn that each is ranked among.
#[derive(Debug, Clone, Copy)]
pub struct LinkRanking<'a> {
    /// The links of a snapshot by source.
    pub links: &'a LinkSet,
    /// Destinations for each link: distinct, and none that its source is linked with; all there are if
    /// there are fewer.
    pub negatives: usize,
    /// Draw `n` of link `l` has position `l · negatives + n`.
    pub draws: Draws,
}

/// How many destinations score higher than a link and as high.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct LinkRank {
    /// Those that score higher.
    pub higher: u32,
    /// Those that score as high.
    pub equal: u32,
}

impl LinkRank {
    /// A link whose source is linked with all other vertices: there is nothing to rank it among.
    pub const ALONE: Self = Self { higher: u32::MAX, equal: 0 };
    /// A link whose score, or that of a destination, is no number.
    pub const NOT_FINITE: Self = Self { higher: u32::MAX, equal: 1 };

    /// The rank of a score among others.
    #[inline(always)]
    pub fn of(own: f32, others: &[f32]) -> Self {
        let (mut higher, mut equal, mut broken) = (0u32, 0u32, u32::from(own.is_nan()));
        for &score in others {
            higher += u32::from(score > own);
            equal += u32::from(score == own);
            broken |= u32::from(score.is_nan());
        }
        match (others.len(), broken) {
            (0, _) => Self::ALONE,
            (_, 0) => Self { higher, equal },
            _ => Self::NOT_FINITE,
        }
    }
}

impl Tape {
    /// Whether links are ranked here among so many destinations each: on a GPU, among so many as fit into the
    /// memory of a block.
    pub fn can_rank_links(&self, negatives: usize) -> bool {
        self.gpu().is_none() || negatives <= cuda::link_ranks::NEGATIVES_MAX
    }

    /// Ranks every link among destinations that are drawn for it, by the scores of
    /// [`Tape::pair_scores`] with one output. Nothing is recorded, and no list of pairs is made: what is
    /// drawn is scored and counted at once. Waits for the tape's device.
    ///
    /// # Errors
    /// If shapes do not fit, the links have more vertices than there are rows, or a GPU does not take so
    /// many destinations ([`Tape::can_rank_links`]).
    pub fn link_ranks(
        &self,
        layers: PairLayers,
        ranking: LinkRanking<'_>,
    ) -> Result<Vec<LinkRank>, TensorError> {
        self.check_ranking(layers, ranking)?;
        let mut ranks = vec![LinkRank::default(); ranking.links.len()];
        match self.gpu() {
            None => {
                link_ranks::link_ranks(self.scoring(layers), ranking, &mut ranks, &());
            }
            Some(gpu) => {
                let scoring = cuda::link_ranks::Scoring {
                    source: self.view(layers.source),
                    destination: self.view(layers.destination),
                    width: self.shape(layers.source).cols,
                    weight: self.view(layers.weight),
                    bias: self.view(layers.bias),
                };
                cuda::link_ranks::link_ranks(gpu, scoring, ranking, &mut ranks);
            }
        }
        Ok(ranks)
    }

    /// The same on the host, and what an onlooker finds in the destinations that are drawn, in the order of links.
    ///
    /// # Errors
    /// As [`Tape::link_ranks`], and on a GPU, where nobody can look at what is drawn.
    pub fn link_ranks_with<O: Onlooker>(
        &self,
        layers: PairLayers,
        ranking: LinkRanking<'_>,
        onlooker: &O,
    ) -> Result<(Vec<LinkRank>, Vec<O::Found>), TensorError> {
        self.check_ranking(layers, ranking)?;
        if self.gpu().is_some() {
            return Err(TensorError::Argument {
                operator: "link_ranks",
                name: "onlooker",
                expected: "nobody on a GPU",
                got: "one".to_owned(),
            });
        }
        let mut ranks = vec![LinkRank::default(); ranking.links.len()];
        let found = link_ranks::link_ranks(self.scoring(layers), ranking, &mut ranks, onlooker);
        Ok((ranks, found))
    }

    /// What scores pairs, on the host.
    fn scoring(&self, layers: PairLayers) -> Scoring<'_> {
        Scoring {
            source: self.value(layers.source),
            destination: self.value(layers.destination),
            width: self.shape(layers.source).cols,
            weight: self.value(layers.weight),
            bias: self.value(layers.bias)[0],
        }
    }

    fn check_ranking(
        &self,
        layers: PairLayers,
        ranking: LinkRanking<'_>,
    ) -> Result<(), TensorError> {
        let operator = "link_ranks";
        let PairLayers { source, destination, weight, bias } = layers;
        let (rows, vertices) = (self.shape(source), ranking.links.vertices() as usize);
        expect_shape(operator, "the rows of destinations", rows, self.shape(destination))?;
        expect_shape(operator, "the weight", Shape::new(1, rows.cols), self.shape(weight))?;
        expect_shape(operator, "the bias", Shape::new(1, 1), self.shape(bias))?;
        if vertices > rows.rows {
            let (index, count) = (vertices, rows.rows);
            return Err(TensorError::OutOfRange { operator, what: "row", index, count });
        }
        if !self.can_rank_links(ranking.negatives) {
            return Err(TensorError::Argument {
                operator,
                name: "negatives",
                expected: "at most 1024 on a GPU",
                got: ranking.negatives.to_string(),
            });
        }
        Ok(())
    }
}
