//! Kernels from source to machine code: compiled at first use, then kept (`cache`).

use std::ffi::{CStr, CString, c_char};

use cudarc::nvrtc::sys::{self, nvrtcProgram, nvrtcResult};

use super::cache::{self, Cache};
use super::error::CudaError;
use super::sources::Source;

/// The machine code of a file of kernels for a compute capability (times ten).
pub(super) fn machine_code(source: &Source, compute: u32) -> Result<Vec<u8>, CudaError> {
    let text = source.text();
    let name = cache::name(source.name, &text, compute, version());
    let cache = Cache::of_user();
    if let Some(code) = cache.as_ref().and_then(|cache| cache.read(&name)) {
        return Ok(code);
    }
    let code = compile(source.name, &text, compute)?;
    if let Some(cache) = cache {
        // A cache that cannot be written costs a second at the next start, nothing else.
        let _ = cache.keep(&name, &code);
    }
    Ok(code)
}

/// The version of NVRTC.
pub(super) fn version() -> (i32, i32) {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the compiler writes two numbers.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
    (major, minor)
}

/// A program of the compiler, destroyed when dropped.
struct Program(nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created below and destroyed once.
        unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

fn compile(file: &'static str, text: &str, compute: u32) -> Result<Vec<u8>, CudaError> {
    let refuse = |log: String| CudaError::Compile { file, log };
    let checked = |result: nvrtcResult| match result {
        nvrtcResult::NVRTC_SUCCESS => Ok(()),
        // SAFETY: the compiler returns a static string that ends with 0.
        other => Err(refuse(unsafe { text_of(sys::nvrtcGetErrorString(other)) })),
    };
    let source = CString::new(text).map_err(|_| refuse("a source holds a 0".to_owned()))?;
    let name = CString::new(format!("{file}.cu")).expect("a file name has no 0");
    let mut handle = std::ptr::null_mut();
    let no = std::ptr::null();
    // SAFETY: both strings end with 0 and outlive the call; no headers are given.
    checked(unsafe {
        sys::nvrtcCreateProgram(&mut handle, source.as_ptr(), name.as_ptr(), 0, no, no)
    })?;
    let program = Program(handle);
    let options = [format!("--gpu-architecture=sm_{compute}"), "--std=c++17".to_owned()]
        .map(|option| CString::new(option).expect("an option has no 0"));
    let pointers = options.each_ref().map(|option| option.as_ptr());
    // SAFETY: the program is alive, and the options outlive the call.
    let result = unsafe { sys::nvrtcCompileProgram(program.0, 2, pointers.as_ptr()) };
    if result != nvrtcResult::NVRTC_SUCCESS {
        return Err(refuse(log(&program)));
    }
    let mut len = 0;
    // SAFETY: the compiler writes the length, then as many bytes into a block of that length.
    unsafe {
        checked(sys::nvrtcGetCUBINSize(program.0, &mut len))?;
        let mut code = vec![0u8; len];
        checked(sys::nvrtcGetCUBIN(program.0, code.as_mut_ptr().cast()))?;
        Ok(code)
    }
}

fn log(program: &Program) -> String {
    let mut len = 0;
    // SAFETY: the compiler writes the length of its messages, then the messages.
    unsafe {
        sys::nvrtcGetProgramLogSize(program.0, &mut len);
        let mut text = vec![0u8; len + 1];
        sys::nvrtcGetProgramLog(program.0, text.as_mut_ptr().cast());
        text_of(text.as_ptr().cast())
    }
}

/// # Safety
/// `text` ends with 0.
unsafe fn text_of(text: *const c_char) -> String {
    // SAFETY: as required of the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
}
