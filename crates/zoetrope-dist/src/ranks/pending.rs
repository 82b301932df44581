//! A communication that was started and not yet waited for.

use std::fmt;

use crate::communicator::Flight;
use crate::error::DistError;
use crate::message::Message;
use crate::ranks::Ranks;
use crate::site::Site;

/// Whether the caller waits at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Blocking,
    Overlapped,
}

/// What is left of a call.
pub(crate) enum Stage<R> {
    /// Nothing: this is the result.
    Done(R),
    /// Messages are on their way, and this is to be done with them.
    Flying(Box<dyn Flight>, Next<R>),
    /// Failed: the error was returned, nothing comes any more.
    Spent,
}

pub(crate) type Next<R> =
    Box<dyn FnOnce(&Ranks, Vec<Message>) -> Result<Stage<R>, DistError> + Send>;

/// A communication under way. It owns the values that travel.
///
/// Dropping it is allowed and loses the result; the other ranks are not held up by that.
#[must_use = "a communication that was started is to be waited for"]
pub struct Pending<R> {
    ranks: Ranks,
    site: Site,
    stage: Stage<R>,
}

impl<R> fmt::Debug for Pending<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("site", &self.site).finish_non_exhaustive()
    }
}

impl<R> Pending<R> {
    pub(crate) fn new(ranks: &Ranks, site: Site, stage: Stage<R>) -> Self {
        Self { ranks: ranks.clone(), site, stage }
    }

    /// Moves on as far as possible without waiting; whether the result is there. Calls of several
    /// rounds (a large all-reduce has two) overlap better when asked now and then.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree.
    pub fn poll(&mut self) -> Result<bool, DistError> {
        let ranks = self.ranks.clone();
        ranks.timed(self.site.call, || {
            loop {
                let Stage::Flying(flight, _) = &mut self.stage else { return Ok(true) };
                let through = flight.poll();
                if !through.map_err(|fault| ranks.fail(Some(self.site), fault))? {
                    return Ok(false);
                }
                self.advance()?;
            }
        })
    }

    /// Blocks until the result is there.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree.
    pub fn wait(mut self) -> Result<R, DistError> {
        let ranks = self.ranks.clone();
        ranks.timed(self.site.call, || {
            while let Stage::Flying(flight, _) = &mut self.stage {
                ranks.await_flight(self.site, flight.as_mut())?;
                self.advance()?;
            }
            match std::mem::replace(&mut self.stage, Stage::Spent) {
                Stage::Done(result) => Ok(result),
                // An error was returned by `poll`, and the rank remembers it.
                _ => Err(ranks.check().err().unwrap_or_else(|| {
                    ranks.refuse(self.site, "a failed call", "left alone", "waited for")
                })),
            }
        })
    }

    /// Takes what has arrived to the next stage.
    fn advance(&mut self) -> Result<(), DistError> {
        if let Stage::Flying(flight, next) = std::mem::replace(&mut self.stage, Stage::Spent) {
            let messages = flight.land(self.ranks.buffers());
            self.stage = next(&self.ranks, messages)?;
        }
        Ok(())
    }
}
