//! Rebuilding memory: events go by without questions.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use zoetrope_data::split::Part;
use zoetrope_nn::Forward;
use zoetrope_plan::TaskKind;

use super::prefetch;
use super::prepare::{Prepared, Preparer};
use super::session::EventSession;
use crate::error::TrainError;

impl EventSession {
    /// Brings the state to the point at which it knows exactly the first `events` events (of the training part
    /// those that are not held out), with the weights in place. Batches are counted from the start
    /// of each part, as in training and evaluation.
    ///
    /// Goes on from the memory that grew with the weights, unless that knows more already.
    pub(super) fn remember(&mut self, events: usize) -> Result<(), TrainError> {
        let goes_on = self.known.is_some_and(|known| known <= events);
        let grown = self.grown.as_ref().filter(|grown| grown.events <= events);
        match (grown, &mut self.state) {
            (Some(grown), Some(state)) if !(goes_on && self.grew) => {
                state.copy_from(&grown.state);
                (self.known, self.grew) = (Some(grown.events), true);
                // Rows that were computed for a vertex and its mail belong to the other memory.
                self.network.model.begin_pass();
            }
            _ if goes_on => {}
            _ => self.forget(),
        }
        let known = self.known.unwrap_or(0);
        if self.state.is_some() && known < events {
            for (part, range) in self.stretches() {
                let range = range.start.max(known)..range.end.min(events);
                if !range.is_empty() {
                    self.absorb(part, range)?;
                }
            }
        }
        self.known = Some(events);
        Ok(())
    }

    /// The events whose batches are counted from their first one on, with the part that they are
    /// treated as.
    pub(super) fn stretches(&self) -> [(Part, Range<usize>); 4] {
        let split = &self.material.split;
        [
            (Part::Train, split.train.clone()),
            (Part::Validation, split.validation.clone()),
            // What comes between two parts that are judged belongs to none of them.
            (Part::Test, split.validation.end..split.test.start),
            (Part::Test, split.test.clone()),
        ]
    }

    /// The state goes over to a part, and weights stay as they are. Behind the training part mails are put together when they are
    /// sent, as all references have it.
    pub(super) fn enter(&mut self, part: Part) {
        self.network.model.begin_pass();
        let data = self.material.data();
        if let Some(state) = self.state.as_mut().filter(|_| part != Part::Train) {
            state.keep_mails(data);
        }
    }

    /// Lets events of a part go by.
    fn absorb(&mut self, part: Part, events: Range<usize>) -> Result<(), TrainError> {
        self.enter(part);
        let material = Arc::clone(&self.material);
        let (positions, clock) = (material.positions(part, events), material.clock(part));
        let batches = if part == Part::Train {
            self.schedule.training(positions, clock)
        } else {
            self.schedule.fixed(positions, clock)
        };
        let steps: Vec<(usize, Range<usize>)> = batches
            .iter()
            .flat_map(|batch| batch.steps().map(|step| (batch.events.start, step)))
            .collect();
        let mut preparer = Preparer::new(&material, material.neighbours(part), self.rules);
        let prepare = |at: usize, prepared: &mut Prepared| {
            let (first, step) = &steps[at];
            preparer.begin(material.event(part, *first), prepared);
            for position in step.clone() {
                preparer.add_event(material.event(part, position), prepared);
            }
            preparer.finish(0, false, prepared);
            Ok(())
        };
        prefetch::run(self.plan.prefetch, steps.len(), prepare, |_, prepared| {
            self.absorb_batch(prepared)?;
            Ok(true)
        })
    }

    /// Computes new memory for the ends of a batch's events and writes it.
    pub(super) fn absorb_batch(&mut self, prepared: &Prepared) -> Result<(), TrainError> {
        self.tape.reset();
        let parameters = &self.network.parameters;
        let mut forward = Forward::evaluating(&mut self.tape, parameters, &mut self.updates)
            .telling(self.tasks.listener());
        let data = self.material.data();
        let state = self.state.as_ref();
        let update = self.network.model.remember(&mut forward, &prepared.batch, data, state)?;
        update.take(&self.tape, &mut self.updated);
        self.tape.reset();
        if let Some(state) = &mut self.state {
            let began = Instant::now();
            state.absorb(&prepared.batch, data, &self.updated);
            self.tasks.task(TaskKind::Absorb, began, None);
        }
        Ok(())
    }
}
