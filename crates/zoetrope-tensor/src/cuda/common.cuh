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

__device__ __forceinline__ float sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
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
