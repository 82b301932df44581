// The part of CUDA's C interface that the emulated driver speaks: types and numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

enum CUresult : int {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    CUDA_ERROR_CAPTURED_EVENT = 907,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
};

using CUdevice = int;
using CUdeviceptr = uint64_t;

namespace emulator {
struct Context;
struct Stream;
struct Event;
struct Graph;
struct GraphExec;
struct LoadedModule;
struct Function;
}  // namespace emulator

using CUcontext = emulator::Context*;
using CUstream = emulator::Stream*;
using CUevent = emulator::Event*;
using CUgraph = emulator::Graph*;
using CUgraphExec = emulator::GraphExec*;
using CUmodule = emulator::LoadedModule*;
using CUfunction = emulator::Function*;
