// Vectors that evolve by themselves (cpu/evolve.rs): all steps in one launch.
//
// What a step asks of the two weights W (of the state as input) and U (of the state) is four rows of sums
//
//   GRU    r, z: W + U    n: W    product: U         LSTM    i, f, g, o: W + U
//
// of one table [4H, H], which a block keeps in shared memory. A block is a vector, a thread one of its H
// values: vectors do not meet, so that a step costs one barrier and no launch. The backward pass leaves the
// gradients of the four sums as rows [T·N, 4H], from which two more launches make those of the weights
// (recurrent/gradients.rs).
//
// Bound by the chain of steps, not by bytes: a step forward is H·4 products a thread, one after the other
// in k, an activation of an activation, and a barrier. Sums run in the order of k: the same bits every time.
// Measured (H200, 16 November 2026): 50 steps of a GRU over 2 vectors of 2 take 14 us forward and 33 us back. Frames of
// 8 steps with two layers, 20,000 vertices: an epoch took 1.5 ms instead of 4.0 with 8 features, 7.9 instead of 16.5 with
// 64, 13.6 instead of 16.3 with 96, against steps launched one after the other.

struct Evolve {
    const float* w;
    const float* u;
    const float* input_bias; // GRU: [3H]
    const float* bias;       // GRU: [3H]; LSTM: [N, 4H]
    const float* h0;
    const float* c0;
    float* out;
    float* out_c;
    float* saved; // [T·N, 4H] gates (GRU: and the product in the last), LSTM: [T·N, 5H], then the memory
    const float* d_out;
    const float* d_c;
    float* d_gates;
    float* d_bias; // GRU: a row of sums for each vector, [N, 4H]; LSTM: the gradient of the bias
    float* d_h0;
    float* d_c0;
    u64 vectors;
    u32 steps;
    u32 hidden;
};

// Rows of the table begin an odd number of words apart: neither those that lie below each other nor those
// side by side share a bank.
__device__ __forceinline__ u32 evolve_stride(u32 h) {
    return h | 1;
}

template <bool LSTM>
__device__ __forceinline__ void fill_table(const Evolve& call, float* table) {
    const u32 h = call.hidden, stride = evolve_stride(h), square = h * h;
    for (u32 at = threadIdx.x; at < 4 * square; at += blockDim.x) {
        float sum;
        if (LSTM || at < 2 * square) sum = call.w[at] + call.u[at];
        else if (at < 3 * square) sum = call.w[at];
        else sum = call.u[at - square];
        table[at / h * stride + at % h] = sum;
    }
}

template <bool LSTM>
__device__ __forceinline__ void evolve_forward(const Evolve& call) {
    extern __shared__ float shared[];
    const u32 h = call.hidden, j = threadIdx.x, stride = evolve_stride(h);
    const bool mine = j < h;
    const u64 vector = blockIdx.x;
    float* table = shared;
    float* states = shared + 4 * h * stride;
    fill_table<LSTM>(call, table);
    float bias[4] = {}, state = 0.0f, memory = 0.0f;
    if (mine) {
        state = call.h0[vector * h + j];
        if (LSTM) {
            memory = call.c0[vector * h + j];
            #pragma unroll
            for (u32 gate = 0; gate < 4; ++gate) bias[gate] = call.bias[(vector * 4 + gate) * h + j];
        } else {
            bias[0] = call.input_bias[j] + call.bias[j];
            bias[1] = call.input_bias[h + j] + call.bias[h + j];
            bias[2] = call.input_bias[2 * h + j];
            bias[3] = call.bias[2 * h + j];
        }
        states[j] = state;
    }
    __syncthreads();
    for (u32 t = 0; t < call.steps; ++t) {
        const float* before = states + (t & 1) * h;
        float* after = states + (~t & 1) * h;
        if (mine) {
            float sums[4] = {bias[0], bias[1], bias[2], bias[3]};
            const float* row = table + j * stride;
            #pragma unroll 4
            for (u32 k = 0; k < h; ++k) {
                float value = before[k];
                #pragma unroll
                for (u32 gate = 0; gate < 4; ++gate) sums[gate] = fmaf(row[gate * h * stride + k], value, sums[gate]);
            }
            const u64 cell = (u64)t * call.vectors + vector;
            if (LSTM) {
                LstmCell made = lstm_cell(sums[0], sums[1], sums[2], sums[3], memory);
                memory = made.memory;
                state = made.o * tangent(memory);
                float* saved = call.saved + cell * 5 * h + j;
                saved[0] = made.i;
                saved[h] = made.f;
                saved[2 * h] = made.g;
                saved[3 * h] = made.o;
                saved[4 * h] = memory;
            } else {
                float r = sigmoid(sums[0]), z = sigmoid(sums[1]), n = tangent(fmaf(r, sums[3], sums[2]));
                state = fmaf(z, state - n, n);
                float* saved = call.saved + cell * 4 * h + j;
                saved[0] = r;
                saved[h] = z;
                saved[2 * h] = n;
                saved[3 * h] = sums[3];
            }
            call.out[cell * h + j] = state;
            after[j] = state;
        }
        __syncthreads();
    }
    if (LSTM && mine) call.out_c[vector * h + j] = memory;
}

// What a thread reads of a step in the backward pass.
template <bool LSTM>
struct Passed {
    float gates[LSTM ? 5 : 4];
    float before; // LSTM: the memory, GRU: the state
    float d;

    __device__ __forceinline__ void load(const Evolve& call, u32 t, u64 vector, u32 j) {
        const u32 h = call.hidden, planes = LSTM ? 5 : 4;
        const u64 cell = (u64)t * call.vectors + vector;
        #pragma unroll
        for (u32 plane = 0; plane < planes; ++plane) gates[plane] = call.saved[(cell * planes + plane) * h + j];
        d = call.d_out[cell * h + j];
        const u64 earlier = cell - call.vectors;
        if (t == 0) before = (LSTM ? call.c0 : call.h0)[vector * h + j];
        else before = LSTM ? call.saved[(earlier * planes + 4) * h + j] : call.out[earlier * h + j];
    }
};

template <bool LSTM>
__device__ __forceinline__ void evolve_backward(const Evolve& call) {
    extern __shared__ float shared[];
    const u32 h = call.hidden, j = threadIdx.x, stride = evolve_stride(h);
    const bool mine = j < h;
    const u64 vector = blockIdx.x;
    float* table = shared;
    float* lists = shared + 4 * h * stride;
    fill_table<LSTM>(call, table);
    float carry = 0.0f, d_memory = LSTM && mine ? call.d_c[vector * h + j] : 0.0f, sums[4] = {};
    Passed<LSTM> next;
    if (mine && call.steps > 0) next.load(call, call.steps - 1, vector, j);
    __syncthreads();
    for (u32 t = call.steps; t-- > 0;) {
        float* list = lists + (t & 1) * 4 * h;
        if (mine) {
            const Passed<LSTM> own = next;
            // Asked for now, so that it is there when the chain of steps gets to it.
            if (t > 0) next.load(call, t - 1, vector, j);
            float to[4], d = carry + own.d;
            if (LSTM) {
                const LstmCell cell = {own.gates[0], own.gates[1], own.gates[2], own.gates[3], own.gates[LSTM ? 4 : 0]};
                lstm_cell_back(cell, own.before, d, d_memory, to);
                carry = 0.0f;
            } else {
                float r = own.gates[0], z = own.gates[1], n = own.gates[2];
                to[1] = mix_z(d, z, n, own.before);
                to[2] = mix_n(d, z, n);
                to[0] = logistic_slope(to[2] * own.gates[3], r);
                to[3] = to[2] * r;
                carry = d * z;
            }
            float* gates = call.d_gates + ((u64)t * call.vectors + vector) * 4 * h + j;
            #pragma unroll
            for (u32 gate = 0; gate < 4; ++gate) {
                list[gate * h + j] = to[gate];
                gates[gate * h] = to[gate];
                sums[gate] += to[gate];
            }
        }
        __syncthreads();
        if (mine) {
            float parts[4] = {};
            #pragma unroll 4
            for (u32 k = 0; k < h; ++k) {
                #pragma unroll
                for (u32 gate = 0; gate < 4; ++gate) {
                    u32 row = gate * h + k;
                    parts[gate] = fmaf(list[row], table[row * stride + j], parts[gate]);
                }
            }
            carry += (parts[0] + parts[1]) + (parts[2] + parts[3]);
        }
    }
    if (!mine) return;
    if (call.d_h0) call.d_h0[vector * h + j] += carry;
    if (LSTM && call.d_c0) call.d_c0[vector * h + j] += d_memory;
    if (!call.d_bias) return;
    #pragma unroll
    for (u32 gate = 0; gate < 4; ++gate) put(call.d_bias + (vector * 4 + gate) * h + j, sums[gate], LSTM);
}

extern "C" __global__ void evolve_gru_forward(Evolve call) {
    evolve_forward<false>(call);
}

extern "C" __global__ void evolve_gru_backward(Evolve call) {
    evolve_backward<false>(call);
}

extern "C" __global__ void evolve_lstm_forward(Evolve call) {
    evolve_forward<true>(call);
}

extern "C" __global__ void evolve_lstm_backward(Evolve call) {
    evolve_backward<true>(call);
}
