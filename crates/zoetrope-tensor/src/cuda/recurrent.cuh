// What the kernels of recurrent units share; put between `prelude.cuh` and their files.

// d·y·(1 − y): the gradient before a logistic function from that after it.
__device__ __forceinline__ float logistic_slope(float d, float y) {
    return d * (y * (1.0f - y));
}

// Of a GRU: the gradients of z and n before their activation, from that of the new state.
__device__ __forceinline__ float mix_z(float d, float z, float n, float state) {
    return logistic_slope(d * (state - n), z);
}

__device__ __forceinline__ float mix_n(float d, float z, float n) {
    return d * (1.0f - z) * (1.0f - n * n);
}

// V values that follow each other in shared memory; groups of four lie on 16 bytes.
template <int V>
__device__ __forceinline__ void load_values(const float* from, float (&x)[V]) {
    if (V % 4 == 0) {
        #pragma unroll
        for (int at = 0; at < V; at += 4) {
            float4 four = *(const float4*)(from + at);
            x[at] = four.x, x[at + 1] = four.y, x[at + 2] = four.z, x[at + 3] = four.w;
        }
    } else {
        #pragma unroll
        for (int at = 0; at < V; ++at) x[at] = from[at];
    }
}

// sums[c][v] += Σ_k left[k·stride + v]·right[k·width + c·step] over `count` terms, both in shared
// memory: lanes of a warp share `left` and read neighbouring values of `right`.
template <int C, int V>
__device__ __forceinline__ void add_products(
    float (&sums)[C][V], const float* left, u32 stride, const float* right, u32 width, u32 step, u32 count
) {
    #pragma unroll 4
    for (u32 k = 0; k < count; ++k) {
        float x[V];
        load_values(left + k * stride, x);
        #pragma unroll
        for (int c = 0; c < C; ++c) {
            float w = right[k * width + c * step];
            #pragma unroll
            for (int v = 0; v < V; ++v) sums[c][v] = fmaf(w, x[v], sums[c][v]);
        }
    }
}

// ---- Narrow units: states up to eight wide, inputs up to sixteen, of many vertices.
//
// A lane owns a vertex and a warp 32 that follow each other; the state stays in registers. Rows of a
// warp's vertices lie next to each other in memory: the warp moves them together, and shared memory
// turns them. There rows are 36 apart, four more than a multiple of eight, so that 16-byte accesses
// of neighbouring lanes meet different banks.
//
// In the backward pass a warp adds the outer products of the gates' gradients (`left`: gates eight apart)
// with what the gates were computed from (`right`: x, h, r∘h, 1) over its vertices and steps: lanes
// own tiles of 4 × 4 of the sums in registers and write them once, to rows that `recurrent_join` adds.

#define NARROW 8
#define NARROW_INPUT 16
#define NARROW_ROW 36
#define NARROW_RESET (NARROW_INPUT + NARROW)
#define NARROW_ONE (NARROW_RESET + NARROW)
#define NARROW_WARPS 4

// Rows of `width` values, `values` in all, into rows in shared memory.
__device__ __forceinline__ void warp_load_rows(const float* from, u32 values, u32 width, float* to) {
    u32 lane = threadIdx.x % 32, row = lane / width, col = lane % width;
    for (u32 at = lane; at < values; at += 32) {
        to[row * NARROW_ROW + col] = from[at];
        row += 32 / width, col += 32 % width;
        if (col >= width) col -= width, ++row;
    }
}

// And out of them; 1 adds.
__device__ __forceinline__ void warp_store_rows(float* to, u32 values, u32 width, const float* from, u32 add) {
    u32 lane = threadIdx.x % 32, row = lane / width, col = lane % width;
    for (u32 at = lane; at < values; at += 32) {
        put(to + at, from[row * NARROW_ROW + col], add);
        row += 32 / width, col += 32 % width;
        if (col >= width) col -= width, ++row;
    }
}

// sums[AT..AT + COUNT] += x·row, which lies on 16 bytes.
template <int AT, int COUNT, int N>
__device__ __forceinline__ void add_row(float (&sums)[N], const float* row, float x) {
    #pragma unroll
    for (int at = 0; at < COUNT; at += 4) {
        float4 four = *(const float4*)(row + at);
        float w[4] = {four.x, four.y, four.z, four.w};
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (at + i < COUNT) sums[AT + at + i] = fmaf(x, w[i], sums[AT + at + i]);
        }
    }
}

// Σ x[AT + i]·row[i] over COUNT terms.
template <int AT, int COUNT, int N>
__device__ __forceinline__ float dot_row(const float (&x)[N], const float* row) {
    float sum = 0.0f;
    #pragma unroll
    for (int at = 0; at < COUNT; at += 4) {
        float4 four = *(const float4*)(row + at);
        float w[4] = {four.x, four.y, four.z, four.w};
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (at + i < COUNT) sum = fmaf(x[AT + at + i], w[i], sum);
        }
    }
    return sum;
}

// The weights of G gates as a table in shared memory whose rows [gate][H] belong to features: those
// of the input, those of the state (H of them), then the biases of input and state. Zeros fill what
// is beyond the width of the state.
template <int G, int H>
struct NarrowTable {
    static constexpr u32 ROW = (G * H + 3) / 4 * 4;

    static __device__ void fill(
        float* table, const float* weight, u32 inner, const float* u, u32 h, const float* bias, const float* own
    ) {
        for (u32 at = threadIdx.x; at < (inner + H + 2) * ROW; at += blockDim.x) {
            u32 row = at / ROW, gate = at % ROW / H, j = at % ROW % H;
            float value = 0.0f;
            if (gate < G && j < h) {
                u32 from = gate * h + j;
                if (row < inner) value = weight[from * inner + row];
                else if (row < inner + H) value = row - inner < h && u ? u[from * h + row - inner] : 0.0f;
                else if (row == inner + H) value = bias ? bias[from] : 0.0f;
                else value = own ? own[from] : 0.0f;
            }
            table[at] = value;
        }
    }
};

// Sums of outer products: `rounds` tiles a lane.
struct NarrowSums {
    float of[2][4][4];
    u32 left[2];
    u32 right[2];
    u32 rounds;

    // For so many groups of four gates' gradients; `resets` if r∘h is multiplied, too.
    __device__ __forceinline__ void start(u32 lefts, u32 inner, bool resets, bool wanted) {
        u32 inputs = (inner + 3) / 4, rights = inputs + (resets ? 5 : 3);
        rounds = wanted ? (lefts * rights + 31) / 32 : 0;
        #pragma unroll
        for (int round = 0; round < 2; ++round) {
            u32 tile = round * 32 + threadIdx.x % 32;
            u32 group = tile / lefts;
            left[round] = tile % lefts * 4;
            right[round] = group < inputs ? group * 4 : NARROW_INPUT + (group - inputs) * 4;
            if (!resets && group == inputs + 2) right[round] = NARROW_ONE;
            // Beyond the last tile: the first one again, which is not written.
            if (group >= rights) left[round] = 0, right[round] = NARROW_ROW;
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                #pragma unroll
                for (int k = 0; k < 4; ++k) of[round][i][k] = 0.0f;
            }
        }
    }

    __device__ __forceinline__ bool has(int round) const {
        return round < rounds && right[round] < NARROW_ROW;
    }

    __device__ __forceinline__ void add(const float* lefts, const float* rights) {
        #pragma unroll
        for (int round = 0; round < 2; ++round) {
            if (round >= rounds) break;
            const float* a = lefts + left[round];
            const float* b = rights + (has(round) ? right[round] : 0);
            #pragma unroll 4
            for (u32 row = 0; row < 32; ++row) {
                float4 d = *(const float4*)(a + row * NARROW_ROW);
                float4 y = *(const float4*)(b + row * NARROW_ROW);
                float ds[4] = {d.x, d.y, d.z, d.w}, ys[4] = {y.x, y.y, y.z, y.w};
                #pragma unroll
                for (int i = 0; i < 4; ++i) {
                    #pragma unroll
                    for (int k = 0; k < 4; ++k) of[round][i][k] = fmaf(ds[i], ys[k], of[round][i][k]);
                }
            }
        }
    }
};

// A batch norm of columns, absent if it has no statistics: means, then inverse deviations.
struct NarrowNorm {
    const float* statistics;
    const float* scale;
    const float* shift;
};

// Where the operands of a narrow unit lie.
struct NarrowInput {
    const float* x; // [T·N, wide_a], or the given share [T·N, G·H] if `weight` is absent
    const float* beside; // [T·N, wide_b]
    const float* weight;
    const float* bias;
    NarrowNorm norms[2]; // of x and of what is beside it
    u32 wide_a;
    u32 wide_b;

    // The rows of 32 cells at most from `cell` on.
    __device__ __forceinline__ void load(u64 cell, u32 rows, float* to) const {
        warp_load_rows(x + cell * wide_a, rows * wide_a, wide_a, to);
        if (wide_b) warp_load_rows(beside + cell * wide_b, rows * wide_b, wide_b, to + wide_a);
    }

    __device__ __forceinline__ bool has_norms() const {
        return norms[0].statistics || norms[1].statistics;
    }

    // Means, factors and shifts of all columns, NARROW_INPUT apart, into shared memory.
    __device__ __forceinline__ void load_norms(float* to) const {
        if (!has_norms()) return;
        for (u32 k = threadIdx.x; k < wide_a + wide_b; k += blockDim.x) {
            const u32 part = k < wide_a ? 0 : 1, column = part ? k - wide_a : k, width = part ? wide_b : wide_a;
            const NarrowNorm& norm = norms[part];
            const bool there = norm.statistics != nullptr;
            to[k] = there ? norm.statistics[column] : 0.0f;
            to[NARROW_INPUT + k] = there ? norm.scale[column] * norm.statistics[width + column] : 1.0f;
            to[2 * NARROW_INPUT + k] = there ? norm.shift[column] : 0.0f;
        }
    }

    // Normalises a lane's own row, with the same bits as `norm_batch_forward`.
    __device__ __forceinline__ void normalise(float* row, const float* from) const {
        if (!has_norms()) return;
        for (u32 k = 0; k < wide_a + wide_b; ++k) {
            row[k] = fmaf(row[k] - from[k], from[NARROW_INPUT + k], from[2 * NARROW_INPUT + k]);
        }
    }
};

// Where their gradients go; 1 adds.
struct NarrowGradient {
    float* x;
    float* beside;
    float* parts; // a row a warp: of the weight, the recurrent weight, the bias of input and of state
    u32 add_x;
    u32 add_beside;

    __device__ __forceinline__ void store(const NarrowInput& input, u64 cell, u32 rows, const float* from) const {
        u32 a = input.wide_a, b = input.wide_b;
        if (x) warp_store_rows(x + cell * a, rows * a, a, from, add_x);
        if (beside) warp_store_rows(beside + cell * b, rows * b, b, from + a, add_beside);
    }
};
