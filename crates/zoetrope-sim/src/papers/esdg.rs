//! The values of ESDG's paper: `papers/esdg.toml`.

use serde::{Deserialize, Serialize};

const TEXT: &str = include_str!("../../papers/esdg.toml");

/// What the paper prints.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Esdg {
    /// Where values are from.
    pub source: String,
    /// The width of layers.
    pub hidden: usize,
    /// Features of a vertex.
    pub features: usize,
    /// Table 1.
    pub dataset: Vec<Dataset>,
    /// What is not printed and had to be assumed.
    pub assumed: Assumed,
    /// Table 2.
    pub table2: Vec<Table2>,
    /// Of figure 4.
    pub differences: Differences,
    /// Of figure 5.
    pub strong: Strong,
    /// Of figure 7.
    pub weak: Weak,
}

/// A row of table 1.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Its name.
    pub name: String,
    /// Vertices.
    pub vertices: u32,
    /// Snapshots.
    pub snapshots: usize,
    /// Edges of all snapshots.
    pub edges: u64,
    /// The same after the M-product.
    pub m_product: u64,
    /// The same after edge-life.
    pub edge_life: u64,
}

/// What is not printed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumed {
    /// The share of the edges of a snapshot, without smoothing, that the one before it does not have.
    pub new_share_of_raw: f64,
}

/// A row of table 2.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Table2 {
    /// The model.
    pub model: String,
    /// Ranks.
    pub ranks: usize,
    /// Billions of floats between ranks, by snapshot.
    pub snapshot_gigafloats: f64,
    /// The same with vertices divided by a hypergraph partitioner; nothing if it did not run.
    pub vertex_gigafloats: Option<f64>,
    /// Milliseconds of an epoch, by snapshot.
    pub snapshot_ms: f64,
    /// The same by vertex.
    pub vertex_ms: Option<f64>,
}

/// What differences gain at most.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    /// Transfers of smoothed snapshots are so many times faster.
    pub transfer_speedup_smoothed: f64,
    /// Those of others.
    pub transfer_speedup_raw: f64,
    /// An epoch is shorter by this share.
    pub epoch_shorter: f64,
}

/// Strong scaling.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Strong {
    /// The best speedup of 128 ranks over one.
    pub speedup_at_128: f64,
    /// The ranks beyond which models that redistribute rows are slower for once.
    pub knee_ranks: usize,
}

/// Weak scaling.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weak {
    /// Snapshots.
    pub snapshots: usize,
    /// Vertices per rank.
    pub vertices_of_a_rank: u32,
    /// Edges of a snapshot per vertex.
    pub edges_of_a_vertex: u64,
    /// Edges of all snapshots at one rank, smoothed.
    pub smoothed_edges_at_one: u64,
    /// Throughput of 128 ranks over that of one.
    #[serde(rename = "tm-gcn")]
    pub tm_gcn: f64,
    /// The same of CD-GCN.
    #[serde(rename = "cd-gcn")]
    pub cd_gcn: f64,
    /// The same of EvolveGCN.
    #[serde(rename = "evolvegcn-o")]
    pub evolvegcn_o: f64,
}

/// The models of the paper.
pub const MODELS: [&str; 3] = ["tm-gcn", "cd-gcn", "evolvegcn-o"];

/// Snapshots in numbers: edges of each, and how many of them the one before does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Vertices.
    pub vertices: u32,
    /// Snapshots.
    pub snapshots: usize,
    /// Edges of each.
    pub edges: u64,
    /// New ones of each.
    pub added: u64,
}

impl Esdg {
    /// The file that is built in.
    ///
    /// # Panics
    /// If it is broken: a bug, which a test finds.
    pub fn printed() -> Self {
        toml::from_str(TEXT).expect("the values of the paper are a table of this shape")
    }

    /// What a model is trained on.
    pub fn sizes(&self, model: &str, of: &Dataset) -> Sizes {
        let all = of.snapshots as u64;
        let (edges, added) = match model {
            "tm-gcn" => (of.m_product, of.edges),
            "evolvegcn-o" => (of.edge_life, of.edges),
            _ => (of.edges, (of.edges as f64 * self.assumed.new_share_of_raw) as u64),
        };
        Sizes {
            vertices: of.vertices,
            snapshots: of.snapshots,
            edges: edges / all,
            added: added / all,
        }
    }

    /// What a model is trained on in weak scaling. The edges of the two models that smooth are taken to be as many.
    pub fn weak_sizes(&self, model: &str, ranks: usize) -> Sizes {
        let Weak { snapshots, vertices_of_a_rank, edges_of_a_vertex, .. } = self.weak;
        let vertices = vertices_of_a_rank * ranks as u32;
        let raw = u64::from(vertices) * edges_of_a_vertex;
        let smoothed = self.weak.smoothed_edges_at_one * ranks as u64 / snapshots as u64;
        // Snapshots are drawn independently of each other.
        let edges = if model == "cd-gcn" { raw } else { smoothed };
        Sizes { vertices, snapshots, edges, added: raw.min(edges) }
    }

    /// The printed throughput of 128 ranks over that of one.
    pub fn weak_speedup(&self, model: &str) -> f64 {
        match model {
            "tm-gcn" => self.weak.tm_gcn,
            "cd-gcn" => self.weak.cd_gcn,
            _ => self.weak.evolvegcn_o,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_the_paper_are_those_that_it_prints() {
        let paper = Esdg::printed();
        assert_eq!(paper.dataset.len(), 4);
        let amlsim = &paper.dataset[3];
        let sizes = paper.sizes("tm-gcn", amlsim);
        assert_eq!((sizes.vertices, sizes.snapshots), (1_000_000, 200));
        assert_eq!((sizes.edges, sizes.added), (5_470_000, 620_000));
        assert_eq!(paper.sizes("cd-gcn", amlsim).edges, 620_000);
        assert_eq!(paper.table2.len(), 9);
        // "the number of vertices is 1M at P = 128"? 2^14·128 is twice that; edges then are 2.1 billion, as printed.
        let most = paper.weak_sizes("tm-gcn", 128);
        assert_eq!(most.edges * 256, 2_048_000_000);
        assert_eq!(paper.weak_speedup("cd-gcn"), 79.0);
        for model in MODELS {
            assert!(paper.table2.iter().any(|row| row.model == model));
        }
    }
}
