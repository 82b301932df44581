//! Dense products by cuBLASLt.
//!
//! The library knows matrices by columns: our row-major C = A·B is its Cᵀ = Bᵀ·Aᵀ, so operands are
//! swapped and nothing moves. A bias is one value per row of its result, which is a column of ours.
//!
//! What the library's heuristic chooses for a shape is kept as a plan, for as long as the GPU is
//! open. Only algorithms whose sums have a fixed order are allowed; the workspace is one block that
//! is never given back, so that recorded graphs may point at it. A call neither allocates nor waits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::sync::Mutex;

use cudarc::cublaslt::sys::{self, cublasStatus_t};

use super::error::CudaError;
use super::gpu::lock;
use super::matmul::{self, Product};
use super::{Consumer, Gpu, Queue};
use crate::cpu::activation::Activation;

/// Bytes of scratch that a product may use: taken from the memory of a GPU at the first product.
pub const WORKSPACE_BYTES: usize = 32 << 20;

/// The library's handle and its plans.
#[derive(Debug)]
pub(super) struct Products {
    handle: sys::cublasLtHandle_t,
    workspace: u64,
    /// A plan, or nothing if the library has no algorithm for a shape.
    plans: Mutex<HashMap<Key, Option<Plan>>>,
}

// SAFETY: a handle may be used from any thread; plans, which a call changes, are behind a lock.
unsafe impl Send for Products {}
// SAFETY: as above.
unsafe impl Sync for Products {}

/// One of the three matrices: as the library sees it, transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Layout {
    rows: u64,
    cols: u64,
    distance: i64,
    step: i64,
    transposed: bool,
    /// Of the address, in bytes: 16 if algorithms may load vectors.
    alignment: u32,
}

/// Everything that a choice of algorithm depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    left: Layout,
    right: Layout,
    result: Layout,
    summand_alignment: u32,
    batch: i32,
    epilogue: sys::cublasLtEpilogue_t,
    precision: u8,
}

/// The library's description of a product, and its choice. Lives as long as the process.
#[derive(Debug)]
struct Plan {
    operation: sys::cublasLtMatmulDesc_t,
    left: sys::cublasLtMatrixLayout_t,
    right: sys::cublasLtMatrixLayout_t,
    result: sys::cublasLtMatrixLayout_t,
    algorithm: sys::cublasLtMatmulAlgo_t,
}

fn check(call: &'static str, status: cublasStatus_t) -> Result<(), CudaError> {
    match status {
        cublasStatus_t::CUBLAS_STATUS_SUCCESS => Ok(()),
        other => Err(CudaError::Call { call, reason: format!("{other:?}") }),
    }
}

fn alignment(address: u64) -> u32 {
    if address.is_multiple_of(16) { 16 } else { 4 }
}

impl Layout {
    /// A matrix of ours, `rows × cols` with a row stride: to the library its transpose.
    fn new([rows, cols, stride, step]: [usize; 4], transposed: bool, address: u64) -> Self {
        Self {
            rows: cols as u64,
            cols: rows as u64,
            distance: stride.max(1) as i64,
            step: step as i64,
            transposed,
            alignment: alignment(address),
        }
    }

    fn describe(&self, batch: i32) -> Result<sys::cublasLtMatrixLayout_t, CudaError> {
        use sys::cublasLtMatrixLayoutAttribute_t as A;
        let (mut layout, f32) = (std::ptr::null_mut(), sys::cudaDataType_t::CUDA_R_32F);
        // SAFETY: the library writes the handle of a fresh description.
        let status = unsafe {
            sys::cublasLtMatrixLayoutCreate(&mut layout, f32, self.rows, self.cols, self.distance)
        };
        check("describing a matrix", status)?;
        if batch > 1 {
            let count = A::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
            let offset = A::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
            // SAFETY: the attributes are an i32 and an i64, which outlive the calls.
            unsafe {
                let set = sys::cublasLtMatrixLayoutSetAttribute;
                check("describing a batch", set(layout, count, address(&batch), 4))?;
                check("describing a batch", set(layout, offset, address(&self.step), 8))?;
            }
        }
        Ok(layout)
    }
}

fn address<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}

impl Products {
    fn open(gpu: &Gpu) -> Result<Self, CudaError> {
        gpu.make_current();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the library was found when the GPU was opened; it writes a handle.
        check("opening cuBLASLt", unsafe { sys::cublasLtCreate(&mut handle) })?;
        let memory = gpu.charging(Consumer::Workspace, || gpu.allocate(WORKSPACE_BYTES));
        let workspace = memory.ptr();
        // Never given back: the block belongs to the GPU, which would otherwise hold itself.
        std::mem::forget(memory);
        Ok(Self { handle, workspace, plans: Mutex::default() })
    }

    fn plan(&self, key: &Key) -> Result<Option<Plan>, CudaError> {
        use sys::cublasComputeType_t as C;
        let compute = match key.precision {
            1 => C::CUBLAS_COMPUTE_32F_FAST_TF32,
            2 => C::CUBLAS_COMPUTE_32F_FAST_16BF,
            _ => C::CUBLAS_COMPUTE_32F,
        };
        let mut operation = std::ptr::null_mut();
        let scale = sys::cudaDataType_t::CUDA_R_32F;
        // SAFETY: the library writes the handle of a fresh description.
        let status = unsafe { sys::cublasLtMatmulDescCreate(&mut operation, compute, scale) };
        check("describing a product", status)?;
        use sys::cublasLtMatmulDescAttributes_t as D;
        let turns = [key.left.transposed, key.right.transposed].map(i32::from);
        let set = |which, value: *const c_void| {
            // SAFETY: these attributes are four bytes, which outlive the call.
            let status = unsafe { sys::cublasLtMatmulDescSetAttribute(operation, which, value, 4) };
            check("describing a product", status)
        };
        set(D::CUBLASLT_MATMUL_DESC_TRANSA, address(&turns[0]))?;
        set(D::CUBLASLT_MATMUL_DESC_TRANSB, address(&turns[1]))?;
        set(D::CUBLASLT_MATMUL_DESC_EPILOGUE, address(&key.epilogue))?;
        let [left, right, result] = [key.left, key.right, key.result];
        let mut plan = Plan {
            operation,
            left: left.describe(key.batch)?,
            right: right.describe(key.batch)?,
            result: result.describe(key.batch)?,
            algorithm: sys::cublasLtMatmulAlgo_t { data: [0; 8] },
        };
        Ok(self.choose(key, &mut plan)?.then_some(plan))
    }

    /// Asks the library for an algorithm; whether it has one.
    fn choose(&self, key: &Key, plan: &mut Plan) -> Result<bool, CudaError> {
        use sys::cublasLtMatmulPreferenceAttributes_t as P;
        let mut preference = std::ptr::null_mut();
        // SAFETY: the library writes the handle of a fresh description.
        check("choosing", unsafe { sys::cublasLtMatmulPreferenceCreate(&mut preference) })?;
        let set = |which, value: *const c_void, bytes| {
            // SAFETY: the attribute has that many bytes, which outlive the call.
            let status = unsafe {
                sys::cublasLtMatmulPreferenceSetAttribute(preference, which, value, bytes)
            };
            check("choosing", status)
        };
        // Partial sums of a split inner dimension go through the workspace and are added in order.
        let schemes = sys::cublasLtReductionScheme_t::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE as u32;
        set(P::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, address(&WORKSPACE_BYTES), 8)?;
        set(P::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, address(&schemes), 4)?;
        for (which, bytes) in [
            (P::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.left.alignment),
            (P::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.right.alignment),
            (P::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.summand_alignment),
            (P::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.result.alignment),
        ] {
            set(which, address(&bytes), 4)?;
        }
        // SAFETY: a plain structure of numbers, for which zeros are valid.
        let mut answer: sys::cublasLtMatmulHeuristicResult_t = unsafe { std::mem::zeroed() };
        let mut count = 0;
        // SAFETY: all handles are alive; there is room for the one answer that is asked for.
        let status = unsafe {
            sys::cublasLtMatmulAlgoGetHeuristic(
                self.handle,
                plan.operation,
                plan.left,
                plan.right,
                plan.result,
                plan.result,
                preference,
                1,
                &mut answer,
                &mut count,
            )
        };
        // SAFETY: made above and not used again.
        unsafe { sys::cublasLtMatmulPreferenceDestroy(preference) };
        plan.algorithm = answer.algo;
        let fine = cublasStatus_t::CUBLAS_STATUS_SUCCESS;
        Ok(status == fine && count == 1 && answer.state == fine)
    }
}

/// The part of bias and activation that the library does while it writes, if all of it.
fn epilogue(product: &Product<'_>) -> Option<sys::cublasLtEpilogue_t> {
    use sys::cublasLtEpilogue_t as E;
    match (product.bias.is_some(), product.activation) {
        (false, Activation::Identity) => Some(E::CUBLASLT_EPILOGUE_DEFAULT),
        (true, Activation::Identity) => Some(E::CUBLASLT_EPILOGUE_BIAS),
        (false, Activation::Relu) => Some(E::CUBLASLT_EPILOGUE_RELU),
        (true, Activation::Relu) => Some(E::CUBLASLT_EPILOGUE_RELU_BIAS),
        _ => None,
    }
}

/// Computes a product; false, and nothing done, if the library has no way.
pub(super) fn run(gpu: &Gpu, product: &Product<'_>) -> bool {
    let own = epilogue(product);
    let gaps = product.c.stride != product.c.cols || product.batch > 1;
    if product.a.data.is_empty() || own.is_none() && gaps {
        return false;
    }
    attempt(gpu, product, own).unwrap_or_else(|error| {
        gpu.fail(error);
        // The fault ends the step; whatever is computed until then does not matter.
        true
    })
}

fn attempt(
    gpu: &Gpu,
    product: &Product<'_>,
    own: Option<sys::cublasLtEpilogue_t>,
) -> Result<bool, CudaError> {
    let products = match gpu.products().get() {
        Some(products) => products,
        None => {
            let fresh = Products::open(gpu)?;
            gpu.products().get_or_init(|| fresh)
        }
    };
    let Product { a, b, c, bias, plus, activation, batch } = product;
    let summand = plus.map_or(c.data.ptr(), |plus| plus.ptr());
    let key = Key {
        left: Layout::new([b.rows, b.cols, b.stride, b.step], b.transposed, b.data.ptr()),
        right: Layout::new([a.rows, a.cols, a.stride, a.step], a.transposed, a.data.ptr()),
        result: Layout::new([c.rows, c.cols, c.stride, c.step], false, c.data.ptr()),
        summand_alignment: alignment(summand),
        batch: *batch as i32,
        epilogue: own.unwrap_or(sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_DEFAULT),
        precision: gpu.precision() as u8,
    };
    gpu.make_current();
    let mut plans = lock(&products.plans);
    let plan = match plans.entry(key) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => place.insert(products.plan(&key)?),
    };
    let Some(plan) = plan else { return Ok(false) };
    if let (Some(bias), true) = (bias, own.is_some()) {
        let which = sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER;
        let bias = bias.ptr();
        // SAFETY: the attribute is an address of eight bytes, which outlives the call.
        let status = unsafe {
            sys::cublasLtMatmulDescSetAttribute(plan.operation, which, address(&bias), 8)
        };
        check("setting a bias", status)?;
    }
    let (one, beta) = (1.0f32, if plus.is_some() { 1.0f32 } else { 0.0 });
    // SAFETY: the plan was made for these shapes, strides and alignments, which lie inside the views;
    // the workspace is the library's alone and has the size that plans were made for.
    let status = gpu.spanned("cublasLt", Queue::Compute, |stream| unsafe {
        sys::cublasLtMatmul(
            products.handle,
            plan.operation,
            address(&one),
            b.data.ptr() as *const c_void,
            plan.left,
            a.data.ptr() as *const c_void,
            plan.right,
            address(&beta),
            summand as *const c_void,
            plan.result,
            c.data.ptr() as *mut c_void,
            plan.result,
            &plan.algorithm,
            products.workspace as *mut c_void,
            WORKSPACE_BYTES,
            stream.cast(),
        )
    });
    drop(plans);
    check("a dense product", status)?;
    if own.is_none() {
        matmul::finish(gpu, &c.data, c.cols, *bias, *activation);
    }
    Ok(true)
}
