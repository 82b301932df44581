// Execution of one launch: every thread of a block is a fiber, all of them on one thread of the host.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "abi.h"

namespace emulator {

struct Launch {
    const Module* module;
    const Kernel* kernel;
    uint3 grid, block;
    unsigned shared_bytes;
    void** parameters;
};

// Runs all blocks. Ends the process with a message if the kernel cannot go on: a barrier that not all
// threads can reach, a warp operation that misses lanes, an overrun of dynamic shared memory.
void run_grid(const Launch&);

// Name of the kernel that ran last, for messages of checks that come later.
std::string last_kernel();

}  // namespace emulator
