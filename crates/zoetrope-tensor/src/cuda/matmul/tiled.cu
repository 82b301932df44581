// Products of many rows with a small matrix by tensor cores (`tiles.cuh`), and their gradients in one pass.
//
//   forward    y = activation(x·W + b + plus)              x [rows, inner], W inner × width
//   backward   dz = activation'(y)·dy, dx (+)= dz·Wᵀ, dW (+)= dzᵀ·x (or its transpose), db += Σ dz
//
// Both sides of W are multiples of four up to 32.
//
// A warp takes 16 rows at a time and reads the next ones meanwhile: straight into registers, in the
// order in which tensor cores want them, with 16-byte accesses, as results are written. W lies in shared memory
// in parts. For dW, rows are the inner dimension: the warp turns its rows round in shared memory of its
// own, without waiting for others, and keeps all of dW in registers until the end of its share.
//
// Bound by memory: forward reads x (and plus) and writes y once; backward reads dy, y and x and writes dx once.
//
// Order of sums: that of the tensor cores over the inner dimension. Of a weight gradient, the warps of a
// block take tiles of its share in turn and are added in order; shares are added by
// `reduce_add_shares`. Shares depend on the shape alone.
//
// blockIdx.y counts the members of a batch; `_step` is the distance between members in elements.
//
// No CPU twin: `cpu::matmul` computes the same, whatever the shape.

#define WARPS 4
#define ROWS 16

extern __shared__ float4 room[];

__device__ __forceinline__ float4 nothing() { return make_float4(0.0f, 0.0f, 0.0f, 0.0f); }

__device__ __forceinline__ float4 plus4(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Which activation it is, is asked once for four values; most are relu or none.
__device__ __forceinline__ float4 activated(u32 activation, float parameter, float4 v) {
    if (activation == 0) return v;
    if (activation == 1) {
        v.x = activation_value(1, parameter, v.x), v.y = activation_value(1, parameter, v.y);
        v.z = activation_value(1, parameter, v.z), v.w = activation_value(1, parameter, v.w);
    } else {
        v.x = activation_value(activation, parameter, v.x), v.y = activation_value(activation, parameter, v.y);
        v.z = activation_value(activation, parameter, v.z), v.w = activation_value(activation, parameter, v.w);
    }
    return v;
}

// The gradient before the activation, whose values are y.
__device__ __forceinline__ float4 before(u32 activation, float parameter, float4 v, float4 y) {
    if (activation == 1) {
        v.x *= activation_slope(1, parameter, y.x), v.y *= activation_slope(1, parameter, y.y);
        v.z *= activation_slope(1, parameter, y.z), v.w *= activation_slope(1, parameter, y.w);
    } else {
        v.x *= activation_slope(activation, parameter, y.x), v.y *= activation_slope(activation, parameter, y.y);
        v.z *= activation_slope(activation, parameter, y.z), v.w *= activation_slope(activation, parameter, y.w);
    }
    return v;
}

// A lane of a tile has rows g and g + 8, of each piece of 16 columns those from 4c on.
struct Place {
    u32 lane, warp, g, c;

    __device__ Place() : lane(threadIdx.x % 32), warp(threadIdx.x / 32), g(lane / 4), c(lane % 4) {}
};

// A lane's part of 16 rows of PIECES pieces.
template <int PIECES>
struct Tile {
    float4 at[PIECES][2];

    // The last row in place of those that are not there, 0 in place of columns.
    __device__ __forceinline__ void load(const float* from, u64 stride, u32 cols, u64 first, u64 rows, const Place& place) {
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            const u64 own = min(first + place.g + 8 * row, rows - 1);
            #pragma unroll
            for (int piece = 0; piece < PIECES; ++piece) {
                const u32 column = 16 * piece + 4 * place.c;
                at[piece][row] = column < cols ? __ldg((const float4*)(from + own * stride + column)) : nothing();
            }
        }
    }

    template <class Change>
    __device__ __forceinline__ void change(Change change) {
        #pragma unroll
        for (int piece = 0; piece < PIECES; ++piece) {
            #pragma unroll
            for (int row = 0; row < 2; ++row) at[piece][row] = change(at[piece][row], piece, row);
        }
    }

    // The left tile of one octet of columns, of which a piece has two.
    __device__ __forceinline__ Left left(int octet) const {
        const float4 a = at[octet / 2][0], b = at[octet / 2][1];
        const bool later = octet % 2;
        const float left[4] = {later ? a.z : a.x, later ? b.z : b.x, later ? a.w : a.y, later ? b.w : b.y};
        return split_left(left);
    }

    // Puts the rows into shared memory.
    __device__ __forceinline__ void put(float* to, u32 pitch, const Place& place) const {
        #pragma unroll
        for (int piece = 0; piece < PIECES; ++piece) {
            #pragma unroll
            for (int row = 0; row < 2; ++row)
                *(float4*)(to + (place.g + 8 * row) * pitch + 16 * piece + 4 * place.c) = at[piece][row];
        }
    }
};

// W as right tiles [octet of the inner dimension][octet of columns][lane]. Octets are named as tiles
// have them: an octet of a piece has columns 4i + 2·octet and the one after that, i = 0 … 3.
template <int INNER, int ACROSS>
__device__ __forceinline__ void fill(const float* w, u32 row_stride, u32 col_stride, u32 inner, u32 width, float4* table) {
    for (u32 at = threadIdx.x; at < 2 * INNER * 2 * ACROSS * 32; at += WARPS * 32) {
        const u32 g = at % 32 / 4, c = at % 4, across = at / 32 % (2 * ACROSS), octet = at / 32 / (2 * ACROSS);
        const u32 row = octet / 2 * 16 + 4 * c + octet % 2 * 2, col = across / 2 * 16 + g / 2 * 4 + across % 2 * 2 + g % 2;
        float both[2];
        #pragma unroll
        for (u32 e = 0; e < 2; ++e) {
            const bool within = row + e < inner && col < width;
            both[e] = within ? __ldg(w + (row + e) * row_stride + col * col_stride) : 0.0f;
        }
        table[at] = stored(split_right(both));
    }
}

// result += tile·W.
template <int INNER, int ACROSS>
__device__ __forceinline__ void multiply(
    const Tile<INNER>& tile, const float4* table, const Place& place, float (&sums)[2 * ACROSS][4]
) {
    #pragma unroll
    for (int octet = 0; octet < 2 * INNER; ++octet) {
        Right right[2 * ACROSS];
        #pragma unroll
        for (int across = 0; across < 2 * ACROSS; ++across)
            right[across] = restored(table[(octet * 2 * ACROSS + across) * 32 + place.lane]);
        add_tiles(sums, sums, tile.left(octet), right);
    }
}

// A lane's four neighbours of a product.
template <int OCTETS>
__device__ __forceinline__ float4 four_of(const float (&sums)[OCTETS][4], int piece, int row) {
    return make_float4(
        sums[2 * piece][2 * row], sums[2 * piece][2 * row + 1], sums[2 * piece + 1][2 * row], sums[2 * piece + 1][2 * row + 1]
    );
}

template <int INNER, int ACROSS>
__device__ __forceinline__ void forward(
    const float* x, u64 x_stride, const float* w, u32 w_row, u32 w_col, const float* bias,
    const float* plus, float* y, u64 y_stride, u32 activation, float parameter, u64 rows, u32 inner, u32 width
) {
    const Place place;
    const u64 stride = (u64)gridDim.x * WARPS * ROWS;
    u64 first = ((u64)blockIdx.x * WARPS + place.warp) * ROWS;
    Tile<INNER> next;
    next.load(x, x_stride, inner, first, rows, place);
    fill<INNER, ACROSS>(w, w_row, w_col, inner, width, room);
    float4 biases[ACROSS];
    #pragma unroll
    for (int piece = 0; piece < ACROSS; ++piece) {
        const u32 column = 16 * piece + 4 * place.c;
        biases[piece] = bias && column < width
            ? make_float4(bias[column], bias[column + 1], bias[column + 2], bias[column + 3]) : nothing();
    }
    __syncthreads();
    for (; first < rows; first += stride) {
        Tile<INNER> tile = next;
        if (first + stride < rows) next.load(x, x_stride, inner, first + stride, rows, place);
        float sums[2 * ACROSS][4] = {};
        multiply<INNER, ACROSS>(tile, room, place, sums);
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            const u64 own = first + place.g + 8 * row;
            #pragma unroll
            for (int piece = 0; piece < ACROSS; ++piece) {
                const u32 column = 16 * piece + 4 * place.c;
                if (own >= rows || column >= width) continue;
                const u64 at = own * y_stride + column;
                float4 v = plus4(four_of(sums, piece, row), biases[piece]);
                if (plus) v = plus4(v, *(const float4*)(plus + at));
                *(float4*)(y + at) = activated(activation, parameter, v);
            }
        }
    }
}

#define FORWARD(INNER, ACROSS)                                                                                 \
    extern "C" __global__ __launch_bounds__(WARPS * 32, 5) void tiled_forward_##INNER##_##ACROSS(              \
        const float* x, u64 x_stride, u64 x_step,                                                              \
        const float* w, u32 w_row, u32 w_col, u64 w_step, const float* bias,                                   \
        const float* plus, float* y, u64 y_stride, u64 y_step, u32 activation, float parameter,                \
        u64 rows, u32 inner, u32 width                                                                         \
    ) {                                                                                                        \
        const u64 member = blockIdx.y;                                                                         \
        forward<INNER, ACROSS>(                                                                                \
            x + member * x_step, x_stride, w + member * w_step, w_row, w_col, bias,                            \
            plus ? plus + member * y_step : nullptr, y + member * y_step, y_stride, activation, parameter,     \
            rows, inner, width                                                                                 \
        );                                                                                                     \
    }

FORWARD(1, 1)
FORWARD(1, 2)
FORWARD(2, 1)
FORWARD(2, 2)

// The weight gradient of a warp: OUTS tiles of 16 outputs by 2·INS octets of inputs.
template <int OUTS, int INS>
struct Gradient {
    // Floats from one row in shared memory to the next: eight rows of eight fill the banks.
    static const u32 OUT_PITCH = 16 * OUTS + 8, IN_PITCH = 16 * INS + 8;
    // Floats of a warp's own shared memory: its rows, or its gradient.
    static const u32 OWN = ROWS * (OUT_PITCH + IN_PITCH);

    float sums[OUTS][2 * INS][4];

    // Adds dzᵀ·x of a tile of rows, which lie in shared memory.
    __device__ __forceinline__ void add(const float* dz, const float* x, const Place& place) {
        #pragma unroll
        for (u32 row = 0; row < ROWS; row += 8) {
            Right right[2 * INS];
            #pragma unroll
            for (int octet = 0; octet < 2 * INS; ++octet) {
                const float* from = x + (row + place.c) * IN_PITCH + 8 * octet + place.g;
                const float both[2] = {from[0], from[4 * IN_PITCH]};
                right[octet] = split_right(both);
            }
            #pragma unroll
            for (int out = 0; out < OUTS; ++out) {
                const float* from = dz + (row + place.c) * OUT_PITCH + 16 * out + place.g;
                const float mine[4] = {from[0], from[8], from[4 * OUT_PITCH], from[4 * OUT_PITCH + 8]};
                add_tiles(sums[out], sums[out], split_left(mine), right);
            }
        }
    }

    // Puts it into shared memory, [16·OUTS][16·INS].
    __device__ __forceinline__ void put(float* to, const Place& place) const {
        #pragma unroll
        for (int out = 0; out < OUTS; ++out) {
            #pragma unroll
            for (int octet = 0; octet < 2 * INS; ++octet) {
                #pragma unroll
                for (int row = 0; row < 2; ++row) {
                    *(float2*)(to + (16 * out + place.g + 8 * row) * 16 * INS + 8 * octet + 2 * place.c) =
                        make_float2(sums[out][octet][2 * row], sums[out][octet][2 * row + 1]);
                }
            }
        }
    }
};

// The gradients of one share of the rows. W and dW have the element between output o and input i at
// o·w_row + i·w_col, members of a batch behind each other. `shares` is null if there is one share:
// its sums go to dw and db. Shared memory: W if dx is wanted, then that of each warp.
template <int OUTS, int INS, bool WITH_DX>
__device__ __forceinline__ void backward(
    const float* dy, const float* y, u64 dy_stride, u32 activation, float parameter, const float* x, u64 x_stride,
    const float* w, u32 w_row, u32 w_col, float* dx, u32 dx_add, float* dw, u32 dw_add, float* db,
    float* shares, u64 rows, u64 share_rows, u32 outs, u32 ins
) {
    typedef Gradient<OUTS, INS> Own;
    static_assert(Own::OWN >= 16 * OUTS * 16 * INS + 16 * OUTS, "room for a gradient and sums of columns");
    const Place place;
    float* all = (float*)(room + (WITH_DX ? 2 * OUTS * 2 * INS * 32 : 0));
    float* dz_rows = all + place.warp * Own::OWN;
    float* x_rows = dz_rows + ROWS * Own::OUT_PITCH;
    const u64 from = blockIdx.x * share_rows, to = min(rows, from + share_rows);
    u64 first = from + place.warp * ROWS;
    Tile<OUTS> next_dy, next_y;
    Tile<INS> next_x;
    auto ask = [&](u64 at) {
        if (at >= to) return;
        next_dy.load(dy, dy_stride, outs, at, to, place);
        if (y) next_y.load(y, dy_stride, outs, at, to, place);
        next_x.load(x, x_stride, ins, at, to, place);
    };
    ask(first);
    if (WITH_DX) fill<OUTS, INS>(w, w_row, w_col, outs, ins, room);
    Own gradient = {};
    float4 columns[OUTS];
    #pragma unroll
    for (int piece = 0; piece < OUTS; ++piece) columns[piece] = nothing();
    __syncthreads();
    for (; first < to; first += WARPS * ROWS) {
        Tile<OUTS> dz = next_dy;
        dz.change([&](float4 v, int piece, int row) {
            if (first + place.g + 8 * row >= to) return nothing();
            return y ? before(activation, parameter, v, next_y.at[piece][row]) : v;
        });
        const Tile<INS> inputs = next_x;
        ask(first + WARPS * ROWS);
        dz.put(dz_rows, Own::OUT_PITCH, place);
        inputs.put(x_rows, Own::IN_PITCH, place);
        if (db) {
            #pragma unroll
            for (int piece = 0; piece < OUTS; ++piece)
                columns[piece] = plus4(columns[piece], plus4(dz.at[piece][0], dz.at[piece][1]));
        }
        if constexpr (WITH_DX) {
            float sums[2 * INS][4] = {};
            multiply<OUTS, INS>(dz, room, place, sums);
            #pragma unroll
            for (int row = 0; row < 2; ++row) {
                const u64 own = first + place.g + 8 * row;
                #pragma unroll
                for (int piece = 0; piece < INS; ++piece) {
                    const u32 column = 16 * piece + 4 * place.c;
                    if (own >= to || column >= ins) continue;
                    const float4 v = four_of(sums, piece, row);
                    float4* target = (float4*)(dx + own * x_stride + column);
                    *target = dx_add ? plus4(v, *target) : v;
                }
            }
        }
        __syncwarp();
        gradient.add(dz_rows, x_rows, place);
        __syncwarp();
    }
    // Columns of a warp: over its rows, which are those of the lanes g.
    #pragma unroll
    for (int piece = 0; piece < OUTS; ++piece) {
        float* of = &columns[piece].x;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            #pragma unroll
            for (u32 distance = 4; distance < 32; distance *= 2) of[i] += __shfl_xor_sync(FULL_WARP, of[i], distance);
        }
    }
    gradient.put(dz_rows, place);
    if (place.g == 0) {
        #pragma unroll
        for (int piece = 0; piece < OUTS; ++piece)
            *(float4*)(dz_rows + 16 * OUTS * 16 * INS + 16 * piece + 4 * place.c) = columns[piece];
    }
    __syncthreads();
    const u32 dw_place = shares ? 0 : dw_add, db_place = shares ? 0 : 1;
    if (shares) {
        const u64 len = outs * ins + (db ? outs : 0);
        dw = shares + ((u64)blockIdx.y * gridDim.x + blockIdx.x) * len;
        if (db) db = dw + outs * ins;
    }
    auto joined = [&](u32 at) {
        float sum = all[at];
        #pragma unroll
        for (u32 warp = 1; warp < WARPS; ++warp) sum += all[warp * Own::OWN + at];
        return sum;
    };
    for (u32 at = threadIdx.x; at < 16 * OUTS * 16 * INS; at += WARPS * 32) {
        const u32 out = at / (16 * INS), in = at % (16 * INS);
        if (out < outs && in < ins) put(dw + out * w_row + in * w_col, joined(at), dw_place);
    }
    if (db && threadIdx.x < outs) put(db + threadIdx.x, joined(16 * OUTS * 16 * INS + threadIdx.x), db_place);
}

#define BACKWARD(NAME, OUTS, INS, WITH_DX)                                                             \
    extern "C" __global__ __launch_bounds__(WARPS * 32, 3) void NAME##_##OUTS##_##INS(                 \
        const float* dy, const float* y, u64 dy_stride, u64 dy_step, u32 activation, float parameter, \
        const float* x, u64 x_stride, u64 x_step,                                                      \
        const float* w, u32 w_row, u32 w_col, float* dx, u32 dx_add, float* dw, u32 dw_add,            \
        float* db, float* shares, u64 rows, u64 share_rows, u32 outs, u32 ins                          \
    ) {                                                                                                \
        const u64 member = blockIdx.y, weights = (u64)outs * ins;                                      \
        backward<OUTS, INS, WITH_DX>(                                                                  \
            dy + member * dy_step, y ? y + member * dy_step : nullptr, dy_stride, activation,          \
            parameter, x + member * x_step, x_stride, w + member * weights, w_row, w_col,              \
            dx + member * x_step, dx_add, dw + member * weights, dw_add, db, shares, rows, share_rows, \
            outs, ins                                                                                  \
        );                                                                                             \
    }

#define BACKWARDS(OUTS, INS)                  \
    BACKWARD(tiled_backward, OUTS, INS, true) \
    BACKWARD(tiled_weights, OUTS, INS, false)

BACKWARDS(1, 1)
BACKWARDS(1, 2)
BACKWARDS(2, 1)
BACKWARDS(2, 2)
