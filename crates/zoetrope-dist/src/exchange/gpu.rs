//! Exchanges between GPUs: what the operators do if rows never pass the host.
//!
//! Gathering, messages, and putting or adding rows are launched one after the other on the compute
//! stream. `start` launches the first two and `arrive` the last. The host does not wait for them; the GPU
//! executes them in that order.

use std::sync::OnceLock;

use zoetrope_tensor::GpuSide;
use zoetrope_tensor::cuda::{Incoming, RowLists, View, ViewMut};

use super::{BlockingExchange, Exchange, OverlappedExchange, ReceiveEnd, RowList, SendEnd, Way};
use crate::sync::lock;

/// The lists of both ways.
#[derive(Debug)]
pub(super) struct GpuLists {
    forward: RowLists,
    back: RowLists,
    /// As `forward`, for one of several exchanges into the same matrix, which leaves the places of the others.
    among: OnceLock<RowLists>,
}

/// Rows on their way from GPU to GPU.
pub(super) type OnGpu = Incoming;

impl Exchange {
    fn gpu_lists(&self, way: Way) -> &RowLists {
        match way {
            Way::Forward => &self.all_gpu_lists().forward,
            Way::Backward => &self.all_gpu_lists().back,
        }
    }

    fn all_gpu_lists(&self) -> &GpuLists {
        self.lists.gpu.get_or_init(|| {
            let (rank, rows) = (self.plan.rank(), [self.plan.rows_in(), self.plan.rows_out()]);
            let back = [rows[1], rows[0]];
            let (sends, receives) = self.one_by_one();
            GpuLists {
                forward: RowLists::putting(rank, rows, &sends, &receives),
                back: RowLists::adding(rank, back, &receives, &sends),
                among: OnceLock::new(),
            }
        })
    }

    fn one_by_one(&self) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        let rows = |lists: &[RowList]| lists.iter().map(|list| list.iter().collect()).collect();
        (rows(self.plan.sends()), rows(self.plan.receives()))
    }

    /// Adds each row of `incoming` to the row of `y` that the exchange names; `y` holds zeros before.
    fn add_among(&self, incoming: Option<Incoming>, y: ViewMut<'_>) {
        let lists = self.all_gpu_lists().among.get_or_init(|| {
            let (sends, receives) = self.one_by_one();
            let rows = [self.plan.rows_in(), self.plan.rows_out()];
            RowLists::adding(self.plan.rank(), rows, &sends, &receives)
        });
        if let Some(incoming) = incoming {
            incoming.arrive(lists, y);
        }
    }

    /// Sends rows of a GPU; None if a rank is lost, which the ranks remember.
    fn depart_from_gpu(&self, way: Way, x: View<'_>, cols: usize) -> Option<Incoming> {
        self.ranks.send_rows(self.gpu_lists(way), x, cols).ok()
    }

    /// Puts rows where they belong; zeros if a rank is lost.
    fn put_on_gpu(&self, incoming: Option<Incoming>, y: ViewMut<'_>) {
        match incoming {
            Some(incoming) => incoming.arrive(self.gpu_lists(Way::Forward), y),
            None => self.clear(y),
        }
    }

    /// Adds gradients to those of the rows that were sent, in the order of ranks.
    fn add_on_gpu(&self, incoming: Option<Incoming>, dx: ViewMut<'_>) {
        if let Some(incoming) = incoming {
            incoming.arrive(self.gpu_lists(Way::Backward), dx);
        }
    }

    fn clear(&self, y: ViewMut<'_>) {
        if let Some(gpu) = self.ranks.linked_gpu() {
            gpu.zero(y);
        }
    }
}

impl GpuSide for BlockingExchange {
    fn forward(&self, inputs: &[View<'_>], y: ViewMut<'_>) {
        let incoming = self.exchange.depart_from_gpu(Way::Forward, inputs[0], self.cols);
        self.exchange.put_on_gpu(incoming, y);
    }

    fn backward(&self, dy: View<'_>, inputs: &mut [Option<ViewMut<'_>>]) {
        let Some(dx) = &mut inputs[0] else { return };
        let incoming = self.exchange.depart_from_gpu(Way::Backward, dy, self.cols);
        self.exchange.add_on_gpu(incoming, dx.reborrow());
    }
}

impl OverlappedExchange {
    fn depart_from_gpu(&self, way: Way, x: View<'_>) {
        *lock(&self.between_gpus) = self.exchange.depart_from_gpu(way, x, self.cols);
    }

    fn arrive_on_gpu(&self) -> Option<Incoming> {
        lock(&self.between_gpus).take()
    }
}

impl GpuSide for SendEnd {
    fn forward(&self, inputs: &[View<'_>], y: ViewMut<'_>) {
        self.exchanges.iter().for_each(|one| one.depart_from_gpu(Way::Forward, inputs[0]));
        self.exchanges[0].exchange.clear(y);
    }

    fn backward(&self, _: View<'_>, inputs: &mut [Option<ViewMut<'_>>]) {
        let Some(dx) = &mut inputs[0] else { return };
        for one in &self.exchanges {
            one.exchange.add_on_gpu(one.arrive_on_gpu(), dx.reborrow());
        }
    }
}

impl GpuSide for ReceiveEnd {
    fn forward(&self, _: &[View<'_>], mut y: ViewMut<'_>) {
        if let [only] = &self.exchanges[..] {
            return only.exchange.put_on_gpu(only.arrive_on_gpu(), y);
        }
        self.exchanges[0].exchange.clear(y.reborrow());
        for one in &self.exchanges {
            one.exchange.add_among(one.arrive_on_gpu(), y.reborrow());
        }
    }

    fn backward(&self, dy: View<'_>, _: &mut [Option<ViewMut<'_>>]) {
        self.exchanges.iter().rev().for_each(|one| one.depart_from_gpu(Way::Backward, dy));
    }
}
