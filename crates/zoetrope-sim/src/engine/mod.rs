//! The simulation: every class of ranks walks through its program, stream by stream.
//!
//! A stream does one task after the other, in the order of the program; a task begins when its stream is free and
//! what it waits for is over. A message begins when all ranks that it is between are there.

mod setup;

use std::collections::{BTreeMap, BTreeSet};

use zoetrope_plan::TaskKind;
use zoetrope_plan::program::{Purpose, Stream};

use crate::classes::{Circle, Classes, Topology};
use crate::clock::Clock;
use crate::error::SimError;
use crate::fluid::Demand;
use crate::job::Job;
use crate::machine::Machine;
use crate::messages::{Message, ONE_ROUND_BYTES, circle};
use crate::outcome::{Outcome, Span, Tally};
use crate::program::{Program, STREAMS, is_message, lane};
use crate::resources::Resources;

/// What is simulated besides the job.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Ranks whose devices are slower or faster: the rank and how many times its speed they have.
    pub stragglers: Vec<(usize, f64)>,
    /// Whether every task is noted with its times.
    pub timeline: bool,
    /// Whether every rank and every update is simulated by itself, which takes longer and finds the same.
    pub one_by_one: bool,
}

/// The ranks of one message, by one circle of those that are alike.
#[derive(Debug)]
struct Party {
    ranks: Vec<usize>,
    nodes: Vec<usize>,
    classes: Vec<usize>,
}

/// Who does what of an activity.
enum Doing {
    Task { class: usize, task: usize },
    Message { party: (Circle, usize), message: usize },
}

/// Where a class stands.
struct Walker {
    program: usize,
    speed: f64,
    /// Tasks that each task still waits for.
    left: Vec<u32>,
    next: [usize; STREAMS],
    busy: [bool; STREAMS],
    /// When the running message of the class was reached.
    reached: f64,
    /// The longest way to the end of each task, if nobody were in the way.
    path: Vec<f64>,
}

struct Engine<'a> {
    job: &'a Job,
    machine: &'a Machine,
    programs: Vec<Program>,
    times: Vec<u64>,
    classes: &'a Classes,
    resources: Resources<'a>,
    parties: BTreeMap<(Circle, usize), Party>,
    party_of: Vec<[(Circle, usize); 3]>,
    walkers: Vec<Walker>,
    arrived: BTreeMap<(Circle, usize, usize), usize>,
    clock: Clock,
    doing: Vec<Doing>,
    tally: Tally,
    spans: Option<Vec<Span>>,
}

impl Engine<'_> {
    fn run(&mut self, watch: &mut dyn FnMut(u64, u64)) -> Result<(), SimError> {
        let of = |walker: &Walker| self.programs[walker.program].tasks.len() as u64;
        let all = self.walkers.iter().map(of).sum();
        (0..self.walkers.len()).for_each(|class| self.go_on(class));
        let mut over = 0;
        while let Some(ended) = self.clock.next() {
            for activity in ended {
                over += self.ended(activity);
            }
            watch(over, all);
        }
        for (class, walker) in self.walkers.iter().enumerate() {
            let program = &self.programs[walker.program];
            let stuck = program.lanes.iter().zip(walker.next).find_map(|(lane, at)| lane.get(at));
            if let Some(&task) = stuck {
                let rank = self.classes.classes[class].rank;
                return Err(SimError::Stuck { rank, task, kind: program.tasks[task].kind });
            }
        }
        Ok(())
    }

    /// Starts what a class can start.
    fn go_on(&mut self, class: usize) {
        for stream in 0..STREAMS {
            let walker = &self.walkers[class];
            let lane = &self.programs[walker.program].lanes[stream];
            let Some(&task) = lane.get(walker.next[stream]) else { continue };
            if walker.busy[stream] || walker.left[task] > 0 {
                continue;
            }
            self.walkers[class].busy[stream] = true;
            self.start(class, task);
        }
    }

    fn start(&mut self, class: usize, number: usize) {
        let walker = &self.walkers[class];
        let program = &self.programs[walker.program];
        let (task, work) = (&program.tasks[number], &program.work[number]);
        if is_message(task.kind) {
            return self.arrive(class, number);
        }
        let times = self.times[task.update] * self.classes.classes[class].count as u64;
        let (demand, latency) = match task.stream {
            Stream::Copy => {
                let bytes = task.bytes.unwrap_or(0);
                self.tally.copied_bytes += bytes * times;
                self.resources.copy(class, bytes as f64)
            }
            _ => {
                let launch = self.resources.launch(work, walker.speed);
                (self.resources.compute(class, work, walker.speed), launch)
            }
        };
        let alone = latency + demand.alone(&self.resources.capacity);
        let path = self.path_before(class, number) + alone;
        self.walkers[class].path[number] = path;
        self.tally.use_resources(&demand, self.times_of(class, number));
        let activity = self.clock.start(demand, latency);
        debug_assert_eq!(activity, self.doing.len());
        self.doing.push(Doing::Task { class, task: number });
        self.tally.began(activity, self.clock.now);
    }

    /// How many updates the update of a task stands for.
    fn times_of(&self, class: usize, task: usize) -> f64 {
        let program = &self.programs[self.walkers[class].program];
        self.times[program.tasks[task].update] as f64
    }

    /// The longest way to the start of a task.
    fn path_before(&self, class: usize, task: usize) -> f64 {
        let walker = &self.walkers[class];
        let after = &self.programs[walker.program].tasks[task].after;
        after.iter().map(|&earlier| walker.path[earlier]).fold(0.0, f64::max)
    }

    /// A class reaches a message; the last of its party sends it on its way.
    fn arrive(&mut self, class: usize, number: usize) {
        self.walkers[class].reached = self.clock.now;
        let program = &self.programs[self.walkers[class].program];
        let (task, message) = (&program.tasks[number], program.message[number]);
        let circle = circle(task);
        let party = self.party_of[class][circle as usize];
        let there = self.arrived.entry((party.0, party.1, message)).or_insert(0);
        *there += 1;
        if *there < self.parties[&party].classes.len() {
            return;
        }
        self.arrived.remove(&(party.0, party.1, message));
        let (demand, latency) = self.message(party, message);
        let alone = latency + demand.alone(&self.resources.capacity);
        let classes = self.parties[&party].classes.clone();
        let task_of = |engine: &Self, class: usize| {
            engine.programs[engine.walkers[class].program].messages[message]
        };
        let before = classes.iter().map(|&one| self.path_before(one, task_of(self, one)));
        let path = before.fold(0.0, f64::max) + alone;
        for &one in &classes {
            let task = task_of(self, one);
            self.walkers[one].path[task] = path;
        }
        self.tally.use_resources(&demand, self.times_of(class, number));
        let activity = self.clock.start(demand, latency);
        debug_assert_eq!(activity, self.doing.len());
        self.doing.push(Doing::Message { party, message });
        self.tally.began(activity, self.clock.now);
    }

    /// What a message demands, and its latency.
    fn message(&mut self, party: (Circle, usize), message: usize) -> (Demand, f64) {
        let Party { ranks, nodes, classes } = &self.parties[&party];
        let task_of = |rank: usize| {
            let program = &self.programs[self.job.of_rank[rank]];
            &program.tasks[program.messages[message]]
        };
        let bytes: Vec<f64> =
            ranks.iter().map(|&rank| task_of(rank).bytes.unwrap_or(0) as f64).collect();
        let first = task_of(ranks[0]);
        let most = bytes.iter().copied().fold(0.0, f64::max);
        let values = match first.purpose {
            Some(Purpose::Gradients) => 4.0 * self.job.model.weights as f64,
            _ => most / (ranks.len().max(2) - 1) as f64,
        };
        let sums_parts = first.kind == TaskKind::AllReduce && values > ONE_ROUND_BYTES as f64;
        let is_sum = first.kind == TaskKind::AllReduce;
        let sent = Message { machine: self.machine, is_sum, sums_parts, nodes, bytes: &bytes };
        let moved = sent.moved();
        let mut of_class = Vec::with_capacity(classes.len());
        let mut seen = BTreeSet::new();
        for (&rank, &moved) in ranks.iter().zip(&moved) {
            let class = self.classes.of_rank[rank];
            if seen.insert(class) {
                of_class.push((class, moved));
            }
        }
        let times = self.times[first.update] as f64;
        for &(class, moved) in &of_class {
            let count = self.classes.classes[class].count as f64 * times;
            self.tally.inside_bytes += moved.out_inside * count;
            self.tally.between_bytes += moved.out_between * count;
        }
        (self.resources.message(&of_class, self.job.by_host), sent.latency())
    }

    /// Notes the end of an activity and starts what waited for it. Returns how many tasks are over.
    fn ended(&mut self, activity: usize) -> u64 {
        match self.doing[activity] {
            Doing::Task { class, task } => {
                self.over(activity, class, task);
                1
            }
            Doing::Message { party, message } => {
                let classes = self.parties[&party].classes.clone();
                for &class in &classes {
                    let task = self.programs[self.walkers[class].program].messages[message];
                    self.over(activity, class, task);
                }
                classes.len() as u64
            }
        }
    }

    fn over(&mut self, activity: usize, class: usize, number: usize) {
        let (began, now) = (self.tally.begins[activity], self.clock.now);
        let program = &self.programs[self.walkers[class].program];
        let task = &program.tasks[number];
        let reached = if is_message(task.kind) { self.walkers[class].reached } else { began };
        let count = self.classes.classes[class].count as u64;
        self.tally.over(class, count, self.times[task.update], task, [reached, began, now]);
        if let Some(spans) = &mut self.spans {
            spans.push(Span { class, task: number, reached, began, ended: now });
        }
        let stream = lane(task.stream);
        let walker = &mut self.walkers[class];
        walker.busy[stream] = false;
        walker.next[stream] += 1;
        program.waiting_for(number).iter().for_each(|&waiting| walker.left[waiting] -= 1);
        self.go_on(class);
    }

    fn finish(self, topology: &Topology) -> Outcome {
        let path = self.walkers.iter().flat_map(|walker| walker.path.iter().copied());
        let path = path.fold(0.0, f64::max);
        let programs = self.programs.into_iter().map(|program| program.tasks).collect();
        let of_class = self.walkers.iter().map(|walker| walker.program).collect();
        Outcome::new(
            self.tally,
            &self.times,
            self.classes,
            &self.resources,
            topology.ranks,
            path,
            self.spans.map(|spans| crate::outcome::Timeline { spans, programs, of_class }),
        )
    }
}
