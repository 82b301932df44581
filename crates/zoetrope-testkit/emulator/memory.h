// The memory of the emulated device: ordinary memory between guards, in a table of live allocations.
#pragma once

#include <cstddef>

#include "cuda_api.h"

namespace emulator {

// Whether all of [pointer, pointer + bytes) lies in one live allocation, variable of a module or piece of
// pinned memory.
bool on_device(CUdeviceptr pointer, size_t bytes);

void add_global(void* pointer, size_t bytes);
void remove_global(void* pointer);

// Ends the process with a message if a guard was written to.
void check_guards();

}  // namespace emulator
