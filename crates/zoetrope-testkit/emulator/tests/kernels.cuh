// Kernels of the self-test: one for each thing that the emulator promises.

typedef unsigned int u32;
#define INFINITY __int_as_float(0x7f800000)

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int delta = 16; delta > 0; delta >>= 1) x += __shfl_down_sync(0xffffffffu, x, delta);
    return x;
}

// Static shared memory, barriers and shuffles.
extern "C" __global__ void __launch_bounds__(256) block_sums(const float* __restrict__ x, u32 n, float* __restrict__ sums) {
    __shared__ float partial[8];
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = warp_sum(i < n ? x[i] : 0.0f);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0.0f;
        for (u32 w = 0; w < blockDim.x / 32; ++w) sum += partial[w];
        sums[blockIdx.x] = sum;
    }
}

// Dynamic shared memory: every block turns its rows around.
extern "C" __global__ void reverse(float4* x) {
    extern __shared__ __align__(16) float4 rows[];
    rows[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    x[blockIdx.x * blockDim.x + threadIdx.x] = rows[blockDim.x - 1 - threadIdx.x];
}

// Templates behind macros, parameters of several sizes.
struct Shape {
    unsigned long long n;
    u32 step;
};
template <int SCALE, class T> __device__ void scale(T* x, Shape shape, double by) {
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < shape.n; i += gridDim.x * blockDim.x) x[i * shape.step] *= T(SCALE * by);
}
#define SCALE(name, times, type) \
    extern "C" __global__ void name(type* x, Shape shape, double by) { scale<times>(x, shape, by); }
SCALE(scale_float_2, 2, float)
SCALE(scale_int_3, 3, int)

// Warp primitives of a partial warp.
extern "C" __global__ void warp_tour(u32* out) {
    u32 t = threadIdx.x, mask = __activemask();
    out[t * 8] = __ballot_sync(mask, t % 3 == 0);
    out[t * 8 + 1] = __shfl_xor_sync(mask, t, 1);
    out[t * 8 + 2] = __shfl_up_sync(mask, t, 2, 8);
    out[t * 8 + 3] = __reduce_max_sync(mask, t * 7 % 20);
    out[t * 8 + 4] = __match_any_sync(mask, t / 4);
    out[t * 8 + 5] = u32(__syncthreads_count(t & 1));
    u32 low = 0;
    if (t < 4) low = u32(__shfl_sync(0xfu, double(t) + 0.5, 3) * 2.0);
    out[t * 8 + 6] = low;
    if (t >= 10) return;
    out[t * 8 + 7] = u32(__syncthreads_or(t == 9));
}

__device__ unsigned long long counter;
__constant__ float table[4];
extern "C" __global__ void count(const int* x, u32 n, float* out) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) atomicAdd(&counter, 1ull);
    if (i < 4) out[i] = fminf(table[i], INFINITY);
}

// Unwritten shared memory reads as NaN, in every block.
extern "C" __global__ void read_unwritten(float* out) {
    __shared__ float fixed[4];
    extern __shared__ float dynamic[];
    out[blockIdx.x * 2] = fixed[blockIdx.x];
    out[blockIdx.x * 2 + 1] = dynamic[blockIdx.x];
    __syncwarp();
    fixed[0] = fixed[1] = dynamic[0] = dynamic[1] = 1.0f;
}

// What must not go unnoticed.
extern "C" __global__ void write_behind(float* x, u32 n) { x[n + threadIdx.x] = 1.0f; }
extern "C" __global__ void write_behind_shared() {
    extern __shared__ float s[];
    s[blockDim.x] = 1.0f;
}
extern "C" __global__ void write_far(float* x) { x[1ull << 45] = 1.0f; }
extern "C" __global__ void diverge() {
    if (threadIdx.x == 0) __shfl_sync(0xffffffffu, 1, 0);
    else __syncthreads();
}
extern "C" __global__ void two_barriers() {
    if (threadIdx.x == 0) __syncthreads();
    else {
        __syncthreads();
    }
}
