// Long short-term memory by tensor cores (`tiles.cuh`): 32 states, up to 64 features of the input.
//
// Four warps share a tile of 16 vertices through all steps: each computes the four gates of eight
// states, from the input's rows, which it reads itself, and from the states before, which pass through
// shared memory. The weights of both products lie in shared memory in the order in which lanes read
// them. The input's share of the gates of few vertices is computed before, for all steps at once: a step
// is shorter without it, and nothing else hides its length.
//
// Floor (4-byte values a cell, W features): read W, write 6H forward; read 7H, write 4H + W backward;
// 2·4H·(W + H) operations a cell each way, three times that for f32 of TF32.
//
// No CPU twin: `cpu::lstm` computes the same, whatever the shape.

#define STATES 32
#define OCTETS 4 // of states, a warp each
#define GATES (4 * STATES)
// Floats between two rows of states, and of gates: eight rows of eight fill the banks.
#define STATE_ROW (STATES + 8)
#define GATE_ROW (GATES + 8)

struct LstmTiled {
    const float* x;      // [T·N, wide_a]; of few vertices the input's share of the gates, [T·N, 4H]
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
    u32 d_from; // the first step whose states have a gradient
};

// Where a lane is. It has two rows of a tile and two states of each row.
struct Place {
    u32 lane, g, c;
    u32 tile;  // of this block
    u32 octet; // of the states, this warp's
    u32 unit;  // the first of the lane's states
    u32 rows[2]; // vertices; the last one if there is none
    bool here[2];

    __device__ __forceinline__ Place(u64 vertices) {
        lane = threadIdx.x % 32;
        g = lane / 4;
        c = lane % 4;
        tile = threadIdx.x / 32 / OCTETS;
        octet = threadIdx.x / 32 % OCTETS;
        unit = octet * 8 + 2 * c;
        const u64 first = ((u64)blockIdx.x * (blockDim.x / 32 / OCTETS) + tile) * 16 + g;
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            const u64 vertex = first + 8 * row;
            here[row] = vertex < vertices;
            rows[row] = (u32)(here[row] ? vertex : vertices - 1);
        }
    }

    // Waits for the warps of the tile.
    __device__ __forceinline__ void meet() const { tile_barrier(1 + tile, OCTETS * 32); }
};

__device__ __forceinline__ float2 pair_at(const float* from) { return *(const float2*)from; }

// A lane's part of a left tile from rows in shared memory.
__device__ __forceinline__ Left left_at(const float* row, u32 stride) {
    const float2 a = pair_at(row), b = pair_at(row + 8 * stride);
    const float left[4] = {a.x, b.x, a.y, b.y};
    return split_left(left);
}

// The input's features are taken in pieces of 16, those of `beside` after those of `x`.
__device__ __forceinline__ u32 pieces_of(u32 wide) { return (wide + 15) / 16; }

// The column of the weight that belongs to a feature of a piece; all columns if there is none.
__device__ __forceinline__ u32 weight_column(const LstmTiled& call, u32 feature) {
    const u32 inner = call.wide_a + call.wide_b, of_a = pieces_of(call.wide_a) * 16;
    if (feature < of_a) return feature < call.wide_a ? feature : inner;
    return feature - of_a < call.wide_b ? call.wide_a + feature - of_a : inner;
}

// A lane's features of one piece: columns 4c to 4c + 3 of its rows.
struct Piece {
    float4 at[2];

    __device__ __forceinline__ void load(const LstmTiled& call, const Place& place, u64 step, u32 piece) {
        const u32 of_x = pieces_of(call.wide_a);
        const bool left = piece < of_x;
        const u32 wide = left ? call.wide_a : call.wide_b;
        const u32 column = (left ? piece : piece - of_x) * 16 + 4 * place.c;
        const float* from = (left ? call.x : call.beside) + step * wide + column;
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            at[row] = column < wide ? *(const float4*)(from + (u64)place.rows[row] * wide)
                                    : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    }

    // The left tile of one of its two octets.
    __device__ __forceinline__ Left left(int octet) const {
        const float4 a = at[0], b = at[1];
        const float left[4] = {octet ? a.z : a.x, octet ? b.z : b.x, octet ? a.w : a.y, octet ? b.w : b.y};
        return split_left(left);
    }
};

// ---- Forward.

// Weights as right tiles [k octet][octet of states][gate][lane]: the input's features, two octets a
// piece, then the states.
template <int X>
__device__ __forceinline__ void fill_forward(const LstmTiled& call, float4* table) {
    const u32 inner = call.wide_a + call.wide_b;
    for (u32 at = threadIdx.x; at < (2 * X + OCTETS) * OCTETS * 4 * 32; at += blockDim.x) {
        const u32 lane = at % 32, c = lane % 4, octet = at / 32 / 4 / OCTETS;
        const u32 row = at / 32 % 4 * STATES + at / 32 / 4 % OCTETS * 8 + lane / 4;
        float both[2];
        for (u32 e = 0; e < 2; ++e) {
            if ((int)octet < 2 * X) {
                const u32 column = weight_column(call, octet / 2 * 16 + 4 * c + octet % 2 * 2 + e);
                both[e] = column < inner ? call.weight[row * inner + column] : 0.0f;
            } else {
                both[e] = call.u[row * STATES + (octet - 2 * X) * 8 + 2 * c + e];
            }
        }
        table[at] = stored(split_right(both));
    }
}

template <int X>
__device__ __forceinline__ void lstm_tiled_forward(const LstmTiled& call) {
    extern __shared__ float4 shared[];
    float4* table = shared;
    float* biases = (float*)(table + (2 * X + OCTETS) * OCTETS * 4 * 32);
    const Place at(call.vertices);
    // States of the tile before and after a step, [2][16][STATE_ROW].
    float* states = biases + GATES + at.tile * 2 * 16 * STATE_ROW;
    // What is on its way: the input's share of the next step, or the next piece of the input.
    float2 given[4][2];
    Piece pieces[2];
    auto ask = [&](u64 step, u32 piece) {
        if constexpr (X == 0) {
            #pragma unroll
            for (int row = 0; row < 2; ++row) {
                const float* from = call.x + (step + at.rows[row]) * GATES + at.unit;
                #pragma unroll
                for (int gate = 0; gate < 4; ++gate) given[gate][row] = pair_at(from + gate * STATES);
            }
        } else {
            pieces[piece % 2].load(call, at, step, piece);
        }
    };
    ask(0, 0);
    fill_forward<X>(call, table);
    for (u32 gate = threadIdx.x; gate < GATES; gate += blockDim.x) {
        biases[gate] = (call.input_bias ? call.input_bias[gate] : 0.0f) + (call.bias ? call.bias[gate] : 0.0f);
    }
    float2 state[2], memory[2];
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        state[row] = pair_at(call.h0 + (u64)at.rows[row] * STATES + at.unit);
        memory[row] = pair_at(call.c0 + (u64)at.rows[row] * STATES + at.unit);
        *(float2*)(states + (at.g + 8 * row) * STATE_ROW + at.unit) = state[row];
    }
    __syncthreads();
    for (u32 t = 0; t < call.steps; ++t) {
        const u64 step = t * call.vertices, next = step + call.vertices;
        float sums[4][4], rest[4][4] = {};
        #pragma unroll
        for (int gate = 0; gate < 4; ++gate) {
            const float2 b = pair_at(biases + gate * STATES + at.unit);
            #pragma unroll
            for (int row = 0; row < 2; ++row) {
                const float2 from = X == 0 ? given[gate][row] : make_float2(0.0f, 0.0f);
                sums[gate][2 * row] = b.x + from.x;
                sums[gate][2 * row + 1] = b.y + from.y;
            }
        }
        // The weights of one octet of the inner dimension.
        auto load = [&](u32 octet, Right (&right)[4]) {
            const float4* weights = table + (octet * OCTETS + at.octet) * 4 * 32 + at.lane;
            #pragma unroll
            for (int gate = 0; gate < 4; ++gate) right[gate] = restored(weights[gate * 32]);
        };
        if constexpr (X > 0) {
            #pragma unroll
            for (int piece = 0; piece < X; ++piece) {
                if (piece + 1 < X) ask(step, piece + 1);
                else if (t + 1 < call.steps) ask(next, 0);
                #pragma unroll
                for (int octet = 0; octet < 2; ++octet) {
                    Right right[4];
                    load(2 * piece + octet, right);
                    add_tiles(sums, rest, pieces[piece % 2].left(octet), right);
                }
            }
        } else if (t + 1 < call.steps) {
            ask(next, 0);
        }
        // The states of all warps are there.
        at.meet();
        const float* now = states + t % 2 * 16 * STATE_ROW + at.g * STATE_ROW + 2 * at.c;
        #pragma unroll
        for (int octet = 0; octet < OCTETS; ++octet) {
            Right right[4];
            load(2 * X + octet, right);
            add_tiles(sums, rest, left_at(now + octet * 8, STATE_ROW), right);
        }
        float* after = states + (t + 1) % 2 * 16 * STATE_ROW;
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            const u64 cell = step + at.rows[row];
            LstmCell cells[2];
            #pragma unroll
            for (int e = 0; e < 2; ++e) {
                const int v = 2 * row + e;
                float of[4];
                #pragma unroll
                for (int gate = 0; gate < 4; ++gate) of[gate] = sums[gate][v] + rest[gate][v];
                cells[e] = lstm_cell(of[0], of[1], of[2], of[3], e ? memory[row].y : memory[row].x);
            }
            const float2 new_state =
                make_float2(cells[0].o * tangent(cells[0].memory), cells[1].o * tangent(cells[1].memory));
            const bool absent = call.mask && call.mask[cell] == 0.0f;
            if (!absent) state[row] = new_state;
            if (!absent) memory[row] = make_float2(cells[0].memory, cells[1].memory);
            *(float2*)(after + (at.g + 8 * row) * STATE_ROW + at.unit) = state[row];
            if (!at.here[row]) continue;
            float* gates = call.gates + cell * GATES + at.unit;
            *(float2*)gates = make_float2(cells[0].i, cells[1].i);
            *(float2*)(gates + STATES) = make_float2(cells[0].f, cells[1].f);
            *(float2*)(gates + 2 * STATES) = make_float2(cells[0].g, cells[1].g);
            *(float2*)(gates + 3 * STATES) = make_float2(cells[0].o, cells[1].o);
            *(float2*)(call.memories + cell * STATES + at.unit) = memory[row];
            *(float2*)(call.out_h + cell * STATES + at.unit) = state[row];
        }
    }
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        if (at.here[row]) *(float2*)(call.out_c + (u64)at.rows[row] * STATES + at.unit) = memory[row];
    }
}

// ---- Backward. The gradients of the gates are multiplied with the weights of the input and of the
// states: both are columns of one matrix, the input's octets before the states'.

// Right tiles [octet of gates][octet of columns][lane].
template <int X>
__device__ __forceinline__ void fill_backward(const LstmTiled& call, float4* table) {
    const u32 inner = call.wide_a + call.wide_b;
    constexpr u32 ACROSS = 2 * X + OCTETS;
    for (u32 at = threadIdx.x; at < 4 * OCTETS * ACROSS * 32; at += blockDim.x) {
        const u32 lane = at % 32, octet = at / 32 % ACROSS, n = lane / 4;
        const u32 row = at / 32 / ACROSS * 8 + lane % 4 * 2;
        float both[2];
        for (u32 e = 0; e < 2; ++e) {
            if ((int)octet < 2 * X) {
                const u32 column = weight_column(call, octet * 8 + n);
                both[e] = column < inner ? call.weight[(row + e) * inner + column] : 0.0f;
            } else {
                both[e] = call.u[(row + e) * STATES + (octet - 2 * X) * 8 + n];
            }
        }
        table[at] = stored(split_right(both));
    }
}

// What a step back reads of a row.
struct Earlier {
    float2 gates[4], d_h, memory;

    __device__ __forceinline__ void load(const LstmTiled& call, u32 t, u32 vertex, u32 unit) {
        const u64 cell = t * call.vertices + vertex;
        const float* of = call.gates + cell * GATES + unit;
        #pragma unroll
        for (int gate = 0; gate < 4; ++gate) gates[gate] = pair_at(of + gate * STATES);
        d_h = t < call.d_from ? make_float2(0.0f, 0.0f) : pair_at(call.d_h + cell * STATES + unit);
        memory = pair_at(t == 0 ? call.c0 + (u64)vertex * STATES + unit : call.memories + (cell - call.vertices) * STATES + unit);
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
    float4* table = shared;
    const Place at(call.vertices);
    // The gradients of the tile's gates at this step and the one after it, [2][16][GATE_ROW].
    float* sent = (float*)(table + 4 * OCTETS * ACROSS * 32) + at.tile * 2 * 16 * GATE_ROW;
    Earlier now[2];
    float carry[2][2] = {}, d_memory[2][2], memory[2][2];
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        now[row].load(call, call.steps - 1, at.rows[row], at.unit);
        const u64 last = (call.steps - 1) * call.vertices + at.rows[row];
        const float2 m = pair_at(call.memories + last * STATES + at.unit);
        const float2 d = call.d_c ? pair_at(call.d_c + (u64)at.rows[row] * STATES + at.unit) : make_float2(0.0f, 0.0f);
        memory[row][0] = m.x, memory[row][1] = m.y;
        d_memory[row][0] = d.x, d_memory[row][1] = d.y;
    }
    fill_backward<X>(call, table);
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
                auto of = [&](const float2& pair) { return e ? pair.y : pair.x; };
                const LstmCell cell_now = {
                    of(now[row].gates[0]), of(now[row].gates[1]), of(now[row].gates[2]), of(now[row].gates[3]), memory[row][e]
                };
                const float d = carry[row][e] + of(now[row].d_h), old = of(now[row].memory);
                float d_old = d_memory[row][e];
                lstm_cell_back(cell_now, old, d, d_old, to[e]);
                carry[row][e] = absent ? d : 0.0f;
                d_memory[row][e] = absent ? d_memory[row][e] : d_old;
                memory[row][e] = old;
                #pragma unroll
                for (int gate = 0; gate < 4; ++gate) to[e][gate] = absent ? 0.0f : to[e][gate];
            }
            #pragma unroll
            for (int gate = 0; gate < 4; ++gate) {
                const float2 pair = make_float2(to[0][gate], to[1][gate]);
                if (at.here[row]) *(float2*)(call.d_gates + cell * GATES + gate * STATES + at.unit) = pair;
                *(float2*)(sent_now + (at.g + 8 * row) * GATE_ROW + gate * STATES + at.unit) = pair;
            }
            if (t > 0) now[row].load(call, t - 1, at.rows[row], at.unit);
        }
        at.meet();
        // Of the own octets of the input and then of the states.
        float sums[OWN][4] = {}, rest[OWN][4] = {};
        #pragma unroll 4
        for (u32 octet = 0; octet < 4 * OCTETS; ++octet) {
            const float4* weights = table + octet * ACROSS * 32 + at.lane;
            Right right[OWN];
            #pragma unroll
            for (int own = 0; own < OF_X; ++own) right[own] = restored(weights[(at.octet * OF_X + own) * 32]);
            right[OF_X] = restored(weights[(2 * X + at.octet) * 32]);
            add_tiles(sums, rest, left_at(sent_now + at.g * GATE_ROW + octet * 8 + 2 * at.c, GATE_ROW), right);
        }
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            #pragma unroll
            for (int own = 0; own < OWN; ++own) {
                float of[2];
                #pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int v = 2 * row + e;
                    of[e] = sums[own][v] + rest[own][v];
                }
                if (own == OF_X) {
                    carry[row][0] += of[0], carry[row][1] += of[1];
                } else if (at.here[row]) {
                    put_features(call, step + at.rows[row], (at.octet * OF_X + own) * 8 + 2 * at.c, of[0], of[1]);
                }
            }
        }
    }
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        #pragma unroll
        for (int e = 0; e < 2; ++e) {
            if (!at.here[row]) continue;
            const u64 place = (u64)at.rows[row] * STATES + at.unit + e;
            if (call.d_h0) call.d_h0[place] += carry[row][e];
            if (call.d_c0) call.d_c0[place] += d_memory[row][e];
        }
    }
}

// By pieces of the input; none of few vertices, whose blocks have one tile.
#define LSTM_TILED(X, THREADS)                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS) lstm_tiled_forward_##X(LstmTiled call) {  \
        lstm_tiled_forward<X>(call);                                                                \
    }                                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS) lstm_tiled_backward_##X(LstmTiled call) { \
        lstm_tiled_backward<X>(call);                                                               \
    }

LSTM_TILED(0, 128)
LSTM_TILED(2, 640)
LSTM_TILED(4, 640)
