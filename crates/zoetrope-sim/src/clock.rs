//! Activities in time: when they begin, how fast they are, when they end.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap};

use crate::fluid::{Demand, speeds};

/// Moments that are nearer to each other than this part of them are the same.
const SAME_MOMENT: f64 = 1e-12;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Happening {
    /// The latency of an activity is over.
    Begins,
    /// It ends, unless its speed changed since.
    Ends(u32),
}

#[derive(Debug, Clone, Copy)]
struct Moment {
    at: f64,
    /// Of two at once the one that was noted first.
    number: u64,
    activity: usize,
    what: Happening,
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.number.cmp(&other.number))
    }
}

#[derive(Debug)]
struct Activity {
    demand: Demand,
    left: f64,
    speed: f64,
    since: f64,
    version: u32,
}

/// All activities, and the time.
#[derive(Debug)]
pub(crate) struct Clock {
    capacity: Vec<f64>,
    activities: Vec<Activity>,
    /// Who uses a resource now.
    users: Vec<BTreeSet<usize>>,
    /// Resources whose users changed.
    changed: BTreeSet<usize>,
    moments: BinaryHeap<Reverse<Moment>>,
    noted: u64,
    pub(crate) now: f64,
}

impl Clock {
    pub(crate) fn new(capacity: Vec<f64>) -> Self {
        let users = vec![BTreeSet::new(); capacity.len()];
        Self {
            capacity,
            activities: Vec::new(),
            users,
            changed: BTreeSet::new(),
            moments: BinaryHeap::new(),
            noted: 0,
            now: 0.0,
        }
    }

    fn note(&mut self, at: f64, activity: usize, what: Happening) {
        self.noted += 1;
        self.moments.push(Reverse(Moment { at, number: self.noted, activity, what }));
    }

    /// An activity that uses nothing for `latency` seconds and then what it demands. Returns its number.
    pub(crate) fn start(&mut self, demand: Demand, latency: f64) -> usize {
        let number = self.activities.len();
        let since = self.now;
        self.activities.push(Activity { demand, left: 1.0, speed: 0.0, since, version: 0 });
        self.note(self.now + latency, number, Happening::Begins);
        number
    }

    fn begin(&mut self, number: usize) {
        let activity = &mut self.activities[number];
        activity.since = self.now;
        if activity.demand.uses.is_empty() {
            let end = self.now + activity.demand.least_seconds;
            self.note(end, number, Happening::Ends(0));
            return;
        }
        for &(resource, _) in &activity.demand.uses {
            self.users[resource].insert(number);
            self.changed.insert(resource);
        }
    }

    fn end(&mut self, number: usize) {
        let demand = &mut self.activities[number].demand;
        for (resource, _) in std::mem::take(&mut demand.uses) {
            self.users[resource].remove(&number);
            self.changed.insert(resource);
        }
    }

    /// Gives all that share something with a changed resource their new speeds.
    fn adjust(&mut self) {
        while let Some(first) = self.changed.pop_first() {
            let (mut open, mut together) = (vec![first], BTreeSet::new());
            let mut seen = BTreeSet::from([first]);
            while let Some(resource) = open.pop() {
                for &user in &self.users[resource] {
                    if together.insert(user) {
                        let uses = self.activities[user].demand.uses.iter();
                        open.extend(uses.map(|&(used, _)| used).filter(|&used| seen.insert(used)));
                    }
                }
            }
            self.changed.retain(|resource| !seen.contains(resource));
            let together: Vec<usize> = together.into_iter().collect();
            let demands: Vec<&Demand> =
                together.iter().map(|&user| &self.activities[user].demand).collect();
            let found = speeds(&demands, &self.capacity);
            for (user, speed) in together.into_iter().zip(found) {
                let activity = &mut self.activities[user];
                if activity.speed == speed {
                    continue;
                }
                activity.left -= activity.speed * (self.now - activity.since);
                (activity.since, activity.speed) = (self.now, speed);
                activity.version += 1;
                let (end, version) = (self.now + activity.left.max(0.0) / speed, activity.version);
                self.note(end, user, Happening::Ends(version));
            }
        }
    }

    /// Goes on to the next moment at which activities end; returns them, or None if there are no more.
    pub(crate) fn next(&mut self) -> Option<Vec<usize>> {
        let mut ended = Vec::new();
        loop {
            self.adjust();
            let Some(Reverse(first)) = self.moments.peek() else {
                return (!ended.is_empty()).then_some(ended);
            };
            let same = first.at <= self.now * (1.0 + SAME_MOMENT);
            if !ended.is_empty() && !same {
                return Some(ended);
            }
            self.now = self.now.max(first.at);
            let until = self.now * (1.0 + SAME_MOMENT);
            while let Some(Reverse(moment)) = self.moments.peek().filter(|next| next.0.at <= until)
            {
                let Moment { activity, what, .. } = *moment;
                self.moments.pop();
                match what {
                    Happening::Begins => self.begin(activity),
                    Happening::Ends(version) if version == self.activities[activity].version => {
                        self.activities[activity].version = u32::MAX;
                        self.end(activity);
                        ended.push(activity);
                    }
                    Happening::Ends(_) => {}
                }
            }
        }
    }
}
