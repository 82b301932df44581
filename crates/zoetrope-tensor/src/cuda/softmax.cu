// Softmax over the rows of a matrix and over the entries of sparse rows.
//
// The largest value of a row is subtracted first; a row whose values are all −∞ gives zeros. `lanes`
// threads own a row of a matrix. Eight own a sparse row, and rows of more than LONG entries are left
// to the whole block afterwards, so that the row of a hub does not wait for eight threads. Moves 8
// bytes a value forward and 12 backward (16 if it adds); the second look at a row meets the cache.

#define LONG 256
#define SPARSE_LANES 8

// The threads that own a row: a group of lanes, or the whole block.
struct Lanes {
    u32 lane, lanes;

    __device__ __forceinline__ float sum(float v) const { return group_sum(v, lanes); }
    __device__ __forceinline__ float max(float v) const { return group_max(v, lanes); }
};

struct Block {
    u32 lane, lanes;
    float* room;

    __device__ __forceinline__ float shared_with_all(float v) const {
        if (threadIdx.x == 0) room[32] = v;
        __syncthreads();
        v = room[32];
        __syncthreads();
        return v;
    }

    __device__ __forceinline__ float sum(float v) const { return shared_with_all(block_sum(v, room)); }

    __device__ __forceinline__ float max(float v) const {
        v = warp_max(v);
        if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
        __syncthreads();
        float most = NEGATIVE_INFINITY;
        for (u32 warp = 0; warp < blockDim.x / 32; warp++) most = fmaxf(most, room[warp]);
        __syncthreads();
        return most;
    }
};

// Threads without a row come with len 0: they take part in the exchanges.
template <class Team>
__device__ __forceinline__ void softmax_of(const Team& team, const float* x, u64 len, float* y) {
    float most = NEGATIVE_INFINITY;
    for (u64 j = team.lane; j < len; j += team.lanes) most = fmaxf(most, x[j]);
    most = team.max(most);
    const bool empty = most == NEGATIVE_INFINITY;
    float sum = 0.0f;
    for (u64 j = team.lane; j < len; j += team.lanes) sum += empty ? 0.0f : expf(x[j] - most);
    const float share = 1.0f / team.sum(sum);
    for (u64 j = team.lane; j < len; j += team.lanes) y[j] = empty ? 0.0f : expf(x[j] - most) * share;
}

// dx (+)= y∘(dy − Σ dy∘y).
template <class Team>
__device__ __forceinline__ void slope_of(const Team& team, const float* y, const float* dy, u64 len,
                                         float* dx, u32 adds) {
    float sum = 0.0f;
    for (u64 j = team.lane; j < len; j += team.lanes) sum = fmaf(y[j], dy[j], sum);
    sum = team.sum(sum);
    for (u64 j = team.lane; j < len; j += team.lanes) put(dx + j, y[j] * (dy[j] - sum), adds);
}

extern "C" __global__ void softmax_rows(const float* x, u64 rows, u32 cols, u32 lanes, float* y) {
    const u64 row = thread_index() / lanes, from = row * cols;
    const Lanes team = {threadIdx.x % lanes, lanes};
    softmax_of(team, x + from, row < rows ? cols : 0, y + from);
}

extern "C" __global__ void softmax_rows_backward(const float* y, u64 rows, u32 cols, u32 lanes,
                                                 const float* dy, float* dx, u32 adds) {
    const u64 row = thread_index() / lanes, from = row * cols;
    const Lanes team = {threadIdx.x % lanes, lanes};
    slope_of(team, y + from, dy + from, row < rows ? cols : 0, dx + from, adds);
}

// Calls `f(team, first entry, number of entries)` for the rows of this block.
template <class F>
__device__ __forceinline__ void each_segment(const u32* offsets, u32 rows, F f) {
    __shared__ float room[33];
    const u32 here = blockDim.x / SPARSE_LANES;
    const u32 first = blockIdx.x * here;
    const u32 row = first + threadIdx.x / SPARSE_LANES;
    const Lanes lanes = {threadIdx.x % SPARSE_LANES, SPARSE_LANES};
    const u32 from = row < rows ? offsets[row] : 0;
    const u32 len = row < rows ? offsets[row + 1] - from : 0;
    f(lanes, from, len > LONG ? 0 : len);
    const Block block = {threadIdx.x, blockDim.x, room};
    for (u32 other = first; other < first + here && other < rows; other++) {
        const u32 start = offsets[other], entries = offsets[other + 1] - start;
        if (entries > LONG) f(block, start, entries);
    }
}

struct Value {
    const float* x;
    float* y;

    template <class Team>
    __device__ __forceinline__ void operator()(const Team& team, u32 from, u32 len) const {
        softmax_of(team, x + from, len, y + from);
    }
};

struct Slope {
    const float* y;
    const float* dy;
    float* dx;

    template <class Team>
    __device__ __forceinline__ void operator()(const Team& team, u32 from, u32 len) const {
        slope_of(team, y + from, dy + from, len, dx + from, 1);
    }
};

extern "C" __global__ void softmax_segments(const u32* offsets, u32 rows, const float* x, float* y) {
    each_segment(offsets, rows, Value{x, y});
}

extern "C" __global__ void softmax_segments_backward(const u32* offsets, u32 rows, const float* y,
                                                     const float* dy, float* dx) {
    each_segment(offsets, rows, Slope{y, dy, dx});
}
