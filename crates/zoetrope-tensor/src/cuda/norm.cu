// Batch normalisation (over rows, per column) and layer normalisation (over columns, per row).
//
// Batch norm reads x once for its statistics and once to normalise: 12 bytes a value forward. A
// thread adds up differences to the first value that it meets, so that a large mean does not cancel;
// its two sums become sums around 0 in f64, where a mean of a million deviations still leaves four
// digits of the variance. Blocks write their sums, one block a column joins them in order. Backward
// reads x and dy twice and writes dx: 20 bytes a value (24 where it adds).
//
// Layer norm: `lanes` threads own a row; the second and third look at it meet the cache.

// The first phase of the statistics of columns.
extern "C" __global__ void norm_batch_sums(const float* x, u64 rows, u32 cols, double* parts) {
    extern __shared__ double shared[];
    column_pairs(cols, parts, shared, [=](u64 row, u64 stride, u32 column, double& sum, double& squares) {
        if (row >= rows) return;
        const float pivot = x[row * cols + column];
        float apart = 0.0f, square = 0.0f;
        u32 count = 0;
#pragma unroll 4
        for (; row < rows; row += stride) {
            const float d = x[row * cols + column] - pivot;
            apart += d;
            square = fmaf(d, d, square);
            count++;
        }
        const double p = pivot, a = apart, n = count;
        sum = n * p + a;
        squares = (double)square + p * (2.0 * a + n * p);
    });
}

// A block for each column: its mean and 1 / √(variance + ε).
extern "C" __global__ void norm_batch_statistics(const double* parts, u32 blocks, u64 rows, u32 cols,
                                                 float epsilon, float* mean, float* inverse) {
    __shared__ double room[32];
    const u32 column = blockIdx.x;
    const double sum = join_parts(parts, blocks, cols, column, 0, room);
    const double squares = join_parts(parts, blocks, cols, column, 1, room);
    if (threadIdx.x > 0) return;
    const double share = 1.0 / (double)(rows > 0 ? rows : 1);
    const double centre = sum * share;
    const double variance = squares * share - centre * centre;
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

// The first phase of Σ dy and Σ dy·(x − mean) of columns.
extern "C" __global__ void norm_batch_slopes(const float* x, const float* dy, const float* mean,
                                             u64 rows, u32 cols, double* parts) {
    extern __shared__ double shared[];
    column_pairs(cols, parts, shared, [=](u64 row, u64 stride, u32 column, double& plain, double& scaled) {
        const float centre = mean[column];
        float d_sum = 0.0f, moved = 0.0f;
#pragma unroll 4
        for (; row < rows; row += stride) {
            const float d = dy[row * cols + column];
            d_sum += d;
            moved = fmaf(d, x[row * cols + column] - centre, moved);
        }
        plain = d_sum;
        scaled = moved;
    });
}

// A block for each column: adds to the gradients of scale and shift, and writes the column's
// factors [3][cols] of dx = a·(dy − centre) + b·(x − mean).
extern "C" __global__ void norm_batch_factors(const double* parts, u32 blocks, u64 rows, u32 cols,
                                              const float* inverse, const float* scale,
                                              float* d_scale, float* d_shift, float* factors) {
    __shared__ double room[32];
    const u32 column = blockIdx.x;
    const float plain = (float)join_parts(parts, blocks, cols, column, 0, room);
    const float moved = (float)join_parts(parts, blocks, cols, column, 1, room);
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

// The first phase of the gradients of a layer norm's shift (Σ dy) and scale (Σ dy·x̂).
extern "C" __global__ void norm_layer_slopes(const float* x, const float* dy, const float* statistics,
                                             u64 rows, u32 cols, double* parts) {
    extern __shared__ double shared[];
    column_pairs(cols, parts, shared, [=](u64 row, u64 stride, u32 column, double& plain, double& scaled) {
        float d_sum = 0.0f, moved = 0.0f;
#pragma unroll 4
        for (; row < rows; row += stride) {
            const float d = dy[row * cols + column];
            const float normal = (x[row * cols + column] - statistics[2 * row]) * statistics[2 * row + 1];
            d_sum += d;
            moved = fmaf(d, normal, moved);
        }
        plain = d_sum;
        scaled = moved;
    });
}

// A block for each column.
extern "C" __global__ void norm_layer_join(const double* parts, u32 blocks, u32 cols, float* d_scale,
                                           float* d_shift) {
    __shared__ double room[32];
    const u32 column = blockIdx.x;
    const float plain = (float)join_parts(parts, blocks, cols, column, 0, room);
    const float scaled = (float)join_parts(parts, blocks, cols, column, 1, room);
    if (threadIdx.x > 0) return;
    if (d_shift) d_shift[column] += plain;
    if (d_scale) d_scale[column] += scaled;
}
