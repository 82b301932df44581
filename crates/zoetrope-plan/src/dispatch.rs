//! What a batch of events needs and leaves behind: each vertex once (Algorithm 2 of Sven).
//!
//! Owns the unique vertices of a batch (V_u, in order of first appearance), for each of them the
//! last interaction that it takes part in (Φ, what remains after aggregation), for each vertex of
//! the flattened series its place among the unique ones (Ψ, what dispatch reads by), and the
//! redundancy rates η₁ and η₂ that say what this saves. It moves no data.
//!
//! The paper looks vertices up in V_u one after another, O(N·N') for N vertices of which N' are
//! distinct. A table over all vertices, stamped with the number of the batch so that it needs no
//! clearing, makes it O(N). It takes 8 bytes a vertex; nothing is allocated once the buffers have
//! grown to a batch's size.

use std::ops::AddAssign;

use zoetrope_graph::VertexId;

/// Finds the unique vertices of one batch after another.
#[derive(Debug, Clone)]
pub struct UniqueVertices {
    places: Vec<Place>,
    stamp: u32,
    unique: Vec<VertexId>,
}

/// Where a vertex stands, and in which batch that is so.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    stamp: u32,
    row: u32,
}

/// What Algorithm 2 says of a series besides its unique vertices; buffers are reused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// For each unique vertex the index of its last interaction (Φ).
    pub last_interaction: Vec<u32>,
    /// For each vertex of the flattened series its row among the unique ones (Ψ).
    pub rows: Vec<u32>,
}

impl UniqueVertices {
    /// A finder for vertices `0..vertices`, with no batch begun.
    pub fn new(vertices: usize) -> Self {
        Self { places: vec![Place::default(); vertices], stamp: 1, unique: Vec::new() }
    }

    /// Begins a batch: no vertex has a row.
    pub fn begin(&mut self) {
        self.unique.clear();
        self.stamp = self.stamp.checked_add(1).unwrap_or_else(|| {
            // Once in 2^32 batches old stamps could be mistaken for new ones.
            self.places.fill(Place::default());
            1
        });
    }

    /// The row of a vertex among the unique ones of the batch; a new vertex gets the next row.
    ///
    /// # Panics
    /// If it was made for fewer vertices.
    #[inline]
    pub fn place(&mut self, vertex: VertexId) -> u32 {
        let place = &mut self.places[vertex as usize];
        if place.stamp != self.stamp {
            *place = Place { stamp: self.stamp, row: self.unique.len() as u32 };
            self.unique.push(vertex);
        }
        place.row
    }

    /// The row of a vertex, if it has one in this batch.
    ///
    /// # Panics
    /// If it was made for fewer vertices.
    pub fn row(&self, vertex: VertexId) -> Option<u32> {
        let place = self.places[vertex as usize];
        (place.stamp == self.stamp).then_some(place.row)
    }

    /// The unique vertices of the batch in order of first appearance (V_u).
    pub fn unique(&self) -> &[VertexId] {
        &self.unique
    }

    /// Algorithm 2 for a whole series in time order: begins a batch, places both ends of every
    /// interaction and notes Φ and Ψ. The flattened series has the source and then the destination
    /// of each interaction.
    ///
    /// # Panics
    /// As [`place`](Self::place).
    pub fn find(
        &mut self,
        interactions: impl IntoIterator<Item = [VertexId; 2]>,
        dispatch: &mut Dispatch,
    ) {
        let Dispatch { last_interaction, rows } = dispatch;
        last_interaction.clear();
        rows.clear();
        self.begin();
        for (interaction, ends) in (0_u32..).zip(interactions) {
            for vertex in ends {
                let row = self.place(vertex);
                match last_interaction.get_mut(row as usize) {
                    Some(last) => *last = interaction,
                    None => last_interaction.push(interaction),
                }
                rows.push(row);
            }
        }
    }
}

/// How much of what a batch names is there already, summed over batches (equation 1 of Sven).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redundancy {
    /// Vertices of the sampled series, N₁.
    pub sampled: u64,
    /// Those of them that had been named before in their batch, N₁ʳ.
    pub sampled_duplicates: u64,
    /// Vertices of the original series, N₂.
    pub original: u64,
    /// Those of them that had been named before in their batch, N₂ʳ.
    pub original_duplicates: u64,
}

impl Redundancy {
    /// Counts the sampled series of a batch: how many vertices it names and how many are distinct.
    ///
    /// # Panics
    /// If more are distinct than named.
    pub fn add_sampled(&mut self, named: usize, distinct: usize) {
        assert!(distinct <= named, "{distinct} distinct of {named}");
        self.sampled += named as u64;
        self.sampled_duplicates += (named - distinct) as u64;
    }

    /// Counts the original series of a batch: how many vertices it names and how many are distinct.
    ///
    /// # Panics
    /// If more are distinct than named.
    pub fn add_original(&mut self, named: usize, distinct: usize) {
        assert!(distinct <= named, "{distinct} distinct of {named}");
        self.original += named as u64;
        self.original_duplicates += (named - distinct) as u64;
    }

    /// The redundancy rate of dispatch, N₁ʳ / N₁; 0 if nothing was counted.
    pub fn eta1(&self) -> f64 {
        rate(self.sampled_duplicates, self.sampled)
    }

    /// The redundancy rate of aggregation, N₂ʳ / N₂; 0 if nothing was counted.
    pub fn eta2(&self) -> f64 {
        rate(self.original_duplicates, self.original)
    }
}

impl AddAssign for Redundancy {
    fn add_assign(&mut self, other: Self) {
        self.sampled += other.sampled;
        self.sampled_duplicates += other.sampled_duplicates;
        self.original += other.original;
        self.original_duplicates += other.original_duplicates;
    }
}

fn rate(duplicates: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { duplicates as f64 / all as f64 }
}

#[cfg(test)]
mod tests;
