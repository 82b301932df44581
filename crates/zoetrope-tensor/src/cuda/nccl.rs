//! NCCL's functions, found by name: the few that messages between GPUs need.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys::CUstream;

use super::error::CudaError;
use super::library;

/// What a function answers: 0, or a number that has a name.
type Status = c_int;

/// What a function returns whose work continues after the call.
const IN_PROGRESS: Status = 7;

/// `ncclFloat32`.
const FLOAT: c_int = 7;

/// The bytes of a number that the ranks of one communicator share.
pub const ID_BYTES: usize = 128;

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
struct UniqueId([u8; ID_BYTES]);

/// `ncclComm_t`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comm(*mut c_void);

// SAFETY: NCCL's handles may be used from any thread, by one at a time.
unsafe impl Send for Comm {}

/// `ncclConfig_t` as version 2.14 had it; every later one fills in what it has besides.
#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
}

const CONFIG: Config =
    Config { size: size_of::<Config>(), magic: 0xcafe_beef, version: 21400, blocking: 0 };

/// Whether NCCL has completed the last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is.
    Done,
    /// Its own threads are still at it.
    UnderWay,
}

/// The library. Every call returns at once; [`Nccl::progress`] tells how far it is.
pub(super) struct Nccl {
    version: unsafe extern "C" fn(*mut c_int) -> Status,
    describe: unsafe extern "C" fn(Status) -> *const c_char,
    unique_id: unsafe extern "C" fn(*mut UniqueId) -> Status,
    init: unsafe extern "C" fn(*mut *mut c_void, c_int, UniqueId, c_int, *mut Config) -> Status,
    asynchronous_error: unsafe extern "C" fn(*mut c_void, *mut Status) -> Status,
    finalize: unsafe extern "C" fn(*mut c_void) -> Status,
    destroy: unsafe extern "C" fn(*mut c_void) -> Status,
    abort: unsafe extern "C" fn(*mut c_void) -> Status,
    group_start: unsafe extern "C" fn() -> Status,
    group_end: unsafe extern "C" fn() -> Status,
    send: unsafe extern "C" fn(*const c_void, usize, c_int, c_int, *mut c_void, CUstream) -> Status,
    receive:
        unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, *mut c_void, CUstream) -> Status,
}

/// Values on the device that go to, or come from, another rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) peer: usize,
    pub(super) ptr: u64,
    pub(super) len: usize,
}

impl Nccl {
    /// The library, which is loaded when it is first asked for.
    ///
    /// # Errors
    /// If it is missing.
    pub(super) fn get() -> Result<&'static Self, CudaError> {
        static NCCL: OnceLock<Result<Nccl, CudaError>> = OnceLock::new();
        NCCL.get_or_init(Self::load).as_ref().map_err(CudaError::clone)
    }

    fn load() -> Result<Self, CudaError> {
        let library = library::link().open()?;
        // SAFETY: each field has the type of its function in NVIDIA's header.
        unsafe {
            Ok(Self {
                version: library.function(b"ncclGetVersion")?,
                describe: library.function(b"ncclGetErrorString")?,
                unique_id: library.function(b"ncclGetUniqueId")?,
                init: library.function(b"ncclCommInitRankConfig")?,
                asynchronous_error: library.function(b"ncclCommGetAsyncError")?,
                finalize: library.function(b"ncclCommFinalize")?,
                destroy: library.function(b"ncclCommDestroy")?,
                abort: library.function(b"ncclCommAbort")?,
                group_start: library.function(b"ncclGroupStart")?,
                group_end: library.function(b"ncclGroupEnd")?,
                send: library.function(b"ncclSend")?,
                receive: library.function(b"ncclRecv")?,
            })
        }
    }

    fn check(&self, call: &'static str, status: Status) -> Result<Progress, CudaError> {
        match status {
            0 => Ok(Progress::Done),
            IN_PROGRESS => Ok(Progress::UnderWay),
            status => {
                // SAFETY: the library returns a static string that ends with 0, for any number.
                let text = unsafe { CStr::from_ptr((self.describe)(status)) };
                Err(CudaError::Call { call, reason: text.to_string_lossy().into_owned() })
            }
        }
    }

    /// The version, 22703 for 2.27.3.
    pub(super) fn version(&self) -> Result<u32, CudaError> {
        let mut version = 0;
        // SAFETY: the library writes a number.
        self.check("asking NCCL for its version", unsafe { (self.version)(&mut version) })?;
        Ok(version as u32)
    }

    /// A fresh number for the ranks of one communicator.
    pub(super) fn unique_id(&self) -> Result<[u8; ID_BYTES], CudaError> {
        let mut id = UniqueId([0; ID_BYTES]);
        // SAFETY: the library writes as many bytes.
        self.check("making a meeting point", unsafe { (self.unique_id)(&mut id) })?;
        Ok(id.0)
    }

    /// Begins to meet the other ranks with the current context's GPU.
    pub(super) fn meet(
        &self,
        id: [u8; ID_BYTES],
        rank: usize,
        size: usize,
    ) -> Result<Comm, CudaError> {
        let (mut comm, mut config) = (std::ptr::null_mut(), CONFIG);
        // SAFETY: the library writes a handle, and reads a structure of the layout that it names.
        let status = unsafe {
            (self.init)(&mut comm, size as c_int, UniqueId(id), rank as c_int, &mut config)
        };
        self.check("linking GPUs", status).map(|_| Comm(comm))
    }

    /// How far the last call is.
    ///
    /// # Errors
    /// If it, or a message under way, failed.
    ///
    /// # Safety
    /// The communicator was neither destroyed nor aborted.
    pub(super) unsafe fn progress(&self, comm: Comm) -> Result<Progress, CudaError> {
        let mut status = 0;
        // SAFETY: the communicator is alive, as the caller promises; the library writes a number.
        let asked = unsafe { (self.asynchronous_error)(comm.0, &mut status) };
        self.check("asking for the link between GPUs", asked)?;
        self.check("the link between GPUs", status)
    }

    /// Sends and receives f32 values together, in the order of the stream.
    ///
    /// # Safety
    /// The communicator is alive and through with its last call. Memory and stream stay as they are
    /// until it is through with this one; what the stream does meanwhile leaves the memory alone.
    pub(super) unsafe fn together(
        &self,
        comm: Comm,
        stream: CUstream,
        sends: &[Message],
        receives: &[Message],
    ) -> Result<(), CudaError> {
        // SAFETY: begins a group of this thread.
        self.check("beginning messages", unsafe { (self.group_start)() })?;
        let mut outcome = Ok(());
        for &Message { peer, ptr, len } in sends {
            let (place, peer) = (ptr as *const c_void, peer as c_int);
            // SAFETY: as the caller promises.
            let status = unsafe { (self.send)(place, len, FLOAT, peer, comm.0, stream) };
            outcome = outcome.and(self.check("sending between GPUs", status).map(drop));
        }
        for &Message { peer, ptr, len } in receives {
            let (place, peer) = (ptr as *mut c_void, peer as c_int);
            // SAFETY: as the caller promises.
            let status = unsafe { (self.receive)(place, len, FLOAT, peer, comm.0, stream) };
            outcome = outcome.and(self.check("receiving between GPUs", status).map(drop));
        }
        // Ended whatever happened: a group that stays open would swallow all later calls.
        // SAFETY: ends the group that this thread began.
        let ended = self.check("sending messages between GPUs", unsafe { (self.group_end)() });
        outcome.and(ended.map(drop))
    }

    /// Begins to end a communicator, once all that was sent has arrived.
    ///
    /// # Safety
    /// As for [`Nccl::progress`].
    pub(super) unsafe fn finalize(&self, comm: Comm) -> Result<(), CudaError> {
        // SAFETY: as the caller promises.
        self.check("ending the link between GPUs", unsafe { (self.finalize)(comm.0) }).map(drop)
    }

    /// Frees a communicator that is finalized.
    ///
    /// # Safety
    /// As for [`Nccl::progress`]; it is not used again.
    pub(super) unsafe fn destroy(&self, comm: Comm) {
        // SAFETY: as the caller promises.
        unsafe { (self.destroy)(comm.0) };
    }

    /// Ends a communicator and every kernel that waits in it.
    ///
    /// # Safety
    /// As for [`Nccl::progress`]; it is not used again.
    pub(super) unsafe fn abort(&self, comm: Comm) {
        // SAFETY: as the caller promises.
        unsafe { (self.abort)(comm.0) };
    }
}
