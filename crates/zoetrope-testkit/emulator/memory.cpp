#include "memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "block.h"
#include "device.h"
#include "stream.h"

namespace emulator {
namespace {

constexpr size_t guard_bytes = 1024;
constexpr unsigned char guard = 0xa5;
constexpr int poison = 0xff;
// Allocations whose guards are checked when the host waits: programs that wait often have many.
constexpr size_t most_checked = 512;
// Filling is limited, because it makes the pages of memory that nobody may ever touch.
constexpr size_t most_poisoned = size_t(256) << 20;

struct Allocation {
    enum Kind { device, pinned, registered, global } kind;
    size_t bytes;
    CUdevice owner;
};

std::mutex lock;
std::map<CUdeviceptr, Allocation> live;
size_t used[16];

char* at(CUdeviceptr pointer) { return reinterpret_cast<char*>(pointer); }

size_t rounded(size_t bytes) { return (bytes + 511) & ~size_t(511); }

// Only the bytes that were asked for belong to the allocation: its guard begins right behind them.
void check(CUdeviceptr pointer, const Allocation& allocation) {
    if (allocation.kind != Allocation::device) return;
    // All bytes are as the one before them, the first one is as it should be.
    auto intact = [](const char* from) {
        return static_cast<unsigned char>(*from) == guard && std::memcmp(from, from + 1, guard_bytes - 1) == 0;
    };
    bool before = !intact(at(pointer) - guard_bytes), behind = !intact(at(pointer) + allocation.bytes);
    if (!before && !behind) return;
    std::fprintf(stderr, "cuda emulator: somebody wrote %s an allocation of %zu bytes; the last kernel was %s\n", before ? "before" : "behind",
                 allocation.bytes, last_kernel().c_str());
    std::abort();
}

CUresult allocate(CUdeviceptr* pointer, size_t bytes) {
    NEED_CONTEXT();
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    CUdevice device = current_context()->device;
    std::lock_guard<std::mutex> hold(lock);
    if (bytes > device_memory_bytes() || used[device] + rounded(bytes) > device_memory_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
    auto raw = static_cast<char*>(std::aligned_alloc(512, rounded(bytes + 2 * guard_bytes)));
    if (!raw) return CUDA_ERROR_OUT_OF_MEMORY;
    std::memset(raw, guard, guard_bytes);
    std::memset(raw + guard_bytes, poison, std::min(bytes, most_poisoned));
    std::memset(raw + guard_bytes + bytes, guard, guard_bytes);
    *pointer = reinterpret_cast<CUdeviceptr>(raw + guard_bytes);
    used[device] += rounded(bytes);
    live[*pointer] = {Allocation::device, bytes, device};
    return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr pointer) {
    if (pointer == 0) return CUDA_SUCCESS;
    std::lock_guard<std::mutex> hold(lock);
    auto found = live.find(pointer);
    if (found == live.end() || found->second.kind != Allocation::device) return CUDA_ERROR_INVALID_VALUE;
    check(pointer, found->second);
    used[found->second.owner] -= rounded(found->second.bytes);
    live.erase(found);
    std::free(at(pointer) - guard_bytes);
    return CUDA_SUCCESS;
}

void add(void* pointer, Allocation allocation) {
    std::lock_guard<std::mutex> hold(lock);
    live[reinterpret_cast<CUdeviceptr>(pointer)] = allocation;
}

CUresult remove(void* pointer, Allocation::Kind kind, CUresult otherwise) {
    std::lock_guard<std::mutex> hold(lock);
    auto found = live.find(reinterpret_cast<CUdeviceptr>(pointer));
    if (found == live.end() || found->second.kind != kind) return otherwise;
    live.erase(found);
    return CUDA_SUCCESS;
}

// The entry that `pointer` lies in, or the one right before it.
const std::pair<const CUdeviceptr, Allocation>* entry_of(CUdeviceptr pointer) {
    auto next = live.upper_bound(pointer);
    if (next == live.begin()) return nullptr;
    auto found = std::prev(next);
    return pointer < found->first + found->second.bytes ? &*found : nullptr;
}

// Memory of the host may be anywhere, but a pointer into device memory has to stay in its allocation.
bool valid_anywhere(CUdeviceptr pointer, size_t bytes) {
    std::lock_guard<std::mutex> hold(lock);
    auto entry = entry_of(pointer);
    return !entry || entry->second.kind != Allocation::device || pointer + bytes <= entry->first + entry->second.bytes;
}

enum Way { up = 1, down = 2, within = 8 };

CUresult copy(Way way, void* to, const void* from, size_t bytes, CUstream stream) {
    return enqueue(stream, Node{Node::copy, nullptr, [=] { std::memmove(to, from, bytes); }, nullptr, way});
}

CUresult fill8(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    NEED_CONTEXT();
    if (count == 0) return CUDA_SUCCESS;
    if (!on_device(to, count)) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(stream, Node{Node::fill, nullptr, [=] { std::memset(at(to), value, count); }});
}

CUresult fill32(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    NEED_CONTEXT();
    if (count == 0) return CUDA_SUCCESS;
    if (to % 4 || !on_device(to, count * 4)) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(stream, Node{Node::fill, nullptr, [=] { std::fill_n(reinterpret_cast<unsigned*>(to), count, value); }});
}

// A copy that waits: refused during capture.
#define WAITING(call)                                          \
    if (auto error = refuse_while_capturing()) return error;   \
    return call

}  // namespace

bool on_device(CUdeviceptr pointer, size_t bytes) {
    std::lock_guard<std::mutex> hold(lock);
    auto entry = entry_of(pointer);
    return entry && bytes <= entry->second.bytes && pointer + bytes <= entry->first + entry->second.bytes;
}

void add_global(void* pointer, size_t bytes) { add(pointer, {Allocation::global, bytes, 0}); }
void remove_global(void* pointer) { remove(pointer, Allocation::global, CUDA_SUCCESS); }

// All of them if there are few, else as many of those that come next.
void check_guards() {
    static CUdeviceptr next = 0;
    std::lock_guard<std::mutex> hold(lock);
    auto entry = live.lower_bound(next);
    for (size_t left = std::min(live.size(), most_checked); left > 0; --left, ++entry) {
        if (entry == live.end()) entry = live.begin();
        check(entry->first, entry->second);
    }
    next = entry == live.end() ? 0 : entry->first;
}

}  // namespace emulator

using namespace emulator;

EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    NEED_CONTEXT();
    std::lock_guard<std::mutex> hold(lock);
    *total = device_memory_bytes();
    *free = *total - used[current_context()->device];
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
    WAITING(allocate(pointer, bytes));
}
EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream) {
    WAITING(allocate(pointer, bytes));
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
    WAITING(release(pointer));
}
EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream) {
    WAITING(release(pointer));
}

EXPORT CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
    NEED_CONTEXT();
    if (auto error = refuse_while_capturing()) return error;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    *pointer = std::aligned_alloc(4096, (bytes + 4095) & ~size_t(4095));
    if (!*pointer) return CUDA_ERROR_OUT_OF_MEMORY;
    add(*pointer, {Allocation::pinned, bytes, 0});
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }

EXPORT CUresult cuMemFreeHost(void* pointer) {
    if (!pointer) return CUDA_SUCCESS;
    if (auto error = remove(pointer, Allocation::pinned, CUDA_ERROR_INVALID_VALUE)) return error;
    std::free(pointer);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned) {
    NEED_CONTEXT();
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (on_device(reinterpret_cast<CUdeviceptr>(pointer), 1)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    add(pointer, {Allocation::registered, bytes, 0});
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemHostUnregister(void* pointer) { return remove(pointer, Allocation::registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED); }

EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned) {
    *device = reinterpret_cast<CUdeviceptr>(host);
    return on_device(*device, 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// --------------------------------------------------------------------------------------- copies and fills

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    NEED_CONTEXT();
    if (bytes == 0) return CUDA_SUCCESS;
    if (!on_device(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return copy(up, at(to), from, bytes, stream);
}
EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    NEED_CONTEXT();
    if (bytes == 0) return CUDA_SUCCESS;
    if (!on_device(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return copy(down, to, at(from), bytes, stream);
}
EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    NEED_CONTEXT();
    if (bytes == 0) return CUDA_SUCCESS;
    if (!on_device(to, bytes) || !on_device(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return copy(within, at(to), at(from), bytes, stream);
}
EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    NEED_CONTEXT();
    if (!valid_anywhere(to, bytes) || !valid_anywhere(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return copy(within, at(to), at(from), bytes, stream);
}

EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    WAITING(cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr));
}
EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    WAITING(cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr));
}
EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    WAITING(cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr));
}
EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    WAITING(cuMemcpyAsync(to, from, bytes, nullptr));
}

EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    WAITING(fill8(to, value, count, nullptr));
}
EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
    WAITING(fill32(to, value, count, nullptr));
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) { return fill8(to, value, count, stream); }
EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) { return fill32(to, value, count, stream); }
