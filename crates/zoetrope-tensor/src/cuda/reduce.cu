// Sums: of columns, of everything, of squares; what is made of them; and the sums of shares.
//
// Floor of every sum: reading its operand once. Rows or elements are cut into shares by the shape
// alone, a block sums one in a fixed order, and the shares are added in order: no atomics, equal bits
// on every run. Sums of everything are kept in f64, sums of columns in f32.

#define THREADS 256
// Sums over shares: so many neighbouring results, so many slices of the shares a block.
#define RESULTS 32
#define SLICES 32

// Adds shares [count][len]: the first `split` sums belong to `first` (written or added), the others
// are added to `second`. blockIdx.y counts the members of a batch, `split` elements of `first` each.
extern "C" __global__ __launch_bounds__(RESULTS * SLICES) void reduce_add_shares(
    const float* shares, u64 count, u64 len, u64 split, float* first, u32 add, float* second
) {
    __shared__ float slices[SLICES][RESULTS];
    u32 slice = threadIdx.x / RESULTS, lane = threadIdx.x % RESULTS;
    u64 at = (u64)blockIdx.x * RESULTS + lane, member = blockIdx.y;
    const float* own = shares + member * count * len + at;
    float sum = 0.0f;
    if (at < len) sum = sum_of_parts(own, slice, SLICES, count, len);
    slices[slice][lane] = sum;
    __syncthreads();
    if (slice != 0 || at >= len) return;
    #pragma unroll
    for (u32 other = 1; other < SLICES; ++other) sum += slices[other][lane];
    if (at < split) {
        put(first + member * split + at, sum, add);
    } else {
        put(second + at - split, sum, 1);
    }
}

// The column sums of one share of the rows, for up to 256 neighbouring columns: thread t takes column
// t % width of every (256 / width)-th row, so that a warp reads neighbouring elements.
extern "C" __global__ __launch_bounds__(THREADS) void reduce_columns(
    const float* x, u64 rows, u64 cols, u64 share_rows, float* shares, float* sums
) {
    __shared__ float parts[THREADS];
    u64 first = (u64)blockIdx.y * THREADS;
    u32 width = min((u64)THREADS, cols - first), groups = THREADS / width;
    u32 group = threadIdx.x / width, col = threadIdx.x % width;
    u64 from = blockIdx.x * share_rows, to = min(rows, from + share_rows);
    float sum = 0.0f;
    if (group < groups) {
        #pragma unroll 8
        for (u64 row = from + group; row < to; row += groups) sum += __ldg(x + row * cols + first + col);
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    u32 half = 0;
    for (u32 left = groups; left > 1; left = half) {
        half = (left + 1) / 2;
        if (group + half < left) parts[threadIdx.x] += parts[threadIdx.x + half * width];
        __syncthreads();
    }
    if (group != 0) return;
    if (shares) {
        shares[blockIdx.x * cols + first + col] = parts[col];
    } else {
        sums[first + col] += parts[col];
    }
}

// Σ x or Σ x·y over the elements [from, to) in f64, in thread 0 of the block.
__device__ __forceinline__ double sum_between(const float* x, const float* y, u64 from, u64 to, double* room) {
    double sum = 0.0;
    #pragma unroll 4
    for (u64 at = from + threadIdx.x; at < to; at += blockDim.x) {
        double value = x[at];
        sum += y ? value * (double)y[at] : value;
    }
    return block_sum(sum, room);
}

// The sums of shares of Σ x.
extern "C" __global__ __launch_bounds__(THREADS) void reduce_sum_shares(
    const float* x, u64 len, u64 share, double* sums
) {
    __shared__ double room[THREADS / 32];
    u64 from = blockIdx.x * share;
    double sum = sum_between(x, nullptr, from, min(len, from + share), room);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// The sum of all shares over `divisor`. One block.
extern "C" __global__ __launch_bounds__(THREADS) void reduce_mean(
    const double* sums, u64 count, float divisor, float* mean
) {
    __shared__ double room[THREADS / 32];
    double sum = 0.0;
    for (u64 at = threadIdx.x; at < count; at += THREADS) sum += sums[at];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) *mean = (float)sum / divisor;
}

// dx += dy / len for the mean of `len` values.
extern "C" __global__ __launch_bounds__(THREADS) void reduce_mean_backward(const float* dy, float* dx, u64 len) {
    float share = *dy / (float)len;
    for (u64 at = thread_index(); at < len; at += thread_count()) dx[at] += share;
}

// y = x / |x| and the norm beside it. One block: vectors of parameters are short.
extern "C" __global__ __launch_bounds__(1024) void reduce_unit_forward(const float* x, u64 len, float* y, float* norm) {
    __shared__ double room[32];
    __shared__ float scale;
    double squares = sum_between(x, x, 0, len, room);
    if (threadIdx.x == 0) {
        float length = (float)sqrt(squares);
        *norm = length;
        scale = 1.0f / length;
    }
    __syncthreads();
    for (u64 at = threadIdx.x; at < len; at += blockDim.x) y[at] = scale * x[at];
}

// dx += (dy - u·(u·dy)) / |x| with u = x / |x|. One block.
extern "C" __global__ __launch_bounds__(1024) void reduce_unit_backward(
    const float* unit, const float* norm, const float* dy, u64 len, float* dx
) {
    __shared__ double room[32];
    __shared__ float along;
    double product = sum_between(unit, dy, 0, len, room);
    if (threadIdx.x == 0) along = (float)product;
    __syncthreads();
    float scale = 1.0f / *norm;
    for (u64 at = threadIdx.x; at < len; at += blockDim.x) dx[at] += scale * (dy[at] - along * unit[at]);
}
