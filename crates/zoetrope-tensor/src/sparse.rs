//! Sparse matrices as operands: a matrix with its transpose, and groups of them.
//!
//! The backward pass of a product with `Â` is a product with `Âᵀ`. The transpose is made once,
//! when the graph is prepared, and shared by all steps and epochs. Products on the CPU, products on
//! a GPU and attention want different arrays: a matrix holds those that it was made for, and makes
//! the others when they are first asked for.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use zoetrope_graph::Csr;

use crate::cpu::arranged::Arranged;
use crate::cpu::spmm::CsrRef;
use crate::cuda::spmm::{Factors, Packets, Slices};

/// Which of the two matrices of a snapshot to multiply with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Matrix,
    Transpose,
}

/// Whether snapshots are sent to a GPU as differences to those before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Difference {
    /// If that is faster, decided for each sequence from a few of its snapshots. What is on the GPU is
    /// not sent again.
    #[default]
    Auto,
    /// Always, except for snapshots whose difference is no smaller.
    On,
    /// Never: snapshots are sent whole, those that do not stay there with every group.
    Off,
}

/// A sparse matrix and its transpose.
#[derive(Debug)]
pub struct SparseMatrix {
    rows: usize,
    cols: usize,
    entries: usize,
    products: OnceLock<Products>,
    /// What products on a GPU need, of each side; shared if the matrix is its own transpose.
    slices: [OnceLock<Arc<Slices>>; 2],
    /// Weights and factors of vertices that the values were made from, if that was told and is not
    /// to be seen from the values.
    scaled: Option<(Vec<f32>, Vec<f32>)>,
    attention: OnceLock<ByRow>,
}

/// What products on the CPU need.
#[derive(Debug)]
struct Products {
    matrix: Arranged,
    /// None if the matrix is its own transpose, bit for bit.
    transposed: Option<Arranged>,
}

impl Products {
    fn new(matrix: &Csr) -> Self {
        let transposed = matrix.transpose();
        let arranged = |csr: &Csr| Arranged::new(csr_ref(csr), csr.cols() as usize);
        Self {
            matrix: arranged(matrix),
            transposed: (transposed != *matrix).then(|| arranged(&transposed)),
        }
    }
}

/// What attention needs: rows, the rows of the transpose, and where their entries come from.
#[derive(Debug)]
struct ByRow {
    matrix: Csr,
    /// None if the matrix is its own transpose, bit for bit.
    transposed: Option<Csr>,
    edge_of: Vec<u32>,
}

impl ByRow {
    fn new(matrix: Csr) -> Self {
        let transposed = matrix.transpose();
        let transposed = (transposed != matrix).then_some(transposed);
        let edge_of = origins(&matrix);
        Self { matrix, transposed, edge_of }
    }
}

impl SparseMatrix {
    /// Takes a square or rectangular matrix for products on the CPU.
    pub fn new(matrix: Csr) -> Self {
        let products = OnceLock::from(Products::new(&matrix));
        Self { products, ..Self::empty(&matrix) }
    }

    /// Takes a square or rectangular matrix for products on a GPU.
    pub fn for_gpu(matrix: Csr) -> Self {
        Self { slices: slices(&matrix).map(OnceLock::from), ..Self::empty(&matrix) }
    }

    /// Tells what the values of a square matrix were made from, as [`scale`] makes them: weights, in the
    /// order of the entries, times a factor of each of their two vertices. From snapshot to snapshot
    /// only changes of these have to be sent to a GPU then.
    ///
    /// # Panics
    /// If there is no weight for an entry or no factor for a vertex.
    ///
    /// [`scale`]: zoetrope_graph::normalise::scale
    pub fn made_from(mut self, weights: Vec<f32>, factors: Vec<f32>) -> Self {
        assert_eq!(
            (weights.len(), factors.len()),
            (self.entries, self.rows),
            "parts of the matrix"
        );
        let plain = self.slices(Side::Matrix).is_factored();
        self.scaled = (!plain).then_some((weights, factors));
        self
    }

    /// Takes a square or rectangular matrix for attention over its entries.
    pub fn for_attention(matrix: Csr) -> Self {
        let empty = Self::empty(&matrix);
        Self { attention: OnceLock::from(ByRow::new(matrix)), ..empty }
    }

    fn empty(matrix: &Csr) -> Self {
        Self {
            rows: matrix.rows() as usize,
            cols: matrix.cols() as usize,
            entries: matrix.entries(),
            products: OnceLock::new(),
            slices: [OnceLock::new(), OnceLock::new()],
            scaled: None,
            attention: OnceLock::new(),
        }
    }

    /// The number of rows (destinations).
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns (sources).
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The matrix.
    pub fn matrix(&self) -> &Csr {
        &self.by_row().matrix
    }

    /// The matrix as products take it.
    pub fn arranged(&self) -> &Arranged {
        &self.products().matrix
    }

    /// The transpose as products take it.
    pub fn transposed_arranged(&self) -> &Arranged {
        let products = self.products();
        products.transposed.as_ref().unwrap_or(&products.matrix)
    }

    fn products(&self) -> &Products {
        self.products.get_or_init(|| Products::new(&self.source()))
    }

    fn by_row(&self) -> &ByRow {
        self.attention.get_or_init(|| ByRow::new(self.source().into_owned()))
    }

    /// A side of the matrix as products on a GPU take it.
    pub(crate) fn slices(&self, side: Side) -> &Arc<Slices> {
        let [matrix, transposed] = &self.slices;
        if matrix.get().is_none() || transposed.get().is_none() {
            let [own, other] = slices(&self.source());
            matrix.get_or_init(|| own);
            transposed.get_or_init(|| other);
        }
        self.slices[side as usize].get().expect("made above")
    }

    /// Weights, in the order of the matrix's entries, and factors of vertices that the values are made
    /// from; None if they follow from the values or are not known.
    pub(crate) fn scaled(&self) -> Option<(&[f32], &[f32])> {
        self.scaled.as_ref().map(|(weights, factors)| (&weights[..], &factors[..]))
    }

    /// The matrix out of whichever form it is in: one is there from the beginning.
    fn source(&self) -> Cow<'_, Csr> {
        match (self.attention.get(), self.products.get(), self.slices[0].get()) {
            (Some(by_row), ..) => Cow::Borrowed(&by_row.matrix),
            (_, Some(products), _) => Cow::Owned(products.matrix.to_csr()),
            (.., slices) => Cow::Owned(slices.expect("a matrix has a form").to_csr()),
        }
    }

    /// For each entry of the transpose, the position of the same entry in the matrix.
    pub(crate) fn edge_of(&self) -> &[u32] {
        &self.by_row().edge_of
    }

    pub(crate) fn csr(&self) -> CsrRef<'_> {
        csr_ref(self.matrix())
    }

    pub(crate) fn transposed_csr(&self) -> CsrRef<'_> {
        let by_row = self.by_row();
        csr_ref(by_row.transposed.as_ref().unwrap_or(&by_row.matrix))
    }
}

fn slices(matrix: &Csr) -> [Arc<Slices>; 2] {
    let transposed = matrix.transpose();
    let factors = Factors::of(csr_ref(matrix), matrix.cols() as usize);
    let sliced =
        |csr: &Csr| Arc::new(Slices::new(csr_ref(csr), csr.cols() as usize, factors.as_ref()));
    let own = sliced(matrix);
    let other = if transposed == *matrix { Arc::clone(&own) } else { sliced(&transposed) };
    [own, other]
}

fn csr_ref(csr: &Csr) -> CsrRef<'_> {
    CsrRef {
        rows: csr.rows() as usize,
        offsets: csr.row_offsets(),
        columns: csr.column_indices(),
        values: csr.values(),
    }
}

/// The positions of the entries in the order of the transpose: by column, then by row.
fn origins(matrix: &Csr) -> Vec<u32> {
    let mut next = vec![0u32; matrix.cols() as usize + 1];
    for &column in matrix.column_indices() {
        next[column as usize + 1] += 1;
    }
    for at in 1..next.len() {
        next[at] += next[at - 1];
    }
    let mut origins = vec![0; matrix.entries()];
    for (entry, &column) in matrix.column_indices().iter().enumerate() {
        origins[next[column as usize] as usize] = entry as u32;
        next[column as usize] += 1;
    }
    origins
}

/// The matrices of a group of snapshots, applied to stacked features as one block-diagonal matrix.
///
/// All matrices are square and of one size, or have as many rows and columns of their own number: a
/// rank's vertices, and with them those of others that it gathers from. Groups cut from one sequence
/// share it: cutting costs a counter, not a copy.
#[derive(Debug, Clone)]
pub struct SparseGroup {
    sequence: Arc<Sequence>,
    steps: Range<usize>,
    vertices: usize,
}

/// The matrices that groups are cut from.
#[derive(Debug)]
pub(crate) struct Sequence {
    members: Arc<[Arc<SparseMatrix>]>,
    /// The most snapshots that are on a GPU at a time, or 0 for all.
    at_once: AtomicUsize,
    /// How they are sent.
    difference: AtomicU8,
    /// Whether anything was multiplied with a transpose on a GPU.
    backward: AtomicBool,
    /// What each side is sent as, made when it is first asked for.
    packets: [OnceLock<Arc<Mutex<Packets>>>; 2],
}

impl Sequence {
    pub(crate) fn members(&self) -> &[Arc<SparseMatrix>] {
        &self.members
    }

    pub(crate) fn shared_members(&self) -> &Arc<[Arc<SparseMatrix>]> {
        &self.members
    }

    /// The packets of a side, if it is sent as differences.
    pub(crate) fn packets(&self, side: Side) -> Arc<Mutex<Packets>> {
        let make = || Arc::new(Mutex::new(Packets::new(&self.members, side)));
        Arc::clone(self.packets[side as usize].get_or_init(make))
    }

    /// Remembers that a backward pass needs the transposes.
    pub(crate) fn note_backward(&self) {
        self.backward.store(true, Ordering::Relaxed);
    }

    /// How many snapshots go to a GPU at a time, if not all stay there.
    pub(crate) fn at_once(&self) -> Option<usize> {
        Some(self.at_once.load(Ordering::Relaxed)).filter(|&at_once| at_once > 0)
    }

    pub(crate) fn difference(&self) -> Difference {
        let of = |one: &Difference| *one as u8 == self.difference.load(Ordering::Relaxed);
        [Difference::On, Difference::Off].into_iter().find(of).unwrap_or_default()
    }
}

impl SparseGroup {
    /// All snapshots of a sequence as one group.
    ///
    /// # Panics
    /// If there is no matrix, or they are not of one number of rows: that is a bug of whoever
    /// prepared the graph.
    pub fn new(sequence: Arc<[Arc<SparseMatrix>]>) -> Self {
        let vertices = sequence.first().expect("a group holds at least one snapshot").rows();
        let fits = |m: &Arc<SparseMatrix>| m.rows() == vertices;
        assert!(sequence.iter().all(fits), "the matrices of a group have as many rows");
        let steps = 0..sequence.len();
        let sequence = Sequence {
            members: sequence,
            at_once: AtomicUsize::new(0),
            difference: AtomicU8::new(Difference::Auto as u8),
            backward: AtomicBool::new(false),
            packets: [OnceLock::new(), OnceLock::new()],
        };
        Self { sequence: Arc::new(sequence), steps, vertices }
    }

    /// The group of some consecutive snapshots of this one.
    ///
    /// # Panics
    /// If the range is empty or reaches beyond the group.
    pub fn cut(&self, steps: Range<usize>) -> Self {
        assert!(!steps.is_empty() && steps.end <= self.len(), "no snapshots {steps:?}");
        let steps = self.steps.start + steps.start..self.steps.start + steps.end;
        Self { sequence: Arc::clone(&self.sequence), steps, vertices: self.vertices }
    }

    /// The number of snapshots.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Never true: a group holds at least one snapshot.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The number of vertices of each snapshot: the rows of its matrix.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Whether all matrices are square.
    pub(crate) fn is_square(&self) -> bool {
        self.members().iter().all(|member| member.cols() == self.vertices)
    }

    /// The columns of all matrices together: the rows of what they multiply.
    pub fn columns(&self) -> usize {
        self.members().iter().map(|member| member.cols()).sum()
    }

    /// The number of entries of all snapshots.
    pub fn entries(&self) -> usize {
        self.members().iter().map(|member| member.entries()).sum()
    }

    /// The matrices in time order.
    pub fn members(&self) -> &[Arc<SparseMatrix>] {
        &self.sequence.members[self.steps.clone()]
    }

    /// From now on copies matrices of the sequence that the group was cut from to a GPU group by
    /// group, `at_once` snapshots at most, instead of keeping all of them there.
    ///
    /// # Panics
    /// If `at_once` is 0.
    pub fn stream(&self, at_once: usize, difference: Difference) {
        assert!(at_once > 0, "a group holds at least one snapshot");
        self.send_as(difference);
        self.sequence.at_once.store(at_once, Ordering::Relaxed);
    }

    /// From now on sends matrices of the sequence that the group was cut from to a GPU in that way.
    pub fn send_as(&self, difference: Difference) {
        self.sequence.difference.store(difference as u8, Ordering::Relaxed);
    }

    /// From now on transposes are sent to a GPU together with matrices: a backward pass will need them.
    pub fn expect_backward(&self) {
        self.sequence.note_backward();
    }

    /// Whether a backward pass on a GPU has needed the transposes so far, or will.
    pub fn uses_transposes(&self) -> bool {
        self.sequence.backward.load(Ordering::Relaxed)
    }

    /// The bytes that a matrix of so many rows and entries takes on a GPU.
    pub fn matrix_bytes(rows: usize, entries: usize) -> usize {
        Slices::bytes(rows, entries)
    }

    /// What the group was cut from, and where.
    pub(crate) fn origin(&self) -> (&Arc<Sequence>, Range<usize>) {
        (&self.sequence, self.steps.clone())
    }
}
