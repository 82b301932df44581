//! The differentiable redistribution of rows between ranks: all communication of activations.
//!
//! Forward pass: rows are gathered into one message for each rank and put where the plan says. Backward
//! pass: the same with the lists swapped; a row that went to several ranks adds up its gradients in the
//! order of ranks. The same call gives the same bits each time. Ranks of one process that wait for each
//! other need no messages: they take rows from each other's matrices ([`SharedRows`]).
//!
//! [`Exchange::apply`] blocks. [`Exchange::start`] sends rows and returns; the caller computes and then
//! calls [`PendingExchange::arrive`], which waits. In the backward pass it is the other way round: the
//! gradients are sent when the tape reaches `arrive` and waited for when it reaches `start`, so that the
//! same computation overlaps with them. ESDG's overlap (section 6.5) is a loop of these:
//!
//! ```text
//! for each snapshot s:   h = gcn(s);  pending[s] = exchange[s].start(tape, h)
//! for each snapshot s:   rows[s] = pending[s].arrive(tape)
//! ```
//!
//! An operator of a tape cannot fail. If a rank is lost, results are 0 and [`Ranks::check`] returns the
//! error: call it after every step, before the gradients are used.
//!
//! On a tape of a GPU that is linked with the GPUs of the other ranks ([`gpu`](crate::gpu)), rows go
//! from GPU to GPU; otherwise they go through the host. The results are bit-identical.
//!
//! The backward pass of an exchange is a collective, too: if the rows need a gradient, every rank takes
//! part, even if none of its results reached the loss. Whether they need one must be the same on all
//! ranks.

mod gpu;
mod plan;
mod rows;
mod shared_rows;

use std::sync::{Arc, Mutex, OnceLock};

use zoetrope_tensor::{Custom, Gpu, GpuSide, Shape, Tape, TensorError, Var};

use crate::error::DistError;
use crate::ranks::{Mode, Pending, Ranks};
use crate::site::Call;
use crate::sync::lock;

use gpu::{GpuLists, OnGpu};
pub use plan::{ExchangePlan, PlanError};
use rows::Arrive;
pub use rows::{RowList, RowRuns};
pub use shared_rows::SharedRows;

/// Rows on their way from everyone.
type ReceivedRows = Pending<Vec<Vec<f32>>>;

/// A redistribution of rows as an operator of a tape.
#[derive(Debug, Clone)]
pub struct Exchange {
    ranks: Ranks,
    plan: Arc<ExchangePlan>,
    lists: Arc<Lists>,
}

/// The lists of a plan, for those who read them while rows move.
#[derive(Debug)]
struct Lists {
    plan: Arc<ExchangePlan>,
    /// Whether every row goes to exactly one rank: its gradient comes from there alone.
    once: bool,
    /// The same for GPUs that are linked, made when they are first asked for.
    gpu: OnceLock<GpuLists>,
}

impl Lists {
    fn new(plan: &Arc<ExchangePlan>) -> Self {
        let sent: usize = plan.sends().iter().map(RowList::len).sum();
        let once = sent == plan.rows_in() && plan.reversed().is_some();
        Self { plan: Arc::clone(plan), once, gpu: OnceLock::new() }
    }

    /// The rows that leave for each rank.
    fn leave(&self, way: Way) -> &[RowList] {
        match way {
            Way::Forward => self.plan.sends(),
            Way::Backward => self.plan.receives(),
        }
    }

    /// The rows that come from each rank.
    fn come(&self, way: Way) -> &[RowList] {
        match way {
            Way::Forward => self.plan.receives(),
            Way::Backward => self.plan.sends(),
        }
    }
}

impl Exchange {
    /// The exchange of a plan between these ranks.
    ///
    /// # Panics
    /// If the plan is of another rank or another number of ranks.
    pub fn new(ranks: &Ranks, plan: ExchangePlan) -> Self {
        let place = (plan.rank(), plan.size());
        assert_eq!(place, (ranks.rank(), ranks.size()), "a plan is of its rank");
        let plan = Arc::new(plan);
        let lists = Arc::new(Lists::new(&plan));
        Self { ranks: ranks.clone(), plan, lists }
    }

    /// Its lists.
    pub fn plan(&self) -> &ExchangePlan {
        &self.plan
    }

    /// The rows of `x` at their new places.
    ///
    /// # Errors
    /// If `x` has another number of rows than the plan.
    pub fn apply(&self, tape: &mut Tape, x: Var) -> Result<Var, TensorError> {
        let cols = self.expect_rows(tape, x)?;
        let operator = BlockingExchange { exchange: self.clone(), cols };
        Ok(tape.custom(Arc::new(operator), &[x], Shape::new(self.plan.rows_out(), cols)))
    }

    /// Sends the rows of `x` and does not wait for those of others.
    ///
    /// # Errors
    /// If `x` has another number of rows than the plan.
    pub fn start(&self, tape: &mut Tape, x: Var) -> Result<PendingExchange, TensorError> {
        let mut pending = Self::start_each(std::slice::from_ref(self), tape, x)?;
        Ok(pending.swap_remove(0))
    }

    /// Sends the rows of `x` by several exchanges, one after the other, and waits for none: each takes some of
    /// the rows, and each row is taken by one of them at most.
    ///
    /// # Errors
    /// If `x` has another number of rows than a plan.
    pub fn start_each(
        exchanges: &[Self],
        tape: &mut Tape,
        x: Var,
    ) -> Result<Vec<PendingExchange>, TensorError> {
        let mut made = Vec::with_capacity(exchanges.len());
        for exchange in exchanges {
            made.push(Arc::new(OverlappedExchange {
                cols: exchange.expect_rows(tape, x)?,
                exchange: exchange.clone(),
                received: Mutex::new(None),
                between_gpus: Mutex::new(None),
            }));
        }
        let operator = SendEnd { once: take_all(exchanges), exchanges: made.clone() };
        let token = tape.custom(Arc::new(operator), &[x], Shape::new(1, 1));
        Ok(made.into_iter().map(|exchange| PendingExchange { exchange, token }).collect())
    }

    /// Sends rows that are on no tape and receives those of others.
    ///
    /// # Errors
    /// If a rank is lost or ranks disagree.
    ///
    /// # Panics
    /// If `x` and `y` are not the plan's rows of `cols` values.
    pub fn rows(&self, x: &[f32], cols: usize, y: &mut [f32]) -> Result<(), DistError> {
        assert_eq!(x.len(), self.plan.rows_in() * cols, "rows to send");
        assert_eq!(y.len(), self.plan.rows_out() * cols, "rows to receive");
        if !self.plan.is_covered() {
            y.fill(0.0);
        }
        self.go(Way::Forward, Arrive::Put, x, cols, y)
    }

    fn expect_rows(&self, tape: &Tape, x: Var) -> Result<usize, TensorError> {
        let got = tape.shape(x);
        let expected = Shape::new(self.plan.rows_in(), got.cols);
        let (operator, operand) = ("exchange", "the rows to send");
        if got == expected {
            Ok(got.cols)
        } else {
            Err(TensorError::Shape { operator, operand, expected, got })
        }
    }

    /// Takes rows of `x`, or gradients of rows in the backward pass, to where they belong in `y` of each rank.
    fn go(
        &self,
        way: Way,
        arrive: Arrive,
        x: &[f32],
        cols: usize,
        y: &mut [f32],
    ) -> Result<(), DistError> {
        if let Some(shared_rows) = self.ranks.shared_rows() {
            return self.go_by_shared_rows(shared_rows, way, arrive, x, cols, y);
        }
        let received = self.send(way, x, cols, Own::Stays, Mode::Blocking)?.wait()?;
        self.unpack(way, arrive, received, Some(x), cols, y);
        Ok(())
    }

    /// Gathers rows and sends them.
    fn send(
        &self,
        way: Way,
        x: &[f32],
        cols: usize,
        own: Own,
        mode: Mode,
    ) -> Result<ReceivedRows, DistError> {
        self.ranks.check()?;
        let stays = |peer| own == Own::Stays && peer == self.plan.rank();
        let messages = self.lists.leave(way).iter().enumerate().map(|(peer, runs)| {
            if stays(peer) {
                return Vec::new();
            }
            let mut message = self.ranks.buffers().empty(runs.len() * cols);
            runs.gather(x, cols, &mut message);
            message
        });
        let lengths: Vec<usize> =
            self.lists.come(way).iter().map(|runs| runs.len() * cols).collect();
        self.ranks.to_each(Call::Exchange, messages.collect(), &lengths, mode)
    }

    /// Takes received rows to where they belong, in the order of ranks. `x` is where the rank's own are,
    /// unless they travelled with the others.
    fn unpack(
        &self,
        way: Way,
        arrive: Arrive,
        received: Vec<Vec<f32>>,
        x: Option<&[f32]>,
        cols: usize,
        y: &mut [f32],
    ) {
        for (peer, (places, message)) in self.lists.come(way).iter().zip(received).enumerate() {
            match x {
                Some(x) if peer == self.plan.rank() => {
                    self.lists.leave(way)[peer].carry(x, places, cols, arrive, y);
                }
                _ => RowList::all(places.len()).carry(&message, places, cols, arrive, y),
            }
            self.ranks.buffers().give(message);
        }
    }
}

/// Where rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As the plan says.
    Forward,
    /// With its lists swapped: gradients.
    Backward,
}

/// What happens to the rows that a rank keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    /// They are copied from matrix to matrix.
    Stays,
    /// They are gathered like the others, because the matrix may be gone when the others arrive.
    Travels,
}

/// An exchange that is waited for at once.
#[derive(Debug)]
struct BlockingExchange {
    exchange: Exchange,
    cols: usize,
}

impl Custom for BlockingExchange {
    fn forward(&self, inputs: &[&[f32]], y: &mut [f32]) {
        if self.exchange.rows(inputs[0], self.cols, y).is_err() {
            y.fill(0.0);
        }
    }

    fn backward(&self, dy: &[f32], inputs: &mut [Option<&mut [f32]>]) {
        let Some(dx) = &mut inputs[0] else { return };
        // The ranks remember what failed.
        let _ = self.exchange.go(Way::Backward, Arrive::Add, dy, self.cols, dx);
    }

    fn can_overwrite(&self) -> bool {
        self.exchange.lists.once
    }

    fn overwrite(&self, dy: &[f32], dx: &mut [f32]) {
        if self.exchange.go(Way::Backward, Arrive::Put, dy, self.cols, dx).is_err() {
            dx.fill(0.0);
        }
    }

    fn is_collective(&self) -> bool {
        true
    }

    fn on_gpu(&self, gpu: &Gpu) -> Option<&dyn GpuSide> {
        self.exchange.ranks.are_linked(gpu).then_some(self)
    }
}

/// Whether some exchanges take each row of what they send, and take it once.
fn take_all(exchanges: &[Exchange]) -> bool {
    if let [only] = exchanges {
        return only.lists.once;
    }
    let plans = || exchanges.iter().map(Exchange::plan);
    let sent = plans().flat_map(|plan| plan.sends()).map(RowList::len).sum::<usize>();
    if plans().any(|plan| plan.rows_in() != sent) {
        return false;
    }
    let mut taken = vec![false; sent];
    let mut runs = plans().flat_map(|plan| plan.sends()).flat_map(RowList::runs);
    runs.all(|run| taken[run].iter_mut().all(|taken| !std::mem::replace(taken, true)))
}

/// Rows that have left and have not arrived yet.
#[derive(Debug)]
#[must_use = "rows that were sent are to be received"]
pub struct PendingExchange {
    exchange: Arc<OverlappedExchange>,
    token: Var,
}

impl PendingExchange {
    /// Waits for the rows of others; the rows at their new places.
    pub fn arrive(self, tape: &mut Tape) -> Var {
        Self::arrive_together(vec![self], tape)
    }

    /// Waits for the rows of several exchanges that put theirs into one matrix, each at places of its own.
    ///
    /// # Panics
    /// If there is none, or their matrices differ in shape.
    pub fn arrive_together(pending: Vec<Self>, tape: &mut Tape) -> Var {
        let shape_of =
            |one: &Self| Shape::new(one.exchange.exchange.plan.rows_out(), one.exchange.cols);
        let shape = shape_of(pending.first().expect("something is pending"));
        assert!(pending.iter().all(|one| shape_of(one) == shape), "rows of one matrix");
        let tokens: Vec<Var> = pending.iter().map(|one| one.token).collect();
        let exchanges: Vec<_> = pending.into_iter().map(|one| one.exchange).collect();
        let plans = || exchanges.iter().map(|one| &one.exchange.plan);
        let received = plans().flat_map(|plan| plan.receives()).map(RowList::len).sum::<usize>();
        let operator = ReceiveEnd { is_covered: received == shape.rows, exchanges };
        tape.custom(Arc::new(operator), &tokens, shape)
    }
}

/// What the two ends of an overlapped exchange share.
#[derive(Debug)]
struct OverlappedExchange {
    exchange: Exchange,
    cols: usize,
    received: Mutex<Option<ReceivedRows>>,
    between_gpus: Mutex<Option<OnGpu>>,
}

impl OverlappedExchange {
    fn depart(&self, way: Way, x: &[f32]) {
        let rows = self.exchange.send(way, x, self.cols, Own::Travels, Mode::Overlapped);
        // The ranks remember what failed.
        *lock(&self.received) = rows.ok();
    }

    /// Waits for the rows of others and writes them into their rows of `y`; false if none will arrive.
    fn arrive(&self, way: Way, arrive: Arrive, y: &mut [f32]) -> bool {
        let rows = lock(&self.received).take().and_then(|rows| rows.wait().ok());
        let Some(received) = rows else { return false };
        self.exchange.unpack(way, arrive, received, None, self.cols, y);
        true
    }
}

/// The end where rows leave and gradients arrive. Its value is a token that only orders the two.
#[derive(Debug)]
struct SendEnd {
    exchanges: Vec<Arc<OverlappedExchange>>,
    /// Whether every row goes to exactly one place: its gradient comes from there alone.
    once: bool,
}

impl Custom for SendEnd {
    fn forward(&self, inputs: &[&[f32]], y: &mut [f32]) {
        self.exchanges.iter().for_each(|one| one.depart(Way::Forward, inputs[0]));
        y.fill(0.0);
    }

    fn backward(&self, _: &[f32], inputs: &mut [Option<&mut [f32]>]) {
        let Some(dx) = &mut inputs[0] else { return };
        for one in &self.exchanges {
            one.arrive(Way::Backward, Arrive::Add, dx);
        }
    }

    fn can_overwrite(&self) -> bool {
        self.once
    }

    fn overwrite(&self, _: &[f32], dx: &mut [f32]) {
        let arrived = |one: &Arc<OverlappedExchange>| one.arrive(Way::Backward, Arrive::Put, dx);
        if !self.exchanges.iter().all(arrived) {
            dx.fill(0.0);
        }
    }

    fn is_collective(&self) -> bool {
        true
    }

    fn on_gpu(&self, gpu: &Gpu) -> Option<&dyn GpuSide> {
        self.exchanges[0].exchange.ranks.are_linked(gpu).then_some(self)
    }
}

/// The receiving end of some exchanges: rows arrive here in the forward pass. In the backward pass their gradients
/// leave from here, those of the last exchange first.
#[derive(Debug)]
struct ReceiveEnd {
    exchanges: Vec<Arc<OverlappedExchange>>,
    /// Whether rows come for all places.
    is_covered: bool,
}

impl Custom for ReceiveEnd {
    fn forward(&self, _: &[&[f32]], y: &mut [f32]) {
        if !self.is_covered {
            y.fill(0.0);
        }
        let arrived = |one: &Arc<OverlappedExchange>| one.arrive(Way::Forward, Arrive::Put, y);
        if !self.exchanges.iter().all(arrived) {
            y.fill(0.0);
        }
    }

    fn backward(&self, dy: &[f32], _: &mut [Option<&mut [f32]>]) {
        self.exchanges.iter().rev().for_each(|one| one.depart(Way::Backward, dy));
    }

    fn is_collective(&self) -> bool {
        true
    }

    fn on_gpu(&self, gpu: &Gpu) -> Option<&dyn GpuSide> {
        self.exchanges[0].exchange.ranks.are_linked(gpu).then_some(self)
    }
}
