//! Plans a run for a described machine and simulates its programs.

use zoetrope_config::Config;
use zoetrope_data::Progress;
use zoetrope_plan::{Plan, Transport};
use zoetrope_sim::operators::Operators;
use zoetrope_sim::{Job, Machine, ModelFacts, Options, Outcome, SimError};
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::{ForetoldRun, foretell};

use crate::exit::Failure;

/// A machine, and how to simulate on it.
#[derive(Debug)]
pub(crate) struct Simulation<'a, P> {
    pub(crate) machine: &'a Machine,
    pub(crate) options: &'a Options,
    /// Who is told how far it got.
    pub(crate) bars: &'a P,
}

impl<P: Progress> Simulation<'_, P> {
    /// Simulates an epoch; returns its plan, what it takes, and the programs of its ranks.
    ///
    /// # Errors
    /// If no plan can be made, or the machine has too few devices.
    pub(crate) fn run(
        &self,
        config: Config,
        material: &SnapshotInput,
        given: Option<Plan>,
    ) -> Result<(ForetoldRun, Outcome, Job), Failure> {
        let &Self { machine, options, bars } = self;
        let ranks = config.train.ranks;
        if ranks > machine.ranks() {
            let (nodes, devices) = (machine.nodes, machine.devices);
            let machine = machine.name.clone();
            return Err(refused(SimError::TooManyRanks { ranks, machine, nodes, devices }));
        }
        let threads = config.train.threads_to_start().unwrap_or((machine.devices / ranks).max(1));
        bars.begin("programs", Some(ranks as u64));
        let mut job = Job::default();
        let foretold = rayon::scope(|_| {
            foretell(config, material, given, machine, &mut |program| {
                job.push(program);
                bars.advance(1);
            })
        })?;
        job.model = ModelFacts {
            orders: foretold.plan.orders.clone(),
            evolves: foretold.evolves,
            weights: foretold.weights,
            optimiser_slots: foretold.optimiser_slots,
            operators: foretold.operators.clone().map(|found| Operators { threads, ..found }),
        };
        job.members =
            foretold.plan.cells().map_or(1, |cells| cells.grid(ranks as u32).members as usize);
        job.by_host = foretold.plan.gpu.is_some_and(|gpu| gpu.transport == Some(Transport::Host));
        bars.begin("simulating", None);
        let mut told = 0;
        let mut watch = |over: u64, _: u64| {
            bars.advance(over - told);
            told = over;
        };
        let outcome = machine.run(&job, options, &mut watch).map_err(refused)?;
        Ok((foretold, outcome, job))
    }
}

fn refused(error: SimError) -> Failure {
    match error {
        SimError::TooManyRanks { .. } | SimError::NoSuchRank { .. } | SimError::Speed { .. } => {
            Failure::usage(error.to_string())
        }
        _ => Failure::other(error.to_string()),
    }
}
