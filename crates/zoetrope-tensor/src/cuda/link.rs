//! Messages between the GPUs of several ranks, by NCCL: rows by lists, and sums in the order of ranks.
//!
//! A link moves values and adds them up; the caller knows how far each rank is, how long to wait, and what
//! is counted. No call waits for another rank: NCCL works in threads of its own, and the caller's `settle`
//! asks [`Link::is_through`] until it is, or ends the link ([`Link::abort`]). After that the messages are in
//! the compute stream like kernels, and the host continues.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::elementwise::{BLOCK, singles};
use super::error::CudaError;
use super::gather::gather_rows;
use super::gpu::lock;
use super::nccl::{Comm, Message, Nccl, Progress};
use super::trace::Queue;
use super::wait_hook::rest;
use super::{Gpu, Kernel, Scratch, View, ViewMut};
use crate::cpu::matmul::Accumulate;

pub use super::nccl::ID_BYTES;

static PUT: Kernel = Kernel::new("link", "link_put");
static PUT_WIDE: Kernel = Kernel::new("link", "link_put_wide");
static ADD: Kernel = Kernel::new("link", "link_add");
static SUM: Kernel = Kernel::new("link", "link_sum");

/// The position of a row that no rank sends.
const NONE: u32 = u32::MAX;

/// How long a link may take to end once no message is under way.
const ENDING: Duration = Duration::from_secs(5);

/// The version of NCCL, 22703 for 2.27.3.
///
/// # Errors
/// If it is missing.
pub fn link_version() -> Result<u32, CudaError> {
    Nccl::get()?.version()
}

/// The GPU of one rank, linked with those of the others.
#[derive(Debug)]
pub struct Link {
    gpu: Gpu,
    rank: usize,
    size: usize,
    /// None once it was ended.
    comm: Mutex<Option<Comm>>,
}

impl Link {
    /// A number that one rank makes and all use to meet.
    ///
    /// # Errors
    /// If NCCL is missing or refuses.
    pub fn fresh_id() -> Result<[u8; ID_BYTES], CudaError> {
        Nccl::get()?.unique_id()
    }

    /// Begins to link this rank's GPU with those of all others, which call it as well.
    ///
    /// # Errors
    /// If NCCL is missing or refuses at once.
    pub fn meet(
        gpu: &Gpu,
        id: [u8; ID_BYTES],
        rank: usize,
        size: usize,
    ) -> Result<Self, CudaError> {
        gpu.make_current();
        let comm = Nccl::get()?.meet(id, rank, size)?;
        Ok(Self { gpu: gpu.clone(), rank, size, comm: Mutex::new(Some(comm)) })
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Whether NCCL has completed the last call: after [`Link::meet`] all GPUs are linked, after
    /// messages these are in the stream.
    ///
    /// # Errors
    /// If the call, or a message under way, failed.
    pub fn is_through(&self) -> Result<bool, CudaError> {
        let comm = lock(&self.comm);
        self.gpu.make_current();
        // SAFETY: the communicator is alive as long as it is kept.
        let progress = unsafe { Nccl::get()?.progress(self.alive(*comm)?) }?;
        Ok(progress == Progress::Done)
    }

    fn alive(&self, comm: Option<Comm>) -> Result<Comm, CudaError> {
        let reason = || "it was ended before".to_owned();
        comm.ok_or_else(|| CudaError::Call { call: "the link between GPUs", reason: reason() })
    }

    /// Ends the link and every kernel that waits for another rank; what they should have received is
    /// unspecified.
    pub fn abort(&self) {
        let comm = lock(&self.comm).take();
        if let (Some(comm), Ok(nccl)) = (comm, Nccl::get()) {
            self.gpu.make_current();
            // SAFETY: the communicator was alive and is kept no longer.
            unsafe { nccl.abort(comm) };
        }
    }

    /// Messages in both directions, in the order of the stream.
    fn together<E: From<CudaError>>(
        &self,
        sends: &[Message],
        receives: &[Message],
        settle: impl Fn() -> Result<(), E>,
    ) -> Result<(), E> {
        if sends.is_empty() && receives.is_empty() {
            return Ok(());
        }
        self.gpu.make_current();
        self.gpu.spanned("messages between GPUs", Queue::Compute, |stream| {
            let comm = lock(&self.comm);
            // SAFETY: the communicator is alive as long as it is kept, and every call before this one
            // was settled. The caller keeps the memory, and nothing is launched before it is settled.
            unsafe { Nccl::get()?.together(self.alive(*comm)?, stream, sends, receives) }?;
            drop(comm);
            settle()
        })
    }

    /// Sends rows of `x`, of `cols` values each, and receives those of others.
    ///
    /// # Errors
    /// If NCCL refuses, and those of `settle`.
    ///
    /// # Panics
    /// If `x` has another number of rows than the lists say.
    pub fn send_rows<E: From<CudaError>>(
        &self,
        lists: &RowLists,
        x: View<'_>,
        cols: usize,
        settle: impl Fn() -> Result<(), E>,
    ) -> Result<Incoming, E> {
        assert_eq!(x.len(), lists.rows[0] * cols, "rows to send");
        assert_eq!(lists.incoming.len(), self.size, "a list for each rank");
        let gpu = &self.gpu;
        let mut outgoing = gpu.take(lists.out.len() * cols);
        let mut incoming = gpu.take(lists.incoming.last().map_or(0, |part| part.end) * cols);
        if !lists.out.is_empty() {
            gather_rows(gpu, x, cols, &lists.out, outgoing.view_mut(), Accumulate::Overwrite);
        }
        if !lists.own.is_empty() {
            let stays = &lists.incoming[self.rank];
            let mut all = incoming.view_mut();
            let place = all.slice(stays.start * cols..stays.end * cols);
            gather_rows(gpu, x, cols, &lists.own, place, Accumulate::Overwrite);
        }
        let sends = messages(&lists.outgoing, outgoing.view(), cols, self.rank);
        let receives = messages(&lists.incoming, incoming.view(), cols, self.rank);
        self.together(&sends, &receives, settle)?;
        Ok(Incoming { gpu: gpu.clone(), rows: incoming, cols })
    }

    /// Replaces values by their sums over all ranks, in the order of ranks: the same bits as on the
    /// host, and the same everywhere. If `slices` names the part of each rank, it adds up that part and sends
    /// the sums to all; otherwise everybody gets everything and adds.
    ///
    /// # Errors
    /// If NCCL refuses, and those of `settle`.
    ///
    /// # Panics
    /// If there is not one slice for each rank.
    pub fn sum<E: From<CudaError>>(
        &self,
        mut values: ViewMut<'_>,
        slices: Option<&[Range<usize>]>,
        settle: impl Fn() -> Result<(), E>,
    ) -> Result<(), E> {
        let all = vec![0..values.len(); self.size];
        let slices = slices.unwrap_or(&all);
        assert_eq!(slices.len(), self.size, "a slice for each rank");
        let own = slices[self.rank].clone();
        let mut parts = self.gpu.take(self.size * own.len());
        let places: Vec<Range<usize>> =
            (0..self.size).map(|from| from * own.len()..(from + 1) * own.len()).collect();
        let sends = messages(slices, values.as_view(), 1, self.rank);
        let receives = messages(&places, parts.view(), 1, self.rank);
        self.together(&sends, &receives, &settle)?;
        let (rank, size, count) = (self.rank as u32, self.size as u32, own.len() as u64);
        let place = values.slice(own.clone());
        let arguments: [&dyn super::Arg; 5] = [&parts.view_mut(), &place, &rank, &size, &count];
        self.gpu.launch(&SUM, singles(own.len()), BLOCK, 0, &arguments);
        if own.len() == values.len() && slices.iter().all(|slice| *slice == own) {
            return Ok(());
        }
        let sends = messages(&vec![own; self.size], values.as_view(), 1, self.rank);
        let receives = messages(slices, values.as_view(), 1, self.rank);
        self.together(&sends, &receives, &settle)
    }
}

/// The messages of parts of a view, in rows of `cols` values, except for the part of the rank itself.
fn messages(parts: &[Range<usize>], of: View<'_>, cols: usize, rank: usize) -> Vec<Message> {
    let others = parts.iter().enumerate().filter(|(peer, part)| *peer != rank && !part.is_empty());
    let message = |(peer, part): (usize, &Range<usize>)| {
        let values = of.slice(part.start * cols..part.end * cols);
        Message { peer, ptr: values.ptr(), len: values.len() }
    };
    others.map(message).filter(|message| message.len > 0).collect()
}

impl Drop for Link {
    fn drop(&mut self) {
        let comm = lock(&self.comm).take();
        let (Some(comm), Ok(nccl)) = (comm, Nccl::get()) else { return };
        self.gpu.make_current();
        let start = Instant::now();
        // SAFETY: the communicator is alive and used by nobody else any more; it is freed once.
        unsafe {
            let mut through = nccl.finalize(comm).map(|()| Progress::UnderWay);
            while through == Ok(Progress::UnderWay) && start.elapsed() < ENDING {
                through = nccl.progress(comm);
                rest(start.elapsed());
            }
            match through {
                Ok(Progress::Done) => nccl.destroy(comm),
                _ => nccl.abort(comm),
            }
        }
    }
}

/// One way of an exchange of rows: which rows go to each rank, and where those of each rank go.
#[derive(Debug)]
pub struct RowLists {
    rows: [usize; 2],
    /// Rows for other ranks, one rank after the other.
    out: Arc<Vec<u32>>,
    /// Where those of each rank lie in `out`.
    outgoing: Vec<Range<usize>>,
    /// Rows that stay.
    own: Arc<Vec<u32>>,
    /// Where the rows of each rank lie in what comes in, own ones included.
    incoming: Vec<Range<usize>>,
    end: End,
}

/// What becomes of rows that came in.
#[derive(Debug)]
enum End {
    /// Each row of the result is the one at its position, or 0.
    Put(Arc<Vec<u32>>),
    /// To each row of the result those at its positions are added.
    Add { starts: Arc<Vec<u32>>, positions: Arc<Vec<u32>> },
}

impl RowLists {
    /// `sends[q]` are rows of the `rows[0]` that this rank has for rank `q`; `receives[q]` the rows of
    /// the `rows[1]` of the result that those of rank `q` become. Each is received at most once.
    pub fn putting(
        rank: usize,
        rows: [usize; 2],
        sends: &[Vec<u32>],
        receives: &[Vec<u32>],
    ) -> Self {
        let mut positions = vec![NONE; rows[1]];
        for (position, &row) in receives.iter().flatten().enumerate() {
            positions[row as usize] = position as u32;
        }
        Self::new(rank, rows, sends, receives, End::Put(Arc::new(positions)))
    }

    /// The same if rows are added to those of the result, which may be received several times: in
    /// the order of ranks.
    pub fn adding(
        rank: usize,
        rows: [usize; 2],
        sends: &[Vec<u32>],
        receives: &[Vec<u32>],
    ) -> Self {
        let mut starts = vec![0u32; rows[1] + 1];
        receives.iter().flatten().for_each(|&row| starts[row as usize + 1] += 1);
        for row in 0..rows[1] {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut positions = vec![0u32; receives.iter().map(Vec::len).sum()];
        for (position, &row) in receives.iter().flatten().enumerate() {
            let place = &mut next[row as usize];
            positions[*place as usize] = position as u32;
            *place += 1;
        }
        let end = End::Add { starts: Arc::new(starts), positions: Arc::new(positions) };
        Self::new(rank, rows, sends, receives, end)
    }

    /// Bytes that leave for other ranks, for rows of `cols` values.
    pub fn bytes(&self, cols: usize) -> usize {
        self.out.len() * cols * size_of::<f32>()
    }

    fn new(
        rank: usize,
        rows: [usize; 2],
        sends: &[Vec<u32>],
        receives: &[Vec<u32>],
        end: End,
    ) -> Self {
        let (mut out, mut outgoing, mut incoming) = (Vec::new(), Vec::new(), Vec::new());
        let mut come = 0;
        for (peer, (send, receive)) in sends.iter().zip(receives).enumerate() {
            let from = out.len();
            if peer != rank {
                out.extend_from_slice(send);
            }
            outgoing.push(from..out.len());
            incoming.push(come..come + receive.len());
            come += receive.len();
        }
        let own = Arc::new(sends[rank].clone());
        Self { rows, out: Arc::new(out), outgoing, own, incoming, end }
    }
}

/// Rows on their way to this GPU: in the stream, where what is launched later finds them.
#[derive(Debug)]
pub struct Incoming {
    gpu: Gpu,
    rows: Scratch,
    cols: usize,
}

impl Incoming {
    /// Puts or adds the rows where the lists say.
    ///
    /// # Panics
    /// If `y` has another number of rows than the lists say.
    pub fn arrive(self, lists: &RowLists, y: ViewMut<'_>) {
        let Self { gpu, rows, cols } = self;
        assert_eq!(y.len(), lists.rows[1] * cols, "rows to receive");
        let x = rows.view();
        match &lists.end {
            End::Put(positions) => {
                let fits = cols.is_multiple_of(4) && (x.ptr() | y.ptr()).is_multiple_of(16);
                let (kernel, unit) = if fits { (&PUT_WIDE, 4) } else { (&PUT, 1) };
                let (units, count) = ((cols / unit) as u32, y.len() / unit);
                let positions = gpu.resident(positions);
                let arguments: [&dyn super::Arg; 5] =
                    [&x, &units, &positions.view(), &y, &(count as u64)];
                gpu.launch(kernel, singles(count), BLOCK, 0, &arguments);
            }
            End::Add { starts, positions } => {
                let (starts, positions) = (gpu.resident(starts), gpu.resident(positions));
                let arguments: [&dyn super::Arg; 6] =
                    [&x, &(cols as u32), &starts.view(), &positions.view(), &y, &(y.len() as u64)];
                gpu.launch(&ADD, singles(y.len()), BLOCK, 0, &arguments);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_put_at_the_positions_that_they_come_in_at() {
        let lists = RowLists::putting(
            1,
            [3, 4],
            &[vec![2], vec![0], vec![1, 2]],
            &[vec![3], vec![0], vec![1]],
        );
        assert_eq!((&lists.out[..], &lists.own[..]), (&[2, 1, 2][..], &[0][..]));
        assert_eq!(lists.outgoing, [0..1, 1..1, 1..3]);
        assert_eq!(lists.incoming, [0..1, 1..2, 2..3]);
        let End::Put(positions) = &lists.end else { panic!("rows that are put") };
        assert_eq!(positions[..], [1, 2, NONE, 0]);
    }

    #[test]
    fn what_is_added_to_a_row_is_in_the_order_of_ranks() {
        let lists = RowLists::adding(0, [2, 3], &[vec![0], vec![1]], &[vec![2, 0], vec![0, 2]]);
        let End::Add { starts, positions } = &lists.end else { panic!("rows that are added") };
        assert_eq!((&starts[..], &positions[..]), (&[0, 2, 2, 4][..], &[1, 2, 0, 3][..]));
    }
}
