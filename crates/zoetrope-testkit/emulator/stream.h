// Streams, events and what is put on them. Work runs at once, in the order of the calls, which is one of
// the schedules that CUDA allows; on a capturing stream it becomes a node of a graph instead.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cuda_api.h"

namespace emulator {

struct Node {
    enum Kind { kernel, copy, fill, host, library, graph } kind;
    const void* what;  // tells kernels apart when an executable graph is updated
    std::function<void()> run;
    const char* name = nullptr;  // of a kernel
    int way = 0;                 // of a copy: 1 to the device, 2 from it, 8 on it
};

struct Graph {
    std::vector<std::shared_ptr<Node>> nodes;
};

struct GraphExec {
    std::vector<std::shared_ptr<Node>> nodes;
};

// A capture under way: one stream began it, others joined through events.
struct Capture {
    std::unique_ptr<Graph> graph{new Graph};
    Stream* origin;
    int mode;
    bool invalid = false;
    std::vector<Stream*> joined;
};

struct Stream {
    unsigned id;
    std::shared_ptr<Capture> capture;
    bool unjoined = false;  // captured work that the stream of origin has not waited for
};

struct Event {
    double milliseconds = 0;
    bool recorded = false;
    std::shared_ptr<Capture> capture;  // of the last record, if that was captured
    Stream* captured_on = nullptr;
};

// Runs, and tells the profiler that watches.
void execute(const Node&, unsigned stream);

// Runs or records. CUDA's default streams (0, 1, 2) never capture.
CUresult enqueue(Stream*, Node);

// Whether this call, unsafe during capture (it allocates or waits), has to be refused.
CUresult refuse_while_capturing();

}  // namespace emulator
