//! From the gradients of gates as rows to those of the input, the weights and the biases.

use bytemuck::{Pod, Zeroable};

use super::InputColumns;
use crate::cpu::matmul::Accumulate;
use crate::cpu::recurrent::{Input, InputGradient, Sequence};
use crate::cuda::kernel::{ByValue, Kernel};
use crate::cuda::matmul::{MatMut, MatRef, matmul};
use crate::cuda::{Gpu, Scratch, View, ViewMut, elementwise};

static PRODUCTS: Kernel = Kernel::new("recurrent", "recurrent_weight_products");
static COLUMN_SUMS: Kernel = Kernel::new("recurrent", "recurrent_column_sums");
static JOIN: Kernel = Kernel::new("recurrent", "recurrent_join");

/// Outputs of a block of the products, along the gates and along the rows' features.
const TILE: (usize, usize) = (64, 32);
/// Rows that a block sums, at least, and blocks, about: shapes alone decide, so that every GPU
/// adds in the same order.
const LEAST_ROWS: usize = 64;
const BLOCKS: usize = 1056;
/// Least elements of a weight for which the products of the library are used instead.
const LIBRARY_ELEMENTS_MIN: usize = 1 << 15;
/// Products and segments of one launch, as the kernels declare them.
const PRODUCT_ROOM: usize = 3;
const SEGMENT_ROOM: usize = 6;

/// The gradients of gates as rows: those of a given share if they may be overwritten, else scratch.
pub(in crate::cuda) struct GateRows {
    /// Keeps the memory that `ptr` is in, unless the gradient of the input does.
    _own: Option<Scratch>,
    ptr: u64,
    len: usize,
}

impl GateRows {
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        input: &Input<View<'_>>,
        d_input: &InputGradient<ViewMut<'_>>,
        len: usize,
    ) -> Self {
        if let (Input::Gates(_), Some((d, Accumulate::Overwrite))) = (input, &d_input.x) {
            return Self { _own: None, ptr: d.ptr(), len };
        }
        let own = gpu.take(len);
        Self { ptr: own.view().ptr(), _own: Some(own), len }
    }

    /// The rows; kernels are given them to write, too.
    pub(in crate::cuda) fn view(&self) -> View<'_> {
        View::new(self.ptr, self.len)
    }
}

/// Some columns of the gradients of gates, [R, cols].
#[derive(Clone, Copy)]
pub(in crate::cuda) struct Left<'a> {
    pub(in crate::cuda) rows: View<'a>,
    pub(in crate::cuda) stride: usize,
    pub(in crate::cuda) from: usize,
    pub(in crate::cuda) cols: usize,
}

/// What the gates' weight was multiplied with.
#[derive(Clone, Copy)]
pub(in crate::cuda) enum Right<'a> {
    /// The rows of an input.
    Input([Option<InputColumns<'a>>; 2]),
    /// States of this width before each step: those before the first one, then the others.
    States(View<'a>, View<'a>, usize),
    /// Rows of this width.
    Rows(View<'a>, usize),
}

/// to += leftᵀ·right.
pub(in crate::cuda) struct WeightSum<'a> {
    pub(in crate::cuda) left: Left<'a>,
    pub(in crate::cuda) right: Right<'a>,
    pub(in crate::cuda) to: ViewMut<'a>,
}

/// to += the sum of parts, which are rows `stride` apart of which `from` is the first element.
pub(in crate::cuda) struct BiasSum<'a> {
    pub(in crate::cuda) parts: View<'a>,
    pub(in crate::cuda) stride: usize,
    pub(in crate::cuda) from: usize,
    pub(in crate::cuda) to: ViewMut<'a>,
}

/// As `Product` in `recurrent.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Product {
    left: u64,
    a: u64,
    b: u64,
    parts: u64,
    rows_a: u64,
    stride: u32,
    cols: u32,
    wide_a: u32,
    wide_b: u32,
}

/// As `Segment` in `recurrent.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Segment {
    parts: u64,
    to: u64,
    stride: u64,
    count: u32,
    len: u32,
}

impl Right<'_> {
    fn width(&self) -> usize {
        match self {
            Self::Input(parts) => parts.iter().flatten().map(|part| part.width).sum(),
            Self::States(_, _, width) | Self::Rows(_, width) => *width,
        }
    }
}

impl WeightSum<'_> {
    fn tiles(&self) -> usize {
        self.left.cols.div_ceil(TILE.0) * self.right.width().div_ceil(TILE.1)
    }

    fn product(&self, rows: usize, parts: &Scratch) -> Product {
        let Left { rows: left, stride, from, cols } = self.left;
        let width = |part: Option<InputColumns>| part.map_or(0, |part| part.width as u32);
        let address = |part: Option<InputColumns>| part.map_or(0, |part| part.rows.ptr());
        let (a, b, rows_a, wide_a, wide_b) = match self.right {
            Right::Input([x, beside]) => {
                (address(x), address(beside), rows, width(x), width(beside))
            }
            Right::States(first, rest, width) => {
                (first.ptr(), rest.ptr(), first.len() / width, width as u32, 0)
            }
            Right::Rows(all, width) => (all.ptr(), 0, rows, width as u32, 0),
        };
        Product {
            left: left.slice(from..left.len()).ptr(),
            a,
            b,
            parts: parts.view().ptr(),
            rows_a: rows_a as u64,
            stride: stride as u32,
            cols: cols as u32,
            wide_a,
            wide_b,
        }
    }

    /// The same by the library.
    fn by_matmul(mut self, gpu: &Gpu, rows: usize) {
        let (Left { rows: data, stride, from, cols }, width) = (self.left, self.right.width());
        let mut add = |skip: usize, count: usize, right: View<'_>, at: usize, cols_right: usize| {
            let data = data.slice(skip * stride + from..data.len());
            let left = MatRef { stride, ..MatRef::new(data, count, cols) }.t();
            let len = self.to.len();
            let to = self.to.slice(at..len);
            let c = MatMut { stride: width, ..MatMut::new(to, cols, cols_right) };
            matmul(gpu, left, MatRef::new(right, count, cols_right), c, Accumulate::Add);
        };
        match self.right {
            Right::Input(parts) => {
                let mut at = 0;
                for part in parts.into_iter().flatten().filter(|part| part.width > 0) {
                    add(0, rows, part.rows, at, part.width);
                    at += part.width;
                }
            }
            Right::States(first, rest, width) => {
                let above = first.len() / width;
                add(0, above, first, 0, width);
                if rows > above {
                    add(above, rows - above, rest.slice(0..(rows - above) * width), 0, width);
                }
            }
            Right::Rows(all, width) => add(0, rows, all, 0, width),
        }
    }
}

/// Adds weight gradients over `rows` rows and what is left to be summed of biases.
pub(in crate::cuda) fn add_sums<const W: usize, const B: usize>(
    gpu: &Gpu,
    rows: usize,
    weights: [Option<WeightSum<'_>>; W],
    biases: [Option<BiasSum<'_>>; B],
) {
    const { assert!(W <= PRODUCT_ROOM && W + B <= SEGMENT_ROOM) };
    let none = || [const { None::<Scratch> }; PRODUCT_ROOM];
    let mut segments = Segments::default();
    let mut products = [Product::zeroed(); PRODUCT_ROOM];
    let mut parts = none();
    let small = |sum: &WeightSum| sum.to.len() < LIBRARY_ELEMENTS_MIN && !sum.to.is_empty();
    let tiles: usize =
        weights.iter().flatten().filter(|sum| small(sum)).map(WeightSum::tiles).sum();
    let slabs = (BLOCKS / tiles.max(1)).clamp(1, rows.div_ceil(LEAST_ROWS).max(1));
    let slab = rows.div_ceil(slabs).max(1);
    let slabs = rows.div_ceil(slab);
    let mut count = 0;
    for mut sum in weights.into_iter().flatten() {
        if !small(&sum) {
            if !sum.to.is_empty() {
                sum.by_matmul(gpu, rows);
            }
            continue;
        }
        let len = sum.to.len();
        let own = parts[count].insert(gpu.take(slabs * len));
        products[count] = sum.product(rows, own);
        segments.add(own.view(), 0, len, sum.to.reborrow());
        count += 1;
    }
    if count > 0 {
        let grid = (slabs as u32, tiles as u32);
        let arguments = [rows as u64, slab as u64];
        let products = ByValue(&products);
        gpu.launch(&PRODUCTS, grid, 128, 0, &[&products, &arguments[0], &arguments[1]]);
    }
    for BiasSum { parts, stride, from, to } in biases.into_iter().flatten() {
        segments.add(parts, from, stride, to);
    }
    segments.join(gpu);
}

/// Sums of parts that are left to be added, in one launch.
#[derive(Default)]
pub(super) struct Segments {
    of: [Segment; SEGMENT_ROOM],
    count: usize,
}

impl Default for Segment {
    fn default() -> Self {
        Self::zeroed()
    }
}

impl Segments {
    /// Rows of parts, `stride` apart, of which the elements from `from` on are added to `to`.
    pub(super) fn add(&mut self, parts: View<'_>, from: usize, stride: usize, to: ViewMut<'_>) {
        self.of[self.count] = Segment {
            parts: parts.slice(from.min(parts.len())..parts.len()).ptr(),
            to: to.ptr(),
            stride: stride as u64,
            count: (parts.len() / stride.max(1)) as u32,
            len: to.len() as u32,
        };
        self.count += 1;
    }

    pub(super) fn join(&self, gpu: &Gpu) {
        let longest = self.of.iter().map(|segment| segment.len).max().unwrap_or(0);
        // Groups of threads without a part would add zeros.
        let parts = self.of.iter().map(|segment| segment.count).max().unwrap_or(0);
        let grid = (longest.div_ceil(32), self.count as u32);
        gpu.launch(&JOIN, grid, 32 * parts.clamp(1, 32), 0, &[&ByValue(&self.of)]);
    }
}

/// Rows of sums over slabs of a matrix [R, cols].
pub(in crate::cuda) fn column_sums(gpu: &Gpu, x: View<'_>, rows: usize, cols: usize) -> Scratch {
    let slabs = rows.div_ceil(LEAST_ROWS).clamp(1, BLOCKS / cols.div_ceil(32).max(1));
    let slab = rows.div_ceil(slabs).max(1);
    let slabs = rows.div_ceil(slab);
    let mut parts = gpu.take(slabs * cols);
    let grid = (slabs as u32, cols.div_ceil(32) as u32);
    let (n, slab, width) = (rows as u64, slab as u64, cols as u32);
    gpu.launch(&COLUMN_SUMS, grid, 256, 0, &[&x, &n, &width, &slab, &parts.view_mut()]);
    parts
}

/// Sends the gradients of the gates [R, G·H] on to the input.
pub(in crate::cuda) fn send(
    gpu: &Gpu,
    input: &Input<View<'_>>,
    shape: Sequence,
    gates: usize,
    d_gates: View<'_>,
    d_input: [Option<(ViewMut<'_>, Accumulate)>; 2],
) {
    let (cells, wide) = (shape.cells(), gates * shape.hidden);
    let d_gates = MatRef::new(d_gates, cells, wide);
    for (part, d) in super::parts(input, shape, gates).into_iter().zip(d_input) {
        let Some((d, mode)) = d else { continue };
        match part {
            Some(part) => {
                matmul(gpu, d_gates, part.weight(), MatMut::new(d, cells, part.width), mode);
            }
            // The gates' share itself: written in place by the kernel unless it has to be added.
            None if mode == Accumulate::Add => elementwise::scale_add(gpu, 1.0, d_gates.data, d),
            None => {}
        }
    }
}

/// The gradients of an input if no gate depends on it.
pub(in crate::cuda) fn of_nothing(gpu: &Gpu, gradient: InputGradient<ViewMut<'_>>) {
    for d in [gradient.x, gradient.beside].into_iter().flatten() {
        if let (d, Accumulate::Overwrite) = d {
            gpu.zero(d);
        }
    }
}
