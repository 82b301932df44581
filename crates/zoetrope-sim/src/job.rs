//! What is simulated: the programs of all ranks, equal ones kept once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use zoetrope_plan::{Task, TaskGraph};

use crate::work::ModelFacts;

/// The programs of all ranks of a run.
#[derive(Debug, Clone, Default)]
pub struct Job {
    /// What work depends on besides.
    pub model: ModelFacts,
    /// Ranks of a group that shares the vertices of a snapshot: the members of a plan's grid.
    pub members: usize,
    /// Whether messages between GPUs go by way of their hosts.
    pub by_host: bool,
    pub(crate) programs: Vec<Vec<Task>>,
    pub(crate) of_rank: Vec<usize>,
    known: HashMap<u64, Vec<usize>>,
}

impl Job {
    /// A job without ranks yet.
    pub fn new(model: ModelFacts, members: usize, by_host: bool) -> Self {
        Self { model, members, by_host, ..Self::default() }
    }

    /// The program of the next rank.
    pub fn push(&mut self, program: TaskGraph) {
        let mut hasher = DefaultHasher::new();
        for task in &program.tasks {
            (task.kind, task.bytes, task.update, task.after.len()).hash(&mut hasher);
            task.shape.map(|shape| (shape.rows, shape.edges)).hash(&mut hasher);
        }
        let alike = self.known.entry(hasher.finish()).or_default();
        let found = alike.iter().copied().find(|&known| self.programs[known] == program.tasks);
        let number = found.unwrap_or_else(|| {
            alike.push(self.programs.len());
            self.programs.push(program.tasks);
            self.programs.len() - 1
        });
        self.of_rank.push(number);
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.of_rank.len()
    }

    /// How many different programs they have.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }
}
