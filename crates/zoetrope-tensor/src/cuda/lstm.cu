// Long short-term memory (formulas in the CPU file of this name).
//
// Up to 64 states wide (`lstm_forward_*`, `lstm_backward_*`): one launch runs all steps, laid out as
// in `gru.cu`: thread (j, group) computes the state and the memory j of V vertices, memories stay in
// registers. The forward pass saves the gates as rows [T·N, 4H] and the memories [T·N, H]: H values a
// cell more than the CPU keeps, less than reading three gates again to recompute them.
//
// Wider, or one step without a recurrent product (`lstm_gates`, `lstm_gates_back`): products by the
// matrix library step by step.
//
// Floor of the fused pass (4-byte values a cell): read 4H, write 6H forward; read 6H, write 4H
// backward; 2·4·H² operations a cell each way.

struct LstmForward {
    const float* share; // [T·N, 4H]; may be `gates`
    float* gates;
    float* memories;
    const float* h0;
    const float* c0;
    const float* u; // absent: no recurrent product
    const float* input_bias;
    const float* bias;
    const float* mask;
    float* out_h;
    float* out_c;
    u64 vertices;
    u32 steps;
    u32 hidden;
};

template <int V>
__device__ __forceinline__ void lstm_forward(const LstmForward& call) {
    extern __shared__ float shared[];
    const u32 h = call.hidden, groups = blockDim.x / h;
    const u32 j = threadIdx.x % h, group = threadIdx.x / h;
    // Padded as in the GRU.
    const u32 stride = (groups * V + 7) / 4 * 4, width = 4 * h + 1;
    float* old_state = shared;
    float* new_state = old_state + h * stride;
    float* weight = new_state + h * stride;
    if (call.u) {
        for (u32 at = threadIdx.x; at < 4 * h * h; at += blockDim.x) {
            weight[at % h * width + at / h] = call.u[at];
        }
    }
    const u64 first = (u64)blockIdx.x * groups * V + group * V;
    const u32 mine = group * V, own = j * stride + mine;
    float memory[V];
    #pragma unroll
    for (int v = 0; v < V; ++v) {
        bool here = first + v < call.vertices;
        old_state[own + v] = here ? call.h0[(first + v) * h + j] : 0.0f;
        memory[v] = here ? call.c0[(first + v) * h + j] : 0.0f;
    }
    float b[4] = {};
    for (u32 gate = 0; gate < 4; ++gate) {
        if (call.input_bias) b[gate] += call.input_bias[gate * h + j];
        if (call.bias) b[gate] += call.bias[gate * h + j];
    }
    __syncthreads();
    for (u32 t = 0; t < call.steps; ++t) {
        const u64 cell = t * call.vertices + first;
        float sums[4][V];
        #pragma unroll
        for (int v = 0; v < V; ++v) {
            const float* share = call.share + (cell + v) * 4 * h + j;
            #pragma unroll
            for (int gate = 0; gate < 4; ++gate) {
                sums[gate][v] = b[gate] + (first + v < call.vertices ? share[gate * h] : 0.0f);
            }
        }
        if (call.u) add_products(sums, old_state + mine, stride, weight + j, width, h, h);
        #pragma unroll
        for (int v = 0; v < V; ++v) {
            LstmCell now = lstm_cell(sums[0][v], sums[1][v], sums[2][v], sums[3][v], memory[v]);
            float next = now.o * tangent(now.memory);
            if (first + v < call.vertices) {
                if (call.mask && call.mask[cell + v] == 0.0f) {
                    next = old_state[own + v];
                    now.memory = memory[v];
                }
                float* gates = call.gates + (cell + v) * 4 * h + j;
                gates[0] = now.i;
                gates[h] = now.f;
                gates[2 * h] = now.g;
                gates[3 * h] = now.o;
                call.memories[(cell + v) * h + j] = now.memory;
                call.out_h[(cell + v) * h + j] = next;
            }
            memory[v] = now.memory;
            new_state[own + v] = next;
        }
        __syncthreads();
        float* swap = old_state;
        old_state = new_state;
        new_state = swap;
    }
    #pragma unroll
    for (int v = 0; v < V; ++v) {
        if (first + v < call.vertices) call.out_c[(first + v) * h + j] = memory[v];
    }
}

struct LstmBackward {
    const float* gates;
    const float* memories;
    const float* c0;
    const float* u;
    const float* mask;
    const float* d_h;
    const float* d_c;
    float* d_gates; // before their activation, [T·N, 4H]
    float* d_h0;
    float* d_c0;
    float* bias_parts; // [blocks, 4H]
    u64 vertices;
    u32 steps;
    u32 hidden;
};

template <int V>
__device__ __forceinline__ void lstm_backward(const LstmBackward& call) {
    extern __shared__ float shared[];
    const u32 h = call.hidden, groups = blockDim.x / h;
    const u32 j = threadIdx.x % h, group = threadIdx.x / h;
    const u32 stride = (groups * V + 7) / 4 * 4;
    float* weight = shared;
    float* sent = weight + 4 * h * h;
    if (call.u) {
        for (u32 at = threadIdx.x; at < 4 * h * h; at += blockDim.x) weight[at] = call.u[at];
    }
    const u64 first = (u64)blockIdx.x * groups * V + group * V;
    const u32 mine = group * V, own = j * stride + mine;
    float carry[1][V] = {};
    float d_memory[V], memory[V], sums[4] = {};
    const u64 last = (call.steps - 1) * call.vertices + first;
    #pragma unroll
    for (int v = 0; v < V; ++v) {
        bool here = first + v < call.vertices;
        d_memory[v] = here && call.d_c ? call.d_c[(first + v) * h + j] : 0.0f;
        memory[v] = here ? call.memories[(last + v) * h + j] : 0.0f;
    }
    __syncthreads();
    for (u32 t = call.steps; t-- > 0;) {
        const u64 cell = t * call.vertices + first;
        const float* before = t == 0 ? call.c0 + first * h : call.memories + (cell - call.vertices) * h;
        #pragma unroll
        for (int v = 0; v < V; ++v) {
            bool here = first + v < call.vertices;
            bool absent = !here || (call.mask && call.mask[cell + v] == 0.0f);
            float d = carry[0][v] + (here ? call.d_h[(cell + v) * h + j] : 0.0f);
            float earlier = here ? before[v * h + j] : 0.0f;
            float to[4] = {};
            carry[0][v] = absent ? d : 0.0f;
            if (!absent) {
                const float* gates = call.gates + (cell + v) * 4 * h + j;
                LstmCell now = {gates[0], gates[h], gates[2 * h], gates[3 * h], memory[v]};
                lstm_cell_back(now, earlier, d, d_memory[v], to);
            }
            memory[v] = earlier;
            #pragma unroll
            for (int gate = 0; gate < 4; ++gate) {
                sent[own + gate * h * stride + v] = to[gate];
                sums[gate] += to[gate];
                if (here) call.d_gates[((cell + v) * 4 + gate) * h + j] = to[gate];
            }
        }
        __syncthreads();
        if (call.u && (t > 0 || call.d_h0)) {
            add_products(carry, sent + mine, stride, weight + j, h, h, 4 * h);
        }
        __syncthreads();
    }
    #pragma unroll
    for (int v = 0; v < V; ++v) {
        if (first + v >= call.vertices) break;
        if (call.d_h0) call.d_h0[(first + v) * h + j] += carry[0][v];
        if (call.d_c0) call.d_c0[(first + v) * h + j] += d_memory[v];
    }
    // The groups' sums are added in order.
    for (u32 gate = 0; gate < 4; ++gate) {
        sent[threadIdx.x] = sums[gate];
        __syncthreads();
        if (group == 0) {
            float sum = 0.0f;
            for (u32 other = 0; other < groups; ++other) sum += sent[other * h + j];
            call.bias_parts[((u64)blockIdx.x * 4 + gate) * h + j] = sum;
        }
        __syncthreads();
    }
}

#define LSTM_FUSED(V)                                                                          \
    extern "C" __global__ void __launch_bounds__(128) lstm_forward_##V(LstmForward call) {   \
        lstm_forward<V>(call);                                                                 \
    }                                                                                          \
    extern "C" __global__ void __launch_bounds__(128) lstm_backward_##V(LstmBackward call) { \
        lstm_backward<V>(call);                                                                \
    }

LSTM_FUSED(1)
LSTM_FUSED(4)

// One step of all vertices: a thread an element. The sums without biases are in `gates` [N, 4H] if
// `summed`; the share is added if it was given.
struct LstmStep {
    const float* share;
    float* gates;
    const float* state; // [N, H], before the step
    const float* memory;
    const float* input_bias;
    const float* bias;
    const float* mask;
    float* out_h;
    float* new_memory;
    u64 vertices;
    u32 hidden;
    u32 summed;
};

extern "C" __global__ void lstm_gates(LstmStep call) {
    const u32 h = call.hidden;
    for (u64 at = thread_index(); at < call.vertices * h; at += thread_count()) {
        u64 vertex = at / h;
        u64 row = vertex * 4 * h + at % h;
        float sums[4];
        #pragma unroll
        for (int gate = 0; gate < 4; ++gate) {
            u32 column = gate * h + at % h;
            float sum = call.summed ? call.gates[row + gate * h] : 0.0f;
            if (call.share) sum += call.share[row + gate * h];
            if (call.input_bias) sum += call.input_bias[column];
            if (call.bias) sum += call.bias[column];
            sums[gate] = sum;
        }
        LstmCell now = lstm_cell(sums[0], sums[1], sums[2], sums[3], call.memory[at]);
        bool absent = call.mask && call.mask[vertex] == 0.0f;
        call.gates[row] = now.i;
        call.gates[row + h] = now.f;
        call.gates[row + 2 * h] = now.g;
        call.gates[row + 3 * h] = now.o;
        call.new_memory[at] = absent ? call.memory[at] : now.memory;
        call.out_h[at] = absent ? call.state[at] : now.o * tangent(now.memory);
    }
}

// A step back of all vertices. `carry` and `d_memory` [N, H] hold what came from the steps after and
// get what passes to the state, unless the step did, and to the memory before.
struct LstmStepBack {
    const float* gates;
    const float* memory;
    const float* new_memory;
    const float* mask;
    const float* d_h;
    float* carry;
    float* d_memory;
    float* d_gates;
    u64 vertices;
    u64 hidden;
};

extern "C" __global__ void lstm_gates_back(LstmStepBack call) {
    const u64 h = call.hidden;
    for (u64 at = thread_index(); at < call.vertices * h; at += thread_count()) {
        u64 vertex = at / h, row = vertex * 4 * h + at % h;
        float d = call.carry[at] + call.d_h[at];
        float to[4] = {};
        bool absent = call.mask && call.mask[vertex] == 0.0f;
        if (!absent) {
            const float* gates = call.gates + row;
            LstmCell now = {gates[0], gates[h], gates[2 * h], gates[3 * h], call.new_memory[at]};
            lstm_cell_back(now, call.memory[at], d, call.d_memory[at], to);
        }
        call.carry[at] = absent ? d : 0.0f;
        #pragma unroll
        for (int gate = 0; gate < 4; ++gate) call.d_gates[row + gate * h] = to[gate];
    }
}

// ---- Narrow (`recurrent.cuh`). The memories are saved, as planes [T][H][N]; the gates are computed
// again in the backward pass. Floor (4-byte values a cell): read in, write 2H forward; read in + 3H, write
// in backward. There a warp reads the rows of a step before it writes those of the input's gradients
// and needs them no more, so that these may lie where states or their gradients were.

struct LstmNarrow {
    NarrowInput input;
    NarrowGradient gradient;
    const float* h0;
    const float* c0;
    const float* u;
    const float* bias;
    const float* mask;
    float* out_h;
    float* out_c;
    float* memories;
    const float* d_h;
    const float* d_c;
    float* d_h0;
    float* d_c0;
    u64 vertices;
    u32 steps;
    u32 hidden;
    u32 d_from; // the first step whose state has a gradient
    u32 unused;
};

// The sums of the gates, from a lane's row of the input, or of the given share.
template <int H>
__device__ __forceinline__ void lstm_narrow_sums(
    const float* table, u32 inner, const float* row, u32 given, const float (&state)[H], float (&sums)[4 * H]
) {
    typedef NarrowTable<4, H> Table;
    const float* of_state = table + inner * Table::ROW;
    #pragma unroll
    for (int at = 0; at < 4 * H; ++at) sums[at] = 0.0f;
    add_row<0, 4 * H>(sums, of_state + H * Table::ROW, 1.0f);
    add_row<0, 4 * H>(sums, of_state + (H + 1) * Table::ROW, 1.0f);
    for (u32 k = 0; k < inner; ++k) add_row<0, 4 * H>(sums, table + k * Table::ROW, row[k]);
    if (given) {
        #pragma unroll
        for (int at = 0; at < 4 * H; ++at) {
            if (at % H < given) sums[at] += row[at / H * given + at % H];
        }
    }
    #pragma unroll
    for (int k = 0; k < H; ++k) add_row<0, 4 * H>(sums, of_state + k * Table::ROW, state[k]);
}

template <int H>
__device__ __forceinline__ void lstm_narrow_forward(const LstmNarrow& call) {
    extern __shared__ float shared[];
    const u32 h = call.hidden, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 inner = call.input.weight ? call.input.wide_a + call.input.wide_b : 0;
    float* rows_in = shared + warp * 32 * NARROW_ROW;
    float* own = rows_in + lane * NARROW_ROW;
    float* table = shared + NARROW_WARPS * 32 * NARROW_ROW;
    NarrowTable<4, H>::fill(table, call.input.weight, inner, call.u, h, call.input.bias, call.bias);
    float* norms = table + (inner + NARROW + 2) * NarrowTable<4, H>::ROW;
    call.input.load_norms(norms);
    __syncthreads();
    const u64 first = ((u64)blockIdx.x * NARROW_WARPS + warp) * 32;
    if (first >= call.vertices) return;
    const u32 rows = call.vertices - first < 32 ? call.vertices - first : 32;
    warp_load_rows(call.h0 + first * h, rows * h, h, rows_in);
    warp_load_rows(call.c0 + first * h, rows * h, h, rows_in + NARROW);
    __syncwarp();
    float state[H], memory[H];
    #pragma unroll
    for (int j = 0; j < H; ++j) {
        bool here = lane < rows && j < h;
        state[j] = here ? own[j] : 0.0f;
        memory[j] = here ? own[NARROW + j] : 0.0f;
    }
    for (u32 t = 0; t < call.steps; ++t) {
        const u64 cell = t * call.vertices + first;
        __syncwarp();
        call.input.load(cell, rows, rows_in);
        __syncwarp();
        if (lane < rows) call.input.normalise(own, norms);
        float sums[4 * H];
        lstm_narrow_sums<H>(table, inner, own, inner ? 0 : h, state, sums);
        bool absent = lane >= rows || (call.mask && call.mask[cell + lane] == 0.0f);
        __syncwarp();
        #pragma unroll
        for (int j = 0; j < H; ++j) {
            LstmCell now = lstm_cell(sums[j], sums[H + j], sums[2 * H + j], sums[3 * H + j], memory[j]);
            if (!absent) {
                memory[j] = now.memory;
                state[j] = now.o * tangent(now.memory);
            }
            own[j] = state[j];
            if (lane < rows && j < h) call.memories[(t * h + j) * call.vertices + first + lane] = memory[j];
        }
        __syncwarp();
        warp_store_rows(call.out_h + cell * h, rows * h, h, rows_in, 0);
    }
    __syncwarp();
    #pragma unroll
    for (int j = 0; j < H; ++j) own[j] = memory[j];
    __syncwarp();
    warp_store_rows(call.out_c + first * h, rows * h, h, rows_in, 0);
}

// Adds what a warp summed to its row of parts.
__device__ __forceinline__ void lstm_narrow_write(const NarrowSums& sums, float* parts, u32 inner, u32 h) {
    float* u = parts + 4 * h * inner;
    float* input_bias = u + 4 * h * h;
    float* bias = input_bias + 4 * h;
    #pragma unroll
    for (int round = 0; round < 2; ++round) {
        if (!sums.has(round)) break;
        #pragma unroll
        for (u32 at = 0; at < 16; ++at) {
            u32 left = sums.left[round] + at / 4, k = sums.right[round] + at % 4;
            u32 gate = left / NARROW * h + left % NARROW;
            float sum = sums.of[round][at / 4][at % 4];
            if (left % NARROW >= h) continue;
            if (k < inner) parts[gate * inner + k] = sum;
            if (k >= NARROW_INPUT && k < NARROW_INPUT + h) u[gate * h + k - NARROW_INPUT] = sum;
            if (k == NARROW_ONE) input_bias[gate] = bias[gate] = sum;
        }
    }
}

template <int H>
__device__ __forceinline__ void lstm_narrow_backward(const LstmNarrow& call) {
    extern __shared__ float shared[];
    typedef NarrowTable<4, H> Table;
    const u32 h = call.hidden, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 inner = call.input.weight ? call.input.wide_a + call.input.wide_b : 0;
    float* lefts = shared + warp * 64 * NARROW_ROW;
    float* rights = lefts + 32 * NARROW_ROW;
    float* left = lefts + lane * NARROW_ROW;
    float* right = rights + lane * NARROW_ROW;
    float* table = shared + NARROW_WARPS * 64 * NARROW_ROW;
    const float* of_state = table + inner * Table::ROW;
    Table::fill(table, call.input.weight, inner, call.u, h, call.input.bias, call.bias);
    float* norms = table + (inner + NARROW + 2) * Table::ROW;
    call.input.load_norms(norms);
    for (u32 at = 0; at < NARROW_ROW; ++at) right[at] = at == NARROW_ONE ? 1.0f : 0.0f;
    __syncthreads();
    NarrowSums sums;
    sums.start(8, inner, false, call.gradient.parts != nullptr);
    const u64 warps = (u64)gridDim.x * NARROW_WARPS, me = (u64)blockIdx.x * NARROW_WARPS + warp;
    for (u64 first = me * 32; first < call.vertices; first += warps * 32) {
        const u32 rows = call.vertices - first < 32 ? call.vertices - first : 32;
        const bool here = lane < rows;
        float carry[H] = {}, d_memory[H] = {}, memory[H];
        if (call.d_c) {
            __syncwarp();
            warp_load_rows(call.d_c + first * h, rows * h, h, lefts);
            __syncwarp();
            #pragma unroll
            for (int j = 0; j < H; ++j) d_memory[j] = here && j < h ? left[j] : 0.0f;
        }
        #pragma unroll
        for (int j = 0; j < H; ++j) {
            u64 at = ((u64)(call.steps - 1) * h + j) * call.vertices + first + lane;
            memory[j] = here && j < h ? call.memories[at] : 0.0f;
        }
        for (u32 t = call.steps; t-- > 0;) {
            const u64 cell = t * call.vertices + first;
            const float* before = t == 0 ? call.h0 + first * h : call.out_h + (cell - call.vertices) * h;
            __syncwarp();
            call.input.load(cell, rows, inner ? rights : lefts);
            warp_load_rows(before, rows * h, h, rights + NARROW_INPUT);
            __syncwarp();
            if (here) call.input.normalise(right, norms);
            bool absent = !here || (call.mask && call.mask[cell + lane] == 0.0f);
            float state[H], gates[4 * H];
            #pragma unroll
            for (int j = 0; j < H; ++j) state[j] = j < h ? right[NARROW_INPUT + j] : 0.0f;
            lstm_narrow_sums<H>(table, inner, inner ? right : left, inner ? 0 : h, state, gates);
            __syncwarp();
            const bool flows = t >= call.d_from;
            if (flows) warp_load_rows(call.d_h + cell * h, rows * h, h, lefts);
            if (t == 0) warp_load_rows(call.c0 + first * h, rows * h, h, lefts + NARROW);
            __syncwarp();
            #pragma unroll
            for (int j = 0; j < H; ++j) {
                bool used = here && j < h;
                float earlier = 0.0f;
                if (used) {
                    earlier = t == 0 ? left[NARROW + j]
                                     : call.memories[((u64)(t - 1) * h + j) * call.vertices + first + lane];
                }
                float d = carry[j] + (used && flows ? left[j] : 0.0f);
                carry[j] = absent ? d : 0.0f;
                float to[4] = {};
                if (!absent) {
                    LstmCell now = lstm_cell(gates[j], gates[H + j], gates[2 * H + j], gates[3 * H + j], earlier);
                    now.memory = memory[j];
                    lstm_cell_back(now, earlier, d, d_memory[j], to);
                }
                memory[j] = earlier;
                #pragma unroll
                for (int gate = 0; gate < 4; ++gate) gates[gate * H + j] = to[gate];
            }
            #pragma unroll
            for (int k = 0; k < H; ++k) carry[k] += dot_row<0, 4 * H>(gates, of_state + k * Table::ROW);
            __syncwarp();
            #pragma unroll
            for (int at = 0; at < 4 * NARROW; ++at) {
                left[at] = at % NARROW < H ? gates[at / NARROW * H + at % NARROW % H] : 0.0f;
            }
            __syncwarp();
            sums.add(lefts, rights);
            __syncwarp();
            if (inner) {
                for (u32 k = 0; k < inner; ++k) right[k] = dot_row<0, 4 * H>(gates, table + k * Table::ROW);
            } else {
                #pragma unroll
                for (int at = 0; at < 4 * H; ++at) {
                    if (at % H < h) left[at / H * h + at % H] = gates[at];
                }
            }
            __syncwarp();
            call.gradient.store(call.input, cell, rows, inner ? rights : lefts);
        }
        __syncwarp();
        #pragma unroll
        for (int j = 0; j < H; ++j) left[j] = carry[j], left[NARROW + j] = d_memory[j];
        __syncwarp();
        if (call.d_h0) warp_store_rows(call.d_h0 + first * h, rows * h, h, lefts, 1);
        if (call.d_c0) warp_store_rows(call.d_c0 + first * h, rows * h, h, lefts + NARROW, 1);
    }
    if (call.gradient.parts) {
        u32 len = 4 * h * (inner + h + 2);
        lstm_narrow_write(sums, call.gradient.parts + me * len, inner, h);
    }
}

#define LSTM_NARROW(H)                                                                          \
    extern "C" __global__ void __launch_bounds__(32 * NARROW_WARPS)                             \
    lstm_narrow_forward_##H(LstmNarrow call) {                                                  \
        lstm_narrow_forward<H>(call);                                                           \
    }                                                                                           \
    extern "C" __global__ void __launch_bounds__(32 * NARROW_WARPS, 3)                          \
    lstm_narrow_backward_##H(LstmNarrow call) {                                                 \
        lstm_narrow_backward<H>(call);                                                          \
    }

LSTM_NARROW(6)
LSTM_NARROW(8)
