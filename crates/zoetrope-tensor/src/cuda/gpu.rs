//! One GPU: its context, its two streams, its kernels.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};

use cudarc::driver::sys::{self, CUcontext, CUdevice_attribute, CUfunction, CUstream};

use super::compile::machine_code;
use super::driver::{check, make_current};
use super::error::CudaError;
use super::graph::Recorder;
use super::kernel::{Arg, Dim, Kernel, MOST_ARGUMENTS};
use super::library;
use super::memory::Arena;
use super::resident::Residents;
use super::sources;
use super::streaming::StreamingAccount;
use super::trace::{Queue, Trace};
use super::transfer::Ring;
use super::wait_hook::WaitHook;

/// The least compute capability, times ten.
const LEAST_COMPUTE: u32 = 75;

/// Dynamic shared memory that a block gets without asking for more.
const SHARED_WITHOUT_ASKING: u32 = 48 * 1024;

/// How dense products are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// f32 throughout.
    #[default]
    F32,
    /// Operands rounded to TF32 (10 bits of mantissa), sums in f32.
    Tf32,
    /// Operands rounded to bfloat16 (7 bits of mantissa), sums in f32.
    Bf16,
}

/// A GPU that is ready to compute. Copies are handles to the same GPU.
#[derive(Clone)]
pub struct Gpu(Arc<Inner>);

struct Inner {
    ordinal: usize,
    name: String,
    compute: u32,
    multiprocessors: u32,
    shared_limit: u32,
    total_bytes: usize,
    context: CUcontext,
    compute_stream: CUstream,
    copy_stream: CUstream,
    modules: Mutex<HashMap<&'static str, usize>>,
    functions: RwLock<HashMap<usize, usize>>,
    arena: Mutex<Arena>,
    recorder: Mutex<Option<Recorder>>,
    ring: Mutex<Ring>,
    residents: Mutex<Residents>,
    trace: Trace,
    streaming: Mutex<StreamingAccount>,
    fault: Mutex<Option<CudaError>>,
    wait_hook: RwLock<Option<Weak<dyn WaitHook>>>,
    precision: AtomicU8,
    uploaded: AtomicU64,
    streamed: AtomicU64,
    downloaded: AtomicU64,
    launches: AtomicU64,
    pub(super) products: OnceLock<super::blas::Products>,
}

// SAFETY: the handles of the driver may be used from any thread; what changes is behind locks.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cuda:{} ({})", self.0.ordinal, self.0.name)
    }
}

impl PartialEq for Gpu {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a GPU says about itself.
#[derive(Debug, Clone)]
pub struct GpuDescription {
    /// The GPU's name.
    pub name: String,
    /// Its compute capability, times ten.
    pub compute: u32,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Its memory in bytes.
    pub total_bytes: usize,
}

/// The GPUs of this machine.
///
/// # Errors
/// If the driver is missing or does not answer.
pub fn devices() -> Result<Vec<GpuDescription>, CudaError> {
    start_driver()?;
    (0..device_count()?).map(describe).collect()
}

/// The driver's version, 13000 for 13.0.
///
/// # Errors
/// As [`devices`].
pub fn driver_version() -> Result<u32, CudaError> {
    start_driver()?;
    let mut version = 0;
    // SAFETY: the driver writes a number.
    check("asking for the version", unsafe { sys::cuDriverGetVersion(&mut version) })?;
    Ok(version as u32)
}

fn start_driver() -> Result<(), CudaError> {
    let driver = &library::libraries().driver;
    if let Err(problem) = &driver.file {
        return Err(CudaError::Library { library: driver.title, problem: problem.clone() });
    }
    // SAFETY: the library and the function were found.
    check("starting the driver", unsafe { sys::cuInit(0) })
}

fn device_count() -> Result<usize, CudaError> {
    let mut count = 0;
    // SAFETY: the driver writes a number.
    check("counting devices", unsafe { sys::cuDeviceGetCount(&mut count) })?;
    Ok(count.max(0) as usize)
}

fn describe(ordinal: usize) -> Result<GpuDescription, CudaError> {
    use CUdevice_attribute as A;
    let (mut name, mut total_bytes) = ([0u8; 256], 0);
    // SAFETY: the driver writes a name of at most 256 bytes and a number.
    unsafe {
        let result = sys::cuDeviceGetName(name.as_mut_ptr().cast(), 256, ordinal as i32);
        check("asking for the name", result)?;
        check("asking for the memory", sys::cuDeviceTotalMem_v2(&mut total_bytes, ordinal as i32))?;
    }
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let major = attribute(ordinal, A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(ordinal, A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(GpuDescription {
        name: String::from_utf8_lossy(&name[..end]).into_owned(),
        compute: major * 10 + minor,
        multiprocessors: attribute(ordinal, A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        total_bytes,
    })
}

fn attribute(ordinal: usize, which: CUdevice_attribute) -> Result<u32, CudaError> {
    let mut value = 0;
    // SAFETY: the driver writes a number.
    let result = unsafe { sys::cuDeviceGetAttribute(&mut value, which, ordinal as i32) };
    check("asking for an attribute", result).map(|()| value as u32)
}

fn stream() -> Result<CUstream, CudaError> {
    let mut stream = std::ptr::null_mut();
    let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: the driver writes the handle of a fresh stream.
    check("making a stream", unsafe { sys::cuStreamCreate(&mut stream, flags) })?;
    Ok(stream)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gpu {
    /// Opens a GPU.
    ///
    /// # Errors
    /// If a library, the driver or the GPU is missing, or the GPU is too old.
    pub fn open(ordinal: usize) -> Result<Self, CudaError> {
        library::require()?;
        start_driver()?;
        let count = device_count()?;
        if ordinal >= count {
            return Err(CudaError::NoDevice { asked: ordinal, count });
        }
        let about = describe(ordinal)?;
        if about.compute < LEAST_COMPUTE {
            return Err(CudaError::TooOld { name: about.name, compute: about.compute });
        }
        let asked = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let shared_limit = attribute(ordinal, asked)?;
        let (mut context, mut free, mut total) = (std::ptr::null_mut(), 0, 0);
        // SAFETY: the driver writes a handle, and two numbers about the then current context.
        unsafe {
            let result = sys::cuDevicePrimaryCtxRetain(&mut context, ordinal as i32);
            check("opening the device", result)?;
            make_current(context);
            check("asking for free memory", sys::cuMemGetInfo_v2(&mut free, &mut total))?;
        }
        Ok(Self(Arc::new(Inner {
            ordinal,
            name: about.name,
            compute: about.compute,
            multiprocessors: about.multiprocessors,
            shared_limit,
            total_bytes: about.total_bytes,
            context,
            compute_stream: stream()?,
            copy_stream: stream()?,
            modules: Mutex::default(),
            functions: RwLock::default(),
            arena: Mutex::new(Arena::limited(free)),
            recorder: Mutex::default(),
            ring: Mutex::default(),
            residents: Mutex::default(),
            trace: Trace::default(),
            streaming: Mutex::default(),
            fault: Mutex::default(),
            wait_hook: RwLock::default(),
            precision: AtomicU8::default(),
            uploaded: AtomicU64::default(),
            streamed: AtomicU64::default(),
            downloaded: AtomicU64::default(),
            launches: AtomicU64::default(),
            products: OnceLock::new(),
        })))
    }

    /// The number of the GPU on this machine.
    pub fn ordinal(&self) -> usize {
        self.0.ordinal
    }

    /// The GPU's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The GPU's memory in bytes.
    pub fn total_bytes(&self) -> usize {
        self.0.total_bytes
    }

    /// The unique number of the GPU, by which ranks see whether they share one.
    ///
    /// # Errors
    /// If the driver does not say.
    pub fn identity(&self) -> Result<[u8; 16], CudaError> {
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: the driver writes 16 bytes about a GPU that was opened.
        let result = unsafe { sys::cuDeviceGetUuid_v2(&mut uuid, self.0.ordinal as i32) };
        check("asking for the identity", result)?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    /// The compute capability, times ten.
    pub(crate) fn compute(&self) -> u32 {
        self.0.compute
    }

    pub(crate) fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors
    }

    /// The most dynamic shared memory of a block, in bytes.
    pub(crate) fn shared_limit(&self) -> u32 {
        self.0.shared_limit
    }

    /// How dense products are computed.
    pub fn precision(&self) -> Precision {
        match self.0.precision.load(Ordering::Relaxed) {
            1 => Precision::Tf32,
            2 => Precision::Bf16,
            _ => Precision::F32,
        }
    }

    /// Computes dense products in another way from now on.
    pub fn set_precision(&self, precision: Precision) {
        self.0.precision.store(precision as u8, Ordering::Relaxed);
    }

    /// What went wrong first, if anything did: a kernel cannot say so itself.
    pub fn fault(&self) -> Option<CudaError> {
        lock(&self.0.fault).clone()
    }

    /// Remembers a fault unless there was one before.
    pub(super) fn fail(&self, error: CudaError) {
        lock(&self.0.fault).get_or_insert(error);
    }

    pub(super) fn attempt(&self, call: &'static str, result: sys::CUresult) -> bool {
        check(call, result).map_err(|error| self.fail(error)).is_ok()
    }

    pub(super) fn make_current(&self) {
        make_current(self.0.context);
    }

    pub(super) fn compute_stream(&self) -> CUstream {
        self.0.compute_stream
    }

    pub(super) fn copy_stream(&self) -> CUstream {
        self.0.copy_stream
    }

    pub(super) fn arena(&self) -> MutexGuard<'_, Arena> {
        lock(&self.0.arena)
    }

    pub(super) fn recorder(&self) -> &Mutex<Option<Recorder>> {
        &self.0.recorder
    }

    pub(super) fn ring(&self) -> MutexGuard<'_, Ring> {
        lock(&self.0.ring)
    }

    pub(super) fn residents(&self) -> MutexGuard<'_, Residents> {
        lock(&self.0.residents)
    }

    pub(super) fn trace(&self) -> &Trace {
        &self.0.trace
    }

    pub(super) fn streaming_account(&self) -> &Mutex<StreamingAccount> {
        &self.0.streaming
    }

    pub(super) fn products(&self) -> &OnceLock<super::blas::Products> {
        &self.0.products
    }

    /// Waits until everything launched so far is done.
    pub fn wait(&self) {
        if self.wait_hook().is_some() {
            return self.mark().wait();
        }
        self.make_current();
        // SAFETY: the stream lives as long as the GPU.
        let result = unsafe { sys::cuStreamSynchronize(self.0.compute_stream) };
        self.attempt("computing", result);
    }

    /// From now on calls `wait_hook` again and again while the host waits for the GPU; no longer once the
    /// hook was dropped.
    pub fn set_wait_hook(&self, wait_hook: Weak<dyn WaitHook>) {
        *self.0.wait_hook.write().unwrap_or_else(PoisonError::into_inner) = Some(wait_hook);
    }

    pub(super) fn wait_hook(&self) -> Option<Arc<dyn WaitHook>> {
        self.0.wait_hook.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
    }

    /// Bytes copied to the GPU and from it so far.
    pub fn copied_bytes(&self) -> [u64; 2] {
        [&self.0.uploaded, &self.0.downloaded].map(|count| count.load(Ordering::Relaxed))
    }

    /// How many kernels were launched so far.
    pub fn launches(&self) -> u64 {
        self.0.launches.load(Ordering::Relaxed)
    }

    /// Bytes of matrices that were sent ahead of their use so far, whether they have arrived or not.
    pub fn streamed_bytes(&self) -> u64 {
        self.0.streamed.load(Ordering::Relaxed)
    }

    pub(super) fn count_streamed(&self, bytes: usize) {
        self.0.streamed.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_uploaded(&self, bytes: usize) {
        self.0.uploaded.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn count_downloaded(&self, bytes: usize) {
        self.0.downloaded.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Launches a kernel on the compute stream; nothing happens if a grid or block is empty.
    ///
    /// The arguments have to be those that the kernel declares, and what it reads and writes has to
    /// lie inside the views it is given: launchers are the place where that is made sure.
    pub(crate) fn launch(
        &self,
        kernel: &'static Kernel,
        grid: impl Into<Dim>,
        block: impl Into<Dim>,
        shared_bytes: u32,
        arguments: &[&dyn Arg],
    ) {
        self.launch_on(Queue::Compute, kernel, grid, block, shared_bytes, arguments);
    }

    /// The same on one of the queues. A kernel that runs beside those that compute has to keep to memory
    /// that none of them has.
    pub(crate) fn launch_on(
        &self,
        queue: Queue,
        kernel: &'static Kernel,
        grid: impl Into<Dim>,
        block: impl Into<Dim>,
        shared_bytes: u32,
        arguments: &[&dyn Arg],
    ) {
        let (Dim(grid), Dim(block)) = (grid.into(), block.into());
        if grid.contains(&0) || block.contains(&0) {
            return;
        }
        let Some(function) = self.function(kernel, shared_bytes) else { return };
        let mut slots = [0u64; MOST_ARGUMENTS];
        let mut places = [std::ptr::null_mut(); MOST_ARGUMENTS];
        for ((argument, slot), place) in arguments.iter().zip(&mut slots).zip(&mut places) {
            *place = argument.place(slot).cast_mut();
        }
        assert!(arguments.len() <= MOST_ARGUMENTS, "{}: too many arguments", kernel.name);
        self.make_current();
        // SAFETY: the function was loaded into this context; there is a place for each argument.
        let result = self.spanned(kernel.name, queue, |stream| unsafe {
            sys::cuLaunchKernel(
                function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared_bytes,
                stream,
                places.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        });
        self.0.launches.fetch_add(1, Ordering::Relaxed);
        self.attempt(kernel.name, result);
    }

    /// Compiles and loads a kernel, so that its first launch takes no longer than the others.
    pub(crate) fn prepare(&self, kernel: &'static Kernel) {
        self.function(kernel, 0);
    }

    /// The function of a kernel, compiled and loaded at first use.
    fn function(&self, kernel: &'static Kernel, shared_bytes: u32) -> Option<CUfunction> {
        // A kernel is the same one with more shared memory, but has to be told so once.
        let key =
            std::ptr::from_ref(kernel) as usize | usize::from(shared_bytes > SHARED_WITHOUT_ASKING);
        let known = self.0.functions.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(&function) = known.get(&key) {
            return Some(function as CUfunction);
        }
        drop(known);
        let loaded = self.load(kernel, shared_bytes).map_err(|error| self.fail(error)).ok()?;
        let mut known = self.0.functions.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, loaded as usize);
        Some(loaded)
    }

    fn load(&self, kernel: &Kernel, shared_bytes: u32) -> Result<CUfunction, CudaError> {
        let module = self.module(kernel.file)?;
        let name = std::ffi::CString::new(kernel.name).expect("a kernel's name has no 0");
        let mut function = std::ptr::null_mut();
        // SAFETY: the module was loaded into this context; the name ends with 0.
        unsafe {
            let result = sys::cuModuleGetFunction(&mut function, module as _, name.as_ptr());
            check("finding a kernel", result)?;
            if shared_bytes > SHARED_WITHOUT_ASKING {
                let which =
                    sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                let result = sys::cuFuncSetAttribute(function, which, self.0.shared_limit as i32);
                check("asking for shared memory", result)?;
            }
        }
        Ok(function)
    }

    fn module(&self, file: &'static str) -> Result<usize, CudaError> {
        let mut modules = lock(&self.0.modules);
        if let Some(&module) = modules.get(file) {
            return Ok(module);
        }
        let refuse = || CudaError::Compile { file, log: "there is no such file".to_owned() };
        let code = machine_code(sources::find(file).ok_or_else(refuse)?, self.0.compute)?;
        self.make_current();
        let mut module = std::ptr::null_mut();
        // SAFETY: the code is a whole image that the compiler made.
        let result = unsafe { sys::cuModuleLoadData(&mut module, code.as_ptr().cast()) };
        check("loading kernels", result)?;
        modules.insert(file, module as usize);
        Ok(module as usize)
    }

    /// Compiles and loads every file of kernels, so that no step waits for one.
    ///
    /// # Errors
    /// The first file that cannot be compiled or loaded.
    pub fn load_all(&self) -> Result<(), CudaError> {
        sources::SOURCES.iter().try_for_each(|source| self.module(source.name).map(drop))
    }
}
