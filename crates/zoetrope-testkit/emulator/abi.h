// What a compiled kernel file and the emulated driver know of each other.
//
// A kernel file becomes a shared library without undefined symbols of ours: everything that it asks of
// the driver goes through `Runtime`, reached from the state of the running thread, and everything that
// the driver asks of it is in one table, `zoetrope_module`. No headers are included here, because this
// file is put in front of kernels, which see no headers.
#pragma once

struct uint3 {
    unsigned int x, y, z;
};

namespace emulator {

// Changes whenever a struct of this file does: modules are cached on disk by their users.
constexpr unsigned abi_version = 2;

// Each CUDA thread runs on a stack within so many bytes, aligned to it. The state of the thread lies at the low
// end, so that masking the stack pointer finds it without thread-local storage.
constexpr unsigned long stack_bytes = 64 * 1024;

enum class WarpOp : int { shuffle, ballot, sync, add, min, max, bit_and, bit_or, bit_xor, match, product };
enum class BarrierOp : int { plain, count, all, any };

struct Thread;

// What a lane has of a product of tiles (m16n8k8): its elements of the sum, of the left and of the right
// tile, in the order of the registers of PTX's `mma`.
struct TileProduct {
    float sum[4];
    unsigned left[4], right[2];
};

struct Runtime {
    // `line` of the source tells barriers apart: threads of a block have to meet at the same one.
    int (*barrier)(Thread*, int line, BarrierOp, int predicate);
    // `source` is the lane that a shuffle reads; other operations ignore it.
    unsigned long long (*warp)(Thread*, WarpOp, unsigned mask, unsigned long long value, unsigned source);
    unsigned (*live_lanes)(Thread*);
    void (*fail)(Thread*, const char* why);
};

struct Thread {
    uint3 thread, block, block_dim, grid_dim;
    unsigned lane;
    void* dynamic_shared;
    const Runtime* runtime;
};

struct Kernel {
    const char* name;
    void (*call)(void** parameters);
    unsigned parameter_count;
    const unsigned* parameter_bytes;
    unsigned launch_bound;  // most threads of a block, 0 if the source does not say
};

struct Module {
    unsigned abi;
    unsigned architecture;  // 90 for sm_90
    bool exact;             // compiled for a real architecture (sm_…), not a virtual one (compute_…)
    unsigned kernel_count;
    const Kernel* kernels;
    void* (*shared_anchor)();  // touches the thread-local segment, which holds the static __shared__ variables
};

}  // namespace emulator
