// Barriers and warp primitives: thin typed fronts of the two calls of `Runtime`.
#pragma once

#define __syncthreads() emulator::block_barrier(__LINE__, emulator::BarrierOp::plain, 0)
#define __syncthreads_count(p) emulator::block_barrier(__LINE__, emulator::BarrierOp::count, (p) != 0)
#define __syncthreads_and(p) emulator::block_barrier(__LINE__, emulator::BarrierOp::all, (p) != 0)
#define __syncthreads_or(p) emulator::block_barrier(__LINE__, emulator::BarrierOp::any, (p) != 0)

namespace emulator {

inline int block_barrier(int line, BarrierOp op, int predicate) {
    Thread* t = self();
    return t->runtime->barrier(t, line, op, predicate);
}

inline unsigned long long warp(WarpOp op, unsigned mask, unsigned long long value = 0, unsigned source = 0) {
    Thread* t = self();
    return t->runtime->warp(t, op, mask, value, source);
}

template <class T> T shuffle(unsigned mask, T value, unsigned source) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    unsigned long long word = 0;
    __builtin_memcpy(&word, &value, sizeof value);
    word = warp(WarpOp::shuffle, mask, word, source);
    __builtin_memcpy(&value, &word, sizeof value);
    return value;
}

}  // namespace emulator

// The types that CUDA has overloads for; any other type is a compile error there as well.
#define EMULATED_SHUFFLES(T)                                                                          \
    inline T __shfl_sync(unsigned mask, T value, int source, int width = 32) {                        \
        unsigned lane = emulator::self()->lane, inside = unsigned(width) - 1;                         \
        return emulator::shuffle(mask, value, (lane & ~inside) | (unsigned(source) & inside));        \
    }                                                                                                 \
    inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {                 \
        unsigned lane = emulator::self()->lane, inside = unsigned(width) - 1;                         \
        return emulator::shuffle(mask, value, (lane & inside) < delta ? lane : lane - delta);         \
    }                                                                                                 \
    inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {               \
        unsigned lane = emulator::self()->lane, inside = unsigned(width) - 1;                         \
        return emulator::shuffle(mask, value, (lane & inside) + delta > inside ? lane : lane + delta); \
    }                                                                                                 \
    inline T __shfl_xor_sync(unsigned mask, T value, int flip, int width = 32) {                      \
        unsigned lane = emulator::self()->lane, inside = unsigned(width) - 1;                         \
        unsigned source = lane ^ unsigned(flip);                                                      \
        return emulator::shuffle(mask, value, source > (lane | inside) ? lane : source);              \
    }
EMULATED_SHUFFLES(int)
EMULATED_SHUFFLES(unsigned int)
EMULATED_SHUFFLES(long)
EMULATED_SHUFFLES(unsigned long)
EMULATED_SHUFFLES(long long)
EMULATED_SHUFFLES(unsigned long long)
EMULATED_SHUFFLES(float)
EMULATED_SHUFFLES(double)
#undef EMULATED_SHUFFLES

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return unsigned(emulator::warp(emulator::WarpOp::ballot, mask, predicate != 0));
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { emulator::warp(emulator::WarpOp::sync, mask); }
inline unsigned __activemask() { return emulator::self()->runtime->live_lanes(emulator::self()); }

inline unsigned __reduce_add_sync(unsigned m, unsigned v) { return unsigned(emulator::warp(emulator::WarpOp::add, m, v)); }
inline int __reduce_add_sync(unsigned m, int v) { return int(emulator::warp(emulator::WarpOp::add, m, (unsigned)v)); }
inline unsigned __reduce_min_sync(unsigned m, unsigned v) { return unsigned(emulator::warp(emulator::WarpOp::min, m, v)); }
inline unsigned __reduce_max_sync(unsigned m, unsigned v) { return unsigned(emulator::warp(emulator::WarpOp::max, m, v)); }
// Shifting the range by 2^31 turns the order of signed numbers into that of unsigned ones.
inline int __reduce_min_sync(unsigned m, int v) { return int(__reduce_min_sync(m, unsigned(v) ^ 0x80000000u) ^ 0x80000000u); }
inline int __reduce_max_sync(unsigned m, int v) { return int(__reduce_max_sync(m, unsigned(v) ^ 0x80000000u) ^ 0x80000000u); }
inline unsigned __reduce_and_sync(unsigned m, unsigned v) { return unsigned(emulator::warp(emulator::WarpOp::bit_and, m, v)); }
inline unsigned __reduce_or_sync(unsigned m, unsigned v) { return unsigned(emulator::warp(emulator::WarpOp::bit_or, m, v)); }
inline unsigned __reduce_xor_sync(unsigned m, unsigned v) { return unsigned(emulator::warp(emulator::WarpOp::bit_xor, m, v)); }

// In place of PTX's mma.sync.aligned.m16n8k8 of TF32, which C++ has no name for.
inline void emulated_mma_tf32(float (&sum)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
    emulator::TileProduct mine;
    __builtin_memcpy(mine.sum, sum, sizeof sum);
    __builtin_memcpy(mine.left, left, sizeof left);
    __builtin_memcpy(mine.right, right, sizeof right);
    emulator::warp(emulator::WarpOp::product, 0xffffffffu, reinterpret_cast<unsigned long long>(&mine));
    __builtin_memcpy(sum, mine.sum, sizeof sum);
}

template <class T> unsigned __match_any_sync(unsigned mask, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_any_sync compares 4 or 8 bytes");
    unsigned long long word = 0;
    __builtin_memcpy(&word, &value, sizeof value);
    return unsigned(emulator::warp(emulator::WarpOp::match, mask, word));
}
