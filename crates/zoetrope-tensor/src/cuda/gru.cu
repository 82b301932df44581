// Gated recurrent units (formulas in the CPU file of this name).
//
// Up to 64 states wide (`gru_forward_*`, `gru_backward_*`): one launch runs all steps. A block owns
// some vertices, H × groups threads: thread (j, group) computes the state j of V vertices. The
// recurrent weight and the state of the block's vertices lie in shared memory, the vertices of a
// state side by side, so that a warp reads V of them at once for all its lanes. What the input adds
// to the gates lies in `share`; the forward pass writes gates as rows [T·N, planes·H].
//
// Wider (`gru_*_gates`, `gru_*_back`): products by the matrix library step by step, and one of these
// kernels between them.
//
// Floor of the fused pass (4-byte values a cell): read 3H, write H and planes·H forward; read
// (planes + 2)·H, write 4H backward; 2·3·H² operations a cell each way.

struct GruForward {
    const float* share; // [T·N, ≥ 3H]; may be `saved`
    float* saved;
    const float* h0;
    const float* u;
    const float* input_bias;
    const float* bias;
    const float* mask;
    float* out;
    u64 share_stride;
    u64 vertices;
    u32 steps;
    u32 hidden;
};

template <int V, bool AFTER>
__device__ __forceinline__ void gru_forward(const GruForward& call) {
    extern __shared__ float shared[];
    const u32 h = call.hidden, groups = blockDim.x / h, planes = AFTER ? 4 : 3;
    const u32 j = threadIdx.x % h, group = threadIdx.x / h;
    // Rows of the state have room for four values more, of the weight for one: neighbouring threads
    // then write to different banks.
    const u32 stride = (groups * V + 7) / 4 * 4, width = 3 * h + 1;
    float* old_state = shared;
    float* new_state = old_state + h * stride;
    float* reset = new_state + h * stride;
    float* weight = reset + (AFTER ? 0 : h * stride);
    for (u32 at = threadIdx.x; at < 3 * h * h; at += blockDim.x) {
        weight[at % h * width + at / h] = call.u[at];
    }
    const u64 first = (u64)blockIdx.x * groups * V + group * V;
    const u32 mine = group * V, own = j * stride + mine;
    #pragma unroll
    for (int v = 0; v < V; ++v) {
        old_state[own + v] = first + v < call.vertices ? call.h0[(first + v) * h + j] : 0.0f;
    }
    // Of r, z, n and of the product that is reset.
    float b[4] = {};
    for (u32 gate = 0; gate < 3; ++gate) {
        if (call.input_bias) b[gate] += call.input_bias[gate * h + j];
        if (call.bias) b[AFTER && gate == 2 ? 3 : gate] += call.bias[gate * h + j];
    }
    __syncthreads();
    for (u32 t = 0; t < call.steps; ++t) {
        const u64 cell = t * call.vertices + first;
        // r, z and, reset after, the product.
        float sums[AFTER ? 3 : 2][V];
        float candidate[1][V];
        #pragma unroll
        for (int v = 0; v < V; ++v) {
            bool here = first + v < call.vertices;
            const float* share = call.share + (cell + v) * call.share_stride + j;
            sums[0][v] = b[0] + (here ? share[0] : 0.0f);
            sums[1][v] = b[1] + (here ? share[h] : 0.0f);
            candidate[0][v] = b[2] + (here ? share[2 * h] : 0.0f);
            if (AFTER) sums[AFTER ? 2 : 0][v] = b[3];
        }
        add_products(sums, old_state + mine, stride, weight + j, width, h, h);
        if (!AFTER) {
            #pragma unroll
            for (int v = 0; v < V; ++v) {
                sums[0][v] = sigmoid(sums[0][v]);
                reset[own + v] = sums[0][v] * old_state[own + v];
            }
            __syncthreads();
            add_products(candidate, reset + mine, stride, weight + 2 * h + j, width, h, h);
        }
        #pragma unroll
        for (int v = 0; v < V; ++v) {
            float r = AFTER ? sigmoid(sums[0][v]) : sums[0][v];
            float z = sigmoid(sums[1][v]);
            float product = AFTER ? sums[AFTER ? 2 : 0][v] : 0.0f;
            float n = tangent(AFTER ? fmaf(r, product, candidate[0][v]) : candidate[0][v]);
            float state = old_state[own + v];
            float next = fmaf(z, state - n, n);
            if (first + v < call.vertices) {
                if (call.mask && call.mask[cell + v] == 0.0f) next = state;
                float* saved = call.saved + (cell + v) * planes * h + j;
                saved[0] = r;
                saved[h] = z;
                saved[2 * h] = n;
                if (AFTER) saved[3 * h] = product;
                call.out[(cell + v) * h + j] = next;
            }
            new_state[own + v] = next;
        }
        __syncthreads();
        float* swap = old_state;
        old_state = new_state;
        new_state = swap;
    }
}

struct GruBackward {
    const float* saved;
    const float* h0;
    const float* u;
    const float* mask;
    const float* out;
    const float* d_out;
    float* gates; // of r, z, n before their activation, [T·N, 3H]
    float* extra; // reset after: of the product, [T·N, H]; before: r∘h
    float* d_h0;
    float* bias_parts; // [blocks, 4H]: of r, z, n and the product
    u64 vertices;
    u32 steps;
    u32 hidden;
};

template <int V, bool AFTER>
__device__ __forceinline__ void gru_backward(const GruBackward& call) {
    extern __shared__ float shared[];
    const u32 h = call.hidden, groups = blockDim.x / h, planes = AFTER ? 4 : 3;
    const u32 j = threadIdx.x % h, group = threadIdx.x / h;
    const u32 stride = (groups * V + 7) / 4 * 4;
    float* weight = shared;
    // Of what the state was multiplied for: r, z and the product, or n.
    float* sent = weight + (3 * h * h + 3) / 4 * 4;
    for (u32 at = threadIdx.x; at < 3 * h * h; at += blockDim.x) weight[at] = call.u[at];
    const u64 first = (u64)blockIdx.x * groups * V + group * V;
    const u32 mine = group * V, own = j * stride + mine;
    float carry[1][V] = {};
    float sums[4] = {};
    __syncthreads();
    for (u32 t = call.steps; t-- > 0;) {
        const u64 cell = t * call.vertices + first;
        const float* states = t == 0 ? call.h0 + first * h : call.out + (cell - call.vertices) * h;
        float r[V], state[V], to_r[V];
        bool absent[V];
        #pragma unroll
        for (int v = 0; v < V; ++v) {
            bool here = first + v < call.vertices;
            absent[v] = !here || (call.mask && call.mask[cell + v] == 0.0f);
            float d = carry[0][v] + (here ? call.d_out[(cell + v) * h + j] : 0.0f);
            state[v] = here ? states[v * h + j] : 0.0f;
            float to_z = 0.0f, to_n = 0.0f, extra = 0.0f;
            r[v] = 0.0f, to_r[v] = 0.0f;
            carry[0][v] = d;
            if (!absent[v]) {
                const float* saved = call.saved + (cell + v) * planes * h + j;
                r[v] = saved[0];
                float z = saved[h], n = saved[2 * h];
                to_z = mix_z(d, z, n, state[v]);
                to_n = mix_n(d, z, n);
                carry[0][v] = d * z;
                if (AFTER) to_r[v] = logistic_slope(to_n * saved[3 * h], r[v]);
                extra = r[v] * (AFTER ? to_n : state[v]);
            }
            sent[own + h * stride + v] = to_z;
            sent[own + 2 * h * stride + v] = AFTER ? extra : to_n;
            if (AFTER) sent[own + v] = to_r[v];
            sums[1] += to_z;
            sums[2] += to_n;
            if (AFTER) sums[3] += extra;
            if (here) {
                float* gates = call.gates + (cell + v) * 3 * h + j;
                gates[h] = to_z;
                gates[2 * h] = to_n;
                call.extra[(cell + v) * h + j] = extra;
            }
        }
        __syncthreads();
        if (!AFTER) {
            float d_reset[1][V] = {};
            add_products(d_reset, sent + 2 * h * stride + mine, stride, weight + 2 * h * h + j, h, h, h);
            #pragma unroll
            for (int v = 0; v < V; ++v) {
                if (!absent[v]) {
                    to_r[v] = logistic_slope(d_reset[0][v] * state[v], r[v]);
                    carry[0][v] = fmaf(d_reset[0][v], r[v], carry[0][v]);
                }
                sent[own + v] = to_r[v];
            }
            __syncthreads();
        }
        #pragma unroll
        for (int v = 0; v < V; ++v) {
            sums[0] += to_r[v];
            if (first + v < call.vertices) call.gates[(cell + v) * 3 * h + j] = to_r[v];
        }
        if (t > 0 || call.d_h0) {
            add_products(carry, sent + mine, stride, weight + j, h, h, (AFTER ? 3 : 2) * h);
        }
        __syncthreads();
    }
    if (call.d_h0) {
        #pragma unroll
        for (int v = 0; v < V; ++v) {
            if (first + v < call.vertices) call.d_h0[(first + v) * h + j] += carry[0][v];
        }
    }
    // The groups' sums are added in order; `sent` has room for 3·V·H a group.
    for (u32 plane = 0; plane < 4; ++plane) {
        sent[threadIdx.x] = sums[plane];
        __syncthreads();
        if (group == 0) {
            float sum = 0.0f;
            for (u32 other = 0; other < groups; ++other) sum += sent[other * h + j];
            call.bias_parts[(u64)blockIdx.x * 4 * h + plane * h + j] = sum;
        }
        __syncthreads();
    }
}

#define GRU_FUSED(V, KIND, AFTER)                                                                   \
    extern "C" __global__ void __launch_bounds__(128) gru_forward_##KIND##_##V(GruForward call) {   \
        gru_forward<V, AFTER>(call);                                                                \
    }                                                                                               \
    extern "C" __global__ void __launch_bounds__(128) gru_backward_##KIND##_##V(GruBackward call) { \
        gru_backward<V, AFTER>(call);                                                               \
    }

GRU_FUSED(1, after, true)
GRU_FUSED(8, after, true)
GRU_FUSED(1, before, false)
GRU_FUSED(8, before, false)

// One step of all vertices: a thread an element. The sums without biases are in `saved`
// [N, planes·H]; if the input's share [N, 3H] was given it is not yet among them, and n's place is
// not yet written, reset after. `reset` gets r∘h, reset before.
struct GruStep {
    const float* share;
    float* saved;
    const float* state; // [N, H], before the step
    const float* input_bias;
    const float* bias;
    const float* mask;
    float* out;
    float* reset;
    u64 vertices;
    u32 hidden;
};

// What is added to the sum of a gate: biases, and the share if it is apart.
__device__ __forceinline__ float beside(const GruStep& call, u64 vertex, u32 gate, bool both) {
    float sum = call.input_bias ? call.input_bias[gate] : 0.0f;
    if (both && call.bias) sum += call.bias[gate];
    return call.share ? sum + call.share[vertex * 3 * call.hidden + gate] : sum;
}

extern "C" __global__ void gru_after_gates(GruStep call) {
    const u32 h = call.hidden;
    for (u64 at = thread_index(); at < call.vertices * h; at += thread_count()) {
        u64 vertex = at / h;
        u32 j = at % h;
        float* saved = call.saved + vertex * 4 * h + j;
        float r = sigmoid(saved[0] + beside(call, vertex, j, true));
        float z = sigmoid(saved[h] + beside(call, vertex, h + j, true));
        float product = saved[3 * h] + (call.bias ? call.bias[2 * h + j] : 0.0f);
        float sum = (call.share ? 0.0f : saved[2 * h]) + beside(call, vertex, 2 * h + j, false);
        float n = tangent(fmaf(r, product, sum));
        float state = call.state[at];
        saved[0] = r;
        saved[h] = z;
        saved[2 * h] = n;
        saved[3 * h] = product;
        bool absent = call.mask && call.mask[vertex] == 0.0f;
        call.out[at] = absent ? state : fmaf(z, state - n, n);
    }
}

extern "C" __global__ void gru_before_reset(GruStep call) {
    const u32 h = call.hidden;
    for (u64 at = thread_index(); at < call.vertices * h; at += thread_count()) {
        u64 vertex = at / h;
        u32 j = at % h;
        float* saved = call.saved + vertex * 3 * h + j;
        float r = sigmoid(saved[0] + beside(call, vertex, j, true));
        saved[0] = r;
        saved[h] = sigmoid(saved[h] + beside(call, vertex, h + j, true));
        call.reset[at] = r * call.state[at];
    }
}

extern "C" __global__ void gru_before_gates(GruStep call) {
    const u32 h = call.hidden;
    for (u64 at = thread_index(); at < call.vertices * h; at += thread_count()) {
        u64 vertex = at / h;
        u32 j = at % h;
        float* saved = call.saved + vertex * 3 * h + j;
        float n = tangent(saved[2 * h] + beside(call, vertex, 2 * h + j, true));
        float state = call.state[at];
        saved[2 * h] = n;
        bool absent = call.mask && call.mask[vertex] == 0.0f;
        call.out[at] = absent ? state : fmaf(saved[h], state - n, n);
    }
}

// A step back of all vertices: `carry` [N, H] holds what came from the steps after and gets z∘d.
struct GruStepBack {
    const float* saved;
    const float* state;
    const float* mask;
    const float* d_out;
    const float* d_reset; // reset before, second half: of r∘h
    float* carry;
    float* gates;
    float* extra;
    u64 vertices;
    u32 hidden;
};

// All of it, reset after; but for r, reset before.
template <bool AFTER>
__device__ __forceinline__ void gru_back(const GruStepBack& call) {
    const u32 h = call.hidden, planes = AFTER ? 4 : 3;
    for (u64 at = thread_index(); at < call.vertices * h; at += thread_count()) {
        u64 vertex = at / h;
        u32 j = at % h;
        float d = call.carry[at] + call.d_out[at];
        float to_r = 0.0f, to_z = 0.0f, to_n = 0.0f, extra = 0.0f;
        if (!call.mask || call.mask[vertex] != 0.0f) {
            const float* saved = call.saved + vertex * planes * h + j;
            float r = saved[0], z = saved[h], n = saved[2 * h], state = call.state[at];
            to_z = mix_z(d, z, n, state);
            to_n = mix_n(d, z, n);
            if (AFTER) to_r = logistic_slope(to_n * saved[3 * h], r);
            extra = r * (AFTER ? to_n : state);
            d *= z;
        }
        call.carry[at] = d;
        float* gates = call.gates + vertex * 3 * h + j;
        if (AFTER) gates[0] = to_r;
        gates[h] = to_z;
        gates[2 * h] = to_n;
        call.extra[at] = extra;
    }
}

extern "C" __global__ void gru_after_back(GruStepBack call) {
    gru_back<true>(call);
}

extern "C" __global__ void gru_before_back(GruStepBack call) {
    gru_back<false>(call);
}

extern "C" __global__ void gru_before_reset_back(GruStepBack call) {
    const u32 h = call.hidden;
    for (u64 at = thread_index(); at < call.vertices * h; at += thread_count()) {
        u64 vertex = at / h;
        u32 j = at % h;
        float to_r = 0.0f;
        if (!call.mask || call.mask[vertex] != 0.0f) {
            float r = call.saved[vertex * 3 * h + j], d = call.d_reset[at];
            to_r = logistic_slope(d * call.state[at], r);
            call.carry[at] = fmaf(d, r, call.carry[at]);
        }
        call.gates[vertex * 3 * h + j] = to_r;
    }
}

// ---- Narrow (`recurrent.cuh`). Nothing is saved: the backward pass computes the gates again from the
// input and the state before, 2·3·H·(in + H) operations a cell, which takes less time than moving
// planes·H values twice. Floor (4-byte values a cell): read in, write H forward; read in + 2H, write
// in backward.

struct GruNarrow {
    NarrowInput input;
    NarrowGradient gradient;
    const float* h0;
    const float* u;
    const float* bias;
    const float* mask;
    float* out;
    const float* d_out;
    float* d_h0;
    u64 vertices;
    u32 steps;
    u32 hidden;
};

// r, z, n and the product with its bias, from a lane's row of the input, or of the given share.
template <int H, bool AFTER>
__device__ __forceinline__ void gru_narrow_gates(
    const float* table, u32 inner, const float* row, u32 given, const float (&state)[H], float (&gates)[4 * H]
) {
    typedef NarrowTable<3, H> Table;
    const float* of_state = table + inner * Table::ROW;
    const float* bias = of_state + H * Table::ROW;
    #pragma unroll
    for (int at = 0; at < 4 * H; ++at) gates[at] = 0.0f;
    add_row<0, 3 * H>(gates, bias, 1.0f);
    add_row<0, 2 * H>(gates, bias + Table::ROW, 1.0f);
    add_row<AFTER ? 3 * H : 2 * H, H>(gates, bias + Table::ROW + 2 * H, 1.0f);
    for (u32 k = 0; k < inner; ++k) add_row<0, 3 * H>(gates, table + k * Table::ROW, row[k]);
    if (given) {
        #pragma unroll
        for (int at = 0; at < 3 * H; ++at) {
            if (at % H < given) gates[at] += row[at / H * given + at % H];
        }
    }
    #pragma unroll
    for (int k = 0; k < H; ++k) {
        add_row<0, 2 * H>(gates, of_state + k * Table::ROW, state[k]);
        if (AFTER) add_row<3 * H, H>(gates, of_state + k * Table::ROW + 2 * H, state[k]);
    }
    #pragma unroll
    for (int at = 0; at < 2 * H; ++at) gates[at] = sigmoid(gates[at]);
    if (!AFTER) {
        #pragma unroll
        for (int k = 0; k < H; ++k) {
            add_row<2 * H, H>(gates, of_state + k * Table::ROW + 2 * H, gates[k] * state[k]);
        }
    }
    #pragma unroll
    for (int j = 0; j < H; ++j) {
        gates[2 * H + j] = tangent(AFTER ? fmaf(gates[j], gates[3 * H + j], gates[2 * H + j]) : gates[2 * H + j]);
    }
}

template <int H, bool AFTER>
__device__ __forceinline__ void gru_narrow_forward(const GruNarrow& call) {
    extern __shared__ float shared[];
    const u32 h = call.hidden, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 inner = call.input.weight ? call.input.wide_a + call.input.wide_b : 0;
    float* rows_in = shared + warp * 32 * NARROW_ROW;
    float* own = rows_in + lane * NARROW_ROW;
    float* table = shared + NARROW_WARPS * 32 * NARROW_ROW;
    NarrowTable<3, H>::fill(table, call.input.weight, inner, call.u, h, call.input.bias, call.bias);
    __syncthreads();
    const u64 first = ((u64)blockIdx.x * NARROW_WARPS + warp) * 32;
    if (first >= call.vertices) return;
    const u32 rows = call.vertices - first < 32 ? call.vertices - first : 32;
    warp_load_rows(call.h0 + first * h, rows * h, h, rows_in);
    __syncwarp();
    float state[H];
    #pragma unroll
    for (int j = 0; j < H; ++j) state[j] = lane < rows && j < h ? own[j] : 0.0f;
    for (u32 t = 0; t < call.steps; ++t) {
        const u64 cell = t * call.vertices + first;
        __syncwarp();
        call.input.load(cell, rows, rows_in);
        __syncwarp();
        float gates[4 * H];
        gru_narrow_gates<H, AFTER>(table, inner, own, inner ? 0 : h, state, gates);
        bool absent = lane >= rows || (call.mask && call.mask[cell + lane] == 0.0f);
        __syncwarp();
        #pragma unroll
        for (int j = 0; j < H; ++j) {
            float n = gates[2 * H + j];
            if (!absent) state[j] = fmaf(gates[H + j], state[j] - n, n);
            own[j] = state[j];
        }
        __syncwarp();
        warp_store_rows(call.out + cell * h, rows * h, h, rows_in, 0);
    }
}

// Adds what a warp summed to its row of parts.
template <bool AFTER>
__device__ __forceinline__ void gru_narrow_write(const NarrowSums& sums, float* parts, u32 inner, u32 h) {
    float* u = parts + 3 * h * inner;
    float* input_bias = u + 3 * h * h;
    float* bias = input_bias + 3 * h;
    #pragma unroll
    for (int round = 0; round < 2; ++round) {
        if (!sums.has(round)) break;
        #pragma unroll
        for (u32 at = 0; at < 16; ++at) {
            u32 left = sums.left[round] + at / 4, k = sums.right[round] + at % 4;
            u32 gate = left / NARROW, j = left % NARROW;
            float sum = sums.of[round][at / 4][at % 4];
            // The row of the recurrent weight that this gradient belongs to; 3 if none.
            u32 of_state = AFTER && gate >= 2 ? gate == 3 ? 2 : 3 : gate;
            if (j >= h) continue;
            if (k < NARROW_INPUT) {
                if (k < inner && gate < 3) parts[(gate * h + j) * inner + k] = sum;
            } else if (k < NARROW_RESET) {
                u32 col = k - NARROW_INPUT;
                if (col < h && of_state < (AFTER ? 3 : 2)) u[(of_state * h + j) * h + col] = sum;
            } else if (k < NARROW_ONE) {
                u32 col = k - NARROW_RESET;
                if (col < h && gate == 2) u[(2 * h + j) * h + col] = sum;
            } else if (k == NARROW_ONE) {
                if (gate < 3) input_bias[gate * h + j] = sum;
                if (of_state < 3) bias[of_state * h + j] = sum;
            }
        }
    }
}

template <int H, bool AFTER>
__device__ __forceinline__ void gru_narrow_backward(const GruNarrow& call) {
    extern __shared__ float shared[];
    typedef NarrowTable<3, H> Table;
    const u32 h = call.hidden, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 inner = call.input.weight ? call.input.wide_a + call.input.wide_b : 0;
    float* lefts = shared + warp * 64 * NARROW_ROW;
    float* rights = lefts + 32 * NARROW_ROW;
    float* left = lefts + lane * NARROW_ROW;
    float* right = rights + lane * NARROW_ROW;
    float* table = shared + NARROW_WARPS * 64 * NARROW_ROW;
    const float* of_state = table + inner * Table::ROW;
    Table::fill(table, call.input.weight, inner, call.u, h, call.input.bias, call.bias);
    for (u32 at = 0; at < NARROW_ROW; ++at) right[at] = at == NARROW_ONE ? 1.0f : 0.0f;
    __syncthreads();
    NarrowSums sums;
    sums.start(AFTER ? 8 : 6, inner, !AFTER, call.gradient.parts != nullptr);
    const u64 warps = (u64)gridDim.x * NARROW_WARPS, me = (u64)blockIdx.x * NARROW_WARPS + warp;
    for (u64 first = me * 32; first < call.vertices; first += warps * 32) {
        const u32 rows = call.vertices - first < 32 ? call.vertices - first : 32;
        float carry[H] = {};
        for (u32 t = call.steps; t-- > 0;) {
            const u64 cell = t * call.vertices + first;
            const float* before = t == 0 ? call.h0 + first * h : call.out + (cell - call.vertices) * h;
            __syncwarp();
            call.input.load(cell, rows, inner ? rights : lefts);
            warp_load_rows(before, rows * h, h, rights + NARROW_INPUT);
            __syncwarp();
            bool absent = lane >= rows || (call.mask && call.mask[cell + lane] == 0.0f);
            float state[H], gates[4 * H];
            #pragma unroll
            for (int j = 0; j < H; ++j) state[j] = j < h ? right[NARROW_INPUT + j] : 0.0f;
            gru_narrow_gates<H, AFTER>(table, inner, inner ? right : left, inner ? 0 : h, state, gates);
            __syncwarp();
            warp_load_rows(call.d_out + cell * h, rows * h, h, lefts);
            __syncwarp();
            // Of r, z, n and the product, in the places of the gates.
            #pragma unroll
            for (int j = 0; j < H; ++j) {
                float r = gates[j], z = gates[H + j], n = gates[2 * H + j];
                float d = carry[j] + (lane < rows && j < h ? left[j] : 0.0f);
                gates[H + j] = absent ? 0.0f : mix_z(d, z, n, state[j]);
                float to_n = absent ? 0.0f : mix_n(d, z, n);
                gates[2 * H + j] = to_n;
                carry[j] = absent ? d : d * z;
                if (AFTER) {
                    gates[j] = absent ? 0.0f : logistic_slope(to_n * gates[3 * H + j], r);
                    gates[3 * H + j] = absent ? 0.0f : to_n * r;
                } else {
                    right[NARROW_RESET + j] = absent ? 0.0f : r * state[j];
                }
            }
            if (!AFTER) {
                #pragma unroll
                for (int j = 0; j < H; ++j) {
                    float r = gates[j];
                    float d_reset = dot_row<2 * H, H>(gates, of_state + j * Table::ROW + 2 * H);
                    gates[j] = absent ? 0.0f : logistic_slope(d_reset * state[j], r);
                    if (!absent) carry[j] = fmaf(d_reset, r, carry[j]);
                }
            }
            #pragma unroll
            for (int k = 0; k < H; ++k) {
                carry[k] += dot_row<0, 2 * H>(gates, of_state + k * Table::ROW);
                if (AFTER) carry[k] += dot_row<3 * H, H>(gates, of_state + k * Table::ROW + 2 * H);
            }
            __syncwarp();
            #pragma unroll
            for (int at = 0; at < 4 * NARROW; ++at) {
                left[at] = at % NARROW < H ? gates[at / NARROW * H + at % NARROW % H] : 0.0f;
            }
            __syncwarp();
            sums.add(lefts, rights);
            __syncwarp();
            if (inner) {
                for (u32 k = 0; k < inner; ++k) right[k] = dot_row<0, 3 * H>(gates, table + k * Table::ROW);
            } else {
                #pragma unroll
                for (int at = 0; at < 3 * H; ++at) {
                    if (at % H < h) left[at / H * h + at % H] = gates[at];
                }
            }
            __syncwarp();
            call.gradient.store(call.input, cell, rows, inner ? rights : lefts);
        }
        if (call.d_h0) {
            __syncwarp();
            #pragma unroll
            for (int j = 0; j < H; ++j) left[j] = carry[j];
            __syncwarp();
            warp_store_rows(call.d_h0 + first * h, rows * h, h, lefts, 1);
        }
    }
    if (call.gradient.parts) {
        u32 len = 3 * h * (inner + h + 2);
        gru_narrow_write<AFTER>(sums, call.gradient.parts + me * len, inner, h);
    }
}

#define GRU_NARROW(H, KIND, AFTER)                                                          \
    extern "C" __global__ void __launch_bounds__(32 * NARROW_WARPS)                         \
    gru_narrow_forward_##KIND##_##H(GruNarrow call) {                                       \
        gru_narrow_forward<H, AFTER>(call);                                                 \
    }                                                                                       \
    extern "C" __global__ void __launch_bounds__(32 * NARROW_WARPS)                         \
    gru_narrow_backward_##KIND##_##H(GruNarrow call) {                                      \
        gru_narrow_backward<H, AFTER>(call);                                                \
    }

GRU_NARROW(6, after, true)
GRU_NARROW(8, after, true)
GRU_NARROW(6, before, false)
GRU_NARROW(8, before, false)
