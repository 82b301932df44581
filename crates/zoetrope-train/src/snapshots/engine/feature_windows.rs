//! The features of a run on a GPU block by block: where not all of them stay there.

use std::ops::Range;

use zoetrope_nn::Forward;
use zoetrope_nn::NnError;
use zoetrope_tensor::cuda::RowWindow;
use zoetrope_tensor::{Gpu, Var};

use super::own_rows::Rows;

/// Windows on features, and on the kept aggregation of them.
#[derive(Debug)]
pub(super) struct FeatureWindows {
    gpu: Gpu,
    /// Rows of the largest piece.
    rows: usize,
    windows: [Option<RowWindow>; 2],
    /// Whether rows have to stay for the backward pass of several pieces.
    kept: bool,
}

/// Which matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Features,
    Aggregated,
}

impl FeatureWindows {
    /// Windows with room for so many rows. `kept` says whether rows are read again after those of the next
    /// piece were entered.
    pub(super) fn new(gpu: &Gpu, rows: usize, kept: bool) -> Self {
        Self { gpu: gpu.clone(), rows, windows: [None, None], kept }
    }

    fn window(&mut self, of: Of, width: usize) -> &mut RowWindow {
        let (gpu, rows) = (&self.gpu, self.rows);
        self.windows[of as usize].get_or_insert_with(|| RowWindow::new(gpu, rows, width))
    }

    /// Before the launches of a piece that read some rows.
    pub(super) fn enter(&mut self, of: Of, rows: &Rows, place: &Range<usize>) {
        if place.len() <= self.rows {
            let (width, values) = rows.values();
            self.window(of, width).enter(values, place.clone());
        }
    }

    /// Begins to copy the rows of the piece that comes next.
    pub(super) fn send_ahead(&mut self, of: Of, rows: &Rows, place: &Range<usize>) {
        if place.len() <= self.rows {
            let (width, values) = rows.values();
            self.window(of, width).prefetch(values, place.clone());
        }
    }

    /// Puts rows onto a tape; `place` is where they are, counted from the start of the data.
    pub(super) fn constant(
        &mut self,
        forward: &mut Forward<'_>,
        of: Of,
        rows: &Rows,
        place: &Range<usize>,
    ) -> Result<Var, NnError> {
        let (kept, (width, values)) = (self.kept, rows.values());
        if place.len() > self.rows {
            // A longer piece than training has, of evaluation.
            return Ok(forward.tape.copied(place.len(), width, values)?);
        }
        let window = self.window(of, width);
        if !window.covers(place) {
            window.enter(values, place.clone());
        }
        Ok(forward.tape.windowed(window, place.clone(), kept)?)
    }

    /// From now on no row counts as being on the GPU.
    pub(super) fn forget(&mut self) {
        self.windows.iter_mut().flatten().for_each(RowWindow::forget);
    }
}
