//! The list of a run's state is complete: nothing is saved that is not in it, and a run that is
//! resumed without any one entry is refused or ends with other bits.

use std::ops::ControlFlow;

use std::collections::{BTreeMap, BTreeSet};

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_run::Timeline;
use zoetrope_run::checkpoint::entries::{ENTRIES, Entry, Place};
use zoetrope_run::checkpoint::{SavedState, SavedTensor, state_hash};
use zoetrope_train::TrainError;
use zoetrope_train::observer::{Observer, RunEvent};
use zoetrope_train::train::{Opened, Run};

/// Runs that keep state of every kind; each is stopped inside its third and last epoch. With the seed of
/// the third one an earlier epoch is the best, so that what it left is still needed.
const RUNS: [&str; 4] = [
    "data.path=synthetic:demo?vertices=24&steps=40 model.name=tgcn train.carry_state=true \
     train.lr=0.3",
    "data.path=synthetic:demo?vertices=24&steps=40 model.name=gc-lstm model.dropout=0.2 \
     train.optimiser=adamw train.frame=6",
    "data.path=synthetic:bipartite?users=20&items=9&tastes=3&events=400 model.name=tgn \
     train.batch_size=40 model.dropout=0.1 train.lr=0.1 train.seed=5",
    "data.path=synthetic:bipartite?users=20&items=9&tastes=3&events=400 model.name=apan \
     train.batch_size=40 train.settle=2 model.dropout=0.1",
];

const MORE: &str = "model.hidden=4 train.epochs=3 train.schedule=plateau train.plateau_patience=1 \
                    train.patience=4";

/// Frames or batches of the third epoch before the run is stopped.
const BEFORE_STOP: usize = 2;

fn start(settings: &str) -> Run {
    let words = settings.split_whitespace().chain(MORE.split_whitespace());
    let builder = words.fold(Config::builder(), |builder, text| builder.set(text));
    let mut config = builder.build().unwrap();
    let opened = Opened::open(&mut config, &Quiet).unwrap();
    opened.start(config, None, Timeline::new()).unwrap()
}

/// Stops after so many frames.
struct Until(usize);

impl Observer for Until {
    fn observe(&mut self, event: RunEvent<'_>) -> ControlFlow<()> {
        match event {
            RunEvent::Step { done, .. } if done >= self.0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// The state inside the third epoch.
fn stopped(settings: &str) -> SavedState {
    let mut run = start(settings);
    for _ in 0..2 {
        run.session_mut().epoch(&mut Until(usize::MAX)).unwrap();
    }
    run.session_mut().epoch(&mut Until(BEFORE_STOP)).unwrap();
    run.session().save()
}

/// The hash at the end of a run that goes on from a state; the weights of the best epoch and its memory
/// are part of it.
fn end(settings: &str, state: SavedState) -> Result<String, TrainError> {
    let mut run = start(settings);
    let session = run.session_mut();
    session.restore(state)?;
    while !session.is_over() {
        session.epoch(&mut Until(usize::MAX))?;
    }
    Ok(state_hash(&session.save()))
}

/// A state in which something has another value: that of a run which forgot it.
fn with_zero(mut state: SavedState, place: Place, name: &str) -> Option<SavedState> {
    let tensors = match place {
        Place::Weights => &mut state.weights,
        Place::Optimiser => &mut state.optimiser,
        Place::Hidden => &mut state.hidden,
        Place::Counter => {
            let counter = state.cursor.counters.get_mut(name)?;
            // What is zero anyway is changed to one: nobody would notice that it was forgotten.
            *counter = u64::from(*counter == 0);
            return Some(state);
        }
        Place::Number => {
            let number = state.cursor.numbers.get_mut(name)?;
            *number = if *number == 0.0 { 1.0 } else { 0.0 };
            return Some(state);
        }
        Place::Part => {
            *state.cursor.parts.get_mut(name)? = Default::default();
            return Some(state);
        }
        Place::Field => return None,
    };
    let old = tensors.get(name)?;
    let data = old.data().iter().map(|&value| if value == 0.0 { 1.0 } else { 0.0 }).collect();
    let new = SavedTensor::new(old.dims().to_vec(), data);
    tensors.insert(name.to_owned(), new);
    Some(state)
}

/// Whether a run that goes on from a changed state ends as if nothing had happened.
fn goes_unnoticed(settings: &str, changed: SavedState, whole: &str) -> bool {
    end(settings, changed).is_ok_and(|hash| hash == whole)
}

/// For each entry there is a run in which every part of it is needed. It is not in every run: the
/// weights of the best epoch, for example, are forgotten when a later epoch is better.
#[test]
fn every_entry_of_the_state_is_needed_and_nothing_else_is_saved() {
    let mut needed = BTreeSet::new();
    let mut unnoticed = Vec::new();
    for settings in RUNS {
        let state = stopped(settings);
        let whole = end(settings, state.clone()).unwrap();
        assert_eq!(end(settings, stopped(settings)).unwrap(), whole, "{settings}");
        let mut by_entry: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (place, name) in state.names() {
            let entry = Entry::of(place, &name);
            let entry = entry.unwrap_or_else(|| panic!("{place:?} {name} is not in the list"));
            let missed = by_entry.entry(entry.what).or_default();
            let mut without = state.clone();
            without.leave_out(place, &name);
            let omitted = (!entry.guards || place == Place::Field).then_some(without);
            let zero = with_zero(state.clone(), place, &name);
            for (how, changed) in [("left out", omitted), ("another value", zero)] {
                let changed = changed.filter(|changed| *changed != state);
                if changed.is_some_and(|changed| goes_unnoticed(settings, changed, &whole)) {
                    missed.push(format!("{place:?} {name}: {how} in {settings}"));
                }
            }
        }
        for (what, missed) in by_entry {
            if missed.is_empty() {
                needed.insert(what);
            }
            unnoticed.extend(missed);
        }
    }
    let unneeded: Vec<_> = ENTRIES.iter().filter(|entry| !needed.contains(entry.what)).collect();
    assert!(unneeded.is_empty(), "{unneeded:?}; unnoticed:\n{}", unnoticed.join("\n"));
}
