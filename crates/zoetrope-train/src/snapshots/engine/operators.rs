//! The operators of a model's stages, found by running it over miniatures: what a simulator times.
//!
//! Three miniatures, one of more vertices and one of more edges, tell the line that each size grows along.

use std::cell::RefCell;
use std::time::Instant;

use zoetrope_config::{Config, TaskName};
use zoetrope_nn::forward::Updates;
use zoetrope_nn::{Forward, Stage, StageKind, StageListener, State};
use zoetrope_plan::TaskKind;
use zoetrope_sim::operators::{Miniatures, ScaledOperation, StageOperators};
use zoetrope_tensor::{Device, Operation, Tape};

use super::asked_answers::asks_more_than_is_run;
use super::miniature::{SmallSize, miniature};
use super::{FrameRunner, Layout, Network, Piece, PieceRun};
use crate::error::TrainError;
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::task::{self, Questions};

/// Keeps the stages that compute, with what was on the tape when each was over.
#[derive(Debug, Default)]
struct Recorder(RefCell<Vec<(TaskKind, usize, usize)>>);

impl StageListener for Recorder {
    fn stage(&self, stage: Stage, _: Instant) {
        let kind = match stage.kind {
            StageKind::Structure => TaskKind::Structure,
            StageKind::Time => TaskKind::Time,
            StageKind::Loss => TaskKind::Loss,
            _ => return,
        };
        self.0.borrow_mut().push((kind, stage.layer, stage.recorded));
    }
}

/// A stage of one miniature.
struct Recorded {
    kind: TaskKind,
    layer: usize,
    operations: Vec<Operation>,
}

/// The operators of a piece of a model in a layout, over `steps` snapshots. Nothing if miniatures of several sizes
/// do not go through the same operators.
///
/// # Errors
/// As building and running the network.
pub fn operators(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    outputs: usize,
    layout: &Layout,
    steps: usize,
) -> Result<Option<Vec<StageOperators>>, TrainError> {
    let size = SmallSize::new(config, task, material, outputs, steps)?;
    if asks_more_than_is_run(config, task, outputs, &size, steps) {
        return Ok(None);
    }
    let SmallSize { vertices, edges, .. } = size;
    let sizes =
        Miniatures { steps, vertices, more_vertices: 2 * vertices, edges, more_edges: 3 * edges };
    let run = |vertices: usize, edges: usize| {
        let small = miniature(material, task, outputs, vertices, edges, steps)?;
        recorded(config, task, &small, outputs, layout.clone(), steps)
    };
    let few = run(vertices, edges)?;
    let wide = run(sizes.more_vertices, edges)?;
    let dense = run(vertices, sizes.more_edges)?;
    if few.len() != wide.len() || few.len() != dense.len() {
        return Ok(None);
    }
    let of = |((few, wide), dense): ((&Recorded, &Recorded), &Recorded)| {
        let all = [few, wide, dense];
        let same = all.iter().all(|one| {
            (one.kind, one.layer, one.operations.len())
                == (few.kind, few.layer, few.operations.len())
        });
        let operations = (0..few.operations.len()).map(|at| {
            let recorded = all.map(|one| one.operations.get(at));
            let [Some(few), Some(wide), Some(dense)] = recorded else { return None };
            ScaledOperation::through([few, wide, dense], &sizes)
        });
        let operations = operations.collect::<Option<Vec<_>>>().filter(|_| same)?;
        Some(StageOperators { kind: few.kind, layer: few.layer, operations })
    };
    Ok(few.iter().zip(&wide).zip(&dense).map(of).collect())
}

fn recorded(
    config: &Config,
    task: TaskName,
    small: &SnapshotInput,
    outputs: usize,
    layout: Layout,
    steps: usize,
) -> Result<Vec<Recorded>, TrainError> {
    let network = Network::new(config, task, small.width(), outputs, steps, small.vertices())?;
    let model = network.model.as_ref();
    let (sequence, features) = (&small.sequence, &small.features);
    let mut runner = FrameRunner::new(sequence, features, model, layout, &Device::Cpu, None)?
        .learning(network.vertex_embedding);
    let mut asked = task::make(config, task, small)?;
    let (mut tape, mut updates, recorder) = (Tape::new(), Updates::default(), Recorder::default());
    let (seed, parameters) = (config.train.seed, &network.parameters);
    let mut forward =
        Forward::training(&mut tape, parameters, &mut updates, seed, 0).telling(Some(&recorder));
    let piece = Piece::whole(0..steps, steps);
    let questions = Questions { steps: 0..steps, epoch: 0 };
    let run = PieceRun { runner: &mut runner, task: asked.as_mut(), network: &network };
    run.run(&mut forward, &piece, State::default(), Some(&questions))?;
    let all = tape.operations();
    let mut from = 0;
    let stages = recorder.0.into_inner().into_iter();
    let of = |(kind, layer, until): (TaskKind, usize, usize)| {
        let operations = all.iter().filter(|(node, _)| (from..until).contains(node));
        let operations = operations.map(|(_, operation)| *operation).collect();
        from = until;
        Recorded { kind, layer, operations }
    };
    Ok(stages.map(of).collect())
}

#[cfg(test)]
mod tests {
    use zoetrope_tensor::Floor;

    use super::*;

    /// What all operators of each stage move and compute.
    fn sums(stages: impl Iterator<Item = (TaskKind, usize, Vec<Operation>)>) -> Vec<Sum> {
        stages
            .map(|(kind, layer, operations)| {
                let sum = |of: &dyn Fn(&Operation) -> f64| operations.iter().map(of).sum::<f64>();
                let floors = |of: &dyn Fn(&Operation) -> Floor| {
                    [sum(&|one| of(one).bytes), sum(&|one| of(one).flops)]
                };
                let [a, b] = floors(&|one| one.forward);
                let [c, d] = floors(&|one| one.backward);
                (kind, layer, operations.len(), [a, b, c, d])
            })
            .collect()
    }

    type Sum = (TaskKind, usize, usize, [f64; 4]);

    #[test]
    fn miniatures_foretell_the_operators_of_a_larger_graph() {
        let models = [
            "tgcn",
            "a3tgcn",
            "gc-lstm",
            "evolvegcn-o model.variant=paper",
            "evolvegcn-h model.variant=paper",
            "mpnn-lstm",
            "cd-gcn",
            "wd-gcn",
            "tm-gcn",
            "dysat",
        ];
        let steps = 4;
        for name in models {
            let model = format!("model.name={name}");
            let data = "data.path=synthetic:power-law?vertices=700&steps=6&edges=2500&features=3&targets=neighbours \
                        data.split=none task.name=node-regression train.frame=4 model.hidden=16";
            let all = data.split_whitespace().chain(model.split(' '));
            let config = all.fold(Config::builder(), |b, text| b.set(text)).build().unwrap();
            let material = SnapshotInput::open(&config, &zoetrope_data::Quiet).unwrap();
            let task = TaskName::NodeRegression;
            let width = material.width();
            let network =
                Network::new(&config, task, width, 1, steps, material.vertices()).unwrap();
            let layout = Layout::plain(network.model.as_ref(), false);
            let found = operators(&config, task, &material, 1, &layout, steps).unwrap().unwrap();
            let real = recorded(&config, task, &material, 1, layout, steps).unwrap();
            let edges = (0..steps).map(|step| material.sequence.edges_at(step)).sum::<usize>();
            let (vertices, edges) = (material.vertices() as f64, edges as f64 / steps as f64);
            let foretold =
                sums(found.iter().map(|one| (one.kind, one.layer, one.at(vertices, edges))));
            let real = sums(real.into_iter().map(|one| (one.kind, one.layer, one.operations)));
            assert_eq!(foretold.len(), real.len(), "{name}");
            for (foretold, real) in foretold.iter().zip(&real) {
                let what = |sum: &Sum| (sum.0, sum.1, sum.2);
                assert_eq!(what(foretold), what(real), "{name}");
                for (foretold, real) in foretold.3.iter().zip(real.3) {
                    // Edges that are drawn twice are one entry of a matrix: few miniatures have any.
                    assert!(
                        (foretold - real).abs() <= 0.01 * real,
                        "{name}: {foretold:?} {real:?}"
                    );
                }
            }
        }
    }
}
