// Mathematical functions, conversions and bit operations under their CUDA names. The fast versions
// (__expf …) are computed as accurately as the plain ones.
#pragma once

// The double version of the host's library, its float version, and CUDA's overload of the plain name.
#define EMULATED_1(name)              \
    extern "C" double name(double);   \
    extern "C" float name##f(float);  \
    inline float name(float x) { return name##f(x); }
#define EMULATED_2(name)                      \
    extern "C" double name(double, double);   \
    extern "C" float name##f(float, float);   \
    inline float name(float x, float y) { return name##f(x, y); }
EMULATED_1(acos) EMULATED_1(acosh) EMULATED_1(asin) EMULATED_1(asinh) EMULATED_1(atan) EMULATED_1(atanh)
EMULATED_1(cbrt) EMULATED_1(ceil) EMULATED_1(cos) EMULATED_1(cosh) EMULATED_1(erf) EMULATED_1(erfc)
EMULATED_1(exp) EMULATED_1(exp2) EMULATED_1(exp10) EMULATED_1(expm1) EMULATED_1(fabs) EMULATED_1(floor)
EMULATED_1(lgamma) EMULATED_1(log) EMULATED_1(log10) EMULATED_1(log1p) EMULATED_1(log2) EMULATED_1(logb)
EMULATED_1(nearbyint) EMULATED_1(rint) EMULATED_1(round) EMULATED_1(sin) EMULATED_1(sinh) EMULATED_1(sqrt)
EMULATED_1(tan) EMULATED_1(tanh) EMULATED_1(tgamma) EMULATED_1(trunc)
EMULATED_2(atan2) EMULATED_2(copysign) EMULATED_2(fdim) EMULATED_2(fmax) EMULATED_2(fmin) EMULATED_2(fmod)
EMULATED_2(hypot) EMULATED_2(nextafter) EMULATED_2(pow) EMULATED_2(remainder)
#undef EMULATED_1
#undef EMULATED_2

extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
extern "C" double ldexp(double, int);
extern "C" float ldexpf(float, int);
extern "C" double scalbn(double, int);
extern "C" float scalbnf(float, int);
extern "C" double frexp(double, int*);
extern "C" float frexpf(float, int*);
extern "C" double modf(double, double*);
extern "C" float modff(float, float*);
extern "C" void sincos(double, double*, double*);
extern "C" void sincosf(float, float*, float*);
extern "C" long long llrint(double);
extern "C" long long llrintf(float);
extern "C" long lrint(double);
extern "C" long lrintf(float);

inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float fdividef(float x, float y) { return x / y; }

inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }

// -------------------------------------------------------------------------- absolute value, min and max

extern "C" int abs(int) noexcept;
extern "C" long labs(long) noexcept;
extern "C" long long llabs(long long) noexcept;
inline long abs(long x) { return labs(x); }
inline long long abs(long long x) { return llabs(x); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }

#define EMULATED_MIN_MAX(A, B, R)                                       \
    inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }        \
    inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
EMULATED_MIN_MAX(int, int, int)
EMULATED_MIN_MAX(unsigned, unsigned, unsigned)
EMULATED_MIN_MAX(int, unsigned, unsigned)
EMULATED_MIN_MAX(unsigned, int, unsigned)
EMULATED_MIN_MAX(long, long, long)
EMULATED_MIN_MAX(unsigned long, unsigned long, unsigned long)
EMULATED_MIN_MAX(long, unsigned long, unsigned long)
EMULATED_MIN_MAX(unsigned long, long, unsigned long)
EMULATED_MIN_MAX(long long, long long, long long)
EMULATED_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
EMULATED_MIN_MAX(long long, unsigned long long, unsigned long long)
EMULATED_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef EMULATED_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(double(a), b); }
inline double min(double a, float b) { return fmin(a, double(b)); }
inline double max(float a, double b) { return fmax(double(a), b); }
inline double max(double a, float b) { return fmax(a, double(b)); }

// ---------------------------------------------------------------- fast and explicitly rounded arithmetic

// GCC contracts a product and a sum into one rounding across inlined calls; these names promise two.
#define EMULATED_ROUNDED __attribute__((noinline, optimize("fp-contract=off")))
EMULATED_ROUNDED inline float __fadd_rn(float a, float b) { return a + b; }
EMULATED_ROUNDED inline float __fsub_rn(float a, float b) { return a - b; }
EMULATED_ROUNDED inline float __fmul_rn(float a, float b) { return a * b; }
EMULATED_ROUNDED inline double __dadd_rn(double a, double b) { return a + b; }
EMULATED_ROUNDED inline double __dsub_rn(double a, double b) { return a - b; }
EMULATED_ROUNDED inline double __dmul_rn(double a, double b) { return a * b; }
#undef EMULATED_ROUNDED
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline float __frsqrt_rn(float a) { return rsqrtf(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// ----------------------------------------------------------------------------------------- conversions

inline int __float_as_int(float x) { return emulator::bits<int>(x); }
inline unsigned __float_as_uint(float x) { return emulator::bits<unsigned>(x); }
inline float __int_as_float(int x) { return emulator::bits<float>(x); }
inline float __uint_as_float(unsigned x) { return emulator::bits<float>(x); }
inline long long __double_as_longlong(double x) { return emulator::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return emulator::bits<double>(x); }

// Out of range the device saturates and makes NaN zero, where C++ leaves the result undefined.
namespace emulator {
template <class To, class From> To saturated(From x) {
    constexpr bool is_signed = To(-1) < To(0);
    constexpr To high = is_signed ? To((1ull << (sizeof(To) * 8 - 1)) - 1) : To(-1);
    constexpr To low = is_signed ? To(-high - 1) : To(0);
    if (x != x) return 0;
    if (x >= From(high)) return high;
    if (x <= From(low)) return low;
    return To(x);
}
}  // namespace emulator
inline int __float2int_rn(float x) { return emulator::saturated<int>(rintf(x)); }
inline int __float2int_rz(float x) { return emulator::saturated<int>(truncf(x)); }
inline int __float2int_rd(float x) { return emulator::saturated<int>(floorf(x)); }
inline int __float2int_ru(float x) { return emulator::saturated<int>(ceilf(x)); }
inline unsigned __float2uint_rn(float x) { return emulator::saturated<unsigned>(rintf(x)); }
inline unsigned __float2uint_rz(float x) { return emulator::saturated<unsigned>(truncf(x)); }
inline unsigned __float2uint_rd(float x) { return emulator::saturated<unsigned>(floorf(x)); }
inline unsigned __float2uint_ru(float x) { return emulator::saturated<unsigned>(ceilf(x)); }
inline long long __float2ll_rn(float x) { return emulator::saturated<long long>(rintf(x)); }
inline long long __double2ll_rn(double x) { return emulator::saturated<long long>(rint(x)); }
inline int __double2int_rn(double x) { return emulator::saturated<int>(rint(x)); }
inline int __double2int_rz(double x) { return emulator::saturated<int>(trunc(x)); }
inline float __double2float_rn(double x) { return float(x); }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline float __ull2float_rn(unsigned long long x) { return float(x); }
inline double __int2double_rn(int x) { return double(x); }
inline double __uint2double_rn(unsigned x) { return double(x); }
inline double __ll2double_rn(long long x) { return double(x); }
inline double __ull2double_rn(unsigned long long x) { return double(x); }

// ------------------------------------------------------------------------------------------------ bits

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) result |= unsigned(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((unsigned long long)high << 32 | low) >> (shift & 31));
}
