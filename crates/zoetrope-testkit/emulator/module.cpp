// Modules, their functions, and launches.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "block.h"
#include "device.h"
#include "memory.h"
#include "stream.h"

namespace emulator {

struct Function {
    LoadedModule* owner;
    const Kernel* kernel;
    int dynamic_shared_bytes = 0;  // raised above 48 KiB by cuFuncSetAttribute
};

struct LoadedModule {
    void* library;
    const Module* module;
    std::vector<Function> functions;
    std::vector<void*> globals;
};

namespace {

constexpr int default_shared_bytes = 49152;

// CUDA gives no length with an image. The section headers, or else the last segment, end the file.
size_t image_bytes(const char* image) {
    ElfW(Ehdr) header;
    std::memcpy(&header, image, sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    size_t end = header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
    for (int i = 0; i < header.e_phnum; ++i) {
        ElfW(Phdr) segment;
        std::memcpy(&segment, image + header.e_phoff + size_t(i) * header.e_phentsize, sizeof segment);
        end = std::max<size_t>(end, segment.p_offset + segment.p_filesz);
    }
    return end;
}

void* open_image(const char* image, size_t bytes) {
    const char* folder = std::getenv("TMPDIR");
    std::string path = std::string(folder && *folder ? folder : "/tmp") + "/zoetrope-module-XXXXXX";
    int file = mkstemp(&path[0]);
    if (file < 0) return nullptr;
    size_t written = 0;
    while (written < bytes) {
        ssize_t step = write(file, image + written, bytes - written);
        if (step <= 0) break;
        written += size_t(step);
    }
    close(file);
    void* library = written == bytes ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!library && written == bytes) std::fprintf(stderr, "cuda emulator: %s\n", dlerror());
    unlink(path.c_str());
    return library;
}

bool runs_here(const Module& module) {
    unsigned device = compute_capability();
    return module.architecture <= device && (!module.exact || module.architecture / 10 == device / 10);
}

bool fits(uint3 grid, uint3 block) {
    return grid.x && grid.y && grid.z && block.x && block.y && block.z && grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535 &&
           block.x <= 1024 && block.y <= 1024 && block.z <= 64 && uint64_t(block.x) * block.y * block.z <= 1024;
}

}  // namespace
}  // namespace emulator

using namespace emulator;

EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    NEED_CONTEXT();
    size_t bytes = image_bytes(static_cast<const char*>(image));
    if (bytes == 0) return CUDA_ERROR_INVALID_IMAGE;
    void* library = open_image(static_cast<const char*>(image), bytes);
    if (!library) return CUDA_ERROR_INVALID_IMAGE;
    auto table = static_cast<const Module*>(dlsym(library, "zoetrope_module"));
    if (!table || table->abi != abi_version || !runs_here(*table)) {
        dlclose(library);
        return table ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE;
    }
    auto loaded = new LoadedModule{library, table, {}, {}};
    for (unsigned i = 0; i < table->kernel_count; ++i) loaded->functions.push_back(Function{loaded, &table->kernels[i]});
    *module = loaded;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, int*, void**) { return cuModuleLoadData(module, image); }

EXPORT CUresult cuModuleUnload(CUmodule module) {
    for (void* global : module->globals) remove_global(global);
    dlclose(module->library);
    delete module;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    for (auto& candidate : module->functions) {
        if (std::strcmp(candidate.kernel->name, name) != 0) continue;
        *function = &candidate;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, size_t* bytes, CUmodule module, const char* name) {
    void* address = dlsym(module->library, name);
    Dl_info info;
    ElfW(Sym)* symbol = nullptr;
    if (!address || !dladdr1(address, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) || !symbol) return CUDA_ERROR_NOT_FOUND;
    add_global(address, symbol->st_size);
    module->globals.push_back(address);
    if (pointer) *pointer = reinterpret_cast<CUdeviceptr>(address);
    if (bytes) *bytes = symbol->st_size;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    if (attribute == 9) return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;  // carve-out of shared memory
    if (attribute != 8 || value < 0 || value > int(shared_opt_in_bytes())) return CUDA_ERROR_INVALID_VALUE;
    function->dynamic_shared_bytes = value;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
    switch (attribute) {
        case 0: *value = function->kernel->launch_bound ? int(function->kernel->launch_bound) : 1024; break;
        case 1: case 2: case 3: case 7: *value = 0; break;
        case 4: *value = 32; break;
        case 5: case 6: *value = int(function->owner->module->architecture); break;
        case 8: *value = std::max(function->dynamic_shared_bytes, default_shared_bytes); break;
        case 9: *value = -1; break;
        default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, size_t shared_bytes) {
    if (threads < 1) return CUDA_ERROR_INVALID_VALUE;
    int by_threads = device_attribute(39) / ((threads + 31) / 32 * 32);
    size_t by_shared = shared_bytes ? size_t(device_attribute(81)) / (shared_bytes + size_t(device_attribute(111))) : 32;
    bool allowed = threads <= 1024 && int(shared_bytes) <= std::max(function->dynamic_shared_bytes, default_shared_bytes);
    *blocks = allowed ? int(std::min<size_t>({size_t(by_threads), by_shared, size_t(device_attribute(106))})) : 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared_bytes, CUstream stream, void** parameters, void** extra) {
    NEED_CONTEXT();
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    const Kernel& kernel = *function->kernel;
    uint3 grid = {gx, gy, gz}, block = {bx, by, bz};
    if (!fits(grid, block) || extra || (!parameters && kernel.parameter_count)) return CUDA_ERROR_INVALID_VALUE;
    if (int(shared_bytes) > std::max(function->dynamic_shared_bytes, default_shared_bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (kernel.launch_bound && bx * by * bz > kernel.launch_bound) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    // The parameters are copied, because a graph runs the kernel long after the caller's are gone. Each
    // begins at a multiple of 16 bytes, which is enough for every vector type.
    std::vector<size_t> offsets;
    size_t bytes = 0;
    for (unsigned i = 0; i < kernel.parameter_count; ++i) {
        offsets.push_back(bytes);
        bytes += (kernel.parameter_bytes[i] + 15) & ~15u;
    }
    std::vector<long double> storage((bytes + sizeof(long double) - 1) / sizeof(long double));
    for (unsigned i = 0; i < kernel.parameter_count; ++i)
        std::memcpy(reinterpret_cast<char*>(storage.data()) + offsets[i], parameters[i], kernel.parameter_bytes[i]);
    const Module* module = function->owner->module;
    return enqueue(stream, Node{Node::kernel, function, [=, &kernel]() mutable {
        std::vector<void*> pointers;
        for (size_t offset : offsets) pointers.push_back(reinterpret_cast<char*>(storage.data()) + offset);
        run_grid(Launch{module, &kernel, grid, block, shared_bytes, pointers.data()});
        if (sanitizing()) check_guards();
    }, kernel.name});
}

// Blocks run one after another, so they cannot wait for each other.
EXPORT CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
