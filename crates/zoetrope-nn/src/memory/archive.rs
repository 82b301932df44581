//! The state as named arrays of finite numbers, from which it is restored bit-identical.
//!
//! Only vertices that were written are saved. A 64-bit integer is four numbers of 16 bits, the
//! lowest first, a 32-bit one two: f32 holds each exactly.
//!
//! - `vertices` (`k × 2`), `memory` (`k × width`), `cell` (likewise, if the state has cells),
//!   `last_update` (`k × 4`, since the origin),
//! - of mails that are put together when they are read `mail_count` (`k × 2`) and `mail_events`
//!   (`n × 4`),
//! - of mails that are put together when they are sent `mail_rows` (`k × slots·width`),
//!   `mail_events` (`k × 4·slots`, 0 in an empty place) and `mail_next` (`k × 2`, the place of the
//!   next).

use zoetrope_graph::VertexId;

use super::event_mails::EventMail;
use super::state::{Mails, VertexState};

type Saved = (String, Vec<usize>, Vec<f32>);

impl VertexState {
    /// The whole state as named arrays of finite numbers (64-bit integers as four numbers of 16
    /// bits), for checkpoints.
    pub fn save(&self) -> Vec<Saved> {
        self.save_numbered(|vertex| vertex)
    }

    /// The same with vertices under other numbers, each of them different.
    pub fn save_numbered(&self, number: impl Fn(VertexId) -> u32) -> Vec<Saved> {
        let list = self.touched.list();
        let mut saved = Vec::new();
        let mut array = |name: &str, rows: usize, values: Vec<f32>| {
            let cols = values.len().checked_div(rows).unwrap_or(0);
            saved.push((name.to_owned(), vec![rows, cols], values));
        };
        let count = list.len();
        let split = |values: &mut dyn Iterator<Item = u64>, parts: u32| -> Vec<f32> {
            values.flat_map(|value| (0..parts).map(move |part| digit(value, part))).collect()
        };
        array("vertices", count, split(&mut list.iter().map(|&v| u64::from(number(v))), 2));
        array("memory", count, self.memory.read(list));
        if self.options.cells {
            array("cell", count, self.cells.read(list));
        }
        let since = &mut list.iter().map(|&v| self.since[v as usize] as u64);
        array("last_update", count, split(since, 4));
        match &self.mails {
            Mails::Events(mails) => {
                let counts = &mut list.iter().map(|&v| mails.of(v).len() as u64);
                array("mail_count", count, split(counts, 2));
                let total = list.iter().map(|&v| mails.of(v).len()).sum();
                let events = &mut list.iter().flat_map(|&v| mails.of(v)).copied();
                array("mail_events", total, split(events, 4));
            }
            Mails::Rows(mails) => {
                let rings = || list.iter().map(|&v| mails.ring(v));
                array("mail_rows", count, mails.rows(list));
                let events = &mut rings().flat_map(|ring| ring.0).copied();
                array("mail_events", count, split(events, 4));
                array("mail_next", count, split(&mut rings().map(|ring| ring.1 as u64), 2));
            }
        }
        saved
    }

    /// Puts a saved state in place; the name of the array that does not fit otherwise, the state
    /// being empty then.
    ///
    /// # Errors
    /// The name of an array that is missing, of another shape or with values that no state has.
    pub fn restore<'a>(
        &mut self,
        find: impl Fn(&str) -> Option<(&'a [usize], &'a [f32])>,
    ) -> Result<(), String> {
        self.restore_numbered(find, Some)
    }

    /// The same for a state that was saved with other numbers; `vertex` turns them back, and is None
    /// if no vertex has the number.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    pub fn restore_numbered<'a>(
        &mut self,
        find: impl Fn(&str) -> Option<(&'a [usize], &'a [f32])>,
        vertex: impl Fn(u32) -> Option<VertexId>,
    ) -> Result<(), String> {
        self.reset();
        let restored = self.put(&find, &vertex);
        if restored.is_err() {
            self.reset();
        }
        restored
    }

    /// Whether every waiting mail is of one of the first `events` events. A restored state that was not
    /// saved by us may speak of others.
    pub fn mails_are_below(&self, events: usize) -> bool {
        let is_below = |&mail: &u64| mail == 0 || EventMail::unpack(mail).event < events;
        let mut list = self.touched.list().iter();
        match &self.mails {
            Mails::Events(mails) => list.all(|&vertex| mails.of(vertex).iter().all(is_below)),
            Mails::Rows(mails) => list.all(|&vertex| mails.ring(vertex).0.iter().all(is_below)),
        }
    }

    fn put<'a>(
        &mut self,
        find: &Find<'_, 'a>,
        vertex: &dyn Fn(u32) -> Option<VertexId>,
    ) -> Result<(), String> {
        let width = self.options.width;
        let list = integers(find, "vertices", None, 2, 1)?;
        let count = Some(list.len());
        let memory = array(find, "memory", count, width)?;
        let cells = if self.options.cells { array(find, "cell", count, width)? } else { &[] };
        let since = integers(find, "last_update", count, 4, 1)?;
        let mut vertices = Vec::with_capacity(list.len());
        for (&number, &since) in list.iter().zip(&since) {
            let known = vertex(number as u32).filter(|&vertex| (vertex as usize) < self.vertices);
            let Some(vertex) = known.filter(|&vertex| self.touched.mark(vertex)) else {
                return Err("vertices".to_owned());
            };
            vertices.push(vertex);
            self.since[vertex as usize] = since as i64;
        }
        self.memory.write(&vertices, memory);
        if self.options.cells {
            self.cells.write(&vertices, cells);
        }
        self.put_mails(find, &vertices)
    }

    fn put_mails<'a>(&mut self, find: &Find<'_, 'a>, list: &[VertexId]) -> Result<(), String> {
        let count = Some(list.len());
        let (slots, fits) =
            (
                self.options.slots,
                |fits: bool| if fits { Ok(()) } else { Err("mail_events".to_owned()) },
            );
        if find("mail_rows").is_some() {
            self.make_rows();
        }
        match &mut self.mails {
            Mails::Events(mails) => {
                let counts = integers(find, "mail_count", count, 2, 1)?;
                let total = counts.iter().map(|&count| count as usize).sum();
                let events = integers(find, "mail_events", Some(total), 4, 1)?;
                let mut rest = &events[..];
                for (&vertex, &count) in list.iter().zip(&counts) {
                    let (own, after) = rest.split_at(count as usize);
                    fits(mails.put(vertex, own))?;
                    rest = after;
                }
            }
            Mails::Rows(mails) => {
                let width = slots * mails.width();
                let rows = array(find, "mail_rows", count, width)?;
                let events = integers(find, "mail_events", count, 4, slots)?;
                let next = integers(find, "mail_next", count, 2, 1)?;
                for (at, &vertex) in list.iter().enumerate() {
                    fits(mails.put(vertex, &events[at * slots..][..slots], next[at]))?;
                }
                mails.put_rows(list, rows);
            }
        }
        Ok(())
    }
}

/// Finds an array by its name.
type Find<'f, 'a> = dyn Fn(&str) -> Option<(&'a [usize], &'a [f32])> + 'f;

/// The part of 16 bits of an integer, the lowest first.
fn digit(value: u64, part: u32) -> f32 {
    f32::from((value >> (16 * part)) as u16)
}

/// An array of `rows` rows (any number if None) of `cols` columns.
fn array<'a>(
    find: &Find<'_, 'a>,
    name: &str,
    rows: Option<usize>,
    cols: usize,
) -> Result<&'a [f32], String> {
    let fits = |&(shape, values): &(&[usize], &[f32])| {
        // An array without rows does not tell its columns.
        let cols = if values.is_empty() { shape.get(1).copied().unwrap_or(0) } else { cols };
        shape.len() == 2
            && shape[1] == cols
            && shape[0] * cols == values.len()
            && rows.is_none_or(|rows| shape[0] == rows)
    };
    find(name).filter(fits).map(|(_, values)| values).ok_or_else(|| name.to_owned())
}

/// Integers of `parts` numbers each, `per_row` of them in a row.
fn integers(
    find: &Find<'_, '_>,
    name: &str,
    rows: Option<usize>,
    parts: usize,
    per_row: usize,
) -> Result<Vec<u64>, String> {
    let values = array(find, name, rows, parts * per_row)?;
    let whole = |value: &f32| value.fract() == 0.0 && (0.0..65536.0).contains(value);
    if !values.iter().all(whole) {
        return Err(name.to_owned());
    }
    let join = |digits: &[f32]| {
        let highest_first = digits.iter().rev();
        highest_first.fold(0, |value, &digit| value << 16 | u64::from(digit as u16))
    };
    Ok(values.chunks_exact(parts).map(join).collect())
}
