// What every file of kernels begins with. NVRTC has no headers here.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define FULL_WARP 0xffffffffu
#define NEGATIVE_INFINITY __int_as_float(0xff800000)

// The position of a thread in a grid of one direction.
__device__ __forceinline__ u64 thread_index() {
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

// The number of threads of a grid of one direction.
__device__ __forceinline__ u64 thread_count() {
    return (u64)gridDim.x * blockDim.x;
}

// Sigmoid and hyperbolic tangent from the GPU's powers of two and reciprocals, without branches, so
// that several are computed side by side. Absolute error 2e-7; a NaN stays one.

__device__ __forceinline__ float power_of_two(float x) {
#if defined(CUDA_EMULATED)
    return exp2f(x);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

__device__ __forceinline__ float reciprocal(float x) {
#if defined(CUDA_EMULATED)
    return 1.0f / x;
#else
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

__device__ __forceinline__ float sigmoid(float x) {
    return reciprocal(1.0f + power_of_two(-1.44269504f * x));
}

__device__ __forceinline__ float tangent(float x) {
    // Near zero, where the other form cancels: an odd polynomial, error 3e-9 up to 0.6.
    const float square = x * x;
    float small = -0.00590586575f;
    small = fmaf(small, square, 0.0208053822f);
    small = fmaf(small, square, -0.0537866828f);
    small = fmaf(small, square, 0.133319582f);
    small = fmaf(small, square, -0.333332993f);
    small = fmaf(x, square * small, x);
    const float size = fabsf(x);
    const float large = fmaf(-2.0f, reciprocal(1.0f + power_of_two(2.88539008f * size)), 1.0f);
    return size < 0.6f ? small : copysignf(large, x);
}

// Writes or adds, as the mode of a gradient says: 0 overwrites, 1 adds.
__device__ __forceinline__ void put(float* place, float value, u32 add) {
    *place = add ? *place + value : value;
}

// The sum over a warp, the same in every lane; lanes are added in a fixed tree.
__device__ __forceinline__ float warp_sum(float x) {
    #pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(FULL_WARP, x, distance);
    return x;
}

__device__ __forceinline__ double warp_sum(double x) {
    #pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(FULL_WARP, x, distance);
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
    #pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, distance));
    return x;
}

// The sum over a block of whole warps, in thread 0; `room` has a place for each warp. The result of
// the other threads is unspecified.
template <typename T>
__device__ __forceinline__ T block_sum(T x, T* room) {
    x = warp_sum(x);
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) room[warp] = x;
    __syncthreads();
    if (warp == 0) x = warp_sum(lane < blockDim.x / 32 ? room[lane] : T(0));
    __syncthreads();
    return x;
}

// The sum of parts `first`, `first + step`, … of `count`, which lie `stride` apart, in order. A dozen are
// on the way at a time: more than there are in most sums, whose time is that of one access then.
__device__ __forceinline__ float sum_of_parts(const float* parts, u64 first, u64 step, u64 count, u64 stride) {
    float sum = 0.0f;
    for (; first < count; first += 12 * step) {
        float values[12];
        #pragma unroll
        for (u32 k = 0; k < 12; k++)
            values[k] = first + k * step < count ? __ldg(parts + (first + k * step) * stride) : 0.0f;
        #pragma unroll
        for (u32 k = 0; k < 12; k++) sum += values[k];
    }
    return sum;
}

// ---- Element by element: four neighbours a thread. ----

// The first of this thread's four elements.
__device__ __forceinline__ u64 first_of_four() {
    return 4 * ((u64)blockIdx.x * blockDim.x + threadIdx.x);
}

// Whether four elements from `at` on lie in an array of `len` elements that begins on 16 bytes.
// Arrays of a call share the answer by or-ing their addresses: `address(a) | address(b)`.
__device__ __forceinline__ u64 address(const void* p) { return (u64)p; }
__device__ __forceinline__ bool is_whole(u64 addresses, u64 at, u64 len) {
    return (addresses & 15) == 0 && at + 4 <= len;
}

struct Four {
    float at[4];
};

__device__ __forceinline__ Four load_four(const float* x, u64 at, u64 len, bool whole) {
    Four four;
    if (whole) {
        const float4 v = *(const float4*)(x + at);
        four.at[0] = v.x, four.at[1] = v.y, four.at[2] = v.z, four.at[3] = v.w;
    } else {
    #pragma unroll
        for (u32 k = 0; k < 4; k++) four.at[k] = at + k < len ? x[at + k] : 0.0f;
    }
    return four;
}

__device__ __forceinline__ void store_four(float* y, const Four& four, u64 at, u64 len, bool whole) {
    if (whole) {
        *(float4*)(y + at) = make_float4(four.at[0], four.at[1], four.at[2], four.at[3]);
    } else {
    #pragma unroll
        for (u32 k = 0; k < 4; k++)
            if (at + k < len) y[at + k] = four.at[k];
    }
}

// y = four, or y += four.
__device__ __forceinline__ void join_four(float* y, Four four, u32 adds, u64 at, u64 len, bool whole) {
    if (adds) {
        const Four old = load_four(y, at, len, whole);
    #pragma unroll
        for (u32 k = 0; k < 4; k++) four.at[k] += old.at[k];
    }
    store_four(y, four, at, len, whole);
}

// Quotient and remainder of an index; 32 bits wherever they do, because 64 take five times as long.
__device__ __forceinline__ u64 quotient(u64 index, u32 divisor) {
    return index >> 32 ? index / divisor : (u64)((u32)index / divisor);
}

// ---- Activations, by the numbers of `cuda::activation::code`. ----

__device__ __forceinline__ float activation_value(u32 kind, float parameter, float x) {
    switch (kind) {
        case 1: return x > 0.0f ? x : parameter * x;                  // relu, leaky relu
        case 2: return x > 0.0f ? x : parameter * expm1f(x);          // elu
        case 3: return sigmoid(x);
        case 4: return tangent(x);
        case 5: return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));      // softplus
        default: return x;
    }
}

// The derivative if the activation's value is y.
__device__ __forceinline__ float activation_slope(u32 kind, float parameter, float y) {
    switch (kind) {
        case 1: return y > 0.0f ? 1.0f : parameter;
        case 2: return y > 0.0f ? 1.0f : y + parameter;
        case 3: return y * (1.0f - y);
        case 4: return 1.0f - y * y;
        case 5: return -expm1f(-y);
        default: return 1.0f;
    }
}

// ---- Groups of lanes: a power of two up to 32 neighbouring threads own a row. ----

__device__ __forceinline__ float group_sum(float v, u32 lanes) {
    for (u32 offset = lanes / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(FULL_WARP, v, offset);
    return v;
}

__device__ __forceinline__ float group_max(float v, u32 lanes) {
    for (u32 offset = lanes / 2; offset > 0; offset /= 2)
        v = fmaxf(v, __shfl_xor_sync(FULL_WARP, v, offset));
    return v;
}

// ---- Sums over the rows of a matrix, two for each column. ----

// One value or, in one access, four.
__device__ __forceinline__ void load_neighbours(const float* x, float (&to)[1]) { to[0] = *x; }
__device__ __forceinline__ void load_neighbours(const float* x, float (&to)[4]) {
    const float4 v = *(const float4*)x;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

// `own(row, stride, column, firsts, seconds)` adds up rows `row`, `row + stride`, … of V neighbouring
// columns; the block's sums go to `parts[block][2][cols]` in f64. Threads are laid over whole rows, so that
// accesses are coalesced and a thread stays in its columns; columns beyond the width of a block go by
// blockIdx.y. `shared` holds 2·V·blockDim.x numbers. Which rows a thread gets and the tree that joins
// them depend on the shape alone.
template <u32 V, class Own>
__device__ __forceinline__ void column_pairs(u32 cols, double* parts, double* shared, Own own) {
    const u32 across = cols / V, width = across < blockDim.x ? across : blockDim.x;
    const u32 groups = blockDim.x / width;
    const u32 group = threadIdx.x / width;
    const u32 unit = blockIdx.y * width + threadIdx.x % width;
    const bool works = group < groups && unit < across;
    double sums[2][V] = {};
    if (works) own((u64)blockIdx.x * groups + group, (u64)gridDim.x * groups, unit * V, sums[0], sums[1]);
    double* mine = shared + threadIdx.x;
    #pragma unroll
    for (u32 k = 0; k < 2 * V; k++) mine[k * blockDim.x] = sums[k / V][k % V];
    __syncthreads();
    u32 half = 1;
    while (2 * half < groups) half *= 2;
    for (; half > 0; half /= 2) {
        if (works && group < half && group + half < groups) {
            #pragma unroll
            for (u32 k = 0; k < 2 * V; k++) mine[k * blockDim.x] += mine[k * blockDim.x + half * width];
        }
        __syncthreads();
    }
    if (works && group == 0) {
        double* out = parts + (u64)blockIdx.x * 2 * cols + unit * V;
        #pragma unroll
        for (u32 k = 0; k < 2 * V; k++) out[k / V * cols + k % V] = mine[k * blockDim.x];
    }
}

struct Pair {
    double first, second;
};

// The sums of both kinds of one column of `parts[blocks][2][cols]` over blocks, by a whole block of threads
// in a fixed order: the result is thread 0's. `room` as for `block_sum`.
__device__ __forceinline__ Pair join_parts(const double* parts, u32 blocks, u32 cols, u32 column, double* room) {
    Pair sum = {0.0, 0.0};
    for (u32 block = threadIdx.x; block < blocks; block += blockDim.x) {
        sum.first += parts[(u64)block * 2 * cols + column];
        sum.second += parts[((u64)block * 2 + 1) * cols + column];
    }
    return {block_sum(sum.first, room), block_sum(sum.second, room)};
}

// ---- Numbers that are drawn by position, as `zoetrope_graph::random` draws them. ----

// Philox 4×32-10 of a counter, in place.
__device__ __forceinline__ void philox(u32 (&c)[4], u64 seed) {
    u32 key[2] = {(u32)seed, (u32)(seed >> 32)};
    #pragma unroll
    for (u32 round = 0; round < 10; round++) {
        const u64 first = (u64)0xD2511F53u * c[0];
        const u64 second = (u64)0xCD9E8D57u * c[2];
        c[0] = (u32)(second >> 32) ^ c[1] ^ key[0];
        c[1] = (u32)second;
        c[2] = (u32)(first >> 32) ^ c[3] ^ key[1];
        c[3] = (u32)first;
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
}

// ---- Dropout: the masks of `cpu::dropout`, bit for bit. ----

struct DropoutMask {
    const u32* step_at;  // where the step is read, or null
    u64 seed;
    u32 stream;
    u32 step;
    u32 threshold;
    float scale;
};

// Factors of the elements 4·block to 4·block + 3: Philox 4×32-10 of (block, step, stream).
__device__ __forceinline__ Four dropout_factors(const DropoutMask& mask, u64 block) {
    const u32 step = mask.step_at ? *mask.step_at : mask.step;
    u32 c[4] = {(u32)block, (u32)(block >> 32), step, mask.stream};
    philox(c, mask.seed);
    Four factors;
    #pragma unroll
    for (u32 k = 0; k < 4; k++) factors.at[k] = c[k] >= mask.threshold ? mask.scale : 0.0f;
    return factors;
}

// The factor of one element.
__device__ __forceinline__ float dropout_factor(const DropoutMask& mask, u64 index) {
    if (mask.threshold == 0) return mask.scale;
    const Four four = dropout_factors(mask, index / 4);
    const u32 at = (u32)index & 3;
    return at == 0 ? four.at[0] : at == 1 ? four.at[1] : at == 2 ? four.at[2] : four.at[3];
}

// ---- Cosines of large phases, as `cpu::time_encoding` takes them. ----

// What is left of the phase after whole turns, from −1/2 to 1/2; weight and bias are in turns.
__device__ __forceinline__ float rest_of_turns(double w, double delta, double b) {
    const double turns = fma(w, delta, b);
    return (float)(turns - rint(turns));
}

// The same with weight and bias in radians.
__device__ __forceinline__ float turn_part(float w, double delta, float b) {
    const double per_radian = 0.15915494309189533577;
    return rest_of_turns((double)w * per_radian, delta, (double)b * per_radian);
}

// sin(2πu) for |u| ≤ 1/4, error 3e-9.
__device__ __forceinline__ float turn_wave(float u) {
    const float square = u * u;
    float sum = 39.536705f;
    sum = fmaf(sum, square, -76.54978f);
    sum = fmaf(sum, square, 81.601006f);
    sum = fmaf(sum, square, -41.341656f);
    sum = fmaf(sum, square, 6.283185f);
    return sum * u;
}

// u with cos(2π·part) = sin(2πu), from −1/4 to 1/4; phases too large to be rounded end there.
__device__ __forceinline__ float turn_quarter(float part) {
    const float u = 0.25f - fabsf(part);
    return u < -0.25f ? -0.25f : u;
}

__device__ __forceinline__ float turn_cosine(float part) {
    return turn_wave(turn_quarter(part));
}

__device__ __forceinline__ float turn_sine(float part) {
    return copysignf(turn_wave(0.25f - fabsf(turn_quarter(part))), part);
}
