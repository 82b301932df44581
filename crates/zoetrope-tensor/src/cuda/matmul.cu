// C = activation(op(A)·op(B) + bias + plus), any shape and layout, for products too small or too
// oddly shaped for the other paths; and what cuBLASLt leaves to be done after a product.
//
// A block of 256 threads computes a tile of 32 × 32 from strips of 32 of the inner dimension in
// shared memory, four results a thread, summed in the order of the inner dimension. Made for latency:
// such a product takes as long as a launch.

#define SIDE 32
#define THREADS 256

// Element (i, j) of op(A) lies at i·a_row + j·a_col; `plus` has the layout of C and may be C itself.
extern "C" __global__ __launch_bounds__(THREADS) void matmul_tile(
    const float* a, u64 a_row, u64 a_col, u64 a_step,
    const float* b, u64 b_row, u64 b_col, u64 b_step,
    const float* bias, const float* plus, float* c, u64 c_row, u64 c_step,
    u32 activation, float parameter, u64 m, u64 n, u64 k
) {
    __shared__ float left[SIDE][SIDE + 1], right[SIDE][SIDE + 1];
    u64 member = blockIdx.z, top = (u64)blockIdx.y * SIDE, first = (u64)blockIdx.x * SIDE;
    a += member * a_step;
    b += member * b_step;
    u32 row = threadIdx.x / 16, col = threadIdx.x % 16;
    float sums[2][2] = {};
    for (u64 from = 0; from < k; from += SIDE) {
        #pragma unroll
        for (u32 at = threadIdx.x; at < SIDE * SIDE; at += THREADS) {
            // Lanes along the direction in which the operand is stored.
            u32 fast = at % SIDE, slow = at / SIDE;
            u32 i = a_col == 1 ? slow : fast, p = a_col == 1 ? fast : slow;
            left[i][p] = top + i < m && from + p < k ? a[(top + i) * a_row + (from + p) * a_col] : 0.0f;
            u32 q = b_col == 1 ? slow : fast, j = b_col == 1 ? fast : slow;
            right[q][j] = from + q < k && first + j < n ? b[(from + q) * b_row + (first + j) * b_col] : 0.0f;
        }
        __syncthreads();
        u32 depth = min((u64)SIDE, k - from);
        for (u32 p = 0; p < depth; ++p) {
            float x[2] = {left[row][p], left[row + 16][p]}, y[2] = {right[p][col], right[p][col + 16]};
            #pragma unroll
            for (u32 i = 0; i < 2; ++i) {
                #pragma unroll
                for (u32 j = 0; j < 2; ++j) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (u32 i = 0; i < 2; ++i) {
        #pragma unroll
        for (u32 j = 0; j < 2; ++j) {
            u64 at_row = top + row + 16 * i, at_col = first + col + 16 * j;
            if (at_row >= m || at_col >= n) continue;
            u64 at = member * c_step + at_row * c_row + at_col;
            float value = sums[i][j];
            if (bias) value += bias[at_col];
            if (plus) value += plus[at];
            c[at] = activation_value(activation, parameter, value);
        }
    }
}

// y = activation(y + bias) in place, for the activations that cuBLASLt has no epilogue for.
// Floor: y read and written once.
extern "C" __global__ __launch_bounds__(THREADS) void matmul_finish(
    float* y, const float* bias, u32 activation, float parameter, u64 len, u64 cols
) {
    u64 quads = cols % 4 == 0 && ((u64)y & 15) == 0 && ((u64)bias & 15) == 0 ? len / 4 : 0;
    for (u64 at = thread_index(); at < quads; at += thread_count()) {
        float4 v = ((const float4*)y)[at];
        float4 b = bias ? ((const float4*)bias)[at % (cols / 4)] : make_float4(0, 0, 0, 0);
        v.x = activation_value(activation, parameter, v.x + b.x);
        v.y = activation_value(activation, parameter, v.y + b.y);
        v.z = activation_value(activation, parameter, v.z + b.z);
        v.w = activation_value(activation, parameter, v.w + b.w);
        ((float4*)y)[at] = v;
    }
    for (u64 at = 4 * quads + thread_index(); at < len; at += thread_count()) {
        y[at] = activation_value(activation, parameter, y[at] + (bias ? bias[at % cols] : 0.0f));
    }
}
