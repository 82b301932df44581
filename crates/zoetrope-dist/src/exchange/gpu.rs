//! Exchanges between GPUs: what the operators do if rows never pass the host.
//!
//! Gathering, messages, and putting or adding rows are launched one after the other on the compute
//! stream. `start` launches the first two and `arrive` the last. The host does not wait for them; the GPU
//! executes them in that order.

use zoetrope_tensor::GpuSide;
use zoetrope_tensor::cuda::{Incoming, RowLists, View, ViewMut};

use super::{BlockingExchange, Exchange, OverlappedExchange, ReceiveEnd, RowList, SendEnd, Way};
use crate::sync::lock;

/// The lists of both ways.
#[derive(Debug)]
pub(super) struct GpuLists {
    forward: RowLists,
    back: RowLists,
}

/// Rows on their way from GPU to GPU.
pub(super) type OnGpu = Incoming;

impl Exchange {
    fn gpu_lists(&self, way: Way) -> &RowLists {
        let plan = &self.plan;
        let lists = self.lists.gpu.get_or_init(|| {
            let (rank, rows) = (plan.rank(), [plan.rows_in(), plan.rows_out()]);
            let back = [rows[1], rows[0]];
            let one_by_one = |lists: &[RowList]| -> Vec<Vec<u32>> {
                lists.iter().map(|list| list.iter().collect()).collect()
            };
            let (sends, receives) = (one_by_one(plan.sends()), one_by_one(plan.receives()));
            GpuLists {
                forward: RowLists::putting(rank, rows, &sends, &receives),
                back: RowLists::adding(rank, back, &receives, &sends),
            }
        });
        match way {
            Way::Forward => &lists.forward,
            Way::Backward => &lists.back,
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
        self.0.depart_from_gpu(Way::Forward, inputs[0]);
        self.0.exchange.clear(y);
    }

    fn backward(&self, _: View<'_>, inputs: &mut [Option<ViewMut<'_>>]) {
        let Some(dx) = &mut inputs[0] else { return };
        self.0.exchange.add_on_gpu(self.0.arrive_on_gpu(), dx.reborrow());
    }
}

impl GpuSide for ReceiveEnd {
    fn forward(&self, _: &[View<'_>], y: ViewMut<'_>) {
        self.0.exchange.put_on_gpu(self.0.arrive_on_gpu(), y);
    }

    fn backward(&self, dy: View<'_>, _: &mut [Option<ViewMut<'_>>]) {
        self.0.depart_from_gpu(Way::Backward, dy);
    }
}
