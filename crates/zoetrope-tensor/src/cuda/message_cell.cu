// A recurrent cell that reads messages (formulas in the CPU file of this name): what stands between
// the matrix library's products. A thread an element everywhere, neighbouring threads at neighbouring
// elements; each kernel moves its operands once.

// Rows [s o φ] of each vertex, the last one of zeros if there is a row more; and their weight, in
// which the recurrent weight is added to that of the own state for the first `merged` rows.
struct Prepare {
    const float* pair;
    const float* time;
    const float* weight;
    const float* recurrent;
    float* x;
    float* joint;
    u64 rows;
    u64 vertices;
    u32 pair_width;
    u32 time_width;
    u32 message;
    u32 hidden;
    u32 gate_rows;
    u32 merged;
};

extern "C" __global__ void message_cell_prepare(Prepare call) {
    const u32 inner = call.pair_width + call.time_width;
    const u64 cells = call.rows * inner, all = cells + (u64)call.gate_rows * inner;
    for (u64 at = thread_index(); at < all; at += thread_count()) {
        if (at < cells) {
            u64 row = at / inner;
            u32 col = at % inner;
            float value = 0.0f;
            if (row < call.vertices) {
                value = col < call.pair_width ? call.pair[row * call.pair_width + col]
                                              : call.time[row * call.time_width + col - call.pair_width];
            }
            call.x[at] = value;
        } else {
            u32 row = (at - cells) / inner, col = (at - cells) % inner;
            u32 skipped = col < call.pair_width ? 0 : call.message - inner;
            float value = call.weight[(u64)row * call.message + skipped + col];
            if (row < call.merged && col < call.hidden) value += call.recurrent[(u64)row * call.hidden + col];
            call.joint[at - cells] = value;
        }
    }
}

// Sums to gates and new states. `own` names for each vertex the row of `share` that its features add;
// a row more has none.
struct Gates {
    float* gates; // GRU: rows [N, 4H] of r, z, n and U_n·s; RNN: absent
    const float* x;
    const float* share;
    const u32* own;
    const float* bias;
    const float* own_bias;
    float* out; // RNN: holds the sums
    u64 rows;
    u64 vertices;
    u32 inner;
    u32 hidden;
};

extern "C" __global__ void message_cell_gru(Gates call) {
    const u32 h = call.hidden;
    for (u64 at = thread_index(); at < call.rows * h; at += thread_count()) {
        u64 row = at / h;
        u32 j = at % h;
        float* gates = call.gates + row * 4 * h + j;
        float sums[3];
        #pragma unroll
        for (int gate = 0; gate < 3; ++gate) sums[gate] = gates[gate * h] + call.bias[gate * h + j];
        if (call.share && row < call.vertices) {
            const float* share = call.share + (u64)call.own[row] * 3 * h + j;
            #pragma unroll
            for (int gate = 0; gate < 3; ++gate) sums[gate] += share[gate * h];
        }
        float r = sigmoid(sums[0] + call.own_bias[j]);
        float z = sigmoid(sums[1] + call.own_bias[h + j]);
        float product = gates[3 * h] + call.own_bias[2 * h + j];
        float n = tangent(fmaf(r, product, sums[2]));
        gates[0] = r;
        gates[h] = z;
        gates[2 * h] = n;
        gates[3 * h] = product;
        call.out[at] = fmaf(z, call.x[row * call.inner + j] - n, n);
    }
}

extern "C" __global__ void message_cell_rnn(Gates call) {
    const u32 h = call.hidden;
    for (u64 at = thread_index(); at < call.rows * h; at += thread_count()) {
        u64 row = at / h;
        u32 j = at % h;
        float sum = call.out[at] + (call.bias[j] + call.own_bias[j]);
        if (call.share && row < call.vertices) sum += call.share[(u64)call.own[row] * h + j];
        call.out[at] = tangent(sum);
    }
}

// The gradients of the sums: of r, z, n and U_n·s as rows [N, 4H] for a GRU, else [N, H].
extern "C" __global__ void message_cell_gru_back(
    const float* gates, const float* x, const float* d_out, float* d, u64 rows, u32 inner, u32 h
) {
    for (u64 at = thread_index(); at < rows * h; at += thread_count()) {
        u64 row = at / h;
        u32 j = at % h;
        const float* own = gates + row * 4 * h + j;
        float r = own[0], z = own[h], n = own[2 * h], product = own[3 * h];
        float to_z = d_out[at] * (x[row * inner + j] - n) * (z * (1.0f - z));
        float to_n = d_out[at] * (1.0f - z) * (1.0f - n * n);
        float* to = d + row * 4 * h + j;
        to[0] = to_n * product * (r * (1.0f - r));
        to[h] = to_z;
        to[2 * h] = to_n;
        to[3 * h] = to_n * r;
    }
}

extern "C" __global__ void message_cell_rnn_back(const float* out, const float* d_out, float* d, u64 len) {
    for (u64 at = thread_index(); at < len; at += thread_count()) {
        d[at] = d_out[at] * (1.0f - out[at] * out[at]);
    }
}

// Adds the gradient of the joint weight to what it stands for.
struct Spread {
    const float* joint;
    float* weight;
    float* recurrent;
    u32 pair_width;
    u32 inner;
    u32 message;
    u32 hidden;
    u32 gate_rows;
    u32 merged;
};

extern "C" __global__ void message_cell_spread(Spread call) {
    const u64 all = (u64)call.gate_rows * call.inner;
    for (u64 at = thread_index(); at < all; at += thread_count()) {
        u32 row = at / call.inner, col = at % call.inner;
        u32 skipped = col < call.pair_width ? 0 : call.message - call.inner;
        float d = call.joint[at];
        if (call.weight) call.weight[(u64)row * call.message + skipped + col] += d;
        if (call.recurrent && row < call.merged && col < call.hidden) {
            call.recurrent[(u64)row * call.hidden + col] += d;
        }
    }
}
