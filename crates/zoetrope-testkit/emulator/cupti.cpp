// The emulated CUPTI: activity records of kernels, copies and fills, in buffers that the client lends. Records have
// the layout of CUPTI 12.9; the times are those of the host.
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "watch.h"

using emulator::Work;

namespace {

enum Status : int {
    SUCCESS = 0,
    INVALID_PARAMETER = 1,
    INVALID_OPERATION = 7,
    MAX_LIMIT_REACHED = 12,
    INVALID_KIND = 21,
    INSUFFICIENT_PRIVILEGES = 35,
    UNKNOWN = 999,
};

enum Kind : uint32_t { memcpy_kind = 1, memset_kind = 2, kernel_kind = 10 };

struct alignas(8) CopyRecord {  // CUpti_ActivityMemcpy6
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void* reserved;
    uint64_t graph_node;
    uint32_t graph, channel;
    int32_t channel_type;
    uint32_t pad2;
    uint64_t copies;
};

struct alignas(8) FillRecord {  // CUpti_ActivityMemset4
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void* reserved;
    uint64_t graph_node;
    uint32_t graph, channel;
    int32_t channel_type;
    uint32_t pad2;
};

struct alignas(8) KernelRecord {  // CUpti_ActivityKernel9
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    int32_t global_cache_asked, global_cache_given;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], static_shared, dynamic_shared;
    uint32_t local_each, local_all, correlation;
    int64_t grid_id;
    const char* name;
    void* reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_asked, carveout, padding;
    uint32_t shared_given;
    uint64_t graph_node;
    int32_t shared_limit;
    uint32_t graph;
    void* access_policy;
    uint32_t channel;
    int32_t channel_type;
    uint32_t cluster[3], cluster_policy;
    uint64_t local_all_v2;
    uint32_t clusters_possible, clusters_active;
};

static_assert(sizeof(CopyRecord) == 96 && offsetof(CopyRecord, stream) == 40, "as the header lays it out");
static_assert(sizeof(FillRecord) == 88 && offsetof(FillRecord, stream) == 40, "as the header lays it out");
static_assert(sizeof(KernelRecord) == 208 && offsetof(KernelRecord, name) == 104, "as the header lays it out");

using Request = void (*)(uint8_t**, size_t*, size_t*);
using Complete = void (*)(void*, uint32_t, uint8_t*, size_t, size_t);

std::mutex lock;
Request request;
Complete complete;
bool enabled[16];
uint8_t* buffer;
size_t buffer_bytes, filled;

// What goes wrong, for tests: "refuse" at the start, "break" when records are read.
bool set_to(const char* what) {
    const char* setting = std::getenv("ZOETROPE_EMULATED_CUPTI");
    return setting && std::strcmp(setting, what) == 0;
}

void give_back() {
    if (buffer) complete(nullptr, 0, buffer, buffer_bytes, filled);
    buffer = nullptr;
}

template <class Record>
void append(const Record& record) {
    if (buffer && filled + sizeof record > buffer_bytes) give_back();
    if (!buffer) {
        size_t most = 0;
        request(&buffer, &buffer_bytes, &most);
        filled = 0;
    }
    if (!buffer) return;
    std::memcpy(buffer + filled, &record, sizeof record);
    filled += sizeof record;
}

template <class Record>
Record begin(Kind kind, const Work& work) {
    Record record;
    // Fields that no record here sets must not be read either.
    std::memset(&record, 0xa5, sizeof record);
    record.kind = kind;
    record.start = work.start;
    record.end = work.end;
    record.device = 0;
    record.stream = work.stream;
    return record;
}

void watch(const Work* work) {
    std::lock_guard<std::mutex> hold(lock);
    if (work->kind == Work::kernel && enabled[kernel_kind]) {
        auto record = begin<KernelRecord>(kernel_kind, *work);
        record.name = work->name;
        append(record);
    } else if (work->kind == Work::copy && enabled[memcpy_kind]) {
        auto record = begin<CopyRecord>(memcpy_kind, *work);
        record.copy_kind = uint8_t(work->way);
        append(record);
    } else if (work->kind == Work::fill && enabled[memset_kind]) {
        append(begin<FillRecord>(memset_kind, *work));
    }
}

size_t bytes_of(uint32_t kind) {
    switch (kind) {
        case kernel_kind: return sizeof(KernelRecord);
        case memcpy_kind: return sizeof(CopyRecord);
        case memset_kind: return sizeof(FillRecord);
    }
    return 0;
}

Status enable(uint32_t kind, bool on) {
    std::lock_guard<std::mutex> hold(lock);
    if (!bytes_of(kind)) return INVALID_KIND;
    if (on && set_to("refuse")) return INSUFFICIENT_PRIVILEGES;
    enabled[kind] = on;
    bool any = enabled[kernel_kind] || enabled[memcpy_kind] || enabled[memset_kind];
    zoetrope_emulator_watch(any ? watch : nullptr);
    return SUCCESS;
}

}  // namespace

EXPORT int cuptiActivityRegisterCallbacks(Request requested, Complete completed) {
    std::lock_guard<std::mutex> hold(lock);
    if (!requested || !completed) return INVALID_PARAMETER;
    request = requested;
    complete = completed;
    return SUCCESS;
}

EXPORT int cuptiActivityEnable(uint32_t kind) { return enable(kind, true); }
EXPORT int cuptiActivityDisable(uint32_t kind) { return enable(kind, false); }

EXPORT int cuptiActivityFlushAll(uint32_t) {
    std::lock_guard<std::mutex> hold(lock);
    if (!complete) return INVALID_OPERATION;
    if (set_to("break")) return UNKNOWN;
    give_back();
    return SUCCESS;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t* from, size_t valid, uint8_t** record) {
    if (!from || !record) return INVALID_PARAMETER;
    uint8_t* next = from;
    if (*record) {
        uint32_t kind;
        std::memcpy(&kind, *record, sizeof kind);
        if (!bytes_of(kind)) return INVALID_KIND;
        next = *record + bytes_of(kind);
    }
    if (next >= from + valid) return MAX_LIMIT_REACHED;
    *record = next;
    return SUCCESS;
}

EXPORT int cuptiGetTimestamp(uint64_t* nanoseconds) {
    *nanoseconds = zoetrope_emulator_clock();
    return SUCCESS;
}

EXPORT int cuptiGetStreamIdEx(void*, CUstream stream, uint8_t, uint32_t* id) {
    *id = zoetrope_emulator_stream_id(stream);
    return SUCCESS;
}

EXPORT int cuptiGetResultString(int status, const char** text) {
    *text = status == INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : status == UNKNOWN ? "CUPTI_ERROR_UNKNOWN" : nullptr;
    return *text ? SUCCESS : INVALID_PARAMETER;
}
