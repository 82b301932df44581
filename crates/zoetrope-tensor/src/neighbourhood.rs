//! Which rows attend to which: the reading plan of one attention layer over sampled neighbours.
//!
//! Built once for a batch, away from the tape and possibly on another thread; shared with the
//! operators that read it. It holds positions only, no values and no times.

/// For each target the slots it attends to, and for each slot where its values stand.
///
/// Slots of a target are consecutive. A target without slots attends to nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbourhood {
    /// Where the slots of each target begin, and the end of the last: `targets + 1` positions.
    pub offsets: Vec<u32>,
    /// The row of the queries that each target asks with; several targets may share one.
    pub query: Vec<u32>,
    /// The row of the neighbours' values for each slot.
    pub source: Vec<u32>,
    /// The row of the events' features for each slot; empty if events have none.
    pub event: Vec<u32>,
    /// The targets of each query, for the backward pass: where they begin …
    pub targets_of_query_offsets: Vec<u32>,
    /// … and which they are, ascending.
    pub targets_of_query: Vec<u32>,
    /// The slots that read each row of the neighbours' values, for the backward pass: where they
    /// begin …
    pub slots_of_source_offsets: Vec<u32>,
    /// … and which they are, ascending.
    pub slots_of_source: Vec<u32>,
    /// The target of each slot.
    pub target_of_slot: Vec<u32>,
}

impl Neighbourhood {
    /// The number of targets.
    pub fn targets(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.source.len()
    }

    /// Fills what the backward pass needs from what the forward pass has. `queries` and `sources` are the
    /// numbers of rows that [`query`](Self::query) and [`source`](Self::source) point into.
    ///
    /// # Panics
    /// If a position is out of range, or the slots do not end where the offsets say.
    pub fn index(&mut self, queries: usize, sources: usize) {
        assert_eq!(self.offsets.last().map_or(0, |&end| end as usize), self.slots(), "slots");
        self.target_of_slot.clear();
        for (target, pair) in (0u32..).zip(self.offsets.windows(2)) {
            self.target_of_slot.resize(pair[1] as usize, target);
        }
        let offsets = &mut self.targets_of_query_offsets;
        invert(&self.query, queries, offsets, &mut self.targets_of_query);
        let offsets = &mut self.slots_of_source_offsets;
        invert(&self.source, sources, offsets, &mut self.slots_of_source);
    }
}

/// For each of `rows` rows the positions at which `rows_of` names it, ascending.
fn invert(rows_of: &[u32], rows: usize, offsets: &mut Vec<u32>, positions: &mut Vec<u32>) {
    offsets.clear();
    offsets.resize(rows + 1, 0);
    for &row in rows_of {
        offsets[row as usize + 1] += 1;
    }
    for row in 0..rows {
        offsets[row + 1] += offsets[row];
    }
    positions.clear();
    positions.resize(rows_of.len(), 0);
    // Offsets serve as cursors and are moved back by one row afterwards.
    for (position, &row) in (0u32..).zip(rows_of) {
        positions[offsets[row as usize] as usize] = position;
        offsets[row as usize] += 1;
    }
    offsets.rotate_right(1);
    offsets[0] = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_lists_every_reader_once_in_order() {
        let mut layout = Neighbourhood {
            offsets: vec![0, 2, 2, 5],
            query: vec![1, 0, 1],
            source: vec![3, 0, 3, 3, 1],
            ..Neighbourhood::default()
        };
        layout.index(2, 4);
        assert_eq!(layout.target_of_slot, [0, 0, 2, 2, 2]);
        assert_eq!(layout.targets_of_query_offsets, [0, 1, 3]);
        assert_eq!(layout.targets_of_query, [1, 0, 2]);
        assert_eq!(layout.slots_of_source_offsets, [0, 1, 2, 2, 5]);
        assert_eq!(layout.slots_of_source, [1, 4, 0, 2, 3]);
    }
}
