//! The operators of a model's tasks: what miniatures of it recorded, as lines over vertices and edges.

use std::collections::{BTreeMap, HashMap};

use zoetrope_plan::{Task, TaskKind};
use zoetrope_tensor::{Family, Floor, Operation};

use crate::machine::Machine;
use crate::work::Work;

/// A number that grows along a line with the vertices and the edges of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Line {
    fixed: f64,
    of_vertex: f64,
    of_edge: f64,
}

/// The sizes of three miniatures: one, one of more vertices, one of more edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Miniatures {
    /// Snapshots.
    pub steps: usize,
    /// Vertices of the first and the last.
    pub vertices: usize,
    /// Vertices of the second.
    pub more_vertices: usize,
    /// Edges of a snapshot of the first and the second, without self-loops.
    pub edges: usize,
    /// Edges of the last.
    pub more_edges: usize,
}

impl Line {
    fn through([few, vertices, edges]: [f64; 3], sizes: &Miniatures) -> Self {
        let of_vertex = (vertices - few) / (sizes.more_vertices - sizes.vertices) as f64;
        let of_edge = (edges - few) / (sizes.more_edges - sizes.edges) as f64;
        let fixed = few - of_vertex * sizes.vertices as f64 - of_edge * sizes.edges as f64;
        Self { fixed, of_vertex, of_edge }
    }

    fn at(&self, size: Size) -> f64 {
        (self.fixed + self.of_vertex * size.vertices + self.of_edge * size.edges).max(0.0)
    }
}

/// Vertices and edges of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Size {
    vertices: f64,
    edges: f64,
}

/// An operator whose sizes follow the graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaledOperation {
    family: Family,
    rows: Line,
    /// What all rows meet: entries of sparse matrices.
    met: Line,
    width: f64,
    forward: [Line; 2],
    backward: [Line; 2],
}

impl ScaledOperation {
    /// The operator that three miniatures recorded at the same place; None if they are not the same.
    pub fn through(recorded: [&Operation; 3], sizes: &Miniatures) -> Option<Self> {
        let [first, ..] = recorded;
        if recorded.iter().any(|one| one.family != first.family) {
            return None;
        }
        let line = |of: &dyn Fn(&Operation) -> f64| Line::through(recorded.map(of), sizes);
        Some(Self {
            family: first.family,
            rows: line(&|one| one.rows),
            met: line(&|one| one.rows * one.inner),
            width: first.width,
            forward: [line(&|one| one.forward.bytes), line(&|one| one.forward.flops)],
            backward: [line(&|one| one.backward.bytes), line(&|one| one.backward.flops)],
        })
    }

    fn at(&self, size: Size) -> Operation {
        let rows = self.rows.at(size);
        let floor =
            |[bytes, flops]: [Line; 2]| Floor { bytes: bytes.at(size), flops: flops.at(size) };
        Operation {
            family: self.family,
            rows,
            inner: self.met.at(size) / rows.max(1.0),
            width: self.width,
            forward: floor(self.forward),
            backward: floor(self.backward),
        }
    }
}

/// The operators of a stage of a model's forward pass.
#[derive(Debug, Clone, PartialEq)]
pub struct StageOperators {
    /// Structure, time or loss.
    pub kind: TaskKind,
    /// The position of its layer among those of its kind.
    pub layer: usize,
    /// In their order.
    pub operations: Vec<ScaledOperation>,
}

impl StageOperators {
    /// Its operators in a piece whose snapshots have so many vertices and edges each.
    pub fn at(&self, vertices: f64, edges: f64) -> Vec<Operation> {
        self.operations.iter().map(|one| one.at(Size { vertices, edges })).collect()
    }
}

/// The operators of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Operators {
    /// Snapshots of the miniatures that told them.
    pub steps: usize,
    /// In their order. Several of one kind and layer stand for as many tasks in a row.
    pub stages: Vec<StageOperators>,
    /// Edges for each row, if a task does not say how many it meets.
    pub edges_per_row: f64,
    /// How skewed the degrees are: their deviation over their mean.
    pub skew: f64,
    /// Threads that a rank computes on.
    pub threads: usize,
}

/// A piece of a frame: the frame, and the block if there are several.
type Place = (Option<usize>, Option<usize>);

impl Operators {
    /// The rows and edges that each piece has in all.
    fn pieces(&self, tasks: &[Task]) -> BTreeMap<Place, Size> {
        // By piece the rows and edges of each layer, which may come in groups.
        let mut found: BTreeMap<Place, BTreeMap<(bool, usize), [u64; 2]>> = BTreeMap::new();
        let mut open = None;
        for task in tasks {
            let (here, is_time) = ((task.frame, task.block), task.kind == TaskKind::Time);
            if task.kind == TaskKind::Backward {
                open = None;
            }
            let Some(shape) = task.shape.filter(|_| !task.backward) else { continue };
            if !is_time && task.kind != TaskKind::Structure {
                continue;
            }
            // A block that is recomputed has its tasks again.
            if open != Some(here) {
                found.insert(here, BTreeMap::new());
                open = Some(here);
            }
            let piece = found.entry(here).or_default();
            let layer = task.layer.unwrap_or(0);
            let sum = piece.entry((is_time, layer)).or_default();
            (sum[0], sum[1]) = (sum[0] + shape.rows, sum[1] + shape.edges);
        }
        let size = |by_layer: BTreeMap<(bool, usize), [u64; 2]>| {
            let most = |at: usize| by_layer.values().map(|sum| sum[at]).max().unwrap_or(0) as f64;
            self.size(most(0), most(1))
        };
        found.into_iter().map(|(place, piece)| (place, size(piece))).collect()
    }

    fn size(&self, rows: f64, edges: f64) -> Size {
        let edges = if edges > 0.0 { edges } else { rows * self.edges_per_row };
        let steps = self.steps.max(1) as f64;
        Size { vertices: rows / steps, edges: edges / steps }
    }

    /// The operators of each task that computes: their work forward and back, on a machine.
    pub(crate) fn work_of(&self, tasks: &[Task], machine: &Machine) -> Vec<Option<[Work; 2]>> {
        let pieces = self.pieces(tasks);
        let mut counts: HashMap<(Place, TaskKind, usize), usize> = HashMap::new();
        let mut known: BTreeMap<(usize, u64, u64), [Work; 2]> = BTreeMap::new();
        let mut of = |task: &Task| {
            let layer = task.layer.unwrap_or(0);
            let here = (task.frame, task.block);
            let all = self.stages.iter().enumerate();
            let mut all = all.filter(|(_, one)| one.kind == task.kind && one.layer == layer);
            let nth = counts.entry((here, task.kind, layer)).or_insert(0);
            let count = all.clone().count();
            let (number, stage) = all.nth(*nth % count.max(1))?;
            *nth += 1;
            let size = match task.shape {
                Some(shape) => {
                    let rows = shape.rows as f64;
                    // Time encoders meet the edges of their piece.
                    let of_piece = pieces.get(&here).filter(|_| shape.edges == 0);
                    let per_row = of_piece.map_or(0.0, |one| one.edges / one.vertices.max(1e-9));
                    self.size(rows, (shape.edges as f64).max(rows * per_row))
                }
                None => *pieces.get(&here)?,
            };
            let key = (number, size.vertices.to_bits(), size.edges.to_bits());
            Some(*known.entry(key).or_insert_with(|| {
                let mut sums = [Work::default(); 2];
                for operation in stage.at(size.vertices, size.edges) {
                    for (sum, backward) in sums.iter_mut().zip([false, true]) {
                        sum.add(self.work(&operation, backward, machine));
                    }
                }
                sums
            }))
        };
        tasks.iter().map(&mut of).collect()
    }

    /// The pairs that a loss asks about.
    pub(crate) fn pairs_of(&self, tasks: &[Task]) -> BTreeMap<Place, f64> {
        let losses = self.stages.iter().filter(|stage| stage.kind == TaskKind::Loss);
        let pairs: Vec<&ScaledOperation> = losses
            .flat_map(|stage| &stage.operations)
            .filter(|operation| operation.family == Family::Loss)
            .collect();
        let of = |size: Size| pairs.iter().map(|one| one.rows.at(size)).sum();
        self.pieces(tasks).into_iter().map(|(place, size)| (place, of(size))).collect()
    }

    fn work(&self, operation: &Operation, backward: bool, machine: &Machine) -> Work {
        let floor = if backward { operation.backward } else { operation.forward };
        if floor == Floor::default() {
            return Work::default();
        }
        let (device, is_sparse) = (&machine.device, operation.family == Family::Sparse);
        let measured = machine.calibration.as_ref();
        let seconds = measured.and_then(|measured| {
            let alone = measured.seconds(device, operation, backward, self.threads)?;
            let skew = measured.skew.as_ref().filter(|_| is_sparse);
            Some(alone * skew.map_or(1.0, |skew| skew.value(self.skew.max(1e-3))))
        });
        match seconds {
            Some(measured_seconds) => {
                Work { measured_seconds, measured_bytes: floor.bytes, ..Work::default() }
            }
            None => Work {
                dense_flops: floor.flops,
                sparse_bytes: if is_sparse { floor.bytes } else { 0.0 },
                other_bytes: if is_sparse { 0.0 } else { floor.bytes },
                launches: 1.0,
                ..Work::default()
            },
        }
    }
}
