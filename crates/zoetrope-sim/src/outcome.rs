//! What a simulation found: seconds, where they went, bytes, who was busy.

use serde::Serialize;
use zoetrope_plan::program::Stream;
use zoetrope_plan::{Task, TaskKind};

use crate::classes::Classes;
use crate::fluid::Demand;
use crate::pictures::Pictures;
use crate::program::is_message;
use crate::resources::{ResourceKind, Resources};

/// Where the seconds of a rank went. What overlaps is counted in each of them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Seconds {
    /// Its device computed.
    pub compute: f64,
    /// It waited in a message for other ranks.
    pub wait: f64,
    /// It and others moved bytes to each other.
    pub communicate: f64,
    /// Bytes went from its host to its GPU.
    pub transfer: f64,
    /// Threads of its host prepared.
    pub prepare: f64,
}

/// Ranks that do the same at the same time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankTimes {
    /// The first of them.
    pub rank: usize,
    /// How many there are.
    pub ranks: usize,
    /// Where the seconds of each went.
    pub seconds: Seconds,
}

/// How busy a resource was: the busiest of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Load {
    /// What it is.
    pub kind: ResourceKind,
    /// Seconds that it would take for all that it did, at its rate.
    pub seconds: f64,
}

/// Bytes by the links that they crossed, of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LinkBytes {
    /// From hosts to GPUs.
    pub copies: u64,
    /// Between devices of a node.
    pub inside: u64,
    /// Between nodes.
    pub between: u64,
}

/// A kind of task, of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KindTotal {
    /// What they do.
    pub kind: TaskKind,
    /// How many.
    pub tasks: u64,
    /// Bytes that left a rank for others, or a host for a GPU.
    pub bytes: u64,
}

/// A task in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub(crate) class: usize,
    pub(crate) task: usize,
    /// When the rank came to it; before `began` if it waited for others.
    pub(crate) reached: f64,
    pub(crate) began: f64,
    pub(crate) ended: f64,
}

/// All tasks in time, for pictures.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    pub(crate) spans: Vec<Span>,
    pub(crate) programs: Vec<Vec<Task>>,
    pub(crate) of_class: Vec<usize>,
}

/// What a simulation found of an epoch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// How long it takes.
    pub seconds: f64,
    /// How long it would take if no two tasks ever shared or waited for a stream, a link or memory. Of updates
    /// that repeat it has those that were simulated.
    pub critical_path_seconds: f64,
    /// How long what was simulated takes: less than the epoch if updates repeat.
    pub simulated_seconds: f64,
    /// Ranks.
    pub ranks: usize,
    /// By class of ranks.
    pub classes: Vec<RankTimes>,
    /// The mean of all ranks.
    pub mean: Seconds,
    /// The busiest resource of each kind.
    pub loads: Vec<Load>,
    /// Bytes by link.
    pub bytes: LinkBytes,
    /// Tasks and bytes by kind.
    pub kinds: Vec<KindTotal>,
    /// Tasks in time, if they were asked for.
    #[serde(skip)]
    pub timeline: Option<Timeline>,
}

/// Sums that grow while a simulation runs.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) begins: Vec<f64>,
    seconds: Vec<Seconds>,
    /// When the last task of each update ended.
    ends: Vec<f64>,
    loads: Vec<f64>,
    kinds: Vec<(TaskKind, u64, u64)>,
    pub(crate) copied_bytes: u64,
    pub(crate) inside_bytes: f64,
    pub(crate) between_bytes: f64,
}

impl Tally {
    pub(crate) fn new(classes: usize, updates: usize, resources: usize) -> Self {
        Self {
            begins: Vec::new(),
            seconds: vec![Seconds::default(); classes],
            ends: vec![0.0; updates],
            loads: vec![0.0; resources],
            kinds: Vec::new(),
            copied_bytes: 0,
            inside_bytes: 0.0,
            between_bytes: 0.0,
        }
    }

    pub(crate) fn began(&mut self, activity: usize, at: f64) {
        debug_assert_eq!(activity, self.begins.len());
        self.begins.push(at);
    }

    pub(crate) fn use_resources(&mut self, demand: &Demand, times: f64) {
        demand.uses.iter().for_each(|&(resource, amount)| self.loads[resource] += amount * times);
    }

    /// A task of all ranks of a class is over that was reached, began and ended at these times.
    pub(crate) fn over(
        &mut self,
        class: usize,
        count: u64,
        times: u64,
        task: &Task,
        [reached, began, ended]: [f64; 3],
    ) {
        let (own, repeated) = (&mut self.seconds[class], times as f64);
        let took = (ended - began) * repeated;
        match task.stream {
            Stream::Compute => own.compute += took,
            Stream::Copy => own.transfer += took,
            Stream::Prepare => own.prepare += took,
            Stream::Messages => own.communicate += took,
        }
        if is_message(task.kind) {
            own.wait += (began - reached) * repeated;
        }
        let end = &mut self.ends[task.update];
        *end = end.max(ended);
        let of_kind = match self.kinds.iter().position(|(kind, ..)| *kind == task.kind) {
            Some(known) => &mut self.kinds[known],
            None => {
                self.kinds.push((task.kind, 0, 0));
                self.kinds.last_mut().expect("it was just put there")
            }
        };
        of_kind.1 += count * times;
        of_kind.2 += task.bytes.unwrap_or(0) * count * times;
    }
}

impl Outcome {
    /// The trace and the picture of what was simulated, if tasks were noted.
    pub fn pictures(&self) -> Option<Pictures<'_>> {
        let timeline = self.timeline.as_ref()?;
        Some(Pictures { classes: &self.classes, seconds: self.simulated_seconds, timeline })
    }

    pub(crate) fn new(
        tally: Tally,
        times: &[u64],
        classes: &Classes,
        resources: &Resources<'_>,
        ranks: usize,
        critical_path_seconds: f64,
        timeline: Option<Timeline>,
    ) -> Self {
        let (mut seconds, mut before) = (0.0, 0.0_f64);
        for (&end, &times) in tally.ends.iter().zip(times) {
            let end = end.max(before);
            seconds += (end - before) * times as f64;
            before = end;
        }
        let mut mean = Seconds::default();
        for (class, own) in classes.classes.iter().zip(&tally.seconds) {
            let part = class.count as f64 / ranks as f64;
            mean.compute += own.compute * part;
            mean.wait += own.wait * part;
            mean.communicate += own.communicate * part;
            mean.transfer += own.transfer * part;
            mean.prepare += own.prepare * part;
        }
        let mut loads: Vec<Load> = Vec::new();
        for (at, &kind) in resources.kinds.iter().enumerate() {
            let own = tally.loads[at] / resources.capacity[at];
            match loads.iter_mut().find(|load| load.kind == kind) {
                Some(load) => load.seconds = load.seconds.max(own),
                None => loads.push(Load { kind, seconds: own }),
            }
        }
        let of_class = classes.classes.iter().zip(tally.seconds);
        Self {
            seconds,
            critical_path_seconds,
            simulated_seconds: before,
            ranks,
            classes: of_class
                .map(|(class, seconds)| RankTimes { rank: class.rank, ranks: class.count, seconds })
                .collect(),
            mean,
            loads,
            bytes: LinkBytes {
                copies: tally.copied_bytes,
                inside: tally.inside_bytes.round() as u64,
                between: tally.between_bytes.round() as u64,
            },
            kinds: tally
                .kinds
                .into_iter()
                .map(|(kind, tasks, bytes)| KindTotal { kind, tasks, bytes })
                .collect(),
            timeline,
        }
    }
}
