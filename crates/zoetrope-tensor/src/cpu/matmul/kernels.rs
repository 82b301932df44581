//! The micro-kernels of `gemm-f32` that this processor can run.

use gemm_common::microkernel::MicroKernelFn;

/// The micro-kernels of one instruction set.
pub(super) struct Kernels {
    /// Columns of a vector.
    lanes: usize,
    /// Columns of a panel, a multiple of the lanes.
    pub(super) panel: usize,
    /// Rows of a tile.
    pub(super) rows: usize,
    /// For 1, 2, … vectors of columns, and within these for 1, 2, … rows.
    table: &'static [MicroKernelFn<f32>],
}

impl Kernels {
    pub(super) fn of(&self, cols: usize, rows: usize) -> MicroKernelFn<f32> {
        self.table[(cols.div_ceil(self.lanes) - 1) * self.rows + rows - 1]
    }
}

/// The micro-kernels that this processor can run, best first; none if `gemm` has to be asked.
#[cfg(target_arch = "x86_64")]
pub(super) fn available() -> impl Iterator<Item = &'static Kernels> {
    use gemm_f32::microkernel::{avx512f::f32 as avx512, fma::f32 as avx2};
    static AVX512: [[MicroKernelFn<f32>; avx512::NR]; avx512::MR_DIV_N] = avx512::UKR;
    static AVX2: [[MicroKernelFn<f32>; avx2::NR]; avx2::MR_DIV_N] = avx2::UKR;
    static KERNELS: [Kernels; 2] = [
        Kernels {
            lanes: 16,
            panel: 16 * avx512::MR_DIV_N,
            rows: avx512::NR,
            table: AVX512.as_flattened(),
        },
        Kernels { lanes: 8, panel: 8 * avx2::MR_DIV_N, rows: avx2::NR, table: AVX2.as_flattened() },
    ];
    let has = [is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("fma")];
    KERNELS.iter().zip(has).filter(|(_, has)| *has).map(|(kernels, _)| kernels)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn available() -> impl Iterator<Item = &'static Kernels> {
    std::iter::empty()
}

/// The best micro-kernels of this processor.
#[inline]
pub(super) fn best() -> Option<&'static Kernels> {
    static BEST: std::sync::OnceLock<Option<&'static Kernels>> = std::sync::OnceLock::new();
    *BEST.get_or_init(|| available().next())
}
