//! Sums and maxima over ranks, in the order of ranks.
//!
//! Every value is combined as `((x₀ ∘ x₁) ∘ x₂) ∘ …`, whoever does it, so that all ranks and all
//! engines get the same bits. Few values go to everyone, and everyone adds. Of many each rank adds
//! up a slice and sends the result to everyone: `2 (P - 1) / P` of the bytes instead of `P - 1`
//! times, in two rounds.

use std::ops::Range;

use crate::communicator::{Incoming, Outgoing, Tag};
use crate::error::DistError;
use crate::message::{Element, Message, Number};
use crate::ranks::{Mode, Pending, Ranks, Stage};
use crate::site::{Call, Site};

/// How values of ranks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// The largest.
    Max,
}

/// Up to this many bytes a second round costs more than the bytes it saves.
const ONE_ROUND_BYTES: usize = 4096;

impl Ranks {
    /// Combines the values of all ranks, position by position; all ranks get the same bits. All have
    /// the same number of values.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree.
    pub fn all_reduce<T: Number>(
        &self,
        values: &mut [T],
        reduction: Reduction,
    ) -> Result<(), DistError> {
        let own = self.buffers().copy(values);
        let result = self.reduce(own, reduction, Mode::Blocking)?.wait()?;
        values.copy_from_slice(&result);
        self.buffers().give_message(T::pack(result));
        Ok(())
    }

    /// The same for one value.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree.
    pub fn all_reduce_one<T: Number>(
        &self,
        value: T,
        reduction: Reduction,
    ) -> Result<T, DistError> {
        let mut values = [value];
        self.all_reduce(&mut values, reduction)?;
        Ok(values[0])
    }

    /// Starts an all-reduce.
    ///
    /// # Errors
    /// If a rank is lost already.
    pub fn start_all_reduce<T: Number>(
        &self,
        values: Vec<T>,
        reduction: Reduction,
    ) -> Result<Pending<Vec<T>>, DistError> {
        self.reduce(values, reduction, Mode::Overlapped)
    }

    fn reduce<T: Number>(
        &self,
        values: Vec<T>,
        reduction: Reduction,
        mode: Mode,
    ) -> Result<Pending<Vec<T>>, DistError> {
        let site = self.enter(Call::AllReduce)?;
        let stage = self.timed(site.call, || match values.len() * size_of::<T>() {
            _ if self.size() == 1 => Ok(Stage::Done(values)),
            0..=ONE_ROUND_BYTES => self.one_round(site, values, reduction, mode),
            _ => self.two_rounds(site, values, reduction, mode),
        })?;
        Ok(Pending::new(self, site, stage))
    }

    fn one_round<T: Number>(
        &self,
        site: Site,
        values: Vec<T>,
        reduction: Reduction,
        mode: Mode,
    ) -> Result<Stage<Vec<T>>, DistError> {
        let incoming = self.expect_same::<T>(values.len());
        let flight =
            self.launch(site, Tag::round(site, 0), mode, self.to_all(&values), incoming)?;
        let next = move |ranks: &Ranks, messages: Vec<Message>| {
            Ok(Stage::Done(ranks.combine(site, values, messages, reduction)?))
        };
        Ok(Stage::Flying(flight, Box::new(next)))
    }

    fn two_rounds<T: Number>(
        &self,
        site: Site,
        values: Vec<T>,
        reduction: Reduction,
        mode: Mode,
    ) -> Result<Stage<Vec<T>>, DistError> {
        let (size, own) = (self.size(), slice(values.len(), self.rank(), self.size()));
        let part = |to| T::pack(self.buffers().copy(&values[slice(values.len(), to, size)]));
        let outgoing = self.others().map(|to| Outgoing { to, message: part(to) }).collect();
        let incoming = self.expect_same::<T>(own.len());
        let flight = self.launch(site, Tag::round(site, 0), mode, outgoing, incoming)?;
        let next = move |ranks: &Ranks, messages: Vec<Message>| {
            let mut values = values;
            let mine = ranks.buffers().copy(&values[own.clone()]);
            let sum = ranks.combine(site, mine, messages, reduction)?;
            let expected = ranks.others().map(|from| {
                let len = slice(values.len(), from, size).len();
                Incoming { from, kind: T::KIND, len }
            });
            let outgoing = ranks.to_all(&sum);
            let tag = Tag::round(site, 1);
            let flight = ranks.launch(site, tag, mode, outgoing, expected.collect())?;
            let next = move |ranks: &Ranks, messages: Vec<Message>| {
                values[own].copy_from_slice(&sum);
                ranks.buffers().give_message(T::pack(sum));
                for (from, message) in ranks.others().zip(messages) {
                    let part = ranks.unpack::<T>(site, message)?;
                    let range = slice(values.len(), from, size);
                    values[range].copy_from_slice(&part);
                    ranks.buffers().give_message(T::pack(part));
                }
                Ok(Stage::Done(values))
            };
            Ok(Stage::Flying(flight, Box::new(next)))
        };
        Ok(Stage::Flying(flight, Box::new(next)))
    }

    /// A copy of the values for every other rank.
    pub(super) fn to_all<T: Element>(&self, values: &[T]) -> Vec<Outgoing> {
        let copy = || T::pack(self.buffers().copy(values));
        self.others().map(|to| Outgoing { to, message: copy() }).collect()
    }

    /// As many values from every other rank.
    pub(super) fn expect_same<T: Element>(&self, len: usize) -> Vec<Incoming> {
        self.others().map(|from| Incoming { from, kind: T::KIND, len }).collect()
    }

    /// Own values and those of the others, combined in the order of ranks.
    fn combine<T: Number>(
        &self,
        site: Site,
        own: Vec<T>,
        messages: Vec<Message>,
        reduction: Reduction,
    ) -> Result<Vec<T>, DistError> {
        let mut parts = Vec::with_capacity(self.size());
        for message in messages {
            parts.push(self.unpack::<T>(site, message)?);
        }
        parts.insert(self.rank(), own);
        let mut parts = parts.into_iter();
        let mut result = parts.next().unwrap_or_default();
        for part in parts {
            let pairs = result.iter_mut().zip(&part);
            match reduction {
                Reduction::Sum => pairs.for_each(|(sum, value)| *sum = sum.plus(*value)),
                Reduction::Max => pairs.for_each(|(most, value)| *most = most.larger(*value)),
            }
            self.buffers().give_message(T::pack(part));
        }
        Ok(result)
    }
}

/// The values of `len` that a rank adds up.
fn slice(len: usize, rank: usize, size: usize) -> Range<usize> {
    len * rank / size..len * (rank + 1) / size
}

/// The slice that each rank adds up in an all-reduce of `len` values of `bytes` each; None if everyone
/// adds up everything.
pub(crate) fn all_reduce_slices(
    len: usize,
    bytes: usize,
    size: usize,
) -> Option<Vec<Range<usize>>> {
    (len * bytes > ONE_ROUND_BYTES).then(|| (0..size).map(|rank| slice(len, rank, size)).collect())
}

/// The bytes that leave a rank in an all-reduce of `len` values of `bytes` each.
pub fn all_reduce_bytes(len: usize, bytes: usize, rank: usize, size: usize) -> usize {
    if len * bytes <= ONE_ROUND_BYTES {
        return (size - 1) * len * bytes;
    }
    let own = slice(len, rank, size).len();
    (len - own + (size - 1) * own) * bytes
}
