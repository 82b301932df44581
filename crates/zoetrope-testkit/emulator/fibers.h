// Cooperative threads on stacks of their own, switched without system calls.
#pragma once

#include "abi.h"

namespace emulator {

#if !defined(__x86_64__)
struct Context;
#endif

// Where a suspended flow of control goes on: its stack pointer, or elsewhere a pointer to its registers.
using Resume = void*;

// A flow that will begin in `entry` on the stack that ends at `top`, a multiple of 64; `entry` must not return.
Resume fiber_prepare(char* top, void (*entry)());

// Suspends the caller into `from` and goes on with `to`.
extern "C" void zoetrope_fiber_switch(Resume* from, Resume to);

}  // namespace emulator
