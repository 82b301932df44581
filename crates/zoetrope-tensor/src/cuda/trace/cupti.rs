//! CUPTI's functions, found by name: the few that its activity records need.

use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use cudarc::driver::sys::{CUcontext, CUstream};

use super::record::Head;
use crate::cuda::error::CudaError;
use crate::cuda::library;

/// What a function answers: 0, or a number that has a name.
type Status = c_int;

/// The answer of [`Cupti::next`] behind the last record of a buffer.
const NO_MORE: Status = 12;

/// Gives CUPTI a buffer: its address, its bytes, and the most records in it (0 for as many as fit).
pub(super) type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);

/// Takes a buffer back: context and stream (always 0), its address, its bytes, those that are filled.
pub(super) type Completed = unsafe extern "C" fn(CUcontext, u32, *mut u8, usize, usize);

/// The library.
pub(super) struct Cupti {
    register: unsafe extern "C" fn(Requested, Completed) -> Status,
    enable: unsafe extern "C" fn(u32) -> Status,
    disable: unsafe extern "C" fn(u32) -> Status,
    next: unsafe extern "C" fn(*mut u8, usize, *mut *mut Head) -> Status,
    flush: unsafe extern "C" fn(u32) -> Status,
    timestamp: unsafe extern "C" fn(*mut u64) -> Status,
    stream_id: unsafe extern "C" fn(CUcontext, CUstream, u8, *mut u32) -> Status,
    describe: unsafe extern "C" fn(Status, *mut *const c_char) -> Status,
}

impl Cupti {
    /// The library, which is loaded when it is first asked for.
    ///
    /// # Errors
    /// If it is missing.
    pub(super) fn get() -> Result<&'static Self, CudaError> {
        static CUPTI: OnceLock<Result<Cupti, CudaError>> = OnceLock::new();
        CUPTI.get_or_init(Self::load).as_ref().map_err(CudaError::clone)
    }

    fn load() -> Result<Self, CudaError> {
        let library = library::profiler().open()?;
        // SAFETY: each field has the type of its function in NVIDIA's header.
        unsafe {
            Ok(Self {
                register: library.function(b"cuptiActivityRegisterCallbacks")?,
                enable: library.function(b"cuptiActivityEnable")?,
                disable: library.function(b"cuptiActivityDisable")?,
                next: library.function(b"cuptiActivityGetNextRecord")?,
                flush: library.function(b"cuptiActivityFlushAll")?,
                timestamp: library.function(b"cuptiGetTimestamp")?,
                stream_id: library.function(b"cuptiGetStreamIdEx")?,
                describe: library.function(b"cuptiGetResultString")?,
            })
        }
    }

    fn check(&self, call: &'static str, status: Status) -> Result<(), CudaError> {
        if status == 0 {
            return Ok(());
        }
        let mut text = std::ptr::null();
        // SAFETY: the library writes a pointer to a static string, or leaves null.
        unsafe { (self.describe)(status, &mut text) };
        let reason = if text.is_null() {
            format!("error {status}")
        } else {
            // SAFETY: not null, so it is a string of the library that ends with 0 and lives for ever.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(CudaError::Call { call, reason })
    }

    /// Says who lends buffers and who reads them.
    pub(super) fn register(&self, lend: Requested, read: Completed) -> Result<(), CudaError> {
        // SAFETY: both are functions of the program, with the signatures that CUPTI calls.
        let status = unsafe { (self.register)(lend, read) };
        self.check("lending buffers to CUPTI", status)
    }

    /// Keeps records of a kind from now on.
    pub(super) fn enable(&self, kind: u32) -> Result<(), CudaError> {
        // SAFETY: takes a number, and refuses one that it does not know.
        self.check("starting CUPTI", unsafe { (self.enable)(kind) })
    }

    /// Keeps records of a kind no longer.
    pub(super) fn disable(&self, kind: u32) -> Result<(), CudaError> {
        // SAFETY: as for `enable`.
        self.check("stopping CUPTI", unsafe { (self.disable)(kind) })
    }

    /// Returns all buffers to the reader, also those with records that are not complete yet.
    pub(super) fn flush(&self) -> Result<(), CudaError> {
        const FORCED: u32 = 1;
        // SAFETY: takes a number; the reader is called and lives as long as the program.
        self.check("reading CUPTI's records", unsafe { (self.flush)(FORCED) })
    }

    /// Nanoseconds on the clock of the records.
    pub(super) fn now(&self) -> Result<u64, CudaError> {
        let mut nanoseconds = 0;
        // SAFETY: the library writes a number.
        let status = unsafe { (self.timestamp)(&mut nanoseconds) };
        self.check("reading CUPTI's clock", status).map(|()| nanoseconds)
    }

    /// The number of a stream in records.
    ///
    /// # Safety
    /// The stream is alive.
    pub(super) unsafe fn stream_id(&self, stream: CUstream) -> Result<u32, CudaError> {
        let mut id = 0;
        // SAFETY: the stream is alive, as the caller promises; the library writes a number. Without a
        // context it does not check which one the stream belongs to.
        let status = unsafe { (self.stream_id)(std::ptr::null_mut(), stream, 0, &mut id) };
        self.check("asking CUPTI for a stream", status).map(|()| id)
    }

    /// The record behind `last`, or the first one; None behind the last.
    ///
    /// # Safety
    /// The buffer is one that CUPTI filled with so many bytes, and `last` came out of it.
    pub(super) unsafe fn next(
        &self,
        buffer: *mut u8,
        filled: usize,
        last: *mut Head,
    ) -> Result<Option<*mut Head>, CudaError> {
        let mut record = last;
        // SAFETY: as the caller promises; the library writes the address of a record in the buffer.
        match unsafe { (self.next)(buffer, filled, &mut record) } {
            NO_MORE => Ok(None),
            status => self.check("reading CUPTI's records", status).map(|()| Some(record)),
        }
    }
}
