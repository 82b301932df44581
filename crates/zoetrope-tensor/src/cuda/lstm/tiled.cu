// Long short-term memory by tensor cores (`tiles.cuh`): 32 states, up to 64 features of the input.
//
// Sixteen vertices are a tile. Four warps share it through all steps: each computes the four gates of
// eight states, from the input's rows, which it reads itself, and from the states before, which pass
// through shared memory. The weights of both products lie in shared memory in the order in which lanes
// read them. What a step reads from memory is on its way while the step before it computes.
//
// Floor (4-byte values a cell, W features): read W, write 6H forward; read 7H, write 4H + W backward;
// 2·4H·(W + H) operations a cell each way, three times that for f32 of TF32.

#define STATES 32
#define OCTETS 4 // of states, a warp each
#define GATES (4 * STATES)
// Floats between two rows of states, and of gates: eight rows of eight fill the banks.
#define STATE_ROW (STATES + 8)
#define GATE_ROW (GATES + 8)

struct LstmTiled {
    const float* x;      // [T·N, wide_a]
    const float* beside; // [T·N, wide_b]
    const float* weight; // [4H, wide_a + wide_b]
    const float* input_bias;
    const float* u;
    const float* bias;
    const float* h0;
    const float* c0;
    const float* mask;
    float* out_h;
    float* out_c;
    float* gates;    // [T·N, 4H], activated
    float* memories; // [T·N, H]
    const float* d_h;
    const float* d_c;
    float* d_gates; // before their activation, [T·N, 4H]
    float* d_x;
    float* d_beside;
    float* d_h0;
    float* d_c0;
    u64 vertices;
    u32 steps;
    u32 wide_a; // multiples of four
    u32 wide_b;
    u32 add_x;
    u32 add_beside;
};

// Where a lane is.
struct TilePlace {
    u32 lane, g, c;
    u32 tile;    // of this block's
    u32 octet;   // of the states, this warp's
    u32 unit;    // the first of the lane's two states
    u64 rows[2]; // vertices; the last one where there is none
    bool here[2];
};

__device__ __forceinline__ TilePlace tile_place(u64 vertices) {
    TilePlace at;
    at.lane = threadIdx.x % 32;
    at.g = at.lane / 4;
    at.c = at.lane % 4;
    at.tile = threadIdx.x / 32 / OCTETS;
    at.octet = threadIdx.x / 32 % OCTETS;
    at.unit = at.octet * 8 + 2 * at.c;
    const u64 first = ((u64)blockIdx.x * (blockDim.x / 32 / OCTETS) + at.tile) * 16 + at.g;
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        const u64 vertex = first + 8 * row;
        at.here[row] = vertex < vertices;
        at.rows[row] = at.here[row] ? vertex : vertices - 1;
    }
    return at;
}

__device__ __forceinline__ float2 pair_at(const float* from) { return *(const float2*)from; }

// A lane's part of a left tile from rows in shared memory.
__device__ __forceinline__ Split left_at(const float* row, u32 stride) {
    const float2 a = pair_at(row), b = pair_at(row + 8 * stride);
    const float left[4] = {a.x, b.x, a.y, b.y};
    return split_left(left);
}

// The input's features are taken in pieces of 16, those of `beside` after those of `x`.
__device__ __forceinline__ u32 pieces_of(u32 wide) { return (wide + 15) / 16; }

// The column of the weight that belongs to a feature of a piece; all columns where there is none.
__device__ __forceinline__ u32 weight_column(const LstmTiled& call, u32 feature) {
    const u32 inner = call.wide_a + call.wide_b, of_a = pieces_of(call.wide_a) * 16;
    if (feature < of_a) return feature < call.wide_a ? feature : inner;
    return feature - of_a < call.wide_b ? call.wide_a + feature - of_a : inner;
}

// A lane's features of two rows, one quad of each piece: columns 4c to 4c + 3.
template <int X>
struct Features {
    const float* of_x[2];
    const float* of_beside[2];
    u32 from_x;    // pieces
    u32 is_there;  // a bit for each piece
    float4 at[X][2];

    __device__ __forceinline__ Features(const LstmTiled& call, const TilePlace& place) {
        from_x = pieces_of(call.wide_a);
        is_there = 0;
        #pragma unroll
        for (int piece = 0; piece < X; ++piece) {
            const u32 column = weight_column(call, piece * 16 + 4 * place.c);
            is_there |= (u32)(column < call.wide_a + call.wide_b) << piece;
        }
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            of_x[row] = call.x + place.rows[row] * call.wide_a + 4 * place.c;
            of_beside[row] = call.beside + place.rows[row] * call.wide_b + 4 * place.c - 16 * from_x;
        }
    }

    // Begins to read the next step.
    __device__ __forceinline__ void load(const LstmTiled& call) {
        #pragma unroll
        for (int piece = 0; piece < X; ++piece) {
            #pragma unroll
            for (int row = 0; row < 2; ++row) {
                const float* from = (piece < from_x ? of_x[row] : of_beside[row]) + 16 * piece;
                at[piece][row] = is_there >> piece & 1 ? *(const float4*)from : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            }
        }
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            of_x[row] += call.vertices * call.wide_a;
            of_beside[row] += call.vertices * call.wide_b;
        }
    }

    // The left tile of one octet, two a piece.
    __device__ __forceinline__ Split left(int octet) const {
        const float4 a = at[octet / 2][0], b = at[octet / 2][1];
        const float left[4] = {
            octet % 2 ? a.z : a.x, octet % 2 ? b.z : b.x, octet % 2 ? a.w : a.y, octet % 2 ? b.w : b.y
        };
        return split_left(left);
    }
};

// ---- Forward.

// Weights as right tiles [k octet][octet of states][gate][lane]: the input's features, two octets a
// piece, then the states.
template <int X>
__device__ __forceinline__ void fill_forward(const LstmTiled& call, float2* table) {
    const u32 inner = call.wide_a + call.wide_b;
    for (u32 at = threadIdx.x; at < (2 * X + OCTETS) * OCTETS * 4 * 32; at += blockDim.x) {
        const u32 lane = at % 32, c = lane % 4, octet = at / 32 / 4 / OCTETS;
        const u32 row = at / 32 % 4 * STATES + at / 32 / 4 % OCTETS * 8 + lane / 4;
        float both[2];
        for (u32 e = 0; e < 2; ++e) {
            if (octet < 2 * X) {
                const u32 column = weight_column(call, octet / 2 * 16 + 4 * c + octet % 2 * 2 + e);
                both[e] = column < inner ? call.weight[row * inner + column] : 0.0f;
            } else {
                both[e] = call.u[row * STATES + (octet - 2 * X) * 8 + 2 * c + e];
            }
        }
        table[at] = make_float2(both[0], both[1]);
    }
}

template <int X>
__device__ __forceinline__ void lstm_tiled_forward(const LstmTiled& call) {
    extern __shared__ float4 shared[];
    float2* table = (float2*)shared;
    float* biases = (float*)(table + (2 * X + OCTETS) * OCTETS * 4 * 32);
    const TilePlace at = tile_place(call.vertices);
    // States of the tile before and after a step, [2][16][STATE_ROW].
    float* states = biases + GATES + at.tile * 2 * 16 * STATE_ROW;
    Features<X> features(call, at);
    features.load(call);
    fill_forward<X>(call, table);
    for (u32 gate = threadIdx.x; gate < GATES; gate += blockDim.x) {
        biases[gate] = (call.input_bias ? call.input_bias[gate] : 0.0f) + (call.bias ? call.bias[gate] : 0.0f);
    }
    float state[4], memory[4];
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        const float2 h = pair_at(call.h0 + at.rows[row] * STATES + at.unit);
        const float2 m = pair_at(call.c0 + at.rows[row] * STATES + at.unit);
        state[2 * row] = h.x, state[2 * row + 1] = h.y;
        memory[2 * row] = m.x, memory[2 * row + 1] = m.y;
        *(float2*)(states + (at.g + 8 * row) * STATE_ROW + at.unit) = h;
    }
    __syncthreads();
    for (u32 t = 0; t < call.steps; ++t) {
        float sums[4][4], rest[4][4] = {};
        #pragma unroll
        for (int gate = 0; gate < 4; ++gate) {
            const float2 b = pair_at(biases + gate * STATES + at.unit);
            sums[gate][0] = sums[gate][2] = b.x;
            sums[gate][1] = sums[gate][3] = b.y;
        }
        // Adds the product of a left tile with the weights of one octet of the inner dimension.
        auto add = [&](const Split& left, u32 octet) {
            const float2* weights = table + (octet * OCTETS + at.octet) * 4 * 32 + at.lane;
            float2 right[4];
            #pragma unroll
            for (int gate = 0; gate < 4; ++gate) right[gate] = weights[gate * 32];
            add_tiles(sums, rest, left, right);
        };
        #pragma unroll
        for (int octet = 0; octet < 2 * X; ++octet) add(features.left(octet), octet);
        if (t + 1 < call.steps) features.load(call);
        // The states of all warps are there.
        tile_barrier(1 + at.tile, OCTETS * 32);
        const float* now = states + t % 2 * 16 * STATE_ROW + at.g * STATE_ROW + 2 * at.c;
        #pragma unroll
        for (int octet = 0; octet < OCTETS; ++octet) add(left_at(now + octet * 8, STATE_ROW), 2 * X + octet);
        const u64 step = t * call.vertices;
        LstmCell cells[4];
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            cells[v] = lstm_cell(
                sums[0][v] + rest[0][v], sums[1][v] + rest[1][v], sums[2][v] + rest[2][v], sums[3][v] + rest[3][v], memory[v]
            );
        }
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            const u64 cell = step + at.rows[row];
            const bool absent = call.mask && call.mask[cell] == 0.0f;
            #pragma unroll
            for (int v = 2 * row; v < 2 * row + 2; ++v) {
                const float next = cells[v].o * tangent(cells[v].memory);
                state[v] = absent ? state[v] : next;
                memory[v] = absent ? memory[v] : cells[v].memory;
            }
            const float2 h = make_float2(state[2 * row], state[2 * row + 1]);
            *(float2*)(states + (t + 1) % 2 * 16 * STATE_ROW + (at.g + 8 * row) * STATE_ROW + at.unit) = h;
            if (!at.here[row]) continue;
            const LstmCell &a = cells[2 * row], &b = cells[2 * row + 1];
            float* gates = call.gates + cell * GATES + at.unit;
            *(float2*)gates = make_float2(a.i, b.i);
            *(float2*)(gates + STATES) = make_float2(a.f, b.f);
            *(float2*)(gates + 2 * STATES) = make_float2(a.g, b.g);
            *(float2*)(gates + 3 * STATES) = make_float2(a.o, b.o);
            *(float2*)(call.memories + cell * STATES + at.unit) = make_float2(memory[2 * row], memory[2 * row + 1]);
            *(float2*)(call.out_h + cell * STATES + at.unit) = h;
        }
    }
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        if (!at.here[row]) continue;
        *(float2*)(call.out_c + at.rows[row] * STATES + at.unit) = make_float2(memory[2 * row], memory[2 * row + 1]);
    }
}

// ---- Backward. The gradients of the gates are multiplied with the weights of the input and of the
// states: both are columns of one matrix, the input's octets before the states'.

// Right tiles [octet of gates][octet of columns][lane].
template <int X>
__device__ __forceinline__ void fill_backward(const LstmTiled& call, float2* table) {
    const u32 inner = call.wide_a + call.wide_b;
    constexpr u32 ACROSS = 2 * X + OCTETS;
    for (u32 at = threadIdx.x; at < 4 * OCTETS * ACROSS * 32; at += blockDim.x) {
        const u32 lane = at % 32, octet = at / 32 % ACROSS, n = lane / 4;
        const u32 row = at / 32 / ACROSS * 8 + lane % 4 * 2;
        float both[2];
        for (u32 e = 0; e < 2; ++e) {
            if (octet < 2 * X) {
                const u32 column = weight_column(call, octet * 8 + n);
                both[e] = column < inner ? call.weight[(row + e) * inner + column] : 0.0f;
            } else {
                both[e] = call.u[(row + e) * STATES + (octet - 2 * X) * 8 + n];
            }
        }
        table[at] = make_float2(both[0], both[1]);
    }
}

// What a step back reads of two rows, and where.
struct Earlier {
    float2 gates[4][2], d_h[2], memory[2];
    u64 cell[2]; // of the step that is read next, in values of a state

    __device__ __forceinline__ void load(const LstmTiled& call, const TilePlace& at, bool first) {
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            const float* of = call.gates + 4 * (cell[row] - at.unit) + at.unit;
            #pragma unroll
            for (int gate = 0; gate < 4; ++gate) gates[gate][row] = pair_at(of + gate * STATES);
            d_h[row] = pair_at(call.d_h + cell[row]);
            const u64 before = cell[row] - call.vertices * STATES;
            memory[row] = pair_at(first ? call.c0 + cell[row] : call.memories + before);
            cell[row] = before;
        }
    }
};

// Writes or adds a lane's two features of an octet of the input's gradient.
__device__ __forceinline__ void put_features(
    const LstmTiled& call, u64 cell, u32 feature, float first, float second
) {
    const u32 of_a = pieces_of(call.wide_a) * 16;
    const bool left = feature < of_a;
    float* to = left ? call.d_x : call.d_beside;
    const u32 wide = left ? call.wide_a : call.wide_b, add = left ? call.add_x : call.add_beside;
    const u32 column = left ? feature : feature - of_a;
    if (!to || column >= wide) return;
    float2* place = (float2*)(to + cell * wide + column);
    float2 pair = make_float2(first, second);
    if (add) pair.x += place->x, pair.y += place->y;
    *place = pair;
}

template <int X>
__device__ __forceinline__ void lstm_tiled_backward(const LstmTiled& call) {
    // Octets of the input's gradient that a warp computes, and with that of its states.
    constexpr int OF_X = 2 * X / OCTETS, OWN = OF_X + 1, ACROSS = 2 * X + OCTETS;
    extern __shared__ float4 shared[];
    float2* table = (float2*)shared;
    const TilePlace at = tile_place(call.vertices);
    // The gradients of the tile's gates at this step and the one after it, [2][16][GATE_ROW].
    float* sent = (float*)(table + 4 * OCTETS * ACROSS * 32) + at.tile * 2 * 16 * GATE_ROW;
    Earlier now;
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        now.cell[row] = ((call.steps - 1) * call.vertices + at.rows[row]) * STATES + at.unit;
    }
    now.load(call, at, call.steps == 1);
    fill_backward<X>(call, table);
    float carry[4] = {}, d_memory[4], memory[4];
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        const u64 last = (call.steps - 1) * call.vertices + at.rows[row];
        const float2 m = pair_at(call.memories + last * STATES + at.unit);
        const float2 d = call.d_c ? pair_at(call.d_c + at.rows[row] * STATES + at.unit) : make_float2(0.0f, 0.0f);
        memory[2 * row] = m.x, memory[2 * row + 1] = m.y;
        d_memory[2 * row] = d.x, d_memory[2 * row + 1] = d.y;
    }
    __syncthreads();
    for (u32 t = call.steps; t-- > 0;) {
        const u64 step = t * call.vertices;
        float* sent_now = sent + t % 2 * 16 * GATE_ROW;
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            const u64 cell = step + at.rows[row];
            const bool absent = !at.here[row] || (call.mask && call.mask[cell] == 0.0f);
            float to[2][4];
            #pragma unroll
            for (int e = 0; e < 2; ++e) {
                const int v = 2 * row + e;
                auto of = [&](const float2& pair) { return e ? pair.y : pair.x; };
                const LstmCell cell_now = {
                    of(now.gates[0][row]), of(now.gates[1][row]), of(now.gates[2][row]), of(now.gates[3][row]), memory[v]
                };
                const float d = carry[v] + of(now.d_h[row]), old = of(now.memory[row]);
                float d_old = d_memory[v];
                lstm_cell_back(cell_now, old, d, d_old, to[e]);
                carry[v] = absent ? d : 0.0f;
                d_memory[v] = absent ? d_memory[v] : d_old;
                memory[v] = old;
                #pragma unroll
                for (int gate = 0; gate < 4; ++gate) to[e][gate] = absent ? 0.0f : to[e][gate];
            }
            #pragma unroll
            for (int gate = 0; gate < 4; ++gate) {
                const float2 pair = make_float2(to[0][gate], to[1][gate]);
                if (at.here[row]) *(float2*)(call.d_gates + cell * GATES + gate * STATES + at.unit) = pair;
                *(float2*)(sent_now + (at.g + 8 * row) * GATE_ROW + gate * STATES + at.unit) = pair;
            }
        }
        if (t > 0) now.load(call, at, t == 1);
        tile_barrier(1 + at.tile, OCTETS * 32);
        // Of the own octets of the input and then of the states.
        float sums[OWN][4] = {}, rest[OWN][4] = {};
        #pragma unroll 4
        for (u32 octet = 0; octet < 4 * OCTETS; ++octet) {
            const float2* weights = table + octet * ACROSS * 32 + at.lane;
            float2 right[OWN];
            #pragma unroll
            for (int own = 0; own < OF_X; ++own) right[own] = weights[(at.octet * OF_X + own) * 32];
            right[OF_X] = weights[(2 * X + at.octet) * 32];
            add_tiles(sums, rest, left_at(sent_now + at.g * GATE_ROW + octet * 8 + 2 * at.c, GATE_ROW), right);
        }
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            #pragma unroll
            for (int own = 0; own < OF_X; ++own) {
                const u32 feature = (at.octet * OF_X + own) * 8 + 2 * at.c;
                const float first = sums[own][2 * row] + rest[own][2 * row];
                const float second = sums[own][2 * row + 1] + rest[own][2 * row + 1];
                if (at.here[row]) put_features(call, step + at.rows[row], feature, first, second);
            }
        }
        #pragma unroll
        for (int v = 0; v < 4; ++v) carry[v] += sums[OF_X][v] + rest[OF_X][v];
    }
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        if (!at.here[v / 2]) continue;
        const u64 place = at.rows[v / 2] * STATES + at.unit + v % 2;
        if (call.d_h0) call.d_h0[place] += carry[v];
        if (call.d_c0) call.d_c0[place] += d_memory[v];
    }
}

// By pieces of the input.
#define LSTM_TILED(X)                                                                                  \
    extern "C" __global__ void __launch_bounds__(640) lstm_tiled_forward_##X(LstmTiled call) {  \
        lstm_tiled_forward<X>(call);                                                                   \
    }                                                                                                  \
    extern "C" __global__ void __launch_bounds__(640) lstm_tiled_backward_##X(LstmTiled call) { \
        lstm_tiled_backward<X>(call);                                                                  \
    }

LSTM_TILED(2)
LSTM_TILED(4)
