//! The program of a plan over batches of events.

use super::builder::Builder;
use super::facts::BatchFacts;
use super::{TaskGraph, TaskKind, TaskShape};
use crate::plan::batch_plan::BatchPlan;

impl BatchPlan {
    /// What the one rank does in an epoch of these batches.
    ///
    /// A batch whose questions fit into one step is remembered, asked and absorbed in one pass. A larger one
    /// asks all of its questions first, step by step, and is then absorbed step by step.
    ///
    /// # Panics
    /// If there is not an answer to whether anything is asked for each step of each batch.
    pub fn lower(&self, facts: &BatchFacts<'_>) -> TaskGraph {
        let mut program = Builder::default();
        let mut update = 0;
        for (number, (steps, asks)) in facts.batches.iter().zip(facts.asks).enumerate() {
            program.frame = Some(number);
            for (step, &asked) in asks.iter().enumerate() {
                program.update = update;
                program.block = (steps.len() > 1).then_some(step);
                program.prepare(TaskKind::Draw);
                if facts.remembers {
                    program.compute(TaskKind::Remember);
                }
                let shape =
                    TaskShape { rows: 0, edges: 0, inputs: facts.width, outputs: facts.width };
                program.layer(TaskKind::Embed, 0, shape);
                program.compute(TaskKind::Loss);
                if asked {
                    program.compute(TaskKind::Backward);
                    program.compute(TaskKind::Update);
                }
                update += 1;
            }
            if steps.len() == 1 {
                if facts.remembers {
                    program.compute(TaskKind::Absorb);
                }
                continue;
            }
            for step in 0..steps.len() {
                program.block = Some(step);
                program.prepare(TaskKind::Draw);
                if facts.remembers {
                    program.compute(TaskKind::Remember);
                    program.compute(TaskKind::Absorb);
                }
            }
        }
        TaskGraph { schema: TaskGraph::SCHEMA, rank: 0, tasks: program.tasks }
    }
}
