// Vector types and their makers, with the sizes and alignments of CUDA.
#pragma once

#define EMULATED_VECTORS(T, name, align2, align4)                                                   \
    struct name##1 { T x; };                                                                        \
    struct alignas(align2) name##2 { T x, y; };                                                     \
    struct alignas(align4) name##4 { T x, y, z, w; };                                               \
    inline name##1 make_##name##1(T x) { return name##1{x}; }                                       \
    inline name##2 make_##name##2(T x, T y) { return name##2{x, y}; }                               \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }               \
    inline name##3 make_##name##3(T x, T y, T z) { return name##3{x, y, z}; }
#define EMULATED_TRIPLE(T, name) struct name##3 { T x, y, z; };

EMULATED_TRIPLE(signed char, char)
EMULATED_TRIPLE(unsigned char, uchar)
EMULATED_TRIPLE(short, short)
EMULATED_TRIPLE(unsigned short, ushort)
EMULATED_TRIPLE(int, int)
EMULATED_TRIPLE(long long, longlong)
EMULATED_TRIPLE(unsigned long long, ulonglong)
EMULATED_TRIPLE(float, float)
EMULATED_TRIPLE(double, double)

EMULATED_VECTORS(signed char, char, 2, 4)
EMULATED_VECTORS(unsigned char, uchar, 2, 4)
EMULATED_VECTORS(short, short, 4, 8)
EMULATED_VECTORS(unsigned short, ushort, 4, 8)
EMULATED_VECTORS(int, int, 8, 16)
EMULATED_VECTORS(unsigned int, uint, 8, 16)
EMULATED_VECTORS(long long, longlong, 16, 16)
EMULATED_VECTORS(unsigned long long, ulonglong, 16, 16)
EMULATED_VECTORS(float, float, 8, 16)
EMULATED_VECTORS(double, double, 16, 16)
#undef EMULATED_VECTORS
#undef EMULATED_TRIPLE

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};
