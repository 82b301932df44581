// Rows picked by index, and rows added back to where they were picked from.
//
// Forward, y[i] = x[indices[i]]: a thread moves one unit (16 bytes if width and addresses allow
// it); 4 bytes of index a row, 8 bytes a value.
//
// Back, dx[r] += Σ dy[i] over the positions i that name r: the host has sorted the positions by row
// (`Readers`) and cut them into items of at most 64 positions of one row. A group of lanes owns an
// item and adds its rows in ascending order of position. The only item of a row adds to dx; items of
// a row with more write their sums to `parts`, which a block for each such row joins in order. So a
// row that everybody reads costs no more than its bytes, and no order depends on the GPU.

template <class Unit>
__device__ __forceinline__ void gather(const float* x, u32 units, const u32* indices, float* y,
                                       u64 count) {
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const u64 row = quotient(at, units);
    const u64 unit = at - row * units;
    ((Unit*)y)[at] = ((const Unit*)x)[(u64)indices[row] * units + unit];
}

// `count` units, `units` to a row.
extern "C" __global__ void gather_rows(const float* x, u32 units, const u32* indices, float* y,
                                       u64 count) {
    gather<float>(x, units, indices, y, count);
}

extern "C" __global__ void gather_rows_wide(const float* x, u32 units, const u32* indices, float* y,
                                            u64 count) {
    gather<float4>(x, units, indices, y, count);
}

// y[i] += x[indices[i]]: the gradient of a sum over rows that was already begun.
extern "C" __global__ void gather_rows_added(const float* x, u32 width, const u32* indices, float* y,
                                             u64 count) {
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const u64 row = quotient(at, width);
    y[at] += x[(u64)indices[row] * width + (at - row * width)];
}

// items: row, first position, end of positions, place in `parts` + 1 (0: straight to dx).
extern "C" __global__ void gather_add_items(const uint4* items, u32 count, const u32* positions,
                                            const float* dy, u32 width, u32 lanes, float* dx,
                                            float* parts) {
    const u32 item = (blockIdx.x * blockDim.x + threadIdx.x) / lanes;
    if (item >= count) return;
    const uint4 own = items[item];
    // A place without an item: it must not touch the row that it happens to name.
    if (own.y == own.z) return;
    for (u32 j = threadIdx.x % lanes; j < width; j += lanes) {
        float sum = 0.0f;
#pragma unroll 4
        for (u32 at = own.y; at < own.z; at++) sum += dy[(u64)positions[at] * width + j];
        if (own.w) {
            parts[(u64)(own.w - 1) * width + j] = sum;
        } else {
            dx[(u64)own.x * width + j] += sum;
        }
    }
}

// long_rows: row, its first part, the end of its parts, unused. A block joins the parts of one row:
// threads beside each other take columns, the groups of them every so many parts.
extern "C" __global__ void gather_join_parts(const uint4* long_rows, const float* parts, u32 width,
                                             float* dx) {
    __shared__ float shared[256];
    const uint4 own = long_rows[blockIdx.x];
    if (own.y == own.z) return;
    const u32 columns = width < blockDim.x ? width : blockDim.x;
    const u32 groups = blockDim.x / columns, group = threadIdx.x / columns;
    for (u32 first = 0; first < width; first += columns) {
        const u32 j = first + threadIdx.x % columns;
        const bool works = group < groups && j < width;
        float sum = 0.0f;
        if (works) {
#pragma unroll 4
            for (u32 part = own.y + group; part < own.z; part += groups)
                sum += parts[(u64)part * width + j];
        }
        shared[threadIdx.x] = sum;
        __syncthreads();
        u32 half = 1;
        while (2 * half < groups) half *= 2;
        for (; half > 0; half /= 2) {
            if (works && group < half && group + half < groups)
                shared[threadIdx.x] += shared[threadIdx.x + half * columns];
            __syncthreads();
        }
        if (works && group == 0) dx[(u64)own.x * width + j] += shared[threadIdx.x];
        __syncthreads();
    }
}
