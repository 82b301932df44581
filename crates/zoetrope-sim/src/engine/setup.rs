//! What stands before a simulation begins: classes of ranks, their programs, who meets whom in messages.

use std::collections::{BTreeMap, BTreeSet};

use zoetrope_plan::{Task, TaskKind};

use super::{Engine, Options, Party, Walker};
use crate::classes::{Circle, Classes, Topology};
use crate::clock::Clock;
use crate::error::SimError;
use crate::job::Job;
use crate::machine::Machine;
use crate::outcome::{Outcome, Tally};
use crate::program::{Program, STREAMS};
use crate::repeat::{kept, shortened};
use crate::resources::Resources;

impl Machine {
    /// Runs a job. `watch` is told how many tasks are over, and of how many.
    ///
    /// # Errors
    /// If the machine has not so many devices, or the job contradicts itself.
    pub fn run(
        &self,
        job: &Job,
        options: &Options,
        watch: &mut dyn FnMut(u64, u64),
    ) -> Result<Outcome, SimError> {
        let ranks = job.ranks();
        if ranks == 0 {
            return Err(SimError::NoRanks);
        }
        if ranks > self.ranks() {
            let (machine, nodes, devices) = (self.name.clone(), self.nodes, self.devices);
            return Err(SimError::TooManyRanks { ranks, machine, nodes, devices });
        }
        let mut speeds = vec![1.0; ranks];
        for &(rank, speed) in &options.stragglers {
            if !(speed.is_finite() && speed > 0.0) {
                return Err(SimError::Speed { rank, speed });
            }
            *speeds.get_mut(rank).ok_or(SimError::NoSuchRank { rank, ranks })? = speed;
        }
        let topology = Topology { ranks, devices: self.devices, members: job.members.max(1) };
        let mut known = BTreeMap::new();
        let own: Vec<usize> = (0..ranks)
            .map(|rank| {
                let next = known.len();
                *known.entry((job.of_rank[rank], speeds[rank].to_bits())).or_insert(next)
            })
            .collect();
        let classes = Classes::of(&topology, &own, !options.one_by_one);
        let mut engine = Engine::new(self, job, &classes, &topology, &speeds, options)?;
        engine.run(watch)?;
        Ok(engine.finish(&topology))
    }
}

impl<'a> Engine<'a> {
    /// Everybody at the start of the program.
    fn new(
        machine: &'a Machine,
        job: &'a Job,
        classes: &'a Classes,
        topology: &Topology,
        speeds: &[f64],
        options: &Options,
    ) -> Result<Self, SimError> {
        let tasks: Vec<&[Task]> = job.programs.iter().map(Vec::as_slice).collect();
        let kept = if options.one_by_one { Vec::new() } else { kept(&tasks) };
        let make = |tasks: &&[Task]| {
            let short = if options.one_by_one { tasks.to_vec() } else { shortened(tasks, &kept) };
            Program::new(short, &job.model, machine)
        };
        let programs: Vec<Program> = tasks.iter().map(make).collect();
        let all = programs.iter().flat_map(|program| program.tasks.iter());
        let updates = all.map(|task| task.update + 1).max().unwrap_or(0);
        let times =
            (0..updates).map(|update| kept.get(update).map_or(1, |one| one.times)).collect();
        check(job, &programs)?;
        let resources = Resources::new(machine, classes);
        let mut parties = BTreeMap::new();
        let mut party_of = Vec::new();
        for class in &classes.classes {
            let all = [Circle::All, Circle::SameSnapshots, Circle::SameVertices];
            party_of.push(all.map(|circle| {
                let ranks = topology.circle_of(circle, class.rank);
                let of: BTreeSet<usize> = ranks.iter().map(|&rank| classes.of_rank[rank]).collect();
                let key = (circle, *of.first().expect("a circle has the rank itself"));
                parties.entry(key).or_insert_with(|| Party {
                    nodes: ranks.iter().map(|&rank| topology.node(rank)).collect(),
                    classes: of.into_iter().collect(),
                    ranks,
                });
                key
            }));
        }
        let walkers: Vec<Walker> = classes
            .classes
            .iter()
            .map(|class| {
                let program = job.of_rank[class.rank];
                let tasks = &programs[program].tasks;
                Walker {
                    program,
                    speed: speeds[class.rank],
                    left: tasks.iter().map(|task| task.after.len() as u32).collect(),
                    next: [0; STREAMS],
                    busy: [false; STREAMS],
                    reached: 0.0,
                    path: vec![0.0; tasks.len()],
                }
            })
            .collect();
        let clock = Clock::new(resources.capacity.clone());
        let tally = Tally::new(classes.classes.len(), updates, resources.capacity.len());
        Ok(Self {
            job,
            machine,
            programs,
            times,
            classes,
            resources,
            parties,
            party_of,
            walkers,
            arrived: BTreeMap::new(),
            clock,
            doing: Vec::new(),
            tally,
            spans: options.timeline.then(Vec::new),
        })
    }
}

/// Whether all ranks send the same messages.
fn check(job: &Job, programs: &[Program]) -> Result<(), SimError> {
    let kinds = |program: usize| {
        let Program { tasks, messages, .. } = &programs[program];
        messages.iter().map(|&task| (tasks[task].kind, tasks[task].purpose)).collect::<Vec<_>>()
    };
    let first = kinds(job.of_rank[0]);
    let mut seen = BTreeSet::new();
    for (rank, &program) in job.of_rank.iter().enumerate() {
        if !seen.insert(program) {
            continue;
        }
        let own = kinds(program);
        let most = own.len().max(first.len());
        if let Some(message) = (0..most).find(|&at| own.get(at) != first.get(at)) {
            let kind = |all: &[(TaskKind, _)]| all.get(message).map(|one| one.0);
            let (of_rank, of_other) = (kind(&own), kind(&first));
            return Err(SimError::Disagree { message, rank, of_rank, other: 0, of_other });
        }
    }
    Ok(())
}
