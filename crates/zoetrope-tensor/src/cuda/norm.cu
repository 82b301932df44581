// Batch normalisation (over rows, per column) and layer normalisation (over columns, per row).
//
// Batch norm reads x once for its statistics and once to normalise: 12 bytes a value forward. A
// thread adds up differences to the first value that it meets, so that a large mean does not cancel;
// its two sums become sums around 0 in f64, where a mean of a million deviations still leaves four
// digits of the variance. Blocks write their sums, one block a column joins them in order. Backward
// reads x and dy twice and writes dx: 20 bytes a value (24 if it adds).
//
// Layer norm: `lanes` threads own a row; the second and third look at it meet the cache.

template <u32 V>
using Sums = double (&)[V];

// A first phase by four columns a thread, or by one.
#define BY_COLUMNS(FUNCTION, ...)                                                                          \
    extern __shared__ double shared[];                                                                     \
    if (neighbours == 4) {                                                                                 \
        column_pairs<4>(cols, parts, shared, [=](u64 row, u64 stride, u32 column, Sums<4> a, Sums<4> b) { \
            FUNCTION<4>(row, stride, column, __VA_ARGS__, a, b);                                           \
        });                                                                                                \
    } else {                                                                                               \
        column_pairs<1>(cols, parts, shared, [=](u64 row, u64 stride, u32 column, Sums<1> a, Sums<1> b) { \
            FUNCTION<1>(row, stride, column, __VA_ARGS__, a, b);                                           \
        });                                                                                                \
    }

// Calls `add(row)` for `row`, `row + stride`, … below `rows`, with what `load(row)` made of each; four are
// loaded before the first is added.
template <class Load, class Add>
__device__ __forceinline__ void by_fours(u64 row, u64 stride, u64 rows, Load load, Add add) {
    for (; row < rows; row += 4 * stride) {
        decltype(load(row)) loaded[4];
#pragma unroll
        for (u32 u = 0; u < 4; u++) loaded[u] = load(row + u * stride < rows ? row + u * stride : row);
#pragma unroll
        for (u32 u = 0; u < 4; u++)
            if (row + u * stride < rows) add(loaded[u]);
    }
}

// Neighbours of one matrix, or of two.
template <u32 V>
struct One {
    float x[V];
};
template <u32 V>
struct Two {
    float x[V], dy[V];
};

template <u32 V>
__device__ __forceinline__ void batch_sums(u64 row, u64 stride, u32 column, const float* x, u64 rows, u32 cols,
                                           double (&sum)[V], double (&squares)[V]) {
    if (row >= rows) return;
    float pivot[V], apart[V] = {}, square[V] = {};
    load_neighbours(x + row * cols + column, pivot);
    u32 count = 0;
    auto load = [=](u64 row) {
        One<V> one;
        load_neighbours(x + row * cols + column, one.x);
        return one;
    };
    by_fours(row, stride, rows, load, [&](const One<V>& one) {
        count++;
#pragma unroll
        for (u32 k = 0; k < V; k++) {
            const float d = one.x[k] - pivot[k];
            apart[k] += d;
            square[k] = fmaf(d, d, square[k]);
        }
    });
#pragma unroll
    for (u32 k = 0; k < V; k++) {
        const double p = pivot[k], a = apart[k], n = count;
        sum[k] = n * p + a;
        squares[k] = (double)square[k] + p * (2.0 * a + n * p);
    }
}

// The first phase of the statistics of columns.
extern "C" __global__ void norm_batch_sums(const float* x, u64 rows, u32 cols, u32 neighbours, double* parts) {
    BY_COLUMNS(batch_sums, x, rows, cols)
}

// A block for each column: its mean and 1 / √(variance + ε).
extern "C" __global__ void norm_batch_statistics(const double* parts, u32 blocks, u64 rows, u32 cols,
                                                 float epsilon, float* mean, float* inverse) {
    __shared__ double room[32];
    const u32 column = blockIdx.x;
    const Pair sums = join_parts(parts, blocks, cols, column, room);
    if (threadIdx.x > 0) return;
    const double share = 1.0 / (double)(rows > 0 ? rows : 1);
    const double centre = sums.first * share;
    const double variance = sums.second * share - centre * centre;
    mean[column] = (float)centre;
    inverse[column] = 1.0f / sqrtf((float)(variance > 0.0 || variance != variance ? variance : 0.0) + epsilon);
}

// The same from given statistics, which are kept beside each other as the batch's would be.
extern "C" __global__ void norm_given_statistics(const float* given_mean, const float* variance,
                                                 u32 cols, float epsilon, float* mean, float* inverse) {
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= cols) return;
    mean[column] = given_mean[column];
    inverse[column] = 1.0f / sqrtf(variance[column] + epsilon);
}

// y = (x − mean)·(inverse·scale) + shift.
extern "C" __global__ void norm_batch_forward(const float* x, u32 cols, const float* mean,
                                              const float* inverse, const float* scale,
                                              const float* shift, float* y, u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(x) | address(y), at, len);
    u32 column = (u32)(at - quotient(at, cols) * cols);
    Four v = load_four(x, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        v.at[k] = fmaf(v.at[k] - mean[column], scale[column] * inverse[column], shift[column]);
        column = column + 1 == cols ? 0 : column + 1;
    }
    store_four(y, v, at, len, whole);
}

template <u32 V>
__device__ __forceinline__ void batch_slopes(u64 row, u64 stride, u32 column, const float* x, const float* dy,
                                             const float* mean, u64 rows, u32 cols, double (&plain)[V],
                                             double (&scaled)[V]) {
    float centre[V], d_sum[V] = {}, moved[V] = {};
    load_neighbours(mean + column, centre);
    auto load = [=](u64 row) {
        Two<V> two;
        load_neighbours(x + row * cols + column, two.x);
        load_neighbours(dy + row * cols + column, two.dy);
        return two;
    };
    by_fours(row, stride, rows, load, [&](const Two<V>& two) {
#pragma unroll
        for (u32 k = 0; k < V; k++) {
            d_sum[k] += two.dy[k];
            moved[k] = fmaf(two.dy[k], two.x[k] - centre[k], moved[k]);
        }
    });
#pragma unroll
    for (u32 k = 0; k < V; k++) plain[k] = d_sum[k], scaled[k] = moved[k];
}

// The first phase of Σ dy and Σ dy·(x − mean) of columns.
extern "C" __global__ void norm_batch_slopes(const float* x, const float* dy, const float* mean,
                                             u64 rows, u32 cols, u32 neighbours, double* parts) {
    BY_COLUMNS(batch_slopes, x, dy, mean, rows, cols)
}

// A block for each column: adds to the gradients of scale and shift, and writes the column's
// factors [3][cols] of dx = a·(dy − centre) + b·(x − mean).
extern "C" __global__ void norm_batch_factors(const double* parts, u32 blocks, u64 rows, u32 cols,
                                              const float* inverse, const float* scale,
                                              float* d_scale, float* d_shift, float* factors) {
    __shared__ double room[32];
    const u32 column = blockIdx.x;
    const Pair sums = join_parts(parts, blocks, cols, column, room);
    const float plain = (float)sums.first, moved = (float)sums.second;
    if (threadIdx.x > 0) return;
    const float scaled = moved * inverse[column];
    if (d_shift) d_shift[column] += plain;
    if (d_scale) d_scale[column] += scaled;
    const float share = 1.0f / (float)rows;
    const float a = scale[column] * inverse[column];
    factors[column] = a;
    factors[cols + column] = share * plain;
    factors[2 * cols + column] = -a * share * inverse[column] * scaled;
}

extern "C" __global__ void norm_batch_backward(const float* x, const float* dy, u32 cols,
                                               const float* mean, const float* factors, float* dx,
                                               u32 adds, u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(x) | address(dy) | address(dx), at, len);
    u32 column = (u32)(at - quotient(at, cols) * cols);
    const Four value = load_four(x, at, len, whole);
    Four d = load_four(dy, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        const float a = factors[column], centre = factors[cols + column], b = factors[2 * cols + column];
        d.at[k] = fmaf(a, d.at[k] - centre, b * (value.at[k] - mean[column]));
        column = column + 1 == cols ? 0 : column + 1;
    }
    join_four(dx, d, adds, at, len, whole);
}

// Given statistics do not depend on x: dx (+)= dy·inverse·scale.
extern "C" __global__ void norm_fixed_backward(const float* dy, u32 cols, const float* inverse,
                                               const float* scale, float* dx, u32 adds, u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(dy) | address(dx), at, len);
    u32 column = (u32)(at - quotient(at, cols) * cols);
    Four d = load_four(dy, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        d.at[k] *= inverse[column] * scale[column];
        column = column + 1 == cols ? 0 : column + 1;
    }
    join_four(dx, d, adds, at, len, whole);
}

// Moves running statistics towards those of the last batch, and counts it; `unbiased` turns the
// variance by which the batch was normalised into the one that is kept.
extern "C" __global__ void norm_update_running(const float* batch_mean, const float* batch_inverse,
                                               u32 cols, float epsilon, float momentum, float unbiased,
                                               float* mean, float* variance, float* count) {
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column == 0) *count += 1.0f;
    if (column >= cols) return;
    const float inverse = batch_inverse[column];
    const float new_variance = (1.0f / (inverse * inverse) - epsilon) * unbiased;
    mean[column] = (1.0f - momentum) * mean[column] + momentum * batch_mean[column];
    variance[column] = (1.0f - momentum) * variance[column] + momentum * new_variance;
}

// statistics [rows, 2]: mean and 1 / √(variance + ε).
extern "C" __global__ void norm_layer_forward(const float* x, u64 rows, u32 cols, u32 lanes,
                                              float epsilon, const float* scale, const float* shift,
                                              float* y, float* statistics) {
    const u64 row = thread_index() / lanes, from = row * cols;
    const u32 lane = threadIdx.x % lanes, end = row < rows ? cols : 0;
    const float share = 1.0f / (float)cols;
    float sum = 0.0f;
    for (u32 j = lane; j < end; j += lanes) sum += x[from + j];
    const float mean = share * group_sum(sum, lanes);
    float squares = 0.0f;
    for (u32 j = lane; j < end; j += lanes) {
        const float apart = x[from + j] - mean;
        squares = fmaf(apart, apart, squares);
    }
    const float inverse = 1.0f / sqrtf(share * group_sum(squares, lanes) + epsilon);
    for (u32 j = lane; j < end; j += lanes)
        y[from + j] = fmaf((x[from + j] - mean) * inverse, scale[j], shift[j]);
    if (end > 0 && lane == 0) {
        statistics[2 * row] = mean;
        statistics[2 * row + 1] = inverse;
    }
}

extern "C" __global__ void norm_layer_backward(const float* x, u64 rows, u32 cols, u32 lanes,
                                               const float* statistics, const float* scale,
                                               const float* dy, float* dx, u32 adds) {
    const u64 row = thread_index() / lanes, from = row * cols;
    const u32 lane = threadIdx.x % lanes, end = row < rows ? cols : 0;
    const float mean = end > 0 ? statistics[2 * row] : 0.0f;
    const float inverse = end > 0 ? statistics[2 * row + 1] : 0.0f;
    float plain = 0.0f, scaled = 0.0f;
    for (u32 j = lane; j < end; j += lanes) {
        const float d = dy[from + j] * scale[j];
        plain += d;
        scaled = fmaf(d, x[from + j] - mean, scaled);
    }
    const float share = 1.0f / (float)cols;
    plain = share * group_sum(plain, lanes);
    scaled = share * inverse * group_sum(scaled, lanes);
    for (u32 j = lane; j < end; j += lanes) {
        const float normal = (x[from + j] - mean) * inverse;
        put(dx + from + j, inverse * (dy[from + j] * scale[j] - plain - normal * scaled), adds);
    }
}

template <u32 V>
__device__ __forceinline__ void layer_slopes(u64 row, u64 stride, u32 column, const float* x, const float* dy,
                                             const float* statistics, u64 rows, u32 cols, double (&plain)[V],
                                             double (&scaled)[V]) {
    float d_sum[V] = {}, moved[V] = {};
    // Normal values in place of x.
    auto load = [=](u64 row) {
        Two<V> two;
        load_neighbours(x + row * cols + column, two.x);
        load_neighbours(dy + row * cols + column, two.dy);
        const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
#pragma unroll
        for (u32 k = 0; k < V; k++) two.x[k] = (two.x[k] - mean) * inverse;
        return two;
    };
    by_fours(row, stride, rows, load, [&](const Two<V>& two) {
#pragma unroll
        for (u32 k = 0; k < V; k++) {
            d_sum[k] += two.dy[k];
            moved[k] = fmaf(two.dy[k], two.x[k], moved[k]);
        }
    });
#pragma unroll
    for (u32 k = 0; k < V; k++) plain[k] = d_sum[k], scaled[k] = moved[k];
}

// The first phase of the gradients of a layer norm's shift (Σ dy) and scale (Σ dy·x̂).
extern "C" __global__ void norm_layer_slopes(const float* x, const float* dy, const float* statistics,
                                             u64 rows, u32 cols, u32 neighbours, double* parts) {
    BY_COLUMNS(layer_slopes, x, dy, statistics, rows, cols)
}

// A block for each column.
extern "C" __global__ void norm_layer_join(const double* parts, u32 blocks, u32 cols, float* d_scale,
                                           float* d_shift) {
    __shared__ double room[32];
    const u32 column = blockIdx.x;
    const Pair sums = join_parts(parts, blocks, cols, column, room);
    const float plain = (float)sums.first, scaled = (float)sums.second;
    if (threadIdx.x > 0) return;
    if (d_shift) d_shift[column] += plain;
    if (d_scale) d_scale[column] += scaled;
}
