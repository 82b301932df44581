// What the GRU and the LSTM share in the backward pass: gradients of weights and biases, which are sums
// over all T·N cells.
//
// A weight gradient is dᵀ·Y, with d the gradients of gates [R, A] and Y rows [R, W]: the input's, or
// the states before each step. Row slabs are spread over blocks; each block sums one tile of 64 × 32
// outputs over its slab in registers (4 × 4 a thread) and writes it once, and `recurrent_join` adds
// the slabs in order: deterministic, and nothing is moved more than needed. All products of an
// operator go in one launch. Floor: d is read once from memory (tiles of a slab run side by side and
// find it in the second-level cache), 2·R·A·W operations.

#define TILE_A 64
#define TILE_W 32
#define CHUNK 32
#define SIDE 4
#define MOST_PRODUCTS 3
#define MOST_SEGMENTS 6

// One product. Y is [a, b] side by side (rows from `rows_a` on do not exist), or a above b (then
// `wide_b` is 0).
struct Product {
    const float* left;
    const float* a;
    const float* b;
    float* parts; // [slab][cols][wide_a + wide_b]
    u64 rows_a;
    u32 stride; // of left
    u32 cols;
    u32 wide_a;
    u32 wide_b;
};

struct Products {
    Product of[MOST_PRODUCTS];
};

__device__ __forceinline__ float right_value(const Product& p, u64 row, u32 k) {
    if (row >= p.rows_a) return p.b[(row - p.rows_a) * p.wide_a + k];
    if (k < p.wide_a) return p.a[row * p.wide_a + k];
    return p.b[row * p.wide_b + (k - p.wide_a)];
}

// Grid: slabs × tiles of all products. Block: 128 threads, 16 along A and 8 along W.
extern "C" __global__ void __launch_bounds__(128)
recurrent_weight_products(Products products, u64 rows, u64 slab) {
    __shared__ float4 left[CHUNK][TILE_A / SIDE];
    __shared__ float4 right[CHUNK][TILE_W / SIDE];
    u32 tile = blockIdx.y, which = 0, across = 0;
    for (;; ++which) {
        across = (products.of[which].wide_a + products.of[which].wide_b + TILE_W - 1) / TILE_W;
        u32 tiles = across * ((products.of[which].cols + TILE_A - 1) / TILE_A);
        if (tile < tiles) break;
        tile -= tiles;
    }
    const Product p = products.of[which];
    u32 width = p.wide_a + p.wide_b;
    u32 from_a = tile / across * TILE_A, from_w = tile % across * TILE_W;
    u32 at_a = threadIdx.x / 8 * SIDE, at_w = threadIdx.x % 8 * SIDE;
    float sums[SIDE][SIDE] = {};
    u64 begin = blockIdx.x * slab;
    u64 end = begin + slab < rows ? begin + slab : rows;
    for (u64 chunk = begin; chunk < end; chunk += CHUNK) {
        for (u32 at = threadIdx.x; at < CHUNK * TILE_A; at += 128) {
            u64 row = chunk + at / TILE_A;
            u32 col = from_a + at % TILE_A;
            ((float*)left)[at] =
                row < end && col < p.cols ? p.left[row * p.stride + col] : 0.0f;
        }
        for (u32 at = threadIdx.x; at < CHUNK * TILE_W; at += 128) {
            u64 row = chunk + at / TILE_W;
            u32 col = from_w + at % TILE_W;
            ((float*)right)[at] =
                row < end && col < width ? right_value(p, row, col) : 0.0f;
        }
        __syncthreads();
        #pragma unroll 8
        for (u32 row = 0; row < CHUNK; ++row) {
            float4 d = left[row][at_a / SIDE];
            float4 y = right[row][at_w / SIDE];
            float ds[SIDE] = {d.x, d.y, d.z, d.w}, ys[SIDE] = {y.x, y.y, y.z, y.w};
            #pragma unroll
            for (int i = 0; i < SIDE; ++i) {
                #pragma unroll
                for (int k = 0; k < SIDE; ++k) sums[i][k] = fmaf(ds[i], ys[k], sums[i][k]);
            }
        }
        __syncthreads();
    }
    float* out = p.parts + (u64)blockIdx.x * p.cols * width;
    for (u32 i = 0; i < SIDE; ++i) {
        u32 a = from_a + at_a + i;
        for (u32 k = 0; k < SIDE; ++k) {
            u32 w = from_w + at_w + k;
            if (a < p.cols && w < width) out[(u64)a * width + w] = sums[i][k];
        }
    }
}

// Partial sums over rows of [R, cols], a row of them a slab. Grid: slabs × columns. Block: 32 columns
// by 8 rows.
extern "C" __global__ void __launch_bounds__(256)
recurrent_column_sums(const float* x, u64 rows, u32 cols, u64 slab, float* parts) {
    __shared__ float room[8][32];
    u32 lane = threadIdx.x % 32, line = threadIdx.x / 32;
    u32 col = blockIdx.y * 32 + lane;
    u64 begin = blockIdx.x * slab;
    u64 end = begin + slab < rows ? begin + slab : rows;
    float sum = 0.0f;
    if (col < cols) {
        for (u64 row = begin + line; row < end; row += 8) sum += x[row * cols + col];
    }
    room[line][lane] = sum;
    __syncthreads();
    if (line == 0 && col < cols) {
        for (u32 other = 1; other < 8; ++other) sum += room[other][lane];
        parts[(u64)blockIdx.x * cols + col] = sum;
    }
}

// Adds `count` parts of `len` values, `stride` apart, to a gradient.
struct Segment {
    const float* parts;
    float* to;
    u64 stride;
    u32 count;
    u32 len;
};

struct Segments {
    Segment of[MOST_SEGMENTS];
};

// Grid: 32 values a block, enough for the longest segment × segments. Block: 32 values by up to 32 groups of
// parts, one group a part if there are fewer, the groups added in order.
extern "C" __global__ void __launch_bounds__(1024)
recurrent_join(Segments segments) {
    __shared__ float room[32][32];
    const Segment s = segments.of[blockIdx.y];
    // The whole block is behind the end of a shorter segment.
    if (blockIdx.x * 32 >= s.len) return;
    u32 lane = threadIdx.x % 32, group = threadIdx.x / 32, groups = blockDim.x / 32;
    u32 at = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    if (at < s.len) sum = sum_of_parts(s.parts + at, group, groups, s.count, s.stride);
    room[group][lane] = sum;
    __syncthreads();
    if (group == 0 && at < s.len) {
        for (u32 other = 1; other < groups; ++other) sum += room[other][lane];
        s.to[at] += sum;
    }
}
