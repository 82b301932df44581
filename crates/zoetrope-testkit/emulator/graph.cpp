// Capture of streams into graphs, and their replay.
#include "stream.h"

#include <algorithm>
#include <mutex>

namespace emulator {
namespace {

constexpr int mode_global = 0, mode_relaxed = 2;

std::recursive_mutex lock;
std::vector<std::weak_ptr<Capture>> captures;  // under way
thread_local int thread_mode = mode_global;
thread_local std::vector<std::weak_ptr<Capture>> own_captures;

bool is_handle(Stream* stream) { return reinterpret_cast<uintptr_t>(stream) > 2; }

bool any_active(const std::vector<std::weak_ptr<Capture>>& list, int most_mode) {
    return std::any_of(list.begin(), list.end(), [&](const std::weak_ptr<Capture>& weak) {
        auto capture = weak.lock();
        return capture && capture->origin && capture->mode <= most_mode;
    });
}

void forget_finished(std::vector<std::weak_ptr<Capture>>& list) {
    list.erase(std::remove_if(list.begin(), list.end(), [](const auto& weak) { return weak.expired(); }), list.end());
}

}  // namespace

CUresult enqueue(Stream* stream, Node node) {
    if (!is_handle(stream) || !stream->capture) {
        execute(node, is_handle(stream) ? stream->id : 0);
        return CUDA_SUCCESS;
    }
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream->capture->graph->nodes.push_back(std::make_shared<Node>(std::move(node)));
    stream->unjoined = stream != stream->capture->origin;
    return CUDA_SUCCESS;
}

CUresult refuse_while_capturing() {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (thread_mode == mode_relaxed) return CUDA_SUCCESS;
    bool refused = any_active(own_captures, 1) || (thread_mode == mode_global && any_active(captures, mode_global));
    return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

}  // namespace emulator

using namespace emulator;

EXPORT CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
    std::swap(*mode, thread_mode);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
    if (!is_handle(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (stream->capture || mode < mode_global || mode > mode_relaxed) return CUDA_ERROR_INVALID_VALUE;
    auto capture = std::make_shared<Capture>();
    capture->origin = stream;
    capture->mode = mode;
    capture->joined = {stream};
    stream->capture = capture;
    stream->unjoined = false;
    forget_finished(captures);
    forget_finished(own_captures);
    captures.push_back(capture);
    own_captures.push_back(capture);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamIsCapturing(CUstream stream, int* status) {
    *status = !is_handle(stream) || !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    *graph = nullptr;
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (!is_handle(stream) || !stream->capture) return CUDA_ERROR_INVALID_VALUE;
    auto capture = stream->capture;
    if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    bool unjoined = false;
    for (Stream* joined : capture->joined) {
        unjoined |= joined->unjoined;
        joined->unjoined = false;
        joined->capture = nullptr;
    }
    capture->origin = nullptr;
    if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (unjoined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = capture->graph.release();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    bool captured = event->capture && event->capture->origin;
    auto own = is_handle(stream) ? stream->capture : nullptr;
    if (!captured) {
        // Work that was already put on the other stream has run; only a capture cannot depend on it.
        return own && event->recorded ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_SUCCESS;
    }
    if (!is_handle(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (own && own != event->capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (!own) {
        stream->capture = event->capture;
        event->capture->joined.push_back(stream);
    }
    // A stream that waits carries the other's work on towards the stream of origin.
    if (event->captured_on != stream) {
        if (stream != event->capture->origin) stream->unjoined = true;
        if (event->captured_on) event->captured_on->unjoined = false;
    }
    return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------------------ graphs

EXPORT CUresult cuGraphGetNodes(CUgraph graph, void** nodes, size_t* count) {
    if (nodes) {
        for (size_t i = 0; i < *count; ++i) nodes[i] = i < graph->nodes.size() ? graph->nodes[i].get() : nullptr;
    }
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphNodeGetType(void* node, int* type) {
    // KERNEL, MEMCPY, MEMSET, HOST; a library call is one or more kernels; GRAPH.
    static const int types[] = {0, 1, 2, 3, 0, 4};
    *type = types[static_cast<Node*>(node)->kind];
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
    *exec = new GraphExec{graph->nodes};
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphUpload(CUgraphExec, CUstream) { return CUDA_SUCCESS; }

// What a graph launches may show under streams that nobody made.
constexpr unsigned branch_stream = 1 << 20;

EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    auto nodes = exec->nodes;
    return enqueue(stream, Node{Node::graph, nullptr, [nodes] {
        for (const auto& node : nodes) execute(*node, branch_stream);
    }});
}

struct UpdateResult {
    int result;
    void* node;
    void* from;
};

EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, UpdateResult* info) {
    // Numbers of CUgraphExecUpdateResult: 2 topology, 3 type of a node, 4 function of a kernel changed.
    int result = exec->nodes.size() == graph->nodes.size() ? 0 : 2;
    void* culprit = nullptr;
    for (size_t i = 0; result == 0 && i < graph->nodes.size(); ++i) {
        const Node &old = *exec->nodes[i], &now = *graph->nodes[i];
        if (old.kind != now.kind) result = 3;
        else if (old.what != now.what) result = 4;
        if (result) culprit = graph->nodes[i].get();
    }
    if (info) *info = UpdateResult{result, culprit, nullptr};
    if (result) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    exec->nodes = graph->nodes;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
    delete exec;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphDestroy(CUgraph graph) {
    delete graph;
    return CUDA_SUCCESS;
}
