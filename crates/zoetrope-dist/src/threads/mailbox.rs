//! The mailbox of a rank that is a thread: the messages of the other threads.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use crate::communicator::{Fault, Incoming, Tag};
use crate::message::Message;
use crate::site::Call;
use crate::sync::lock;

/// Sender and tag.
pub(super) type Key = (usize, Tag);

/// A message and the call that sent it.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) call: Call,
    pub(super) message: Message,
}

/// The letters of one rank.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    inside: Mutex<Letters>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Letters {
    waiting: HashMap<Key, VecDeque<Letter>>,
    /// How many of the letters that the sleeping owner needs are still missing. Only the last of
    /// them wakes it.
    missing: Vec<Key>,
}

/// What a rank expects, and what of it has come.
#[derive(Debug)]
pub(super) struct ExpectedMessages {
    call: Call,
    tag: Tag,
    incoming: Vec<Incoming>,
    arrived: Vec<Option<Message>>,
}

impl ExpectedMessages {
    pub(super) fn new(call: Call, tag: Tag, incoming: Vec<Incoming>) -> Self {
        let arrived = incoming.iter().map(|_| None).collect();
        Self { call, tag, incoming, arrived }
    }

    /// The ranks from which something is missing.
    pub(super) fn missing_from(&self) -> impl Iterator<Item = usize> {
        let both = self.incoming.iter().zip(&self.arrived);
        both.filter(|(_, arrived)| arrived.is_none()).map(|(expected, _)| expected.from)
    }

    pub(super) fn into_messages(self) -> Vec<Message> {
        self.arrived.into_iter().flatten().collect()
    }

    fn accept(&self, expected: Incoming, letter: Letter) -> Result<Message, Fault> {
        let Letter { call, message } = letter;
        let pairs = call == self.call || (call == Call::Send && self.call == Call::Receive);
        if pairs && message.kind() == expected.kind && message.len() == expected.len {
            return Ok(message);
        }
        let of = |call: Call, len: usize, kind| format!("{len} values of {kind} by {call}");
        Err(Fault::Mismatch {
            peer: expected.from,
            expected: of(self.call, expected.len, expected.kind),
            got: of(call, message.len(), message.kind()),
        })
    }
}

impl Mailbox {
    /// Puts a letter in; wakes the owner if it is the last one it waits for.
    pub(super) fn post(&self, key: Key, letter: Letter) {
        let mut letters = lock(&self.inside);
        letters.waiting.entry(key).or_default().push_back(letter);
        if let Some(at) = letters.missing.iter().position(|missing| *missing == key) {
            letters.missing.swap_remove(at);
            if letters.missing.is_empty() {
                self.changed.notify_all();
            }
        }
    }

    /// Takes out what has come; whether that is all.
    pub(super) fn collect(&self, awaited: &mut ExpectedMessages) -> Result<bool, Fault> {
        let mut letters = lock(&self.inside);
        let mut all = true;
        for at in 0..awaited.incoming.len() {
            if awaited.arrived[at].is_some() {
                continue;
            }
            let expected = awaited.incoming[at];
            let key = (expected.from, awaited.tag);
            let Some(queue) = letters.waiting.get_mut(&key) else {
                all = false;
                continue;
            };
            let letter = queue.pop_front();
            if queue.is_empty() {
                letters.waiting.remove(&key);
            }
            let Some(letter) = letter else { continue };
            awaited.arrived[at] = Some(awaited.accept(expected, letter)?);
        }
        Ok(all)
    }

    /// Sleeps until all that is missing has come, someone calls [`Mailbox::wake`], or the deadline.
    /// `enough` is asked first, so that what was said before falling asleep is not missed.
    pub(super) fn sleep_until(
        &self,
        deadline: Instant,
        awaited: &ExpectedMessages,
        enough: impl Fn() -> bool,
    ) {
        let mut letters = lock(&self.inside);
        let keys = awaited.missing_from().map(|from| (from, awaited.tag));
        let missing = keys.filter(|key| !letters.waiting.contains_key(key)).collect::<Vec<_>>();
        if missing.is_empty() || enough() {
            return;
        }
        letters.missing = missing;
        let time = deadline.saturating_duration_since(Instant::now());
        let woken = self.changed.wait_timeout(letters, time);
        woken.unwrap_or_else(PoisonError::into_inner).0.missing.clear();
    }

    /// Wakes the owner to look around.
    pub(super) fn wake(&self) {
        // Under the lock: an owner about to fall asleep has either asked before or hears it.
        let _letters = lock(&self.inside);
        self.changed.notify_all();
    }
}
