//! The list of a run's state: everything that a checkpoint holds, each entry named once.
//!
//! Whoever saves and restores takes the names from here. A test leaves out every entry in turn and
//! requires that the resumed run is refused or ends with other bits (`tests/state_list.rs`); another
//! one requires that nothing is saved which is not in the list.

use super::state::SavedState;

/// Where an entry is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// All tensors of `weights.safetensors`.
    Weights,
    /// Tensors of `optimiser.safetensors` whose names begin with the entry's; all that belong to no
    /// other entry if that is empty.
    Optimiser,
    /// Tensors of `hidden.safetensors`, likewise.
    Hidden,
    /// An integer of the cursor.
    Counter,
    /// A number of the cursor.
    Number,
    /// Other state of the cursor.
    Part,
    /// A field of the cursor.
    Field,
}

/// One entry of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the checkpoint; for tensors the beginning of their names.
    pub name: &'static str,
    /// Where it is kept.
    pub place: Place,
    /// What it is.
    pub what: &'static str,
    /// Whether it only tells which run a checkpoint belongs to: then another value is refused.
    pub guards: bool,
}

impl Entry {
    const fn new(place: Place, name: &'static str, what: &'static str) -> Self {
        Self { name, place, what, guards: false }
    }

    const fn guard(place: Place, name: &'static str, what: &'static str) -> Self {
        Self { name, place, what, guards: true }
    }
}

/// Parameters and buffers.
pub const WEIGHTS: Entry = Entry::new(Place::Weights, "", "parameters and buffers");
/// What the optimiser keeps for each parameter.
pub const MOMENTS: Entry =
    Entry::new(Place::Optimiser, "", "moments and averages of the optimiser");
/// The weights of the best epoch.
pub const BEST_WEIGHTS: Entry =
    Entry::new(Place::Optimiser, "best/", "the weights of the best validation epoch");
/// What the running epoch has in memory.
pub const CARRIED: Entry = Entry::new(
    Place::Hidden,
    "",
    "hidden state carried between frames; memory, mails and neighbours of the running epoch",
);
/// The memory of the best epoch.
pub const BEST_MEMORY: Entry =
    Entry::new(Place::Hidden, "memory/", "the memory that the best epoch's training left");
/// Epochs.
pub const EPOCH: Entry = Entry::new(Place::Field, "epoch", "epochs that are finished");
/// Frames of the running epoch.
pub const FRAME: Entry =
    Entry::new(Place::Field, "frame", "frames or batches of the running epoch that are done");
/// Updates.
pub const STEP: Entry =
    Entry::guard(Place::Field, "step", "updates of the weights since the start");
/// Finished epochs.
pub const EPOCHS: Entry =
    Entry::new(Place::Field, "epochs", "the finished epochs with their metrics");
/// The counter of random draws.
pub const FRAMES: Entry = Entry::new(
    Place::Counter,
    "frames",
    "frames or batches since the start, the counter of dropout",
);
/// Losses of the running epoch.
pub const LOSSES: Entry =
    Entry::new(Place::Counter, "losses", "how many frames of the running epoch had a loss");
/// Their sum.
pub const LOSS_SUM: Entry = Entry::new(Place::Number, "loss_sum", "the sum of these losses");
/// Steps of the optimiser.
pub const OPTIMISER_STEPS: Entry =
    Entry::new(Place::Counter, "optimiser_steps", "the optimiser's steps, for its bias correction");
/// The best epoch.
pub const BEST_EPOCH: Entry =
    Entry::new(Place::Counter, "best_epoch", "the epoch with the best measure; 0 before the first");
/// Early stopping.
pub const STOPPING_WAITED: Entry =
    Entry::new(Place::Counter, "stopping_waited", "epochs that early stopping has waited");
/// Early stopping.
pub const STOPPING_BEST: Entry =
    Entry::new(Place::Number, "stopping_best", "the best measure so far");
/// The schedule.
pub const SCHEDULE_WAITED: Entry =
    Entry::new(Place::Counter, "schedule_waited", "epochs that the schedule has waited");
/// The schedule.
pub const SCHEDULE_FACTOR: Entry =
    Entry::new(Place::Number, "schedule_factor", "the schedule's factor of the learning rate");
/// The schedule.
pub const SCHEDULE_BEST: Entry =
    Entry::new(Place::Number, "schedule_best", "the best measure that the schedule has seen");
/// Memory that stands still.
pub const SETTLED_FROM: Entry = Entry::new(
    Place::Counter,
    "settled_from",
    "the number of epochs before the first one in which memory stands still",
);
/// The seed.
pub const SEED: Entry = Entry::guard(Place::Counter, "seed", "the seed of every random draw");
/// The events.
pub const EVENTS: Entry =
    Entry::guard(Place::Part, "events", "which events the run was trained on (event models)");

/// Everything that a checkpoint holds.
pub const ENTRIES: [Entry; 22] = [
    WEIGHTS,
    MOMENTS,
    BEST_WEIGHTS,
    CARRIED,
    BEST_MEMORY,
    EPOCH,
    FRAME,
    STEP,
    EPOCHS,
    FRAMES,
    LOSSES,
    LOSS_SUM,
    OPTIMISER_STEPS,
    BEST_EPOCH,
    STOPPING_WAITED,
    STOPPING_BEST,
    SCHEDULE_WAITED,
    SCHEDULE_FACTOR,
    SCHEDULE_BEST,
    SETTLED_FROM,
    SEED,
    EVENTS,
];

impl Entry {
    /// The entry of something that is saved, by its place and its full name.
    pub fn of(place: Place, name: &str) -> Option<&'static Self> {
        let fits = |entry: &&Self| {
            entry.place == place
                && match place {
                    Place::Weights => true,
                    Place::Optimiser | Place::Hidden => name.starts_with(entry.name),
                    _ => name == entry.name,
                }
        };
        // The longest beginning: an empty one stands for the rest.
        ENTRIES.iter().filter(fits).max_by_key(|entry| entry.name.len())
    }
}

impl SavedState {
    /// Everything in this state, by place and full name.
    pub fn names(&self) -> Vec<(Place, String)> {
        let Self { weights, optimiser, hidden, cursor } = self;
        let tensors =
            [(Place::Weights, weights), (Place::Optimiser, optimiser), (Place::Hidden, hidden)];
        let mut names: Vec<(Place, String)> = Vec::new();
        for (place, tensors) in tensors {
            names.extend(tensors.keys().map(|name| (place, name.clone())));
        }
        names.extend(cursor.counters.keys().map(|name| (Place::Counter, name.clone())));
        names.extend(cursor.numbers.keys().map(|name| (Place::Number, name.clone())));
        names.extend(cursor.parts.keys().map(|name| (Place::Part, name.clone())));
        // Taken apart in `digest`, which does not compile if a field is added there.
        let fields = [EPOCH, FRAME, STEP, EPOCHS];
        names.extend(fields.map(|field| (Place::Field, field.name.to_owned())));
        names
    }

    /// Takes something out of this state, as if it had never been saved; fields that cannot be absent
    /// are as at the start of a run.
    pub fn leave_out(&mut self, place: Place, name: &str) {
        let cursor = &mut self.cursor;
        match place {
            Place::Weights => drop(self.weights.remove(name)),
            Place::Optimiser => drop(self.optimiser.remove(name)),
            Place::Hidden => drop(self.hidden.remove(name)),
            Place::Counter => drop(cursor.counters.remove(name)),
            Place::Number => drop(cursor.numbers.remove(name)),
            Place::Part => drop(cursor.parts.remove(name)),
            Place::Field => match name {
                "epoch" => cursor.epoch = 0,
                "frame" => cursor.frame = 0,
                "step" => cursor.step = 0,
                _ => cursor.epochs.clear(),
            },
        }
    }
}
