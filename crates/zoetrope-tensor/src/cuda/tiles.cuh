// Products of tiles by tensor cores, from compute capability 8.0 on.
//
// A warp multiplies 16 × 8 by 8 × 8 at once. With g = lane / 4 and c = lane % 4 a lane has
//
//   of the left tile   (g, c), (g + 8, c), (g, c + 4), (g + 8, c + 4),
//   of the right tile  (c, g), (c + 4, g),
//   of the sum         (g, 2c), (g, 2c + 1), (g + 8, 2c), (g + 8, 2c + 1).
//
// Which columns of the left tile are called c and c + 4 is free, as long as the rows of the right tile
// are named alike: with 2c and 2c + 1, or 4c to 4c + 3 of two tiles, a lane reads neighbours.
//
// Tensor cores read TF32, eleven bits of f32's 24. An operand is therefore split into what TF32 holds
// and the rest, and three products are added: high·high, high·low, low·high. What is left out is below
// 2⁻²¹ of a product, near the rounding of f32 itself; sums are in f32.

struct Left {
    u32 high[4], low[4];
};

struct Right {
    u32 high[2], low[2];
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

__device__ __forceinline__ Left split_left(const float (&x)[4]) {
    Left parts;
    split(x, parts.high, parts.low);
    return parts;
}

__device__ __forceinline__ Right split_right(const float (&x)[2]) {
    Right parts;
    split(x, parts.high, parts.low);
    return parts;
}

// Right tiles that are used often lie in shared memory in parts.
__device__ __forceinline__ float4 stored(const Right& right) {
    return make_float4(
        __uint_as_float(right.high[0]), __uint_as_float(right.high[1]), __uint_as_float(right.low[0]),
        __uint_as_float(right.low[1])
    );
}

__device__ __forceinline__ Right restored(float4 parts) {
    return {
        {__float_as_uint(parts.x), __float_as_uint(parts.y)}, {__float_as_uint(parts.z), __float_as_uint(parts.w)}
    };
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
    float (&sums)[N][4], float (&rest)[N][4], const Left& left, const Right (&right)[N]
) {
    #pragma unroll
    for (int n = 0; n < N; ++n) add_tf32(rest[n], left.low, right[n].high);
    #pragma unroll
    for (int n = 0; n < N; ++n) add_tf32(sums[n], left.high, right[n].high);
    #pragma unroll
    for (int n = 0; n < N; ++n) add_tf32(rest[n], left.high, right[n].low);
}

// Waits for the threads of a tile, `count` of them, who alone use this number of the block's barriers.
__device__ __forceinline__ void tile_barrier(u32 number, u32 count) {
#if defined(CUDA_EMULATED)
    __syncthreads(); // tiles of a block go through the same steps
#else
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(count) : "memory");
#endif
}

// Copies 16 bytes to shared memory behind the thread's back, zeros if `here` is false. `copies_end`
// ends a group of copies; `copies_wait` waits until all groups but the last `LATER` are there.
__device__ __forceinline__ void copy_ahead(float* to, const float* from, bool here) {
#if defined(CUDA_EMULATED)
    *(float4*)to = here ? *(const float4*)from : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#elif __CUDA_ARCH__ >= 800
    const u32 place = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(here ? 16 : 0) : "memory");
#else
    __trap(); // not launched there
#endif
}

__device__ __forceinline__ void copies_end() {
#if !defined(CUDA_EMULATED) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int LATER>
__device__ __forceinline__ void copies_wait() {
#if !defined(CUDA_EMULATED) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
}

