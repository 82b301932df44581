//! Sparse times dense on a GPU: `y (+)= diag(M₀, M₁, …)·x` for a group of snapshots.
//!
//! One launch for the group, and a second if a row of the sequence is too long for one warp. [`slices`]
//! has the format of matrices on the device. [`resident`] copies them there once, to stay; [`streamed`]
//! copies them group by group, ahead of their use; both can send differences instead ([`coded`]). The
//! kernels are in `spmm.cu`.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::gpu::lock;
use super::{Consumer, Gpu, Kernel, View, ViewMut};
use crate::cpu::matmul::Accumulate;
use crate::sparse::{Sequence, Side, SparseGroup, SparseMatrix};

mod coded;
mod coded_rows;
mod codes;
mod difference;
mod forecast;
mod locked;
mod packet;
mod packets;
mod resident;
mod slices;
mod snapshot_changes;
mod streamed;
#[cfg(test)]
mod test_support;

pub use forecast::SentForecast;
pub(crate) use packets::Packets;
use resident::Resident;
pub(crate) use slices::{Factors, Slices};
use streamed::Streamed;

/// Threads of a block of the first and of the second phase.
const THREADS: usize = 128;
const FOLD_THREADS: u32 = 256;
/// Blocks that write names of factors for each multiprocessor.
const NAMING: u32 = 16;
/// Snapshots of a launch at most: what a grid has room for in its second direction.
const AT_ONCE: usize = 65_535;
/// Lanes of a warp.
const WARP: usize = 32;
/// Lanes that share a row up to which columns and values are read only once.
const NARROW: usize = 4;
/// Bytes of y beyond which the cache of the largest GPUs would not have it for the next reader.
const STREAMING_BYTES_MIN: usize = 32 << 20;
/// Values of a sector, the least that memory takes.
const SECTOR: usize = 8;

static NARROW_1: Kernel = Kernel::new("spmm", "spmm_narrow_1");
static NARROW_2: Kernel = Kernel::new("spmm", "spmm_narrow_2");
static NARROW_4: Kernel = Kernel::new("spmm", "spmm_narrow_4");
static WIDE_1: Kernel = Kernel::new("spmm", "spmm_wide_1");
static WIDE_2: Kernel = Kernel::new("spmm", "spmm_wide_2");
static WIDE_4: Kernel = Kernel::new("spmm", "spmm_wide_4");
static WIDER_1: Kernel = Kernel::new("spmm", "spmm_wider_1");
static WIDER_2: Kernel = Kernel::new("spmm", "spmm_wider_2");
static WIDER_4: Kernel = Kernel::new("spmm", "spmm_wider_4");
static FOLD_1: Kernel = Kernel::new("spmm", "spmm_fold_1");
static FOLD_2: Kernel = Kernel::new("spmm", "spmm_fold_2");
static FOLD_4: Kernel = Kernel::new("spmm", "spmm_fold_4");
static NAMES: Kernel = Kernel::new("spmm", "spmm_names");

/// How the lanes of a warp share rows of x and y.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lanes {
    /// Elements that a lane reads at once.
    elements: usize,
    /// Lanes that share a row.
    lanes: usize,
    /// How many times a lane reads of a row.
    times: usize,
}

impl Lanes {
    /// For rows of `width` elements, the first of which lie at the given addresses.
    fn new(width: usize, addresses: [u64; 2]) -> Self {
        let fits = |elements: usize| {
            let bytes = (elements * size_of::<f32>()) as u64;
            width.is_multiple_of(elements) && addresses.iter().all(|at| at.is_multiple_of(bytes))
        };
        let elements = [4, 2].into_iter().find(|&elements| fits(elements)).unwrap_or(1);
        let vectors = width / elements;
        let lanes = vectors.next_power_of_two().min(WARP);
        Self { elements, lanes, times: if vectors > lanes { 2 } else { 1 } }
    }

    fn kernels(self) -> (&'static Kernel, &'static Kernel) {
        let (narrow, wide, wider, fold) = match self.elements {
            4 => (&NARROW_4, &WIDE_4, &WIDER_4, &FOLD_4),
            2 => (&NARROW_2, &WIDE_2, &WIDER_2, &FOLD_2),
            _ => (&NARROW_1, &WIDE_1, &WIDER_1, &FOLD_1),
        };
        match (self.lanes, self.times) {
            (..=NARROW, 1) => (narrow, fold),
            (_, 1) => (wide, fold),
            _ => (wider, fold),
        }
    }

    fn log2(self) -> u32 {
        self.lanes.ilog2()
    }
}

/// y (+)= the matrices of a group, or their transposes, times x.
pub(crate) fn multiply(
    gpu: &Gpu,
    group: &SparseGroup,
    side: Side,
    x: View<'_>,
    y: ViewMut<'_>,
    mode: Accumulate,
) {
    let (sequence, steps) = group.origin();
    if side == Side::Transpose {
        sequence.note_backward();
    }
    if !group.is_square() {
        return multiply_one_by_one(gpu, group, side, x, y, mode);
    }
    debug_assert_eq!(x.len(), y.len(), "square matrices");
    let width = x.len() / (group.vertices() * group.len()).max(1);
    if width == 0 {
        return;
    }
    let at_once = sequence.at_once().unwrap_or(AT_ONCE).min(AT_ONCE);
    let rows = group.vertices() * width;
    let mut rest = y;
    for from in steps.clone().step_by(at_once) {
        let part = from..steps.end.min(from + at_once);
        let (y, beyond) = rest.split_at(part.len() * rows);
        let first = (part.start - steps.start) * rows;
        let x = x.slice(first..first + y.len());
        with_forms(gpu, sequence, side, part, |forms, limits| {
            launch(gpu, forms, limits, [group.vertices(); 2], x, y, mode);
        });
        rest = beyond;
    }
}

/// The same if matrices differ in their columns: a launch for each.
fn multiply_one_by_one(
    gpu: &Gpu,
    group: &SparseGroup,
    side: Side,
    x: View<'_>,
    y: ViewMut<'_>,
    mode: Accumulate,
) {
    let (sequence, steps) = group.origin();
    let size = |member: &SparseMatrix| match side {
        Side::Matrix => [member.rows(), member.cols()],
        Side::Transpose => [member.cols(), member.rows()],
    };
    let inputs: usize = group.members().iter().map(|member| size(member)[1]).sum();
    let width = x.len() / inputs.max(1);
    let (mut rest, mut first) = (y, 0);
    for (step, member) in steps.zip(group.members()) {
        let [rows, cols] = size(member);
        let (y, beyond) = rest.split_at(rows * width);
        let x = x.slice(first..first + cols * width);
        if !x.is_empty() && !y.is_empty() {
            with_forms(gpu, sequence, side, step..step + 1, |forms, limits| {
                launch(gpu, forms, limits, [rows, cols], x, y, mode);
            });
        }
        (rest, first) = (beyond, first + cols * width);
    }
}

/// Calls `f` with the addresses of some consecutive matrices of a sequence on the device.
fn with_forms(
    gpu: &Gpu,
    sequence: &Arc<Sequence>,
    side: Side,
    steps: Range<usize>,
    f: impl FnOnce(View<'_, u64>, Limits),
) {
    match sequence.at_once() {
        None => {
            let resident = resident(gpu, sequence, side);
            f(resident.forms(steps), resident.limits());
        }
        Some(at_once) => {
            let streamed = streamed(gpu, sequence, side, at_once);
            let mut streamed = lock(&streamed);
            gpu.charging(Consumer::Graph, || streamed.enter(steps.clone()));
            f(streamed.forms(steps), streamed.limits());
        }
    }
}

fn resident(gpu: &Gpu, sequence: &Arc<Sequence>, side: Side) -> Arc<Resident> {
    let make = || Resident::new(gpu, sequence, side);
    gpu.derived(sequence, side as u64, || gpu.charging(Consumer::Graph, make))
}

fn streamed(
    gpu: &Gpu,
    sequence: &Arc<Sequence>,
    side: Side,
    at_once: usize,
) -> Arc<Mutex<Streamed>> {
    let variant = (at_once as u64) << 3 | (sequence.difference() as u64) << 1 | side as u64;
    let make = || Mutex::new(Streamed::new(gpu, sequence, side, at_once));
    gpu.derived(sequence, variant, || gpu.charging(Consumer::Graph, make))
}

impl Gpu {
    /// Begins to copy the matrices of a group to the GPU (and their transposes for a backward pass),
    /// beside what the GPU computes. What is there to stay is copied once, in time for its first use.
    ///
    /// Groups that are [streamed](SparseGroup::stream) take turns in two areas, so a loop
    /// [enters](Self::enter) a group, prefetches the next, and then launches the products of the first:
    /// the copies wait only for what was launched before them.
    ///
    /// # Panics
    /// If a streamed group holds more snapshots than go at once.
    pub fn prefetch(&self, group: &SparseGroup, backward: bool) {
        let (sequence, steps) = group.origin();
        for &side in sides(backward) {
            match sequence.at_once() {
                None => drop(resident(self, sequence, side)),
                Some(at_once) => {
                    assert!(steps.len() <= at_once, "{} snapshots at once", steps.len());
                    let streamed = streamed(self, sequence, side, at_once);
                    self.charging(Consumer::Graph, || lock(&streamed).prefetch(steps.clone()));
                }
            }
        }
    }

    /// Lets everything that is launched from here on wait until the matrices of a group are on the
    /// GPU. Products do that by themselves, save in a recording, which has no place for it: so this is
    /// called before a recording is made or launched.
    ///
    /// # Panics
    /// As [`prefetch`](Self::prefetch).
    pub fn enter(&self, group: &SparseGroup, backward: bool) {
        self.prefetch(group, backward);
        let (sequence, steps) = group.origin();
        let Some(at_once) = sequence.at_once() else { return };
        for &side in sides(backward) {
            let streamed = streamed(self, sequence, side, at_once);
            self.charging(Consumer::Graph, || lock(&streamed).enter(steps.clone()));
        }
    }
}

impl Gpu {
    /// Forgets which matrices of the sequence of a group are on the GPU, if they are streamed: what is sent
    /// from here on is what would be sent to a GPU that has none.
    pub fn forget(&self, group: &SparseGroup, backward: bool) {
        let (sequence, _) = group.origin();
        let Some(at_once) = sequence.at_once() else { return };
        for &side in sides(backward) {
            lock(&streamed(self, sequence, side, at_once)).forget();
        }
    }
}

fn sides(backward: bool) -> &'static [Side] {
    if backward { &[Side::Matrix, Side::Transpose] } else { &[Side::Matrix] }
}

fn launch(
    gpu: &Gpu,
    forms: View<'_, u64>,
    limits: Limits,
    [rows, cols]: [usize; 2],
    x: View<'_>,
    y: ViewMut<'_>,
    mode: Accumulate,
) {
    let members = forms.len() as u32;
    let width = x.len() / (cols * forms.len());
    let lanes = Lanes::new(width, [x.ptr(), y.ptr()]);
    let (multiply, fold) = lanes.kernels();
    let warps = THREADS / WARP;
    let unit_blocks = limits.units.div_ceil(warps);
    let slice_blocks = (limits.slices * lanes.lanes).div_ceil(warps);
    let tiles = width.div_ceil(lanes.elements * lanes.lanes * lanes.times);
    let partial = gpu.take(forms.len() * limits.slots * width);
    // As in spmm.cu. Rows that are not whole sectors of memory are put together in the cache.
    let past = size_of::<f32>() * y.len() > STREAMING_BYTES_MIN && width.is_multiple_of(SECTOR);
    let mode: u32 = match mode {
        Accumulate::Add => 1,
        Accumulate::Overwrite if past => 2,
        Accumulate::Overwrite => 0,
    };
    gpu.launch(
        multiply,
        ((tiles * (unit_blocks + slice_blocks)) as u32, members),
        THREADS as u32,
        0,
        &[
            &forms,
            &x,
            &y,
            &partial.view(),
            &(rows as u32),
            &(cols as u32),
            &(width as u32),
            &lanes.log2(),
            &(limits.slots as u32),
            &(unit_blocks as u32),
            &(slice_blocks as u32),
            &mode,
        ],
    );
    let tiles = width.div_ceil(lanes.elements * lanes.lanes);
    gpu.launch(
        fold,
        ((tiles * limits.folds) as u32, members),
        FOLD_THREADS,
        0,
        &[
            &forms,
            &y,
            &partial.view(),
            &(rows as u32),
            &(width as u32),
            &lanes.log2(),
            &(limits.slots as u32),
            &(limits.folds as u32),
            &mode,
        ],
    );
}

/// Computes what stands for the values of matrices that came without.
fn put_names(gpu: &Gpu, forms: View<'_, u64>) {
    let grid = (NAMING * gpu.multiprocessors(), forms.len() as u32);
    gpu.launch(&NAMES, grid, THREADS as u32, 0, &[&forms]);
}

/// The most that a matrix of a sequence has of each: launches are as large for every group of it, so
/// that a recorded launch serves them all.
#[derive(Debug, Clone, Copy, Default)]
struct Limits {
    slices: usize,
    units: usize,
    folds: usize,
    slots: usize,
}

impl Limits {
    fn of<'a>(all: impl Iterator<Item = &'a Arc<Slices>>) -> Self {
        all.fold(Self::default(), |limits, one| Self {
            slices: limits.slices.max(one.slices()),
            units: limits.units.max(one.units()),
            folds: limits.folds.max(one.folds()),
            slots: limits.slots.max(one.slots()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_cover_a_row_with_few_idle_ones() {
        let lanes = |width| {
            let Lanes { elements, lanes, times } = Lanes::new(width, [256, 512]);
            (elements, lanes, times)
        };
        let cases = [1, 2, 3, 6, 12, 16, 32, 33, 64, 100, 128, 172, 256, 512].map(lanes);
        let expected = [
            (1, 1, 1),
            (2, 1, 1),
            (1, 4, 1),
            (2, 4, 1),
            (4, 4, 1),
            (4, 4, 1),
            (4, 8, 1),
            (1, 32, 2),
            (4, 16, 1),
            (4, 32, 1),
            (4, 32, 1),
            (4, 32, 2),
            (4, 32, 2),
            (4, 32, 2),
        ];
        assert_eq!(cases, expected);
    }

    #[test]
    fn rows_that_begin_at_odd_places_are_read_element_by_element() {
        assert_eq!(Lanes::new(8, [256, 260]).elements, 1);
        assert_eq!(Lanes::new(8, [256, 264]).elements, 2);
    }
}
