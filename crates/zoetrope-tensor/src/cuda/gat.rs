//! Graph attention on the device: the twin of [`cpu::gat`](crate::cpu::gat). All snapshots of a
//! group go in one launch forward and three backward; one more joins rows that were cut.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::dropout::DropoutMask;
use super::kernel::{Arg, ByValue, Kernel, grid_for};
use super::{Gpu, Scratch, View, ViewMut};
use crate::cpu::dropout::Dropout;
use crate::cpu::gat::Gat;
use crate::cpu::spmm::CsrRef;
use crate::sparse::{SparseGroup, SparseMatrix};

static FORWARD: [Kernel; 3] = [
    Kernel::new("gat", "gat_forward_1"),
    Kernel::new("gat", "gat_forward_2"),
    Kernel::new("gat", "gat_forward_4"),
];
static FORWARD_JOIN: Kernel = Kernel::new("gat", "gat_forward_join");
static TOTALS: Kernel = Kernel::new("gat", "gat_backward_totals");
static SOURCES: [Kernel; 3] = [
    Kernel::new("gat", "gat_backward_sources_1"),
    Kernel::new("gat", "gat_backward_sources_2"),
    Kernel::new("gat", "gat_backward_sources_4"),
];
static DESTINATIONS: Kernel = Kernel::new("gat", "gat_backward_destinations");
static BACKWARD_JOIN: Kernel = Kernel::new("gat", "gat_backward_join");

const BLOCK: u32 = 256;
/// Warps of a block.
const WARPS: usize = 8;
/// Entries of a segment, and snapshots of a launch; the kernels know them.
const SEGMENT: u32 = 256;
const MEMBERS: usize = 32;

/// The rows of a matrix on the device, as positions in the memory of [`DeviceMatrix`].
#[derive(Debug, Clone, Copy)]
struct DeviceRows {
    offsets: usize,
    columns: usize,
    values: usize,
    segments: usize,
    segment_count: usize,
}

/// What attention reads of a matrix: its rows, those of its transpose, and where the entries of the
/// transpose come from.
#[derive(Debug)]
struct DeviceMatrix {
    memory: Scratch<u32>,
    matrix: DeviceRows,
    transposed: DeviceRows,
    edge_of: usize,
}

impl DeviceMatrix {
    fn new(gpu: &Gpu, matrix: &SparseMatrix) -> Self {
        let (own, other) = (matrix.csr(), matrix.transposed_csr());
        let mut packed = Vec::new();
        let matrix_part = pack(own, &mut packed);
        let transposed = if std::ptr::eq(own.offsets, other.offsets) {
            matrix_part
        } else {
            pack(other, &mut packed)
        };
        let edge_of = packed.len();
        packed.extend_from_slice(matrix.edge_of());
        Self { memory: gpu.uploaded(&packed), matrix: matrix_part, transposed, edge_of }
    }

    /// The device's copy of a matrix, made once.
    fn of(gpu: &Gpu, matrix: &Arc<SparseMatrix>) -> Arc<Self> {
        gpu.derived(matrix, 0, || Self::new(gpu, matrix))
    }

    fn place(&self, at: usize) -> u64 {
        self.memory.view().ptr() + (at * size_of::<u32>()) as u64
    }
}

fn pack(csr: CsrRef<'_>, packed: &mut Vec<u32>) -> DeviceRows {
    let offsets = packed.len();
    packed.extend_from_slice(csr.offsets);
    let columns = packed.len();
    packed.extend_from_slice(csr.columns);
    let values = packed.len();
    packed.extend(csr.values.iter().map(|value| value.to_bits()));
    let segments = packed.len();
    let mut segment_count = 0;
    for row in 0..csr.rows {
        let len = csr.offsets[row + 1] - csr.offsets[row];
        if len > SEGMENT {
            let (first, parts) = (segment_count as u32, len.div_ceil(SEGMENT));
            (0..parts).for_each(|_| packed.extend([row as u32, first, parts]));
            segment_count += parts as usize;
        }
    }
    DeviceRows { offsets, columns, values, segments, segment_count }
}

/// `GatMember` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Member {
    offsets: u64,
    columns: u64,
    values: u64,
    segments: u64,
    edge_of: u64,
    edges_before: u64,
    segments_before: u32,
    stream: u32,
}

/// `GatGroup` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Table {
    members: [Member; MEMBERS],
    dropout: DropoutMask,
    count: u32,
    vertices: u32,
    segments: u32,
    heads: u32,
    width: u32,
    weighted: u32,
    slope: f32,
    padding: u32,
}

/// A group of snapshots as the kernels take it.
#[derive(Debug)]
pub(crate) struct GatCall<'a> {
    pub(crate) gat: Gat,
    pub(crate) group: &'a SparseGroup,
    /// The dropout of each snapshot.
    pub(crate) dropout: Vec<Option<Dropout>>,
    pub(crate) x: View<'a>,
    pub(crate) source: View<'a>,
    pub(crate) destination: View<'a>,
}

/// Snapshots that go in one launch: from the first on, with all their rows and columns.
struct Launch {
    rows: std::ops::Range<usize>,
    sources: std::ops::Range<usize>,
    entries: std::ops::Range<usize>,
    matrices: Table,
    transposes: Table,
}

impl GatCall<'_> {
    fn launches<'b>(&'b self, gpu: &'b Gpu) -> impl Iterator<Item = Launch> + 'b {
        // The kernels know one number of vertices: matrices that are not square go one by one.
        let at_once = if self.group.is_square() { MEMBERS } else { 1 };
        let members = self.group.members().chunks(at_once).zip(self.dropout.chunks(at_once));
        let (mut row, mut source, mut entry) = (0, 0, 0);
        members.map(move |(members, dropout)| {
            let sum = |of: fn(&SparseMatrix) -> usize| {
                members.iter().map(|member| of(member)).sum::<usize>()
            };
            let rows = row..row + sum(SparseMatrix::rows);
            let sources = source..source + sum(SparseMatrix::cols);
            let entries = entry..entry + sum(SparseMatrix::entries);
            (row, source, entry) = (rows.end, sources.end, entries.end);
            let copies: Vec<_> =
                members.iter().map(|member| DeviceMatrix::of(gpu, member)).collect();
            let table = |vertices: usize, part: fn(&DeviceMatrix) -> DeviceRows| {
                self.table(gpu, members, &copies, dropout, vertices, part)
            };
            let matrices = table(members[0].rows(), |rows| rows.matrix);
            let transposes = table(members[0].cols(), |rows| rows.transposed);
            Launch { rows, sources, entries, matrices, transposes }
        })
    }

    fn table(
        &self,
        gpu: &Gpu,
        members: &[Arc<SparseMatrix>],
        copies: &[Arc<DeviceMatrix>],
        dropout: &[Option<Dropout>],
        vertices: usize,
        part: fn(&DeviceMatrix) -> DeviceRows,
    ) -> Table {
        let (mut edges_before, mut segments) = (0, 0);
        let mut table = Table {
            dropout: DropoutMask::optional(gpu, dropout.first().copied().flatten()),
            count: members.len() as u32,
            vertices: vertices as u32,
            heads: self.gat.heads as u32,
            width: self.gat.width as u32,
            weighted: u32::from(self.gat.weighted),
            slope: self.gat.slope,
            ..Table::zeroed()
        };
        for (at, (member, rows)) in members.iter().zip(copies).enumerate() {
            let part = part(rows);
            table.members[at] = Member {
                offsets: rows.place(part.offsets),
                columns: rows.place(part.columns),
                values: rows.place(part.values),
                segments: rows.place(part.segments),
                edge_of: rows.place(rows.edge_of),
                edges_before,
                segments_before: segments,
                stream: dropout[at].map_or(0, |dropout| dropout.key.stream),
            };
            edges_before += member.entries() as u64;
            segments += part.segment_count as u32;
        }
        table.segments = segments;
        table
    }

    /// Which of the kernels adds the columns of a row.
    fn choice(&self) -> usize {
        match self.gat.heads.min(32) * self.gat.width {
            0..=32 => 0,
            33..=64 => 1,
            _ => 2,
        }
    }
}

impl Table {
    /// Blocks of a warp for each row and each segment.
    fn blocks(&self) -> u32 {
        let rows = self.count as usize * self.vertices as usize;
        grid_for(rows + self.segments as usize, WARPS)
    }
}

/// `GatForward` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Forward {
    x: u64,
    source: u64,
    destination: u64,
    out: u64,
    alpha: u64,
    tops: u64,
    totals: u64,
    parts: u64,
}

/// Writes `out` [T·N, heads·D] and `alpha` [E, heads], the entries of all snapshots behind each other.
pub(crate) fn gat_forward(
    gpu: &Gpu,
    call: &GatCall<'_>,
    mut out: ViewMut<'_>,
    mut alpha: ViewMut<'_>,
) {
    let heads = call.gat.heads;
    let wide = heads * call.gat.width;
    for Launch { rows, sources, entries, matrices, .. } in call.launches(gpu) {
        let segments = matrices.segments as usize;
        let parts = gpu.take(segments * wide);
        let (tops, totals) = (gpu.take(segments * heads), gpu.take(segments * heads));
        let (from, to) = (rows.start, rows.end);
        let forward = Forward {
            x: call.x.slice(sources.start * wide..sources.end * wide).ptr(),
            source: call.source.slice(sources.start * heads..sources.end * heads).ptr(),
            destination: call.destination.slice(from * heads..to * heads).ptr(),
            out: out.slice(from * wide..to * wide).ptr(),
            alpha: alpha.slice(entries.start * heads..entries.end * heads).ptr(),
            tops: tops.view().ptr(),
            totals: totals.view().ptr(),
            parts: parts.view().ptr(),
        };
        let args: [&dyn Arg; 2] = [&ByValue(&matrices), &ByValue(&forward)];
        gpu.launch(&FORWARD[call.choice()], matrices.blocks(), BLOCK, 0, &args);
        gpu.launch(&FORWARD_JOIN, grid_for(segments, WARPS), BLOCK, 0, &args);
    }
}

/// Where the gradients are added; what is not wanted is None.
#[derive(Debug)]
pub(crate) struct GatGradients<'a> {
    pub(crate) x: Option<ViewMut<'a>>,
    pub(crate) source: Option<ViewMut<'a>>,
    pub(crate) destination: Option<ViewMut<'a>>,
}

/// `GatBackward` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Backward {
    x: u64,
    source: u64,
    destination: u64,
    alpha: u64,
    d_out: u64,
    totals: u64,
    slopes: u64,
    d_x: u64,
    d_source: u64,
    d_destination: u64,
    x_parts: u64,
    source_parts: u64,
    destination_parts: u64,
}

/// Adds the gradients of [`gat_forward`], from its results.
pub(crate) fn gat_backward(
    gpu: &Gpu,
    call: &GatCall<'_>,
    alpha: View<'_>,
    out: View<'_>,
    d_out: View<'_>,
    mut gradients: GatGradients<'_>,
) {
    let (heads, width) = (call.gat.heads, call.gat.width);
    let wide = heads * width;
    let totals = gpu.take(call.destination.len());
    let lanes = width.next_power_of_two().min(32);
    let blocks = grid_for(totals.len() * lanes, BLOCK as usize);
    let (count, lanes) = (totals.len() as u64, lanes as u32);
    let args: [&dyn Arg; 6] = [&out, &d_out, &totals.view(), &count, &(width as u32), &lanes];
    gpu.launch(&TOTALS, blocks, BLOCK, 0, &args);
    for Launch { rows, sources, entries, matrices, transposes } in call.launches(gpu) {
        let times = |range: &std::ops::Range<usize>, by: usize| range.start * by..range.end * by;
        let (wide_rows, narrow_rows) = (times(&rows, wide), times(&rows, heads));
        let (wide_sources, narrow_sources) = (times(&sources, wide), times(&sources, heads));
        let entries = entries.start * heads..entries.end * heads;
        let slopes = gpu.take(entries.len());
        let (cut_sources, cut_rows) = (transposes.segments as usize, matrices.segments as usize);
        let x_parts = gpu.take(cut_sources * wide);
        let source_parts = gpu.take(cut_sources * heads);
        let destination_parts = gpu.take(cut_rows * heads);
        let place = |view: &mut Option<ViewMut<'_>>, range: &std::ops::Range<usize>| {
            view.as_mut().map_or(0, |view| view.slice(range.clone()).ptr())
        };
        let backward = Backward {
            x: call.x.slice(wide_sources.clone()).ptr(),
            source: call.source.slice(narrow_sources.clone()).ptr(),
            destination: call.destination.slice(narrow_rows.clone()).ptr(),
            alpha: alpha.slice(entries).ptr(),
            d_out: d_out.slice(wide_rows.clone()).ptr(),
            totals: totals.view().slice(narrow_rows.clone()).ptr(),
            slopes: slopes.view().ptr(),
            d_x: place(&mut gradients.x, &wide_sources),
            d_source: place(&mut gradients.source, &narrow_sources),
            d_destination: place(&mut gradients.destination, &narrow_rows),
            x_parts: x_parts.view().ptr(),
            source_parts: source_parts.view().ptr(),
            destination_parts: destination_parts.view().ptr(),
        };
        let (wide, narrow) = (wide as u32, heads as u32);
        let args: [&dyn Arg; 2] = [&ByValue(&transposes), &ByValue(&backward)];
        gpu.launch(&SOURCES[call.choice()], transposes.blocks(), BLOCK, 0, &args);
        let args: [&dyn Arg; 7] = [
            &ByValue(&transposes),
            &backward.x_parts,
            &backward.d_x,
            &wide,
            &backward.source_parts,
            &backward.d_source,
            &narrow,
        ];
        gpu.launch(&BACKWARD_JOIN, cut_sources as u32, BLOCK, 0, &args);
        if backward.d_destination == 0 {
            continue;
        }
        let args: [&dyn Arg; 2] = [&ByValue(&matrices), &ByValue(&backward)];
        gpu.launch(&DESTINATIONS, matrices.blocks(), BLOCK, 0, &args);
        let args: [&dyn Arg; 7] = [
            &ByValue(&matrices),
            &backward.destination_parts,
            &backward.d_destination,
            &narrow,
            &0u64,
            &0u64,
            &0u32,
        ];
        gpu.launch(&BACKWARD_JOIN, cut_rows as u32, BLOCK, 0, &args);
    }
}
