//! Finds the driver, NVRTC and cuBLASLt at run time: one binary for machines with and without a card.
//!
//! `cudarc` resolves functions by name and panics where a library or a function is missing. So the
//! libraries are looked for here first, each function that the house calls is looked up, and nothing
//! of `cudarc` is called unless all were found. A library that is loaded stays loaded: when `cudarc`
//! asks for it by its name, the system hands out the same one, wherever it was found.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

use super::error::CudaError;

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

/// The three libraries.
#[derive(Debug, Clone)]
pub struct Libraries {
    /// The driver, part of the system's installation.
    pub driver: Found,
    /// The compiler of kernels.
    pub compiler: Found,
    /// Dense products.
    pub products: Found,
}

struct Wanted {
    title: &'static str,
    names: &'static [&'static str],
    /// How the names of files begin that the library asks for by name when it is used.
    companions: Option<&'static str>,
    functions: &'static [&'static str],
    advice: &'static str,
}

const DRIVER: Wanted = Wanted {
    title: "CUDA driver",
    names: &["libcuda.so.1", "libcuda.so"],
    companions: None,
    functions: &[
        "cuInit",
        "cuDriverGetVersion",
        "cuDeviceGetCount",
        "cuDeviceGet",
        "cuDeviceGetName",
        "cuDeviceGetAttribute",
        "cuDeviceTotalMem_v2",
        "cuDevicePrimaryCtxRetain",
        "cuCtxSetCurrent",
        "cuMemGetInfo_v2",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuMemHostAlloc",
        "cuMemFreeHost",
        "cuMemHostGetDevicePointer_v2",
        "cuMemHostRegister_v2",
        "cuMemHostUnregister",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemsetD8Async",
        "cuStreamCreate",
        "cuStreamDestroy_v2",
        "cuStreamSynchronize",
        "cuStreamWaitEvent",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
        "cuEventCreate",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuEventQuery",
        "cuEventElapsedTime",
        "cuEventDestroy_v2",
        "cuModuleLoadData",
        "cuModuleGetFunction",
        "cuFuncSetAttribute",
        "cuLaunchKernel",
        "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",
        "cuGraphExecDestroy",
        "cuGraphDestroy",
        "cuGetErrorString",
    ],
    advice: "install NVIDIA's driver (525 or newer), or train with --device cpu",
};

const COMPILER: Wanted = Wanted {
    title: "NVRTC",
    names: &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"],
    companions: Some("libnvrtc-builtins.so"),
    functions: &[
        "nvrtcVersion",
        "nvrtcCreateProgram",
        "nvrtcCompileProgram",
        "nvrtcGetCUBINSize",
        "nvrtcGetCUBIN",
        "nvrtcGetProgramLogSize",
        "nvrtcGetProgramLog",
        "nvrtcDestroyProgram",
        "nvrtcGetErrorString",
    ],
    advice: "install the CUDA 12 or 13 toolkit, or `pip install nvidia-cuda-nvrtc` and set ZOETROPE_CUDA_PATH to the folder of libnvrtc",
};

const PRODUCTS: Wanted = Wanted {
    title: "cuBLASLt",
    names: &["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"],
    companions: None,
    functions: &[
        "cublasLtCreate",
        "cublasLtDestroy",
        "cublasLtMatmul",
        "cublasLtMatmulAlgoGetHeuristic",
        "cublasLtMatmulDescCreate",
        "cublasLtMatmulDescDestroy",
        "cublasLtMatmulDescSetAttribute",
        "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulPreferenceDestroy",
        "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatrixLayoutCreate",
        "cublasLtMatrixLayoutDestroy",
        "cublasLtMatrixLayoutSetAttribute",
    ],
    advice: "install the CUDA 12 or 13 toolkit, or `pip install nvidia-cublas` and set ZOETROPE_CUDA_PATH to the folder of libcublasLt",
};

/// Looks for the libraries, once a process.
pub fn libraries() -> &'static Libraries {
    static FOUND: OnceLock<Libraries> = OnceLock::new();
    FOUND.get_or_init(|| Libraries {
        driver: look_for(&DRIVER),
        compiler: look_for(&COMPILER),
        products: look_for(&PRODUCTS),
    })
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
    let named = std::env::var_os(PATH_VARIABLE).map(PathBuf::from);
    // The folder that the user names, then what the system knows, then where toolkits usually lie.
    let from_user = named.iter().flat_map(|folder| in_folder(folder, wanted));
    let from_system = wanted.names.iter().map(PathBuf::from);
    let usual = usual_folders();
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

/// Where toolkits, environments and Python packages put their libraries.
fn usual_folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        if let Some(home) = std::env::var_os(variable) {
            folders.push(Path::new(&home).join("lib64"));
        }
    }
    folders.push("/usr/local/cuda/lib64".into());
    for version in ["13", "12"] {
        folders.push(format!("/usr/local/cuda-{version}/lib64").into());
    }
    for variable in ["CONDA_PREFIX", "VIRTUAL_ENV"] {
        let Some(prefix) = std::env::var_os(variable) else { continue };
        let lib = Path::new(&prefix).join("lib");
        for python in children(&lib).into_iter().filter(|path| is_python(path)) {
            let packages = children(&python.join("site-packages/nvidia"));
            folders.extend(packages.into_iter().map(|package| package.join("lib")));
        }
        folders.push(lib);
    }
    folders
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn is_python(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"))
}
