#include "stream.h"

#include <atomic>
#include <chrono>

#include "device.h"
#include "memory.h"
#include "watch.h"

using namespace emulator;

namespace {

bool is_handle(CUstream stream) { return reinterpret_cast<uintptr_t>(stream) > 2; }

double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

// Waiting for captured work is an error that spoils the capture, as on the device.
CUresult spoil(Capture& capture) {
    capture.invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult wait_for(CUstream stream) {
    NEED_CONTEXT();
    if (is_handle(stream) && stream->capture) return spoil(*stream->capture);
    if (!is_handle(stream)) {
        if (auto error = refuse_while_capturing()) return error;
    }
    check_guards();
    return CUDA_SUCCESS;
}

bool captured(CUevent event) { return event->capture && event->capture->origin; }

std::atomic<void (*)(const Work*)> watcher{nullptr};
std::atomic<unsigned> streams{7};  // the first number is not 0, so that a number that nobody set is none of a stream

}  // namespace

void emulator::execute(const Node& node, unsigned stream) {
    auto told = watcher.load();
    if (!told || node.kind == Node::host || node.kind == Node::graph) return node.run();
    Work work{};
    work.kind = node.kind == Node::copy ? Work::copy : node.kind == Node::fill ? Work::fill : Work::kernel;
    work.name = node.name;
    work.way = node.way;
    work.stream = stream;
    work.start = zoetrope_emulator_clock();
    node.run();
    work.end = zoetrope_emulator_clock();
    told(&work);
}

EXPORT void zoetrope_emulator_watch(void (*told)(const Work*)) { watcher = told; }

EXPORT uint64_t zoetrope_emulator_clock() {
    using namespace std::chrono;
    return uint64_t(duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
}

EXPORT unsigned zoetrope_emulator_stream_id(CUstream stream) { return is_handle(stream) ? stream->id : 0; }

EXPORT CUresult cuCtxSynchronize() {
    NEED_CONTEXT();
    if (auto error = refuse_while_capturing()) return error;
    check_guards();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
    NEED_CONTEXT();
    *stream = new Stream{streams++, nullptr};
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }

EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
    if (!is_handle(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) return spoil(*stream->capture);
    delete stream;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream) { return wait_for(stream); }
EXPORT CUresult cuStreamQuery(CUstream stream) { return wait_for(stream); }

EXPORT CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data) {
    return enqueue(stream, Node{Node::host, reinterpret_cast<const void*>(function), [=] { function(data); }});
}

EXPORT CUresult cuEventCreate(CUevent* event, unsigned) {
    NEED_CONTEXT();
    *event = new Event;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event) {
    delete event;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
    NEED_CONTEXT();
    bool capturing = is_handle(stream) && stream->capture;
    event->capture = capturing ? stream->capture : nullptr;
    event->captured_on = capturing ? stream : nullptr;
    event->recorded = true;
    event->milliseconds = now_ms();
    return CUDA_SUCCESS;
}
EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) { return cuEventRecord(event, stream); }

EXPORT CUresult cuEventSynchronize(CUevent event) {
    if (captured(event)) return CUDA_ERROR_CAPTURED_EVENT;
    check_guards();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventQuery(CUevent event) { return captured(event) ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS; }

EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    if (!start->recorded || !end->recorded) return CUDA_ERROR_INVALID_HANDLE;
    if (captured(start) || captured(end)) return CUDA_ERROR_CAPTURED_EVENT;
    *milliseconds = float(end->milliseconds - start->milliseconds);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) { return cuEventElapsedTime(milliseconds, start, end); }

// The way in for emulated libraries above the driver: `run(data)` joins the stream like a kernel would,
// and `drop(data)` is called when nothing can run it any more. `name` lives for ever.
EXPORT CUresult zoetrope_emulator_enqueue(CUstream stream, const char* name, void (*run)(void*), void* data, void (*drop)(void*)) {
    std::shared_ptr<void> owned(data, drop);
    return enqueue(stream, Node{Node::library, reinterpret_cast<const void*>(run), [=] { run(owned.get()); }, name});
}

EXPORT int zoetrope_emulator_on_device(const void* pointer, size_t bytes) { return on_device(reinterpret_cast<CUdeviceptr>(pointer), bytes); }
