// What surrounds the attention of a whole layer: positions and packed projections before it, the sum
// after it, and the sums of gradients over vertices. The twin of cpu/attention/layer.rs.
//
// A grid has a row of blocks for each step, so that a thread knows its step without dividing. Each
// kernel reads and writes its matrices once. Sums over vertices are taken by block and joined by a
// second kernel, both in a fixed order.

// x' = x + positions; the blocks beyond the steps lay the three projections side by side, [D, 3D].
extern "C" __global__ void attention_layer_enter(
    const float* x, const float* positions, const float* query, const float* key,
    const float* value, u64 len, u32 width, u32 steps, float* entered, float* packed) {
    if (blockIdx.y < steps) {
        const u64 from = blockIdx.y * len;
        const u32 row = blockIdx.y * width;
        for (u64 i = thread_index(); i < len; i += thread_count())
            entered[from + i] = x[from + i] + positions[row + (u32)(i % width)];
        return;
    }
    for (u64 i = thread_index(); i < 3ull * width * width; i += thread_count()) {
        const u32 row = (u32)(i / (3 * width)), col = (u32)(i % (3 * width));
        const float* projection = col < width ? query : col < 2 * width ? key : value;
        packed[i] = projection[row * width + col % width];
    }
}

// y += out + x', on top of what the linear layer left there.
extern "C" __global__ void attention_layer_leave(
    const float* entered, const float* out, u64 len, float* y) {
    for (u64 i = thread_index(); i < len; i += thread_count()) y[i] += out[i] + entered[i];
}

// d = d_entered + dy is the gradient of x': dx (+)= d if dx is not null, and its sums over `each`
// vertices go to parts [steps, blocks, D].
extern "C" __global__ void attention_layer_sums(
    const float* d_entered, const float* dy, u32 vertices, u32 width, u32 each, float* dx, u32 add,
    float* parts) {
    extern __shared__ float shared[];
    const u32 columns = min(width, blockDim.x), groups = blockDim.x / columns;
    const u32 group = threadIdx.x / columns;
    const u32 from = blockIdx.x * each, to = min(from + each, vertices);
    float* part = parts + ((u64)blockIdx.y * gridDim.x + blockIdx.x) * width;
    for (u32 start = 0; start < width; start += columns) {
        const u32 c = start + threadIdx.x % columns;
        const bool works = group < groups && c < width;
        float sum = 0.0f;
        for (u32 vertex = from + group; works && vertex < to; vertex += groups) {
            const u64 at = ((u64)blockIdx.y * vertices + vertex) * width + c;
            const float d = d_entered[at] + dy[at];
            if (dx) put(dx + at, d, add);
            sum += d;
        }
        shared[threadIdx.x] = sum;
        __syncthreads();
        if (group == 0 && c < width) {
            for (u32 other = 1; other < groups; ++other)
                sum += shared[other * columns + threadIdx.x];
            part[c] = sum;
        }
        __syncthreads();
    }
}

// Adds the sums of the positions, a warp each, and the gradients of the projections, which lie side
// by side, a thread each; places are null if they are not wanted.
extern "C" __global__ void attention_layer_join(
    const float* parts, u32 blocks, const float* d_packed, u32 steps, u32 width, u32 sum_blocks,
    float* positions, float* query, float* key, float* value) {
    if (blockIdx.x >= sum_blocks) {
        const u64 i = (u64)(blockIdx.x - sum_blocks) * blockDim.x + threadIdx.x;
        if (i >= 3ull * width * width) return;
        const u32 row = (u32)(i / (3 * width)), col = (u32)(i % (3 * width));
        float* projection = col < width ? query : col < 2 * width ? key : value;
        if (projection) projection[row * width + col % width] += d_packed[i];
        return;
    }
    const u32 warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp >= steps * width) return;
    float sum = 0.0f;
    for (u32 i = lane; i < blocks; i += 32)
        sum += parts[((u64)(warp / width) * blocks + i) * width + warp % width];
    sum = warp_sum(sum);
    if (positions && lane == 0) positions[warp] += sum;
}
