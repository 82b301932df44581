//! Finds the driver, NVRTC, cuBLASLt, CUPTI and NCCL at run time: one binary for machines with and without
//! a GPU.
//!
//! `cudarc` resolves functions by name and panics if a library or a function is missing. So the
//! libraries are looked for here first, each function that Zoetrope calls is looked up, and nothing
//! of `cudarc` is called unless all were found. A library that is loaded stays loaded: when `cudarc`
//! asks for it by its name, the system hands out the same one, wherever it was found.

mod folders;
mod wanted;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

use self::folders::{beside, children, usual_folders};
use self::wanted::{COMPILER, DRIVER, LINK, PRODUCTS, PROFILER, Wanted};
use super::error::CudaError;
use super::gpu::driver_version;

/// A folder that is searched before all others.
pub const PATH_VARIABLE: &str = "ZOETROPE_CUDA_PATH";

/// What was found of one library.
#[derive(Debug, Clone)]
pub struct Found {
    /// What users call it.
    pub title: &'static str,
    /// The file, or why there is none.
    pub file: Result<String, String>,
}

impl Found {
    /// A handle to it. It stays loaded for ever, so that its functions may be kept.
    ///
    /// # Errors
    /// If it is missing.
    pub(super) fn open(&self) -> Result<Opened, CudaError> {
        let title = self.title;
        let refuse = |problem: String| CudaError::Library { library: title, problem };
        let file = self.file.as_ref().map_err(|problem| refuse(problem.clone()))?;
        // SAFETY: the library is loaded already, so that this is a second handle to it.
        let library = unsafe { Library::new(file) }.map_err(|error| refuse(error.to_string()))?;
        Ok(Opened { title, library: Box::leak(Box::new(library)) })
    }
}

/// A library whose functions are found by name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opened {
    title: &'static str,
    library: &'static Library,
}

impl Opened {
    /// A function.
    ///
    /// # Errors
    /// If the library does not have it.
    ///
    /// # Safety
    /// `F` must be the type that the function has in NVIDIA's header.
    pub(super) unsafe fn function<F: Copy>(&self, name: &[u8]) -> Result<F, CudaError> {
        // SAFETY: as the caller promises.
        let found = unsafe { self.library.get::<F>(name) };
        let refuse = |problem: String| CudaError::Library { library: self.title, problem };
        found.map(|function| *function).map_err(|error| refuse(error.to_string()))
    }
}

/// The three libraries that computing needs.
#[derive(Debug, Clone)]
pub struct Libraries {
    /// The driver, part of the system's installation.
    pub driver: Found,
    /// The compiler of kernels.
    pub compiler: Found,
    /// Dense products.
    pub products: Found,
}

impl Libraries {
    /// The files that were found.
    fn files(&self) -> impl Iterator<Item = &Path> {
        let found = [&self.driver, &self.compiler, &self.products].into_iter();
        found.filter_map(|one| one.file.as_deref().ok().map(Path::new))
    }
}

/// Looks for the libraries, once a process.
pub fn libraries() -> &'static Libraries {
    static FOUND: OnceLock<Libraries> = OnceLock::new();
    FOUND.get_or_init(|| Libraries {
        driver: look_for(&DRIVER),
        compiler: look_for(&COMPILER),
        products: look_for(&PRODUCTS),
    })
}

/// Looks for CUPTI, which only traces use, once a process.
pub fn profiler() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| match driver_version() {
        // CUPTI 13 refuses drivers of CUDA 12; the newest comes first among the names.
        Ok(version) if version < 13_000 => {
            look_for(&Wanted { names: &PROFILER.names[1..], ..PROFILER })
        }
        _ => look_for(&PROFILER),
    })
}

/// Looks for NCCL, which only ranks with a GPU each use, once a process.
pub fn link() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| look_for(&LINK))
}

/// Requires that all three are there.
///
/// # Errors
/// The first that is missing, with advice.
pub(super) fn require() -> Result<(), CudaError> {
    let found = libraries();
    for one in [&found.driver, &found.compiler, &found.products] {
        if let Err(problem) = &one.file {
            return Err(CudaError::Library { library: one.title, problem: problem.clone() });
        }
    }
    Ok(())
}

fn look_for(wanted: &Wanted) -> Found {
    Found { title: wanted.title, file: load(wanted) }
}

fn load(wanted: &Wanted) -> Result<String, String> {
    let named = folders::named(PATH_VARIABLE);
    // The folder that the user names, then what the system knows, then where toolkits usually lie
    // and where the others were found.
    let from_user = named.iter().flat_map(|folder| in_folder(folder, wanted));
    let from_system = wanted.names.iter().map(PathBuf::from);
    let mut usual = usual_folders();
    if wanted.beside_others {
        usual.extend(libraries().files().flat_map(beside));
    }
    let from_usual = usual.iter().flat_map(|folder| in_folder(folder, wanted));
    let mut refusals = Vec::new();
    for file in from_user.chain(from_system).chain(from_usual) {
        // SAFETY: loading runs the initialisers of NVIDIA's libraries, which is what the user asks for.
        let library = match unsafe { Library::new(&file) } {
            Ok(library) => library,
            Err(error) if file.is_absolute() => {
                refusals.push(format!("{}: {error}", file.display()));
                continue;
            }
            Err(_) => continue,
        };
        // SAFETY: only whether the function exists is asked; nothing is called.
        let lacks = |name: &&&str| unsafe { library.get::<*const ()>(name.as_bytes()) }.is_err();
        if let Some(missing) = wanted.functions.iter().find(lacks) {
            refusals.push(format!("{} is too old: it has no {missing}", file.display()));
            continue;
        }
        load_companions(&file, wanted);
        std::mem::forget(library);
        return Ok(file.display().to_string());
    }
    let tried = wanted.names.join(", ");
    let seen = refusals.into_iter().map(|refusal| format!("; {refusal}")).collect::<String>();
    Err(format!("not found (looked for {tried}{seen}); {}", wanted.advice))
}

/// Loads what a library needs from its own folder. NVRTC 13.0 as the Python index has it knows no
/// folder to look for its builtins in; once they are loaded, it finds them by their name.
fn load_companions(file: &Path, wanted: &Wanted) {
    let (Some(begin), Some(folder)) = (wanted.companions, file.parent()) else { return };
    let is_companion = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin))
    };
    for companion in children(folder).into_iter().filter(is_companion) {
        // SAFETY: as for the library itself, whose part this is.
        if let Ok(library) = unsafe { Library::new(companion) } {
            std::mem::forget(library);
        }
    }
}

fn in_folder(folder: &Path, wanted: &Wanted) -> Vec<PathBuf> {
    wanted.names.iter().map(|name| folder.join(name)).filter(|file| file.exists()).collect()
}
