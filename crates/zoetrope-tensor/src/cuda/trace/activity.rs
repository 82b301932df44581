//! Spans from CUPTI's activity records.
//!
//! The GPU writes the times of its kernels and copies beside them; CUPTI collects them on a thread of
//! its own and calls [`lend`] and [`read`] for buffers. Both are plain functions without an owner, so
//! a process has one such trace at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use cudarc::driver::sys::CUcontext;

use super::cupti::Cupti;
use super::record::{self, KINDS};
use super::{GpuSpan, Queue};
use crate::cuda::error::CudaError;
use crate::cuda::gpu::Gpu;

/// Words of a buffer: 4 MiB, room for some twenty thousand kernels. Records begin at multiples of 8.
const BUFFER: usize = 1 << 19;

/// A trace under way.
#[derive(Debug)]
pub(super) struct Activity {
    /// Time 0 on CUPTI's clock, in nanoseconds.
    zero: u64,
    copy_stream: u32,
}

static UNDER_WAY: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct Collected {
    spans: Vec<Collection>,
    names: HashMap<Vec<u8>, &'static str>,
    failure: Option<CudaError>,
}

struct Collection {
    name: &'static str,
    stream: Option<u32>,
    start: u64,
    end: u64,
}

/// What CUPTI's thread has read.
fn collected() -> MutexGuard<'static, Collected> {
    static COLLECTED: OnceLock<Mutex<Collected>> = OnceLock::new();
    let collected = COLLECTED.get_or_init(Mutex::default);
    collected.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Collected {
    /// The short name of a kernel. A program has some hundred of them, and they are kept for ever.
    fn name(&mut self, name: &[u8]) -> &'static str {
        if let Some(known) = self.names.get(name) {
            return known;
        }
        let short: &'static str = Box::leak(record::short(name).into_boxed_str());
        self.names.insert(name.to_vec(), short);
        short
    }
}

/// Buffers that CUPTI has given back: their pages are there, so that the next epoch does not wait for
/// fresh ones.
fn spare() -> MutexGuard<'static, Vec<Box<[u64]>>> {
    static SPARE: Mutex<Vec<Box<[u64]>>> = Mutex::new(Vec::new());
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives CUPTI an empty buffer.
unsafe extern "C" fn lend(buffer: *mut *mut u8, bytes: *mut usize, most_records: *mut usize) {
    let room = spare().pop().unwrap_or_else(|| vec![0; BUFFER].into_boxed_slice());
    let room = Box::leak(room);
    // SAFETY: CUPTI gives the places of three values.
    unsafe {
        *buffer = room.as_mut_ptr().cast();
        *bytes = size_of_val(room);
        *most_records = 0;
    }
}

/// Reads a buffer that CUPTI gives back.
unsafe extern "C" fn read(_: CUcontext, _: u32, buffer: *mut u8, _: usize, filled: usize) {
    if buffer.is_null() {
        return;
    }
    let mut collected = collected();
    let mut last = std::ptr::null_mut();
    while let Ok(cupti) = Cupti::get() {
        // SAFETY: the buffer is the one that CUPTI has just filled, and `last` is its last answer.
        last = match unsafe { cupti.next(buffer, filled, last) } {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => {
                collected.failure.get_or_insert(error);
                break;
            }
        };
        // SAFETY: the record is in the buffer, which is alive and nobody else's.
        if let Some(found) = unsafe { record::read(last) } {
            let name = collected.name(found.name);
            let record::Read { stream, start, end, .. } = found;
            collected.spans.push(Collection { name, stream, start, end });
        }
    }
    let room = std::ptr::slice_from_raw_parts_mut(buffer.cast::<u64>(), BUFFER);
    // SAFETY: every buffer comes from `lend`, is as long as there, and is given back once.
    spare().push(unsafe { Box::from_raw(room) });
}

impl Activity {
    /// Starts to keep records; the returned moment is time 0.
    ///
    /// # Errors
    /// If CUPTI is missing or refuses, and if another trace of this process is under way.
    pub(super) fn start(gpu: &Gpu) -> Result<(Instant, Self), CudaError> {
        let cupti = Cupti::get()?;
        if UNDER_WAY.swap(true, Ordering::Acquire) {
            let reason = "this process keeps another trace".to_owned();
            return Err(CudaError::Call { call: "starting CUPTI", reason });
        }
        // From here on the drop of `activity` undoes what was done.
        let mut activity = Self { zero: 0, copy_stream: 0 };
        gpu.make_current();
        cupti.register(lend, read)?;
        KINDS.iter().try_for_each(|&kind| cupti.enable(kind))?;
        // SAFETY: the stream lives as long as the GPU.
        activity.copy_stream = unsafe { cupti.stream_id(gpu.copy_stream()) }?;
        let before = Instant::now();
        activity.zero = cupti.now()?;
        Ok((before + before.elapsed() / 2, activity))
    }

    /// The spans since the last time; everything launched has to be over.
    ///
    /// # Errors
    /// If CUPTI fails to give its records back.
    pub(super) fn take(&mut self) -> Result<Vec<GpuSpan>, CudaError> {
        Cupti::get()?.flush()?;
        let mut collected = collected();
        if let Some(failure) = collected.failure.take() {
            return Err(failure);
        }
        Ok(collected.spans.drain(..).map(|found| self.span(&found)).collect())
    }

    fn span(&self, found: &Collection) -> GpuSpan {
        let copies = found.stream == Some(self.copy_stream);
        GpuSpan {
            name: found.name,
            queue: if copies { Queue::Copy } else { Queue::Compute },
            start: found.start.wrapping_sub(self.zero).cast_signed() as f64 / 1e9,
            seconds: (found.end - found.start) as f64 / 1e9,
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if let Ok(cupti) = Cupti::get() {
            // A profiler that fails at its end has nothing left to say.
            let _ = KINDS.iter().try_for_each(|&kind| cupti.disable(kind));
            let _ = cupti.flush();
        }
        let mut collected = collected();
        collected.spans = Vec::new();
        collected.failure = None;
        spare().clear();
        UNDER_WAY.store(false, Ordering::Release);
    }
}
