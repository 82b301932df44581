//! The cells of the matrix: every way to compute a run that must come to what one rank comes to.

use super::{Case, Engine};

/// The ten models, and those variants that compute or move something else.
pub(crate) const MODELS: [&str; 20] = [
    "tgcn",
    "tgcn model.variant=paper",
    "a3tgcn",
    "a3tgcn model.variant=paper",
    "gc-lstm",
    "gc-lstm model.variant=paper model.k=3",
    "evolvegcn-o",
    "evolvegcn-o model.variant=paper",
    "evolvegcn-o model.layers=2 data.edge_life=3",
    "evolvegcn-h",
    "evolvegcn-h model.variant=paper",
    "mpnn-lstm",
    "mpnn-lstm model.variant=paper",
    "cd-gcn",
    "wd-gcn",
    "tm-gcn",
    "tm-gcn data.m_product=3 model.bandwidth=3",
    "dysat model.heads=2",
    "dysat model.heads=2 model.layers=2",
    "dysat model.heads=2 model.variant=paper",
];

/// Models that look at whole frames.
const WHOLE: [&str; 3] = ["a3tgcn", "mpnn-lstm", "dysat"];

/// All tasks of snapshot models, each with data that has it: at least twelve snapshots train. (Eight lags are the first
/// features of a regression.)
pub(crate) const TASKS: [&str; 4] = [
    "task.name=node-regression data.path=synthetic:demo?vertices=19&steps=27",
    "task.name=link-prediction data.path=synthetic:demo?vertices=19&steps=27",
    "task.name=node-classification data.path=synthetic:sbm?vertices=40&steps=20&communities=3",
    "task.name=edge-classification data.path=synthetic:bipartite?users=40&items=20&events=400&labels=0.3 data.window=2d task.classes=2",
];

/// Ways to share the cells of a frame.
pub(crate) const STRATEGIES: [&str; 4] = ["snapshot", "vertex", "hypergraph", "hybrid"];

/// The way to share the frames of an update, and updates that have several.
pub(crate) const FRAMES: &str = "frames";

/// One rank shares with nobody.
pub(crate) const ALONE: &str = "one rank";

pub(crate) const SIZES: [usize; 5] = [1, 2, 3, 4, 8];

pub(crate) const BLOCKS: [usize; 2] = [1, 3];

/// Learning rates at which a rounding stays one for twenty updates.
pub(crate) const OPTIMISERS: [&str; 2] =
    ["train.optimiser=sgd train.lr=0.01", "train.optimiser=adam train.lr=0.001"];

/// All cells of an engine. Cells that are compared with the same run of one rank follow each other.
pub(crate) fn all_cases(engine: Engine) -> Vec<Case> {
    let mut all = Vec::new();
    for model in MODELS {
        for task in TASKS {
            for optimiser in OPTIMISERS {
                let of = |(strategy, size, blocks)| Case {
                    model,
                    task,
                    strategy,
                    size,
                    blocks,
                    optimiser,
                    engine,
                };
                all.extend(ways().map(of).filter(Case::is_worth_it));
            }
        }
    }
    all
}

/// Strategies, numbers of ranks and of blocks.
fn ways() -> impl Iterator<Item = (&'static str, usize, usize)> {
    let strategies = STRATEGIES.into_iter().chain([FRAMES]);
    let shared = strategies.flat_map(|name| SIZES[1..].iter().map(move |&size| (name, size)));
    let sizes = [(ALONE, 1)].into_iter().chain(shared);
    sizes.flat_map(|(name, size)| BLOCKS.map(|blocks| (name, size, blocks)))
}

impl Case {
    /// Why the run has to be refused, if it has to.
    pub(crate) fn must_be_refused(&self) -> Option<&'static str> {
        (self.blocks > 1 && self.looks_at_whole_frames()).then_some("looks at whole ones")
    }

    /// Cells that would say nothing that others do not say, or take too long.
    ///
    /// Groups of three ranks are those of `hypergraph`. Refusals do not depend on the task or the optimiser. An emulated
    /// GPU takes seconds for a cell: there is one for each model, strategy and number of ranks, and tasks, blocks and
    /// optimisers take turns.
    fn is_worth_it(&self) -> bool {
        let place = |all: &[&str], one: &str| all.iter().position(|&name| name == one).unwrap_or(0);
        let (task, optimiser) = (place(&TASKS, self.task), place(&OPTIMISERS, self.optimiser));
        let grouped = self.strategy != "hybrid" || (self.size > 3 && self.size.is_multiple_of(2));
        if self.engine != Engine::Gpus || !grouped {
            return grouped && (self.must_be_refused().is_none() || (task, optimiser) == (0, 0));
        }
        let sizes = SIZES.iter().position(|&size| size == self.size).unwrap_or(0);
        let turn = place(&MODELS, self.model) + place(&STRATEGIES, self.strategy) + sizes;
        let blocks = if self.looks_at_whole_frames() { 1 } else { BLOCKS[turn / 2 % 2] };
        (task, self.blocks, optimiser) == (turn % TASKS.len(), blocks, turn % 2)
    }

    /// Whether the model cannot be computed in blocks.
    fn looks_at_whole_frames(&self) -> bool {
        WHOLE.iter().any(|name| self.model.starts_with(name))
    }
}
