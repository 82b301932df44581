#include "device.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace emulator {
namespace {

size_t environment(const char* name, size_t otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

bool initialized = false;
std::mutex lock;
Context contexts[16];
thread_local std::vector<Context*> stack;

}  // namespace

int device_count() {
    static const int value = int(environment("ZOETROPE_EMULATED_DEVICES", 1));
    return value > 16 ? 16 : value;
}

unsigned compute_capability() {
    static const unsigned value = unsigned(environment("ZOETROPE_EMULATED_COMPUTE", 90));
    return value;
}

size_t device_memory_bytes() {
    static const size_t value = environment("ZOETROPE_EMULATED_MEMORY", size_t(8) << 30);
    return value;
}

bool sanitizing() {
    static const bool value = environment("ZOETROPE_EMULATED_SANITIZE", 0) != 0;
    return value;
}

// Bytes by compute capability, from the table of the CUDA programming guide.
unsigned shared_opt_in_bytes() {
    switch (compute_capability()) {
        case 75: return 65536;
        case 80: case 87: return 166912;
        case 86: case 89: case 120: case 121: return 101376;
        case 70: case 72: return 98304;
        default: return 232448;
    }
}

int device_attribute(int attribute) {
    switch (attribute) {
        case 1: return 1024;                                // threads of a block
        case 2: case 3: return 1024;                        // block x, y
        case 4: return 64;                                  // block z
        case 5: return 0x7fffffff;                          // grid x
        case 6: case 7: return 65535;                       // grid y, z
        case 8: return 49152;                               // shared memory of a block
        case 9: return 65536;                               // constant memory
        case 10: return 32;                                 // warp
        case 11: return 0x7fffffff;                         // pitch
        case 12: case 82: return 65536;                     // registers of a block, of a multiprocessor
        case 13: return 1000000;                            // clock, kHz
        case 14: return 512;                                // texture alignment
        case 15: case 31: case 40: return 1;                // overlap, concurrent kernels, copy engines
        case 16: return 4;                                  // multiprocessors
        case 19: case 41: case 78: case 99: return 1;       // mapped memory, unified addresses, priorities, registration
        case 36: return 1000000;                            // memory clock, kHz
        case 37: return 256;                                // memory bus, bits
        case 38: return 4 << 20;                            // L2
        case 39: return compute_capability() == 75 ? 1024 : 2048;  // threads of a multiprocessor
        case 75: return int(compute_capability() / 10);
        case 76: return int(compute_capability() % 10);
        case 79: case 80: return 1;                         // L1 caches
        case 81: return int(shared_opt_in_bytes()) + 1024;  // shared memory of a multiprocessor
        case 97: return int(shared_opt_in_bytes());
        case 106: return compute_capability() == 75 ? 16 : 32;  // blocks of a multiprocessor
        case 111: return compute_capability() == 75 ? 0 : 1024;  // shared memory that the system keeps
        case 115: return 1;                                 // memory pools
        // Kinds of memory, launch and texture that are not emulated.
        default: return attribute > 0 && attribute < 160 ? 0 : -1;
    }
}

Context* current_context() { return stack.empty() ? nullptr : stack.back(); }

}  // namespace emulator

using namespace emulator;

EXPORT CUresult cuInit(unsigned flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (device_count() < 1) return CUDA_ERROR_NO_DEVICE;
    initialized = true;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int* count) {
    if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
    *count = device_count();
    return CUDA_SUCCESS;
}

static CUresult check_device(CUdevice device) {
    if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
    return device >= 0 && device < device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    *device = ordinal;
    return check_device(ordinal);
}

EXPORT CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
    if (auto error = check_device(device)) return error;
    if (bytes < 1) return CUDA_ERROR_INVALID_VALUE;
    std::strncpy(name, "Emulated device", size_t(bytes));
    name[bytes - 1] = 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid(char* uuid, CUdevice device) {
    if (auto error = check_device(device)) return error;
    std::memcpy(uuid, "zoetrope device", 16);
    uuid[15] = char(device);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(char* uuid, CUdevice device) { return cuDeviceGetUuid(uuid, device); }

EXPORT CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
    if (auto error = check_device(device)) return error;
    int known = device_attribute(attribute);
    if (known < 0) return CUDA_ERROR_INVALID_VALUE;
    *value = known;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    *bytes = device_memory_bytes();
    return check_device(device);
}

EXPORT CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    *can = 0;
    if (auto error = check_device(device)) return error;
    return check_device(peer);
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    if (auto error = check_device(device)) return error;
    std::lock_guard<std::mutex> hold(lock);
    contexts[device].device = device;
    ++contexts[device].retained;
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    if (auto error = check_device(device)) return error;
    std::lock_guard<std::mutex> hold(lock);
    if (contexts[device].retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    --contexts[device].retained;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    if (auto error = check_device(device)) return error;
    std::lock_guard<std::mutex> hold(lock);
    *flags = 0;
    *active = contexts[device].retained != 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
    if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (!stack.empty()) stack.pop_back();
    if (context) stack.push_back(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = current_context();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    stack.push_back(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    NEED_CONTEXT();
    if (context) *context = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
    NEED_CONTEXT();
    *device = current_context()->device;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    NEED_CONTEXT();
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetLimit(int, size_t) { return current_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }

#define EACH_ERROR(X)                                                                              \
    X(CUDA_SUCCESS, "no error")                                                                    \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                   \
    X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                          \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                  \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                         \
    X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                  \
    X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                        \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")    \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                        \
    X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                              \
    X(CUDA_ERROR_NOT_READY, "device not ready")                                                    \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")               \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "memory is already registered")                   \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "memory has not been registered")                     \
    X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                         \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")   \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture") \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                    \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream") \
    X(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream") \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph update was not performed")

EXPORT CUresult cuGetErrorName(CUresult error, const char** text) {
    switch (error) {
#define NAME(code, words) case code: *text = #code; return CUDA_SUCCESS;
        EACH_ERROR(NAME)
    }
    *text = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuGetErrorString(CUresult error, const char** text) {
    switch (error) {
#define WORDS(code, words) case code: *text = words; return CUDA_SUCCESS;
        EACH_ERROR(WORDS)
    }
    *text = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}
