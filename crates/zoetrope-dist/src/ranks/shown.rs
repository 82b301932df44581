//! Rows that are shown instead of sent: what ranks say to each other about them.

use crate::communicator::{Fault, Incoming, Outgoing, Tag};
use crate::error::DistError;
use crate::exchange::SharedRows;
use crate::message::{Element, Kind};
use crate::ranks::{Mode, Ranks};
use crate::site::{Call, Site};

impl Ranks {
    /// Where this rank and the others show each other rows; None if they do not share memory.
    pub(crate) fn shared_rows(&self) -> Option<&SharedRows> {
        self.communicator().shared_rows()
    }

    /// An exchange that shows `values` values to other ranks: they count as if they had been sent.
    pub(crate) fn show_rows(
        &self,
        values: usize,
        exchange: impl FnOnce(Site) -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        let site = self.enter(Call::Exchange)?;
        self.count_bytes(site.call, values * size_of::<f32>());
        self.timed(site.call, || exchange(site))
    }

    /// Tells the ranks `to` that it has come so far, and waits for the ranks `from` to have.
    pub(crate) fn signal(
        &self,
        site: Site,
        round: u8,
        to: &[usize],
        from: &[usize],
    ) -> Result<(), DistError> {
        let sign = |&to: &usize| Outgoing { to, message: u8::pack(Vec::new()) };
        let expect = |&from: &usize| Incoming { from, kind: Kind::U8, len: 0 };
        let (outgoing, incoming) = (to.iter().map(sign).collect(), from.iter().map(expect));
        let tag = Tag::round(site, round);
        let mut flight = self.launch(site, tag, Mode::Blocking, outgoing, incoming.collect())?;
        self.await_flight(site, flight.as_mut())
    }

    /// Refuses rows of another rank that are not as many values as are expected.
    pub(crate) fn disagree(
        &self,
        site: Site,
        peer: usize,
        [expected, got]: [usize; 2],
    ) -> DistError {
        let of = |len: usize| format!("{len} values of {} by {}", Kind::F32, site.call);
        let (expected, got) = (of(expected), of(got));
        self.fail(Some(site), Fault::Mismatch { peer, expected, got })
    }
}
