//! Messages from one rank to one other.

use crate::communicator::{Incoming, Outgoing, Tag};
use crate::error::DistError;
use crate::message::{Element, Message};
use crate::ranks::{Mode, Pending, Ranks, Stage};
use crate::site::{Call, Site};

impl Ranks {
    /// Sends values to another rank. Messages between two ranks under one tag arrive in the order in
    /// which they were sent. May block until the other one receives.
    ///
    /// # Errors
    /// If a rank is lost, or `to` is no other rank.
    pub fn send<T: Element>(&self, to: usize, tag: u16, values: Vec<T>) -> Result<(), DistError> {
        self.part(to, tag, values, Mode::Blocking)?.wait()
    }

    /// Receives `len` values from another rank.
    ///
    /// # Errors
    /// If a rank is lost, something else comes, or `from` is no other rank.
    pub fn receive<T: Element>(
        &self,
        from: usize,
        tag: u16,
        len: usize,
    ) -> Result<Vec<T>, DistError> {
        self.take(from, tag, len, Mode::Blocking)?.wait()
    }

    /// Starts sending.
    ///
    /// # Errors
    /// If a rank is lost already, or `to` is no other rank.
    pub fn start_send<T: Element>(
        &self,
        to: usize,
        tag: u16,
        values: Vec<T>,
    ) -> Result<Pending<()>, DistError> {
        self.part(to, tag, values, Mode::Overlapped)
    }

    /// Starts receiving.
    ///
    /// # Errors
    /// If a rank is lost already, or `from` is no other rank.
    pub fn start_receive<T: Element>(
        &self,
        from: usize,
        tag: u16,
        len: usize,
    ) -> Result<Pending<Vec<T>>, DistError> {
        self.take(from, tag, len, Mode::Overlapped)
    }

    fn part<T: Element>(
        &self,
        to: usize,
        tag: u16,
        values: Vec<T>,
        mode: Mode,
    ) -> Result<Pending<()>, DistError> {
        let site = self.enter(Call::Send)?;
        self.expect_peer(site, to)?;
        let stage = self.timed(site.call, || {
            let outgoing = vec![Outgoing { to, message: T::pack(values) }];
            let flight = self.launch(site, Tag::Point(tag), mode, outgoing, Vec::new())?;
            Ok(Stage::Flying(flight, Box::new(|_: &Ranks, _| Ok(Stage::Done(())))))
        })?;
        Ok(Pending::new(self, site, stage))
    }

    fn take<T: Element>(
        &self,
        from: usize,
        tag: u16,
        len: usize,
        mode: Mode,
    ) -> Result<Pending<Vec<T>>, DistError> {
        let site = self.enter(Call::Receive)?;
        self.expect_peer(site, from)?;
        let stage = self.timed(site.call, || {
            let incoming = vec![Incoming { from, kind: T::KIND, len }];
            let flight = self.launch(site, Tag::Point(tag), mode, Vec::new(), incoming)?;
            let next = move |ranks: &Ranks, messages: Vec<Message>| {
                let values: Result<Vec<Vec<T>>, _> =
                    messages.into_iter().map(|message| ranks.unpack(site, message)).collect();
                Ok(Stage::Done(values?.pop().unwrap_or_default()))
            };
            Ok(Stage::Flying(flight, Box::new(next)))
        })?;
        Ok(Pending::new(self, site, stage))
    }

    fn expect_peer(&self, site: Site, peer: usize) -> Result<(), DistError> {
        if peer < self.size() && peer != self.rank() {
            Ok(())
        } else {
            let expected = format!("below {} and not {}", self.size(), self.rank());
            Err(self.refuse(site, "the other rank", expected, peer))
        }
    }
}
