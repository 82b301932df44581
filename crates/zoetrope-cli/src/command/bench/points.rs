//! One simulated run of a paper: a model on a graph of which sizes are known, in the way that the paper trains it.

use serde::Serialize;
use zoetrope_config::Config;
use zoetrope_data::{GraphFacts, Quiet};
use zoetrope_graph::SnapshotCounts;
use zoetrope_sim::papers::esdg::Sizes;
use zoetrope_sim::{Machine, Options};
use zoetrope_train::snapshots::material::SnapshotInput;

use crate::command::simulation::Simulation;
use crate::exit::Failure;

/// How ranks share snapshots and how these reach GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// By snapshot, which are sent whole, block by block.
    Base,
    /// The same, as differences.
    Differences,
    /// By vertex; snapshots are sent whole.
    Vertex,
    /// By snapshot, everything else as the planner likes it.
    Planned,
}

/// What one run takes in an epoch.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Point {
    /// Ranks.
    pub(crate) ranks: usize,
    /// Blocks of the timeline.
    pub(crate) blocks: usize,
    /// Seconds.
    pub(crate) seconds: f64,
    /// The mean rank's, which overlap.
    pub(crate) compute: f64,
    pub(crate) communicate: f64,
    pub(crate) wait: f64,
    pub(crate) transfer: f64,
    /// Bytes from hosts to GPUs, of all ranks.
    pub(crate) copied_bytes: u64,
    /// Bytes between ranks, of all of them.
    pub(crate) sent_bytes: u64,
    /// Bytes that a GPU holds.
    pub(crate) device_bytes: u64,
}

/// A model on a graph, on a machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workload<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) model: &'a str,
    pub(crate) name: &'a str,
    pub(crate) sizes: Sizes,
    pub(crate) hidden: usize,
    pub(crate) features: usize,
}

/// More blocks than this are not tried.
const BLOCKS_MAX: usize = 64;

impl Workload<'_> {
    fn facts(&self) -> Result<GraphFacts, Failure> {
        let Sizes { vertices, snapshots, edges, added } = self.sizes;
        let counts =
            SnapshotCounts::new(vertices, vec![edges; snapshots], vec![added; snapshots], false)?;
        Ok(GraphFacts {
            name: self.name.to_owned(),
            sha256: String::new(),
            steps: snapshots,
            counts,
            constant: false,
            of_events: false,
            vertices,
            features: self.features,
            targets: None,
        })
    }

    fn config(&self, ranks: usize, way: Way, blocks: usize) -> Result<Config, Failure> {
        let (model, hidden, name) = (self.model, self.hidden, self.name);
        let mut all = vec![
            format!("data.path=facts:{name}"),
            "data.split=none".to_owned(),
            "task.name=link-prediction".to_owned(),
            format!("model.name={model}"),
            format!("model.hidden={hidden}"),
            "train.frame=all".to_owned(),
            "train.epochs=1".to_owned(),
            "train.device=cuda".to_owned(),
            format!("train.ranks={ranks}"),
            format!("plan.blocks={blocks}"),
        ];
        if model.starts_with("evolvegcn") {
            all.push("model.variant=paper".to_owned());
        }
        if ranks > 1 {
            let strategy = if way == Way::Vertex { "hypergraph" } else { "snapshot" };
            all.push(format!("plan.strategy={strategy}"));
        }
        if way != Way::Planned {
            let difference = if way == Way::Differences { "on" } else { "off" };
            all.push("plan.residency=stream".to_owned());
            all.push(format!("plan.difference={difference}"));
        }
        let built = all.iter().fold(Config::builder(), |builder, setting| builder.set(setting));
        Ok(built.build()?)
    }

    /// Simulates an epoch whose frames are cut into `blocks`; None if it does not fit on the GPUs.
    pub(crate) fn at(
        &self,
        ranks: usize,
        way: Way,
        blocks: usize,
    ) -> Result<Option<Point>, Failure> {
        let config = self.config(ranks, way, blocks)?;
        let material = SnapshotInput::of_facts(&self.facts()?, &config)?;
        let options = Options::default();
        let simulation = Simulation { machine: self.machine, options: &options, bars: &Quiet };
        let (foretold, outcome, _) = match simulation.run(config, &material, None) {
            Ok(found) => found,
            Err(failure) if failure.is_resource() => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let plan = &foretold.plan;
        Ok(Some(Point {
            ranks,
            blocks: plan.blocks.count,
            seconds: outcome.seconds,
            compute: outcome.mean.compute,
            communicate: outcome.mean.communicate,
            wait: outcome.mean.wait,
            transfer: outcome.mean.transfer,
            copied_bytes: outcome.bytes.copies,
            sent_bytes: outcome.bytes.inside + outcome.bytes.between,
            device_bytes: plan.gpu.map_or(0, |gpu| gpu.memory.total()),
        }))
    }

    /// The same in the fewest blocks that fit, of powers of two from `least` on, each with a snapshot for every rank.
    pub(crate) fn fitting(
        &self,
        ranks: usize,
        way: Way,
        least: usize,
    ) -> Result<Option<Point>, Failure> {
        let mut blocks = least;
        while blocks == 1 || blocks <= BLOCKS_MAX && blocks * ranks <= self.sizes.snapshots {
            if let Some(point) = self.at(ranks, way, blocks)? {
                return Ok(Some(point));
            }
            blocks *= 2;
        }
        Ok(None)
    }

    /// The same for several numbers of ranks, ascending. More ranks need no more blocks.
    pub(crate) fn scaled(&self, ranks: &[usize], way: Way) -> Result<Vec<Point>, Failure> {
        let (mut points, mut least) = (Vec::new(), 1);
        for &ranks in ranks {
            let most = if ranks == 1 { 1 } else { self.sizes.snapshots / ranks };
            let Some(point) = self.fitting(ranks, way, least.min(most.max(1)))? else { continue };
            least = (point.blocks / 2).max(1);
            points.push(point);
        }
        Ok(points)
    }
}
