// Scores of pairs of rows: h = relu(source[src] + destination[dst]), y = h·Wᵀ + b.
//
// Forward, `lanes` threads own a pair: they read both rows (8·width bytes, mostly from the second
// cache, since there are more pairs than vertices), and add up four outputs at a time.
//
// Back, nothing is kept for a pair. The gradient of a vertex' row is
//     d[v] = Σ over pairs of v of (Σ_out dy[pair, out]·W[out]) if h > 0,
// computed for the pairs that `Readers` lists for v: its own row stays in registers, that of the
// other end is read again. That of the weight is a sum over pairs, by blocks of a grid whose size
// follows from the number of pairs alone; that of the bias is one over the rows of dy.

#define TILE 4

extern "C" __global__ void pairs_scores(const float* source, const float* destination, u32 width,
                                        const u32* src, const u32* dst, u64 pairs,
                                        const float* weight, const float* bias, u32 outputs,
                                        u32 lanes, float* y) {
    const u64 pair = thread_index() / lanes;
    const u32 lane = threadIdx.x % lanes, end = pair < pairs ? width : 0;
    const float* s = source + (end ? (u64)src[pair] * width : 0);
    const float* t = destination + (end ? (u64)dst[pair] * width : 0);
    for (u32 first = 0; first < outputs; first += TILE) {
        float sum[TILE] = {};
        for (u32 j = lane; j < end; j += lanes) {
            const float h = fmaxf(s[j] + t[j], 0.0f);
#pragma unroll
            for (u32 k = 0; k < TILE; k++)
                if (first + k < outputs) sum[k] = fmaf(h, weight[(first + k) * width + j], sum[k]);
        }
#pragma unroll
        for (u32 k = 0; k < TILE; k++) {
            sum[k] = group_sum(sum[k], lanes);
            if (pair < pairs && lane == 0 && first + k < outputs)
                y[pair * outputs + first + k] = sum[k] + bias[first + k];
        }
    }
}

// d[row] += the gradients that the pairs of an item send it; items as for `gather_add_items`.
extern "C" __global__ void pairs_add_items(const uint4* items, u32 count, const u32* positions,
                                           const float* own_rows, const float* other_rows,
                                           const u32* other_end, u32 width, const float* weight,
                                           const float* dy, u32 outputs, u32 lanes, float* d,
                                           float* parts) {
    const u32 item = thread_index() / lanes;
    if (item >= count) return;
    const uint4 own = items[item];
    // A place without an item, as in gather.cu.
    if (own.y == own.z) return;
    for (u32 j = threadIdx.x % lanes; j < width; j += lanes) {
        const float mine = own_rows[(u64)own.x * width + j];
        float sum = 0.0f;
#pragma unroll 2
        for (u32 at = own.y; at < own.z; at++) {
            const u64 pair = positions[at];
            if (!(mine + other_rows[(u64)other_end[pair] * width + j] > 0.0f)) continue;
            for (u32 out = 0; out < outputs; out++)
                sum = fmaf(dy[pair * outputs + out], weight[out * width + j], sum);
        }
        if (own.w) {
            parts[(u64)(own.w - 1) * width + j] = sum;
        } else {
            d[(u64)own.x * width + j] += sum;
        }
    }
}

// The first phase of Σ dy·h over pairs, for the column of this thread and the tile of outputs
// blockIdx.z: parts[block][outputs][width].
extern "C" __global__ void pairs_layer_sums(const float* source, const float* destination, u32 width,
                                            const u32* src, const u32* dst, u64 pairs,
                                            const float* dy, u32 outputs, float* parts) {
    __shared__ float shared[TILE][256];
    const u32 columns = width < blockDim.x ? width : blockDim.x;
    const u32 groups = blockDim.x / columns, group = threadIdx.x / columns;
    const u32 j = blockIdx.y * columns + threadIdx.x % columns;
    const u32 first = blockIdx.z * TILE;
    const bool works = group < groups && j < width;
    float sum[TILE] = {};
    if (works) {
#pragma unroll 2
        for (u64 pair = (u64)blockIdx.x * groups + group; pair < pairs; pair += (u64)gridDim.x * groups) {
            const float s = source[(u64)src[pair] * width + j];
            const float h = fmaxf(s + destination[(u64)dst[pair] * width + j], 0.0f);
#pragma unroll
            for (u32 k = 0; k < TILE; k++)
                if (first + k < outputs) sum[k] = fmaf(dy[pair * outputs + first + k], h, sum[k]);
        }
    }
#pragma unroll
    for (u32 k = 0; k < TILE; k++) shared[k][threadIdx.x] = sum[k];
    __syncthreads();
    // The threads of one column in a tree.
    u32 half = 1;
    while (2 * half < groups) half *= 2;
    for (; half > 0; half /= 2) {
        if (works && group < half && group + half < groups) {
#pragma unroll
            for (u32 k = 0; k < TILE; k++)
                shared[k][threadIdx.x] += shared[k][threadIdx.x + half * columns];
        }
        __syncthreads();
    }
    if (!works || group > 0) return;
    for (u32 k = 0; k < TILE && first + k < outputs; k++)
        parts[((u64)blockIdx.x * outputs + first + k) * width + j] = shared[k][threadIdx.x];
}
