//! Layers whose rows are exchanged beside computing (ESDG §6.5).
//!
//! A structure encoder without weights runs in parts of its snapshots: while one is computed, the one before is on
//! its way to time encoders, and the one after it comes from the time encoders of the layer before. A time encoder
//! runs in pieces of its vertices in the same way. What is computed is the same bit by bit: see
//! [`Piece`](zoetrope_tensor::Piece) for the gradients of weights.

use std::time::Instant;

use zoetrope_tensor::{Piece, Var};

use crate::encoder::{Sequence, StructureEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::{Frame, part_of};
use crate::frame_share::{Cut, PendingRows, RowExchange, StructureRows};
use crate::stage::StageKind;
use crate::state::State;

/// What comes after a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A structure encoder that may run in parts.
    Parts,
    /// Something that needs all rows at once.
    Rows,
}

/// Structure encoders run in so many parts.
struct InParts<'a> {
    exchange: &'a dyn RowExchange,
    count: usize,
}

impl<'a> Frame<'a> {
    /// How a structure encoder runs in parts; None if it does not.
    fn in_parts(&self, encoder: &dyn StructureEncoder, layer: usize) -> Option<InParts<'a>> {
        let exchange = self.shared.map(|shared| shared.exchange)?;
        let parts = InParts { exchange, count: exchange.parts() };
        (parts.count > 1 && self.may_run_in_parts(encoder, layer)).then_some(parts)
    }

    fn may_run_in_parts(&self, encoder: &dyn StructureEncoder, layer: usize) -> bool {
        let is_kept = layer == 0 && self.aggregated.is_some();
        !encoder.has_weights() && !is_kept
    }

    /// Runs a structure encoder over the frame and moves what it finds to where time encoders want
    /// it. If it runs in parts, the rows of one are on their way while the next is computed.
    ///
    /// # Errors
    /// As the encoder.
    pub fn encode_to_time(
        &self,
        forward: &mut Forward<'_>,
        encoder: &dyn StructureEncoder,
        layer: usize,
        x: StructureRows<'_>,
    ) -> Result<Sequence, NnError> {
        if let Some(parts) = self.in_parts(encoder, layer) {
            let pending = self.send_parts(forward, (encoder, layer), x, &parts, 1)?;
            let pending = pending.into_iter().flatten().collect();
            let rows = parts.exchange.receive(forward.tape, pending)?;
            return self.sequence(forward, rows, self.all_steps(), self.time_vertices());
        }
        let x = x.here(forward.tape)?;
        if self.may_run_in_parts(encoder, layer) {
            forward.may_exchange(StageKind::InParts, x);
        }
        let rows = self.encode(forward, encoder, layer, x)?;
        self.to_time(forward, rows)
    }

    /// Computes part by part; by part what is on its way to each piece.
    fn send_parts(
        &self,
        forward: &mut Forward<'_>,
        (encoder, layer): (&dyn StructureEncoder, usize),
        x: StructureRows<'_>,
        parts: &InParts<'_>,
        pieces: usize,
    ) -> Result<Vec<Vec<PendingRows>>, NnError> {
        let (vertices, steps, of) = (self.vertices(), self.steps(), parts.count);
        let (here, mut coming) = match x {
            StructureRows::Here(x) => (Some(x), Vec::new().into_iter()),
            StructureRows::Pending(_, pending) if pending.len() == of => {
                (None, pending.into_iter())
            }
            pending => (Some(pending.here(forward.tape)?), Vec::new().into_iter()),
        };
        let mut sent = Vec::with_capacity(of);
        for number in 0..of {
            let of_part = part_of(steps, of, number);
            let rows = of_part.start * vertices..of_part.end * vertices;
            let x = match (here, coming.next()) {
                (Some(x), _) => forward.tape.rows(x, rows)?,
                (None, Some(pending)) => parts.exchange.receive(forward.tape, pending)?,
                (None, None) => unreachable!("there are as many parts as were sent"),
            };
            let found = self.encode_group(forward, encoder, of_part, layer, x)?;
            let cut = Cut { number, of };
            sent.push(parts.exchange.start_to_time(forward.tape, cut, pieces, found)?);
        }
        Ok(sent)
    }

    /// Runs a layer: a structure encoder and what follows along time, row by row, from the rows of some vertices to
    /// rows of these. If time encoders run in pieces, `follow` is called once for each, and rows of others come
    /// and leave meanwhile.
    ///
    /// # Errors
    /// As the encoder and `follow`.
    pub fn layer(
        &self,
        forward: &mut Forward<'_>,
        (encoder, layer): (&dyn StructureEncoder, usize),
        x: StructureRows<'_>,
        next: Next,
        state: &mut State,
        mut follow: impl FnMut(&mut Forward<'_>, Sequence, &mut State) -> Result<Var, NnError>,
    ) -> Result<StructureRows<'a>, NnError> {
        let exchange = self.shared.map(|shared| shared.exchange);
        let Some(exchange) = exchange.filter(|one| one.pieces().len() > 1) else {
            forward.tell(StageKind::InPieces, Instant::now());
            let sequence = self.encode_to_time(forward, encoder, layer, x)?;
            let rows = follow(forward, sequence, state)?;
            return self.leave(forward, rows, next);
        };
        let pieces = exchange.pieces();
        let of = pieces.len();
        let mut sent = match self.in_parts(encoder, layer) {
            Some(parts) => self.send_parts(forward, (encoder, layer), x, &parts, of)?,
            None => {
                let x = x.here(forward.tape)?;
                let rows = self.encode(forward, encoder, layer, x)?;
                vec![exchange.start_to_time(forward.tape, Cut::WHOLE, of, rows)?]
            }
        };
        sent.iter_mut().for_each(|to_pieces| to_pieces.reverse());
        let parts = if next == Next::Parts { exchange.parts() } else { 1 };
        let (steps, vertices) = (self.all_steps(), self.time_vertices());
        let bits = self.shared.map(|shared| shared.numbers.time_bits());
        let mut leaving: Vec<Vec<PendingRows>> = (0..parts).map(|_| Vec::new()).collect();
        let mut states = Vec::with_capacity(of);
        for (number, own) in pieces.iter().enumerate() {
            let pending = sent.iter_mut().filter_map(Vec::pop).collect();
            let rows = exchange.receive(forward.tape, pending)?;
            let numbers = match bits {
                Some(bits) => Some(forward.tape.constant(bits, own.clone())?),
                None => None,
            };
            let sequence = Sequence { rows, steps, vertices: own.len(), mask: None, numbers };
            let mut of_piece = state.of_vertices(forward.tape, own.clone())?;
            forward.tape.set_piece(Some(Piece { steps, vertices, from: own.start }));
            let found = follow(forward, sequence, &mut of_piece);
            forward.tape.set_piece(None);
            let cut = Cut { number, of };
            let left = exchange.start_to_structure(forward.tape, cut, parts, found?)?;
            leaving.iter_mut().zip(left).for_each(|(part, rows)| part.push(rows));
            states.push(of_piece);
        }
        state.join(forward.tape, &states)?;
        Ok(StructureRows::Pending(exchange, leaving))
    }

    /// Moves rows of time encoders to the rank whose structure encoders read them. If these run in parts, nobody
    /// waits yet.
    ///
    /// # Errors
    /// If there are not as many rows as this rank has.
    pub fn leave(
        &self,
        forward: &mut Forward<'_>,
        rows: Var,
        next: Next,
    ) -> Result<StructureRows<'a>, NnError> {
        let exchange = self.shared.map(|shared| shared.exchange);
        match exchange.filter(|one| next == Next::Parts && one.parts() > 1) {
            Some(exchange) => {
                let (tape, parts) = (&mut *forward.tape, exchange.parts());
                let sent = exchange.start_to_structure(tape, Cut::WHOLE, parts, rows)?;
                let parts = sent.into_iter().map(|rows| vec![rows]).collect();
                Ok(StructureRows::Pending(exchange, parts))
            }
            None => Ok(StructureRows::Here(self.to_structure(forward, rows)?)),
        }
    }
}
