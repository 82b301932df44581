//! All-gather, all-to-all, broadcast and barrier.

use crate::communicator::{Incoming, Outgoing, Tag};
use crate::error::DistError;
use crate::message::{Element, Message};
use crate::ranks::{Mode, Pending, Ranks, Stage};
use crate::site::{Call, Site};

impl Ranks {
    /// Everyone's values, in the order of ranks; all have the same number of them.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree.
    pub fn all_gather<T: Element>(&self, values: &[T]) -> Result<Vec<T>, DistError> {
        let lengths = vec![values.len(); self.size()];
        let parts = self.gather(values.to_vec(), &lengths, Mode::Blocking)?.wait()?;
        Ok(parts.concat())
    }

    /// Everyone's values, by rank; each has as many as it likes. Their numbers (8 bytes to every
    /// rank) go first.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree.
    pub fn all_gather_varied<T: Element>(&self, values: &[T]) -> Result<Vec<Vec<T>>, DistError> {
        let lengths = self.all_gather(&[values.len() as u64])?;
        let lengths: Vec<usize> = lengths.into_iter().map(|len| len as usize).collect();
        self.gather(values.to_vec(), &lengths, Mode::Blocking)?.wait()
    }

    /// Starts an all-gather of which everyone knows how many values each rank has.
    ///
    /// # Errors
    /// If a rank is lost already, or `lengths` does not fit.
    pub fn start_all_gather<T: Element>(
        &self,
        values: Vec<T>,
        lengths: &[usize],
    ) -> Result<Pending<Vec<Vec<T>>>, DistError> {
        self.gather(values, lengths, Mode::Overlapped)
    }

    fn gather<T: Element>(
        &self,
        values: Vec<T>,
        lengths: &[usize],
        mode: Mode,
    ) -> Result<Pending<Vec<Vec<T>>>, DistError> {
        let site = self.enter(Call::AllGather)?;
        self.expect_lengths(site, lengths.len())?;
        if lengths[self.rank()] != values.len() {
            let (expected, got) = (lengths[self.rank()], values.len());
            return Err(self.refuse(site, "the number of own values", expected, got));
        }
        let copies = (0..self.size())
            .map(|to| if to == self.rank() { Vec::new() } else { self.buffers().copy(&values) });
        let mut sends: Vec<Vec<T>> = copies.collect();
        sends[self.rank()] = values;
        self.spread(site, Tag::round(site, 0), sends, lengths, mode)
    }

    /// Sends `sends[r]` to rank `r` and returns what each rank sent here. The numbers of values
    /// (8 bytes to every rank) go first.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree, or there is not one list for each rank.
    pub fn all_to_all<T: Element>(&self, sends: Vec<Vec<T>>) -> Result<Vec<Vec<T>>, DistError> {
        let site = self.enter(Call::AllToAll)?;
        self.expect_lengths(site, sends.len())?;
        let counts = sends.iter().map(|list| vec![list.len() as u64]).collect();
        let (ones, mode) = (vec![1; self.size()], Mode::Blocking);
        let lengths = self.spread(site, Tag::round(site, 0), counts, &ones, mode)?.wait()?;
        let lengths: Vec<usize> = lengths.concat().into_iter().map(|len| len as usize).collect();
        self.spread(site, Tag::round(site, 1), sends, &lengths, mode)?.wait()
    }

    /// The same if it is known that rank `r` sends `lengths[r]` values: only those travel, and
    /// nothing at all between ranks that send none.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree, or there is not one list and length for each rank.
    pub fn all_to_all_known<T: Element>(
        &self,
        sends: Vec<Vec<T>>,
        lengths: &[usize],
    ) -> Result<Vec<Vec<T>>, DistError> {
        self.to_each(Call::AllToAll, sends, lengths, Mode::Blocking)?.wait()
    }

    /// Starts an all-to-all of known lengths.
    ///
    /// # Errors
    /// If a rank is lost already, or there is not one list and length for each rank.
    pub fn start_all_to_all<T: Element>(
        &self,
        sends: Vec<Vec<T>>,
        lengths: &[usize],
    ) -> Result<Pending<Vec<Vec<T>>>, DistError> {
        self.to_each(Call::AllToAll, sends, lengths, Mode::Overlapped)
    }

    pub(crate) fn to_each<T: Element>(
        &self,
        call: Call,
        sends: Vec<Vec<T>>,
        lengths: &[usize],
        mode: Mode,
    ) -> Result<Pending<Vec<Vec<T>>>, DistError> {
        let site = self.enter(call)?;
        self.expect_lengths(site, sends.len())?;
        self.expect_lengths(site, lengths.len())?;
        self.spread(site, Tag::round(site, 0), sends, lengths, mode)
    }

    fn expect_lengths(&self, site: Site, got: usize) -> Result<(), DistError> {
        if got == self.size() {
            Ok(())
        } else {
            Err(self.refuse(site, "the number of lists", self.size(), got))
        }
    }

    /// One round of messages; lists without values stay at home.
    fn spread<T: Element>(
        &self,
        site: Site,
        tag: Tag,
        mut sends: Vec<Vec<T>>,
        lengths: &[usize],
        mode: Mode,
    ) -> Result<Pending<Vec<Vec<T>>>, DistError> {
        let own = std::mem::take(&mut sends[self.rank()]);
        let stage = self.timed(site.call, || {
            let lists = sends.into_iter().enumerate().filter(|(_, list)| !list.is_empty());
            let outgoing = lists.map(|(to, list)| Outgoing { to, message: T::pack(list) });
            let expect = |from| Incoming { from, kind: T::KIND, len: lengths[from] };
            let senders = self.others().filter(|&from| lengths[from] > 0).collect::<Vec<_>>();
            let incoming = senders.iter().map(|&from| expect(from)).collect();
            let flight = self.launch(site, tag, mode, outgoing.collect(), incoming)?;
            let next = move |ranks: &Ranks, messages: Vec<Message>| {
                let mut received: Vec<Vec<T>> = (0..ranks.size()).map(|_| Vec::new()).collect();
                for (from, message) in senders.into_iter().zip(messages) {
                    received[from] = ranks.unpack(site, message)?;
                }
                received[ranks.rank()] = own;
                Ok(Stage::Done(received))
            };
            Ok(Stage::Flying(flight, Box::new(next)))
        })?;
        Ok(Pending::new(self, site, stage))
    }

    /// Overwrites everyone's values with those of `root`; all have the same number of them.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree, or there is no such root.
    pub fn broadcast<T: Element>(&self, root: usize, values: &mut [T]) -> Result<(), DistError> {
        let result = self.cast(root, self.buffers().copy(values), Mode::Blocking)?.wait()?;
        values.copy_from_slice(&result);
        self.buffers().give_message(T::pack(result));
        Ok(())
    }

    /// Starts a broadcast; the values of ranks other than `root` only tell how many there are.
    ///
    /// # Errors
    /// If a rank is lost already, or there is no such root.
    pub fn start_broadcast<T: Element>(
        &self,
        root: usize,
        values: Vec<T>,
    ) -> Result<Pending<Vec<T>>, DistError> {
        self.cast(root, values, Mode::Overlapped)
    }

    fn cast<T: Element>(
        &self,
        root: usize,
        values: Vec<T>,
        mode: Mode,
    ) -> Result<Pending<Vec<T>>, DistError> {
        let site = self.enter(Call::Broadcast)?;
        if root >= self.size() {
            return Err(self.refuse(site, "the root", format!("below {}", self.size()), root));
        }
        let stage = self.timed(site.call, || {
            if self.size() == 1 || values.is_empty() {
                return Ok(Stage::Done(values));
            }
            let (outgoing, incoming) = if root == self.rank() {
                (self.to_all(&values), Vec::new())
            } else {
                let expected = Incoming { from: root, kind: T::KIND, len: values.len() };
                (Vec::new(), vec![expected])
            };
            let tag = Tag::round(site, 0);
            let flight = self.launch(site, tag, mode, outgoing, incoming)?;
            let next =
                move |ranks: &Ranks, messages: Vec<Message>| match messages.into_iter().next() {
                    None => Ok(Stage::Done(values)),
                    Some(message) => Ok(Stage::Done(ranks.unpack(site, message)?)),
                };
            Ok(Stage::Flying(flight, Box::new(next)))
        })?;
        Ok(Pending::new(self, site, stage))
    }

    /// Returns when every rank has called it.
    ///
    /// # Errors
    /// If a rank is lost.
    pub fn barrier(&self) -> Result<(), DistError> {
        self.meet(Call::Barrier, Mode::Blocking)?.wait()
    }

    /// Starts a barrier.
    ///
    /// # Errors
    /// If a rank is lost already.
    pub fn start_barrier(&self) -> Result<Pending<()>, DistError> {
        self.meet(Call::Barrier, Mode::Overlapped)
    }

    /// An empty message from each to each.
    pub(crate) fn meet(&self, call: Call, mode: Mode) -> Result<Pending<()>, DistError> {
        let site = self.enter(call)?;
        let stage = self.timed(call, || {
            let tag = Tag::round(site, 0);
            let (outgoing, incoming) = (self.to_all::<u8>(&[]), self.expect_same::<u8>(0));
            let flight = self.launch(site, tag, mode, outgoing, incoming)?;
            Ok(Stage::Flying(flight, Box::new(|_: &Ranks, _| Ok(Stage::Done(())))))
        })?;
        Ok(Pending::new(self, site, stage))
    }
}
