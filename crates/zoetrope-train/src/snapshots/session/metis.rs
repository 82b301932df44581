//! METIS as planners ask it.

use zoetrope_dist::metis::{Metis, MetisError, MetisGraph};
use zoetrope_plan::partition::{Divider, Hypergraph};

use crate::error::TrainError;

/// METIS, which was found.
pub(super) struct MetisDivider(Metis);

impl MetisDivider {
    /// Finds the library.
    ///
    /// # Errors
    /// [`TrainError::Unavailable`] if it is not there or of another kind.
    pub(super) fn find() -> Result<Self, TrainError> {
        Metis::open().map(Self).map_err(|error| TrainError::Unavailable {
            what: match error {
                MetisError::Missing { why } => format!("METIS ({why})"),
                other => format!("a METIS that can be used ({other})"),
            },
            advice: "install METIS (Debian: libmetis5), name its file in ZOETROPE_METIS_LIBRARY, or leave \
                     plan.partitioner out"
                .to_owned(),
        })
    }
}

impl Divider for MetisDivider {
    fn name(&self) -> &str {
        "METIS"
    }

    fn divide(&self, edges: &Hypergraph, parts: u32) -> Result<Vec<u32>, String> {
        let nets =
            || (0..edges.nets() as u32).map(|net| (edges.pins_of(net), edges.net_weight(net)));
        let total: i64 = nets().map(|(_, weight)| 2 * weight).sum();
        // METIS adds weights up in 32 bits.
        let divisor = total / i64::from(i32::MAX) + 1;
        let entries = 2 * edges.nets();
        if i32::try_from(entries).is_err() {
            return Err(MetisError::TooLarge { entries }.to_string());
        }
        let mut offsets = vec![0_i32; edges.vertices() + 1];
        for (pins, _) in nets() {
            pins.iter().for_each(|&pin| offsets[pin as usize + 1] += 1);
        }
        (0..edges.vertices()).for_each(|vertex| offsets[vertex + 1] += offsets[vertex]);
        let (mut neighbours, mut weights) = (vec![0; entries], vec![0; entries]);
        let mut next = offsets.clone();
        for (pins, weight) in nets() {
            for (at, &pin) in pins.iter().enumerate() {
                let place = &mut next[pin as usize];
                neighbours[*place as usize] = pins[1 - at] as i32;
                weights[*place as usize] = (weight / divisor).max(1) as i32;
                *place += 1;
            }
        }
        let graph = MetisGraph { offsets, neighbours, weights };
        self.0.divide(graph, parts).map_err(|error| error.to_string())
    }
}
