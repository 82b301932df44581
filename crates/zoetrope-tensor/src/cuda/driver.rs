//! The driver's calls as results, and the current context of each thread.

use std::cell::Cell;
use std::ffi::CStr;

use cudarc::driver::sys::{self, CUcontext, CUevent, CUresult};

use super::error::CudaError;

/// An error if the driver answered with one.
pub(super) fn check(call: &'static str, result: CUresult) -> Result<(), CudaError> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(CudaError::Call { call, reason: reason(other) }),
    }
}

fn reason(result: CUresult) -> String {
    let mut text = std::ptr::null();
    // SAFETY: the driver writes a pointer to a static string, or leaves null.
    unsafe { sys::cuGetErrorString(result, &mut text) };
    if text.is_null() {
        return format!("{result:?}");
    }
    // SAFETY: not null, so it is a string of the driver that ends with 0 and lives for ever.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Makes a context the current one of this thread, unless it is already.
pub(super) fn make_current(context: CUcontext) {
    CURRENT.with(|current| {
        if current.get() != context as usize {
            // SAFETY: the context was retained when the GPU was opened and is never released.
            unsafe { sys::cuCtxSetCurrent(context) };
            current.set(context as usize);
        }
    });
}

/// Milliseconds between two recorded events. The name of this function without a version exists
/// in every driver, but not in the newest headers.
pub(super) fn elapsed(start: CUevent, end: CUevent) -> Result<f32, CudaError> {
    type Elapsed = unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> CUresult;
    let mut milliseconds = 0.0;
    // SAFETY: the library was probed for this function, whose signature never changed.
    let result = unsafe {
        match sys::culib().get::<Elapsed>(b"cuEventElapsedTime") {
            Ok(function) => function(&mut milliseconds, start, end),
            Err(_) => CUresult::CUDA_ERROR_NOT_FOUND,
        }
    };
    check("measuring time", result).map(|()| milliseconds)
}
