// What the emulated profiler is told by the emulated driver: each kernel, copy and fill when it is over.
#pragma once

#include "cuda_api.h"

namespace emulator {

struct Work {
    enum Kind { kernel, copy, fill } kind;
    const char* name;  // of a kernel
    int way;           // of a copy: 1 to the device, 2 from it, 8 on it, as CUPTI numbers them
    unsigned stream;
    uint64_t start, end;  // nanoseconds on the clock of `zoetrope_emulator_clock`
};

}  // namespace emulator

// One watcher, or none.
EXPORT void zoetrope_emulator_watch(void (*watcher)(const emulator::Work*));
EXPORT uint64_t zoetrope_emulator_clock();
EXPORT unsigned zoetrope_emulator_stream_id(CUstream);
