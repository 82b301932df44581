//! The MPI library of the machine, found at run time, and the few functions of it that are used.
//!
//! Two binary interfaces cover what clusters run. In that of Open MPI (libmpi.so.40) handles are
//! pointers to objects that the library exports. In that of MPICH (libmpi.so.12; also Intel MPI,
//! MVAPICH, Cray) they are integers whose values are fixed. [`Functions`] is written once for both.

use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::fmt;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};

/// Names the library to use.
const VARIABLE: &str = "ZOETROPE_MPI_LIBRARY";

const OPEN_MPI: [&str; 2] = ["libmpi.so.40", "libmpi.40.dylib"];
const MPICH: [&str; 4] = ["libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpi.12.dylib"];

/// A handle of MPI: communicator, type, request, message or error handler.
pub(super) trait Handle: Copy + fmt::Debug + Send + Sync + 'static {
    /// What a request is before it stands for anything.
    fn blank() -> Self;
}

/// A handle of Open MPI.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Pointer(*mut c_void);

// SAFETY: the pointer is never followed here; the library's objects behind it may be used from any
// thread, one at a time, which the engine's lock sees to.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

impl Handle for Pointer {
    fn blank() -> Self {
        Self(std::ptr::null_mut())
    }
}

/// A handle of MPICH.
impl Handle for c_int {
    fn blank() -> Self {
        // MPI_REQUEST_NULL
        0x2c00_0000
    }
}

/// Large and aligned enough for the MPI_Status of either interface (24 and 20 bytes).
#[repr(C, align(16))]
#[derive(Debug, Default)]
pub(super) struct Status([u64; 8]);

type Code = c_int;

/// The functions of MPI, by their names there.
pub(super) struct Functions<H> {
    pub(super) init_thread:
        unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> Code,
    pub(super) finalize: unsafe extern "C" fn() -> Code,
    pub(super) abort: unsafe extern "C" fn(H, c_int) -> Code,
    pub(super) comm_rank: unsafe extern "C" fn(H, *mut c_int) -> Code,
    pub(super) comm_size: unsafe extern "C" fn(H, *mut c_int) -> Code,
    pub(super) comm_dup: unsafe extern "C" fn(H, *mut H) -> Code,
    pub(super) comm_set_errhandler: unsafe extern "C" fn(H, H) -> Code,
    pub(super) isend:
        unsafe extern "C" fn(*const c_void, c_int, H, c_int, c_int, H, *mut H) -> Code,
    pub(super) improbe:
        unsafe extern "C" fn(c_int, c_int, H, *mut c_int, *mut H, *mut Status) -> Code,
    pub(super) imrecv: unsafe extern "C" fn(*mut c_void, c_int, H, *mut H, *mut H) -> Code,
    pub(super) test: unsafe extern "C" fn(*mut H, *mut c_int, *mut Status) -> Code,
    pub(super) get_count: unsafe extern "C" fn(*const Status, H, *mut c_int) -> Code,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> Code,
    pub(super) world: H,
    pub(super) byte: H,
    pub(super) errors_return: H,
    version: String,
    /// Keeps the functions in memory.
    _library: Library,
}

impl<H> fmt::Debug for Functions<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Functions").field("version", &self.version).finish_non_exhaustive()
    }
}

/// A library with the interface that it turned out to have.
#[derive(Debug)]
pub(super) enum Found {
    OpenMpi(Functions<Pointer>),
    Mpich(Functions<c_int>),
}

/// Whether this process was started by a launcher of MPI.
pub fn launched() -> bool {
    is_open_mpi_launch() || is_pmi_launch()
}

fn is_open_mpi_launch() -> bool {
    std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some()
}

fn is_pmi_launch() -> bool {
    ["PMI_SIZE", "PMI_RANK", "PMIX_RANK"].iter().any(|name| std::env::var_os(name).is_some())
}

/// The version of the library that would be used, for reports; or what was tried.
///
/// # Errors
/// If there is none: what was tried, and why it did not do.
pub fn version() -> Result<String, Vec<String>> {
    load().map(|found| match found {
        Found::OpenMpi(functions) => functions.version,
        Found::Mpich(functions) => functions.version,
    })
}

/// Loads the library: the one that the user names, or else the one whose launcher started this
/// process, or else any.
pub(super) fn load() -> Result<Found, Vec<String>> {
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let names: Vec<OsString> = match named {
        Some(name) => vec![name],
        None => {
            let (open_mpi, mpich) = (OPEN_MPI.iter(), MPICH.iter());
            let names: Vec<_> = if is_pmi_launch() && !is_open_mpi_launch() {
                mpich.chain(open_mpi).collect()
            } else {
                open_mpi.chain(mpich).collect()
            };
            names.into_iter().map(OsString::from).collect()
        }
    };
    let mut tried = Vec::new();
    for name in names {
        match open(&name) {
            Ok(found) => return Ok(found),
            Err(why) => tried.push(format!("{}: {why}", name.display())),
        }
    }
    Err(tried)
}

fn open(name: &OsString) -> Result<Found, String> {
    // Open MPI's own plugins look for its symbols among the global ones.
    // SAFETY: an MPI library runs only its own constructors on loading; the user or the system's
    // search path vouches that it is one.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) };
    let library = library.map_err(|error| error.to_string())?;
    if let Ok(world) = object(&library, c"ompi_mpi_comm_world") {
        let handles = [
            Ok(world),
            object(&library, c"ompi_mpi_byte"),
            object(&library, c"ompi_mpi_errors_return"),
        ];
        let [world, byte, errors_return] = handles;
        let handles = [world?, byte?, errors_return?];
        return Functions::new(library, handles).map(Found::OpenMpi);
    }
    // MPI_COMM_WORLD, MPI_BYTE, MPI_ERRORS_RETURN of the MPICH interface.
    let found = Functions::new(library, [0x4400_0000, 0x4c00_010d, 0x5400_0001])?;
    let family = ["MPICH", "Intel", "MVAPICH", "CRAY", "Cray"];
    if family.iter().any(|name| found.version.contains(name)) {
        Ok(Found::Mpich(found))
    } else {
        Err(format!("its interface is not known: {}", found.version))
    }
}

/// The address of an object that the library exports.
fn object(library: &Library, name: &CStr) -> Result<Pointer, String> {
    // SAFETY: only the address is taken, of whatever type the object is.
    let symbol: Result<Symbol<*mut c_void>, _> = unsafe { library.get(name.to_bytes_with_nul()) };
    symbol.map(|symbol| Pointer(symbol.into_raw())).map_err(|error| error.to_string())
}

/// A function that the library exports.
///
/// # Safety
/// `F` is the type of the function.
unsafe fn function<F: Copy>(library: &Library, name: &CStr) -> Result<F, String> {
    // SAFETY: passed on to the caller.
    let symbol: Result<Symbol<F>, _> = unsafe { library.get(name.to_bytes_with_nul()) };
    symbol.map(|symbol| *symbol).map_err(|error| error.to_string())
}

impl<H: Handle> Functions<H> {
    fn new(library: Library, handles: [H; 3]) -> Result<Self, String> {
        let [world, byte, errors_return] = handles;
        // SAFETY: the types below are those of the MPI standard, with `H` for handles; that it is
        // the right one follows from the objects that the library exports.
        unsafe {
            type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> Code;
            let version: Version = function(&library, c"MPI_Get_library_version")?;
            Ok(Self {
                init_thread: function(&library, c"MPI_Init_thread")?,
                finalize: function(&library, c"MPI_Finalize")?,
                abort: function(&library, c"MPI_Abort")?,
                comm_rank: function(&library, c"MPI_Comm_rank")?,
                comm_size: function(&library, c"MPI_Comm_size")?,
                comm_dup: function(&library, c"MPI_Comm_dup")?,
                comm_set_errhandler: function(&library, c"MPI_Comm_set_errhandler")?,
                isend: function(&library, c"MPI_Isend")?,
                improbe: function(&library, c"MPI_Improbe")?,
                imrecv: function(&library, c"MPI_Imrecv")?,
                test: function(&library, c"MPI_Test")?,
                get_count: function(&library, c"MPI_Get_count")?,
                error_string: function(&library, c"MPI_Error_string")?,
                version: read_text(|text, len| version(text, len)),
                world,
                byte,
                errors_return,
                _library: library,
            })
        }
    }

    /// The first line of what the library says of itself.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// What an error code means.
    pub(super) fn explain(&self, code: Code) -> String {
        // SAFETY: the buffer is as long as any text of either library.
        let text = read_text(|text, len| unsafe { (self.error_string)(code, text, len) });
        if text.is_empty() { format!("error {code}") } else { text }
    }
}

/// The first line of a text that a function of MPI writes.
fn read_text(write: impl FnOnce(*mut c_char, *mut c_int) -> Code) -> String {
    // MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH and 256 in Open MPI; error texts are shorter.
    let mut text = vec![0u8; 16384];
    let mut len: c_int = 0;
    write(text.as_mut_ptr().cast(), &raw mut len);
    let len = usize::try_from(len).unwrap_or(0).min(text.len());
    let text = String::from_utf8_lossy(&text[..len]).into_owned();
    let line = text.split(['\n', '\0']).next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
