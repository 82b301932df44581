// The emulated devices and the context that a thread of the host has made current.
#pragma once

#include "cuda_api.h"

namespace emulator {

struct Context {
    CUdevice device;
    int retained;
};

int device_count();
unsigned compute_capability();  // 90 for 9.0
size_t device_memory_bytes();
int device_attribute(int attribute);  // -1 if the emulator knows none
unsigned shared_opt_in_bytes();
Context* current_context();
bool sanitizing();

}  // namespace emulator

// Calls that need a context fail without one, as they do on the device.
#define NEED_CONTEXT() \
    if (!emulator::current_context()) return CUDA_ERROR_INVALID_CONTEXT
