// Sums, products and scalings, element by element or per row and column.
//
// A thread takes four neighbouring elements; 4 bytes move for each operand and result. A gradient
// that is not wanted is a null pointer; `adds` says whether one is added to or overwritten.

extern "C" __global__ void elementwise_add_scaled(const float* a, const float* b, float factor,
                                                  float* y, u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(a) | address(b) | address(y), at, len);
    Four v = load_four(a, at, len, whole);
    const Four other = load_four(b, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) v.at[k] = fmaf(other.at[k], factor, v.at[k]);
    store_four(y, v, at, len, whole);
}

// da (+)= dy and db (+)= factor·dy.
extern "C" __global__ void elementwise_add_scaled_backward(const float* dy, float factor, float* da,
                                                           u32 a_adds, float* db, u32 b_adds,
                                                           u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(dy) | address(da) | address(db), at, len);
    Four d = load_four(dy, at, len, whole);
    if (da) join_four(da, d, a_adds, at, len, whole);
    if (!db) return;
#pragma unroll
    for (u32 k = 0; k < 4; k++) d.at[k] *= factor;
    join_four(db, d, b_adds, at, len, whole);
}

extern "C" __global__ void elementwise_mul(const float* a, const float* b, float* y, u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(a) | address(b) | address(y), at, len);
    Four v = load_four(a, at, len, whole);
    const Four other = load_four(b, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) v.at[k] *= other.at[k];
    store_four(y, v, at, len, whole);
}

// da (+)= b·dy and db (+)= a·dy.
extern "C" __global__ void elementwise_mul_backward(const float* dy, const float* a, const float* b,
                                                    float* da, u32 a_adds, float* db, u32 b_adds,
                                                    u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const u64 addresses = address(dy) | address(a) | address(b) | address(da) | address(db);
    const bool whole = is_whole(addresses, at, len);
    const Four d = load_four(dy, at, len, whole);
    if (da) {
        Four slope = load_four(b, at, len, whole);
#pragma unroll
        for (u32 k = 0; k < 4; k++) slope.at[k] *= d.at[k];
        join_four(da, slope, a_adds, at, len, whole);
    }
    if (db) {
        Four slope = load_four(a, at, len, whole);
#pragma unroll
        for (u32 k = 0; k < 4; k++) slope.at[k] *= d.at[k];
        join_four(db, slope, b_adds, at, len, whole);
    }
}

// y (+)= factor·x.
extern "C" __global__ void elementwise_scale(float factor, const float* x, float* y, u32 adds,
                                             u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(x) | address(y), at, len);
    Four v = load_four(x, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) v.at[k] *= factor;
    join_four(y, v, adds, at, len, whole);
}

// y[i, j] = x[i, j] + bias[j].
extern "C" __global__ void elementwise_add_bias(const float* x, const float* bias, u32 cols, float* y,
                                                u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(x) | address(y), at, len);
    u32 column = (u32)(at - quotient(at, cols) * cols);
    Four v = load_four(x, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        v.at[k] += bias[column];
        column = column + 1 == cols ? 0 : column + 1;
    }
    store_four(y, v, at, len, whole);
}

// y[i, j] = s[i]·x[i, j].
extern "C" __global__ void elementwise_row_scale(const float* x, const float* s, u32 cols, float* y,
                                                 u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(x) | address(y), at, len);
    u64 row = quotient(at, cols);
    u32 column = (u32)(at - row * cols);
    Four v = load_four(x, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        if (at + k < len) v.at[k] *= s[row];
        column++;
        if (column == cols) column = 0, row++;
    }
    store_four(y, v, at, len, whole);
}

// dx[i, j] (+)= s[i]·dy[i, j] and ds[i] (+)= Σⱼ x[i, j]·dy[i, j]; `lanes` threads own a row and add
// up in a tree. Rows that begin inside a warp but end outside the matrix still take part in it.
extern "C" __global__ void elementwise_row_scale_backward(const float* x, const float* s, u64 rows,
                                                          u32 cols, u32 lanes, const float* dy,
                                                          float* dx, u32 dx_adds, float* ds,
                                                          u32 ds_adds) {
    const u64 row = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / lanes;
    const u32 lane = threadIdx.x % lanes;
    float sum = 0.0f;
    if (row < rows) {
        const float factor = s[row];
        for (u32 j = lane; j < cols; j += lanes) {
            const u64 at = row * cols + j;
            const float d = dy[at];
            if (ds) sum = fmaf(x[at], d, sum);
            if (dx) dx[at] = dx_adds ? fmaf(factor, d, dx[at]) : factor * d;
        }
    }
    if (!ds) return;
    sum = group_sum(sum, lanes);
    if (row < rows && lane == 0) ds[row] = ds_adds ? ds[row] + sum : sum;
}

extern "C" __global__ void elementwise_add_number(float number, float* y, u64 len) {
    const u64 at = thread_index();
    if (at < len) y[at] += number;
}
