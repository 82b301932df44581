//! Times the candidates of planners: their programs are simulated on the machine that they are for.

use std::cell::RefCell;

use zoetrope_plan::planners::{Timed, Timer};
use zoetrope_plan::{FramePlan, LayerOrder, Plan, Proposal};
use zoetrope_sim::machine::Part;
use zoetrope_sim::operators::Operators;
use zoetrope_sim::{Job, Machine, ModelFacts, Options, Outcome, ResourceKind};

use super::planning::Draft;
use super::program::moves_rows;
use crate::learner::optimise;
use crate::snapshots::material::SnapshotInput;

/// More ranks than this are compared by formulas: choosing would take longer than training some of them.
const RANKS_MAX: usize = 64;

/// Machines that are faster or slower by more than this are other machines.
const FACTOR_MAX: f64 = 100.0;

/// How near a change is found.
const FACTOR_STEP: f64 = 1.05;

/// A resource that is in use for so much of an epoch is what it takes.
const BUSY: f64 = 0.8;

/// What operators depend on besides the model.
type Shape = (Vec<LayerOrder>, bool, usize);

/// Simulates plans of a draft.
pub(super) struct SimTimer<'d> {
    draft: &'d Draft<'d>,
    material: &'d SnapshotInput,
    machine: Machine,
    operators: RefCell<Vec<(Shape, Option<Operators>)>>,
    /// The candidates that were timed, in their order.
    jobs: RefCell<Vec<(Job, usize)>>,
}

impl<'d> SimTimer<'d> {
    pub(super) fn new(
        draft: &'d Draft<'d>,
        material: &'d SnapshotInput,
        machine: &Machine,
    ) -> Self {
        Self {
            draft,
            material,
            machine: machine.clone(),
            operators: RefCell::default(),
            jobs: RefCell::default(),
        }
    }

    /// The operators of a plan, found once for plans that run a model alike.
    fn operators(&self, plan: &FramePlan) -> Option<Operators> {
        let shape = (plan.orders.clone(), plan.reuse.first_aggregation, plan.miniature_steps());
        let known = self.operators.borrow();
        let found = known.iter().find(|(known, _)| *known == shape);
        if let Some((_, found)) = found {
            return found.clone();
        }
        drop(known);
        let found = self.draft.operators_of(self.material, plan).ok().flatten();
        self.operators.borrow_mut().push((shape, found.clone()));
        found
    }

    /// The programs of all ranks.
    fn job(&self, plan: &FramePlan) -> Option<Job> {
        let draft = self.draft;
        let mut job = Job::default();
        draft.programs(self.material, plan, &mut |program| job.push(program)).ok()?;
        let ranks = plan.head.ranks as u32;
        job.members = plan.cells().map_or(1, |cells| cells.grid(ranks).members as usize);
        job.model = ModelFacts {
            orders: plan.orders.clone(),
            evolves: !moves_rows(&draft.stages_of(self.material, plan).ok()?),
            weights: draft.network.parameters.weights(),
            optimiser_slots: optimise::slots(&draft.config.train),
            operators: self.operators(plan),
        };
        Some(job)
    }

    /// The machine with room for all ranks: threads may be more than cores.
    fn machine_for(&self, ranks: usize) -> Machine {
        let mut machine = self.machine.clone();
        if machine.nodes == 1 {
            machine.devices = machine.devices.max(ranks);
        }
        machine
    }
}

impl SimTimer<'_> {
    /// Says of each candidate that fits the smallest change of the machine that would make it the fastest.
    pub(super) fn tell_flips(&self, candidates: &mut [Proposal]) {
        let jobs = self.jobs.borrow();
        if jobs.len() != candidates.len() {
            return;
        }
        let fits: Vec<bool> = candidates.iter().map(|candidate| candidate.fits).collect();
        for (at, candidate) in candidates.iter_mut().enumerate() {
            if candidate.recommended || !candidate.fits {
                continue;
            }
            candidate.flip = self.flip(&jobs, &fits, at);
        }
    }

    /// Whether a candidate is the fastest on a machine.
    fn wins(&self, jobs: &[(Job, usize)], fits: &[bool], at: usize, machine: &Machine) -> bool {
        let seconds = |(job, ranks): &(Job, usize)| {
            let mut machine = machine.clone();
            machine.devices = machine.devices.max(self.machine_for(*ranks).devices);
            let outcome = machine.run(job, &Options::default(), &mut |_, _| ());
            outcome.map_or(f64::INFINITY, |outcome| outcome.seconds)
        };
        let own = seconds(&jobs[at]);
        let others =
            jobs.iter().zip(fits).enumerate().filter(|(other, (_, fits))| *other != at && **fits);
        others.into_iter().all(|(_, (job, _))| own < seconds(job))
    }

    fn flip(&self, jobs: &[(Job, usize)], fits: &[bool], at: usize) -> Option<String> {
        let mut best: Option<(f64, Part, bool)> = None;
        for part in Part::ALL {
            for faster in [true, false] {
                let machine =
                    |by: f64| self.machine.scaled(part, if faster { by } else { 1.0 / by });
                // A change that is larger than one that is known already is not looked for.
                let most = best.map_or(FACTOR_MAX, |(by, ..)| by);
                if !self.wins(jobs, fits, at, &machine(most)) {
                    continue;
                }
                let (mut low, mut high) = (1.0_f64, most);
                while high / low > FACTOR_STEP {
                    let middle = (low * high).sqrt();
                    let wins = self.wins(jobs, fits, at, &machine(middle));
                    if wins { high = middle } else { low = middle }
                }
                best = Some((high, part, faster));
            }
        }
        best.map(|(by, part, faster)| {
            let how = if faster { "faster" } else { "slower" };
            format!("{} {by:.1} × {how}", part.name())
        })
    }
}

impl Timer for SimTimer<'_> {
    fn machine(&self) -> String {
        format!("{} ({})", self.machine.name, self.machine.source)
    }

    fn time(&self, plan: &Plan) -> Option<Timed> {
        let Plan::Frames(plan) = plan else { return None };
        let ranks = plan.head.ranks;
        if ranks > RANKS_MAX {
            return None;
        }
        let job = self.job(plan)?;
        let machine = self.machine_for(ranks);
        let outcome = machine.run(&job, &Options::default(), &mut |_, _| ()).ok()?;
        self.jobs.borrow_mut().push((job, ranks));
        Some(Timed { seconds: outcome.seconds, binds: binds(&outcome) })
    }
}

/// What the time of an epoch goes to most: a resource that is nearly always in use, or what ranks do.
fn binds(outcome: &Outcome) -> String {
    let busy = outcome.loads.iter().filter(|load| load.seconds > BUSY * outcome.seconds);
    let busiest = busy.max_by(|left, right| left.seconds.total_cmp(&right.seconds));
    if let Some(load) = busiest.filter(|load| load.kind != ResourceKind::HostMemory) {
        return load.kind.name().to_owned();
    }
    let mean = &outcome.mean;
    let all = [
        ("computing", mean.compute),
        ("waiting for others", mean.wait),
        ("messages", mean.communicate),
        ("copies to and from a GPU", mean.transfer),
        ("preparing", mean.prepare),
    ];
    let most = all.iter().max_by(|left, right| left.1.total_cmp(&right.1));
    most.map_or_else(String::new, |(name, _)| (*name).to_owned())
}
