// Put in front of every kernel file: the CUDA language in terms of C++17 for g++.
//
// Kernels get what NVRTC gives without headers, and nothing more: macros of the host's headers
// (INFINITY, NAN …) stay undefined, and a float atomicAdd does not compile, because the order of its
// additions changes from run to run.
#pragma once

#include "abi.h"

typedef decltype(sizeof(0)) size_t;

#define __global__
#define __device__ __attribute__((visibility("default")))
#define __constant__ __attribute__((visibility("default")))
#define __host__
#define __shared__ static thread_local
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

namespace emulator {

__forceinline__ Thread* self() {
    return reinterpret_cast<Thread*>(reinterpret_cast<size_t>(__builtin_frame_address(0)) & ~(stack_bytes - 1));
}

template <class To, class From>
__forceinline__ To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits() keeps the size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

}  // namespace emulator

#define threadIdx (::emulator::self()->thread)
#define blockIdx (::emulator::self()->block)
#define blockDim (::emulator::self()->block_dim)
#define gridDim (::emulator::self()->grid_dim)
#define warpSize 32

#include "device_types.h"
#include "device_warp.h"
#include "device_math.h"

extern "C" int printf(const char*, ...);
extern "C" void* memcpy(void*, const void*, size_t);
extern "C" void* memset(void*, int, size_t);
extern "C" long clock();

inline long long clock64() { return clock(); }
inline void __trap() { emulator::self()->runtime->fail(emulator::self(), "__trap()"); }
inline void __nanosleep(unsigned) {}

#define assert(condition) \
    ((condition) ? (void)0 : emulator::self()->runtime->fail(emulator::self(), "assertion failed: " #condition))

// ------------------------------------------------------------------------------------------- memory

template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T __ldcg(const T* p) { return *p; }
template <class T> inline T __ldca(const T* p) { return *p; }
template <class T> inline T __ldcs(const T* p) { return *p; }
template <class T> inline T __ldlu(const T* p) { return *p; }
template <class T> inline T __ldcv(const T* p) { return *p; }
template <class T> inline void __stcg(T* p, T v) { *p = v; }
template <class T> inline void __stcs(T* p, T v) { *p = v; }
template <class T> inline void __stwb(T* p, T v) { *p = v; }
template <class T> inline void __stwt(T* p, T v) { *p = v; }

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// Integers only. Real atomics, since blocks may run on several threads of the host.
#define EMULATED_ATOMICS(T)                                                                                      \
    inline T atomicAdd(T* p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }                         \
    inline T atomicExch(T* p, T v) { return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); }                       \
    inline T atomicAnd(T* p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST); }                         \
    inline T atomicOr(T* p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST); }                           \
    inline T atomicXor(T* p, T v) { return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST); }                         \
    inline T atomicCAS(T* p, T expected, T v) {                                                                  \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
        return expected;                                                                                         \
    }                                                                                                            \
    inline T atomicMax(T* p, T v) {                                                                              \
        T old = *p;                                                                                              \
        while (old < v && !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) { \
        }                                                                                                        \
        return old;                                                                                              \
    }                                                                                                            \
    inline T atomicMin(T* p, T v) {                                                                              \
        T old = *p;                                                                                              \
        while (v < old && !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) { \
        }                                                                                                        \
        return old;                                                                                              \
    }
EMULATED_ATOMICS(int)
EMULATED_ATOMICS(unsigned int)
EMULATED_ATOMICS(unsigned long long)
EMULATED_ATOMICS(long long)
#undef EMULATED_ATOMICS

inline int atomicSub(int* p, int v) { return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST); }
inline unsigned atomicSub(unsigned* p, unsigned v) { return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST); }
inline unsigned atomicInc(unsigned* p, unsigned limit) {
    unsigned old = *p;
    while (!__atomic_compare_exchange_n(p, &old, old >= limit ? 0 : old + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}
template <class V> float atomicAdd(float*, V) = delete;
template <class V> double atomicAdd(double*, V) = delete;

// -------------------------------------------------------------------------------- the table of kernels

namespace emulator {

template <size_t... I> struct Indices {};

template <class T> struct Bare { typedef T type; };
template <class T> struct Bare<const T> { typedef T type; };

template <auto F> struct Entry;
template <class... P, void (*F)(P...)> struct Entry<F> {
    static constexpr unsigned bytes[sizeof...(P) + 1] = {sizeof(P)..., 0};
    template <size_t... I> static void spread(void** parameters, Indices<I...>) {
        F(*static_cast<typename Bare<P>::type*>(parameters[I])...);
    }
    static void call(void** parameters) { spread(parameters, Indices<__integer_pack(sizeof...(P))...>()); }
};

template <auto F> constexpr Kernel kernel(const char* name, unsigned launch_bound) {
    return Kernel{name, Entry<F>::call, sizeof(Entry<F>::bytes) / sizeof(unsigned) - 1, Entry<F>::bytes, launch_bound};
}
constexpr unsigned first(unsigned bound, ...) { return bound; }

static thread_local char shared_anchor_byte;
static void* shared_anchor() { return &shared_anchor_byte; }

}  // namespace emulator
