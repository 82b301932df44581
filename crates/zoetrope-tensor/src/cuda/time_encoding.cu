// Time encodings: y[i, k] = cos(w[k]·Δt[i] + b[k]) for exact time differences.
//
// As on the CPU: the phase is an f64 in turns, whole turns are taken away, and what is left becomes
// an f32 whose sine is a polynomial. Threads are laid over whole rows and stay in one column, whose
// weight they divide by 2π once. Moves 4 bytes a value; the backward pass makes the sines again, and its
// sums over rows go in two phases.

#define TURN 6.283185307179586

extern "C" __global__ void time_encoding_forward(const double* deltas, u64 rows, const float* weight,
                                                 const float* bias, u32 cols, float* y) {
    const u32 width = cols < blockDim.x ? cols : blockDim.x;
    const u32 groups = blockDim.x / width, group = threadIdx.x / width;
    const u32 column = blockIdx.y * width + threadIdx.x % width;
    if (group >= groups || column >= cols) return;
    const double w = (double)weight[column] / TURN, b = (double)bias[column] / TURN;
#pragma unroll 4
    for (u64 row = (u64)blockIdx.x * groups + group; row < rows; row += (u64)gridDim.x * groups)
        y[row * cols + column] = turn_cosine(rest_of_turns(w, deltas[row], b));
}

// The first phase of Σ sin·dy and Σ sin·dy·Δt of columns.
extern "C" __global__ void time_encoding_slopes(const double* deltas, u64 rows, const float* weight,
                                                const float* bias, u32 cols, const float* dy,
                                                double* parts) {
    extern __shared__ double shared[];
    column_pairs<1>(cols, parts, shared, [=](u64 row, u64 stride, u32 column, double (&plain)[1],
                                          double (&scaled)[1]) {
        const double w = (double)weight[column] / TURN, b = (double)bias[column] / TURN;
        float biases = 0.0f, weights = 0.0f;
#pragma unroll 4
        for (; row < rows; row += stride) {
            const double delta = deltas[row];
            const float slope = turn_sine(rest_of_turns(w, delta, b)) * dy[row * cols + column];
            biases += slope;
            weights = fmaf(slope, (float)delta, weights);
        }
        plain[0] = biases;
        scaled[0] = weights;
    });
}

// A block for each column.
extern "C" __global__ void time_encoding_join(const double* parts, u32 blocks, u32 cols,
                                              float* d_weight, float* d_bias) {
    __shared__ double room[32];
    const u32 column = blockIdx.x;
    const Pair sums = join_parts(parts, blocks, cols, column, room);
    const float plain = (float)sums.first, scaled = (float)sums.second;
    if (threadIdx.x > 0) return;
    if (d_bias) d_bias[column] -= plain;
    if (d_weight) d_weight[column] -= scaled;
}
