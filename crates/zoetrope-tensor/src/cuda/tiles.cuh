// Products of tiles by tensor cores, from compute capability 8.0 on.
//
// A warp multiplies 16 × 8 by 8 × 8 at once. With g = lane / 4 and c = lane % 4 a lane has
//
//   of the left tile   (g, c), (g + 8, c), (g, c + 4), (g + 8, c + 4),
//   of the right tile  (c, g), (c + 4, g),
//   of the sum         (g, 2c), (g, 2c + 1), (g + 8, 2c), (g + 8, 2c + 1).
//
// Which columns of the left tile are called c and c + 4 is free, as long as the rows of the right tile
// are named alike. With 2c and 2c + 1 a lane's part of a sum is its part of the next left tile, and
// nothing has to move between a product and the one that follows it (`as_left`).
//
// Tensor cores read TF32, eleven bits of f32's 24. An operand is therefore split into what TF32 holds
// and the rest, and three products are added: high·high, high·low, low·high. What is left out is below
// 2⁻²¹ of a product, near the rounding of f32 itself; sums are in f32.

struct Split {
    u32 high[4];
    u32 low[4];
};

// The nearest TF32; ties go away from zero.
__device__ __forceinline__ u32 nearest_tf32(float x) {
    return (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
}

template <int N>
__device__ __forceinline__ void split(const float (&x)[N], u32 (&high)[N], u32 (&low)[N]) {
    #pragma unroll
    for (int at = 0; at < N; ++at) {
        high[at] = nearest_tf32(x[at]);
        low[at] = __float_as_uint(x[at] - __uint_as_float(high[at]));
    }
}

__device__ __forceinline__ Split split_left(const float (&x)[4]) {
    Split parts;
    split(x, parts.high, parts.low);
    return parts;
}

// sum += left · right, operands as TF32.
__device__ __forceinline__ void add_tf32(float (&sum)[4], const u32 (&left)[4], const u32 (&right)[2]) {
#if defined(CUDA_EMULATED)
    emulated_mma_tf32(sum, left, right);
#elif __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
#else
    __trap(); // not launched there
#endif
}

// sums[n] + rest[n] += left · right[n] in f32. A product waits for the one before it that has the same
// sum, so the three of a tile are as far apart as can be; `rest` may be `sums`.
template <int N>
__device__ __forceinline__ void add_tiles(
    float (&sums)[N][4], float (&rest)[N][4], const Split& left, const float2 (&right)[N]
) {
    u32 high[N][2], low[N][2];
    #pragma unroll
    for (int n = 0; n < N; ++n) {
        const float both[2] = {right[n].x, right[n].y};
        split(both, high[n], low[n]);
    }
    #pragma unroll
    for (int n = 0; n < N; ++n) add_tf32(rest[n], left.low, high[n]);
    #pragma unroll
    for (int n = 0; n < N; ++n) add_tf32(sums[n], left.high, high[n]);
    #pragma unroll
    for (int n = 0; n < N; ++n) add_tf32(rest[n], left.high, low[n]);
}

// A lane's part of a sum as its part of a left tile.
__device__ __forceinline__ Split as_left(const float (&sum)[4]) {
    const float left[4] = {sum[0], sum[2], sum[1], sum[3]};
    return split_left(left);
}

// Waits for the threads of a tile, `count` of them, who alone use this number of the block's barriers.
__device__ __forceinline__ void tile_barrier(u32 number, u32 count) {
#if defined(CUDA_EMULATED)
    __syncthreads(); // tiles of a block go through the same steps
#else
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(count) : "memory");
#endif
}

