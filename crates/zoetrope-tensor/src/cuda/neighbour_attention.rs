//! Attention of targets over sampled neighbours on the device: the twin of
//! [`cpu::neighbour_attention`](crate::cpu::neighbour_attention), one launch forward and two backward.

use bytemuck::{Pod, Zeroable};

use super::dropout::DropoutMask;
use super::kernel::{ByValue, Kernel, grid_for};
use super::{Arg, Gpu, Scratch, Sink, View, ViewMut};
use crate::cpu::dropout::Dropout;
use crate::cpu::matmul::Accumulate;
use crate::neighbourhood::Neighbourhood;

static FORWARD: Kernel = Kernel::new("neighbour_attention", "neighbour_attention_forward");
static FORWARD_WIDE: Kernel =
    Kernel::new("neighbour_attention", "neighbour_attention_forward_wide");
static BACKWARD: Kernel = Kernel::new("neighbour_attention", "neighbour_attention_backward");
static BACKWARD_WIDE: Kernel =
    Kernel::new("neighbour_attention", "neighbour_attention_backward_wide");
static JOIN: Kernel = Kernel::new("neighbour_attention", "neighbour_attention_join");

/// Threads of a block; the kernels know it.
const BLOCK: u32 = 256;
/// Rows and columns of the time encoder that a block of the last kernel adds.
const JOINED: usize = 8;
/// Blocks of the backward pass at most: each leaves sums of the time encoder.
const BLOCKS: usize = 1024;
/// Blocks that work in global memory.
const WIDE_BLOCKS: usize = 256;
/// Bytes of a block's room up to which a multiprocessor of any GPU holds several.
const ROOM: usize = 48 << 10;

/// The lists of a layout and the time differences on the device, copied up together.
#[derive(Debug)]
pub(crate) struct Lists {
    memory: Scratch<u32>,
    /// Where each list begins: those of the layout in the order of [`Lists::new`].
    starts: [usize; 8],
    targets: usize,
    slots: usize,
    /// The most slots of a target.
    most: usize,
}

impl Lists {
    /// Copies what both ways read. Time differences are only there if `deltas` has them.
    pub(crate) fn new(gpu: &Gpu, layout: &Neighbourhood, deltas: &[f64]) -> Self {
        let lists: [&[u32]; 8] = [
            &layout.offsets,
            &layout.query,
            &layout.source,
            &layout.event,
            &layout.targets_of_query_offsets,
            &layout.targets_of_query,
            &layout.slots_of_source_offsets,
            &layout.slots_of_source,
        ];
        // Differences come first, because they have to lie on whole multiples of eight bytes.
        let deltas: &[u32] = bytemuck::cast_slice(deltas);
        let len = deltas.len() + lists.iter().map(|list| list.len()).sum::<usize>();
        let mut packed = Vec::with_capacity(len);
        packed.extend_from_slice(deltas);
        let starts = lists.map(|list| {
            packed.extend_from_slice(list);
            packed.len() - list.len()
        });
        let lengths = layout.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        Self {
            memory: gpu.uploaded(&packed),
            starts,
            targets: layout.targets(),
            slots: layout.slots(),
            most: lengths.max().unwrap_or(0),
        }
    }

    fn list(&self, at: usize) -> u64 {
        self.memory.view().ptr() + (self.starts[at] * size_of::<u32>()) as u64
    }
}

/// Operands and options; what the CPU's call has as slices are views.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeighbourCall<'a> {
    pub(crate) lists: &'a Lists,
    pub(crate) heads: usize,
    pub(crate) scale: f32,
    pub(crate) slope: Option<f32>,
    pub(crate) dropout: Option<Dropout>,
    pub(crate) queries: View<'a>,
    /// The matrix and its width; none is 0 wide.
    pub(crate) rows: (Option<View<'a>>, usize),
    pub(crate) features: (Option<View<'a>>, usize),
    pub(crate) time: Option<[View<'a>; 2]>,
}

/// `NeighbourCall` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Call {
    offsets: u64,
    query: u64,
    source: u64,
    event: u64,
    targets_of_query_offsets: u64,
    targets_of_query: u64,
    deltas: u64,
    queries: u64,
    rows: u64,
    features: u64,
    weight: u64,
    bias: u64,
    dropout: DropoutMask,
    targets: u32,
    query_count: u32,
    heads: u32,
    row_width: u32,
    feature_width: u32,
    time_width: u32,
    chunk: u32,
    scale: f32,
    slope: f32,
    leaky: u32,
}

impl NeighbourCall<'_> {
    fn time_width(&self) -> usize {
        self.time.map_or(0, |[weight, _]| weight.len())
    }

    /// X.
    fn width(&self) -> usize {
        self.rows.1 + self.features.1 + self.time_width() + 1
    }

    /// Values from one row of a tile to the next.
    fn stride(&self) -> usize {
        self.width().next_multiple_of(4)
    }

    fn query_count(&self) -> usize {
        self.queries.len() / (self.heads * self.width())
    }

    fn kernel(&self, gpu: &Gpu, chunk: usize) -> Call {
        let lists = self.lists;
        let pointer = |view: Option<View<'_>>| view.map_or(0, View::ptr);
        Call {
            offsets: lists.list(0),
            query: lists.list(1),
            source: lists.list(2),
            event: lists.list(3),
            targets_of_query_offsets: lists.list(4),
            targets_of_query: lists.list(5),
            deltas: lists.memory.view().ptr(),
            queries: self.queries.ptr(),
            rows: pointer(self.rows.0),
            features: pointer(self.features.0),
            weight: pointer(self.time.map(|[weight, _]| weight)),
            bias: pointer(self.time.map(|[_, bias]| bias)),
            dropout: DropoutMask::optional(gpu, self.dropout),
            targets: lists.targets as u32,
            query_count: self.query_count() as u32,
            heads: self.heads as u32,
            row_width: self.rows.1 as u32,
            feature_width: self.features.1 as u32,
            time_width: self.time_width() as u32,
            chunk: chunk as u32,
            scale: self.scale,
            slope: self.slope.unwrap_or(1.0),
            leaky: u32::from(self.slope.is_some()),
        }
    }

    /// Slots of a tile and bytes of the room with it, for a room of `fixed` values and `each` for a
    /// slot; None for the bytes if the room is too large for shared memory.
    fn tile(&self, gpu: &Gpu, fixed: usize, each: usize) -> (usize, Option<u32>) {
        let most = self.lists.most.max(1);
        for limit in [ROOM, gpu.shared_limit() as usize] {
            let chunk = (limit / size_of::<f32>()).saturating_sub(fixed) / each;
            if chunk >= most.min(8) {
                let chunk = chunk.min(most);
                return (chunk, Some(((fixed + chunk * each) * size_of::<f32>()) as u32));
            }
        }
        (most.min(8), None)
    }
}

/// Writes `out` [targets, heads·X] and `alpha` [slots, heads].
pub(crate) fn neighbour_attention_forward(
    gpu: &Gpu,
    call: &NeighbourCall<'_>,
    out: ViewMut<'_>,
    alpha: ViewMut<'_>,
) {
    let (targets, heads) = (call.lists.targets, call.heads);
    debug_assert_eq!(out.len(), targets * heads * call.width());
    debug_assert_eq!(alpha.len(), call.lists.slots * heads);
    let fixed = heads * call.stride() + heads * call.lists.most;
    let (chunk, shared) = call.tile(gpu, fixed, call.stride());
    let kernel = call.kernel(gpu, chunk);
    match shared {
        Some(bytes) => {
            let blocks = grid_for(targets, 1);
            gpu.launch(&FORWARD, blocks, BLOCK, bytes, &[&ByValue(&kernel), &out, &alpha]);
        }
        None => {
            let (blocks, room) = (targets.min(WIDE_BLOCKS), fixed + chunk * call.stride());
            let mut rooms = gpu.take(blocks * room);
            let (rooms, room) = (rooms.view_mut(), room as u64);
            let args: [&dyn Arg; 5] = [&ByValue(&kernel), &out, &alpha, &rooms, &room];
            gpu.launch(&FORWARD_WIDE, blocks as u32, BLOCK, 0, &args);
        }
    }
}

/// Where the gradients go; what is not wanted is None.
#[derive(Debug)]
pub(crate) struct NeighbourGradients<'a> {
    pub(crate) queries: Sink<'a>,
    pub(crate) rows: Sink<'a>,
    /// Of the time encoder, added to.
    pub(crate) weight: Option<ViewMut<'a>>,
    pub(crate) bias: Option<ViewMut<'a>>,
}

/// `NeighbourSlopes` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Slopes {
    alpha: u64,
    out: u64,
    d_out: u64,
    d_queries: u64,
    d_slots: u64,
    time_sums: u64,
    add: u32,
    padding: u32,
}

/// `NeighbourJoin` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Join {
    slots_of_source_offsets: u64,
    slots_of_source: u64,
    d_slots: u64,
    d_rows: u64,
    time_sums: u64,
    d_weight: u64,
    d_bias: u64,
    rows: u32,
    row_width: u32,
    time_width: u32,
    blocks: u32,
    row_blocks: u32,
    add: u32,
}

/// The gradients of [`neighbour_attention_forward`], from its results.
pub(crate) fn neighbour_attention_backward(
    gpu: &Gpu,
    call: &NeighbourCall<'_>,
    alpha: View<'_>,
    out: View<'_>,
    d_out: View<'_>,
    gradients: NeighbourGradients<'_>,
) {
    let (heads, stride, time_width) = (call.heads, call.stride(), call.time_width());
    let with_time = gradients.weight.is_some() || gradients.bias.is_some();
    let time = if with_time { 2 * time_width } else { 0 };
    let rows = gradients.rows.place.filter(|_| call.rows.1 > 0);
    let fixed = 3 * heads * stride + heads + 2 * time_width;
    let each = stride + 2 * heads;
    let (chunk, shared) = call.tile(gpu, fixed, each);
    let blocks = call.query_count().min(if shared.is_some() { BLOCKS } else { WIDE_BLOCKS });
    let d_slots = rows.as_ref().map(|_| gpu.take(call.lists.slots * call.rows.1));
    let time_sums = (time > 0).then(|| gpu.take(blocks * time));
    let pointer = |scratch: &Option<Scratch>| scratch.as_ref().map_or(0, |one| one.view().ptr());
    let place = |view: &Option<ViewMut<'_>>| view.as_ref().map_or(0, ViewMut::ptr);
    let kernel = call.kernel(gpu, chunk);
    let slopes = Slopes {
        alpha: alpha.ptr(),
        out: out.ptr(),
        d_out: d_out.ptr(),
        d_queries: place(&gradients.queries.place),
        d_slots: pointer(&d_slots),
        time_sums: pointer(&time_sums),
        add: u32::from(gradients.queries.mode == Accumulate::Add),
        padding: 0,
    };
    match shared {
        Some(bytes) => {
            let args: [&dyn Arg; 2] = [&ByValue(&kernel), &ByValue(&slopes)];
            gpu.launch(&BACKWARD, blocks as u32, BLOCK, bytes, &args);
        }
        None => {
            let room = fixed + chunk * each;
            let mut rooms = gpu.take(blocks * room);
            let (rooms, room) = (rooms.view_mut(), room as u64);
            let args: [&dyn Arg; 4] = [&ByValue(&kernel), &ByValue(&slopes), &rooms, &room];
            gpu.launch(&BACKWARD_WIDE, blocks as u32, BLOCK, 0, &args);
        }
    }
    let row_count = rows.as_ref().map_or(0, |d| d.len() / call.rows.1);
    let join = Join {
        slots_of_source_offsets: call.lists.list(6),
        slots_of_source: call.lists.list(7),
        d_slots: pointer(&d_slots),
        d_rows: place(&rows),
        time_sums: pointer(&time_sums),
        d_weight: place(&gradients.weight),
        d_bias: place(&gradients.bias),
        rows: row_count as u32,
        row_width: call.rows.1 as u32,
        time_width: time_width as u32,
        blocks: blocks as u32,
        row_blocks: grid_for(row_count, JOINED),
        add: u32::from(gradients.rows.mode == Accumulate::Add),
    };
    let grid = join.row_blocks + grid_for(time, JOINED);
    gpu.launch(&JOIN, grid, BLOCK, 0, &[&ByValue(&join)]);
}
