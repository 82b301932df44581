// Products of a matrix of many rows with a small one, and their gradients in one pass.
//
//   forward    y = activation(x·W + b + plus)              x [rows, inner], W inner × width
//   backward   dz = activation'(y)·dy, dx (+)= dz·Wᵀ, dW (+)= dzᵀ·x (or its transpose), db += Σ dz
//
// If `rectified`, x stands for relu(x): the layer that reads embeddings out.
//
// Bound by memory while inner·width ≤ 4096. Floors: forward reads x (and plus) and writes y once;
// backward reads dy, y and x and writes dx once. A block of 256 threads moves tiles of rows through
// shared memory with 16-byte accesses, whatever the width of a row, and multiplies from there: a
// thread owns four columns of up to four rows of a product, and a 4 × 4 (or 8 × 8) cell of the
// weight gradient, which stays in its registers over all tiles of the block's share of the rows.
//
// Order of sums: a product sums over the inner dimension in order. A weight gradient sums over the
// rows of a share in as many interleaved groups as fit into a block, joined in a tree; shares are
// added by `reduce_add_shares`. Shares depend on the shape alone.
//
// blockIdx.y counts the members of a batch; `_step` is the distance between members in elements.

#define THREADS 256

extern __shared__ float4 room[];

// Rows in shared memory begin an odd number of quads apart, so that eight consecutive rows lie in
// different banks when eight lanes read a quad each.
__device__ __forceinline__ u32 quads_of(u32 cols) {
    return (cols + 3) / 4;
}

__device__ __forceinline__ u32 pitch_of(u32 cols) {
    return 4 * (quads_of(cols) | 1);
}

__device__ __forceinline__ bool aligned(const float* address) {
    return ((u64)address & 15) == 0;
}

__device__ __forceinline__ float4 plus4(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Rows to be read, each value by itself or as a function of another: the gradient behind an
// activation, or a rectified value.
struct Rows {
    const float* values;
    const float* outputs;  // of the activation that the values are the gradient of, or null
    u64 stride;
    u32 cols;
    u32 activation;
    float parameter;
    u32 rectified;

    __device__ __forceinline__ float changed(float value, float output) const {
        if (outputs) value *= activation_slope(activation, parameter, output);
        return rectified ? fmaxf(value, 0.0f) : value;
    }

    __device__ __forceinline__ float one(u64 at) const {
        float value = __ldg(values + at);
        return changed(value, outputs ? __ldg(outputs + at) : 0.0f);
    }

    __device__ __forceinline__ float4 four(u64 at) const {
        float4 v = __ldg((const float4*)(values + at));
        float4 y = outputs ? __ldg((const float4*)(outputs + at)) : make_float4(0, 0, 0, 0);
        return make_float4(changed(v.x, y.x), changed(v.y, y.y), changed(v.z, y.z), changed(v.w, y.w));
    }
};

// Brings `count` rows into a tile; what is missing to whole quads becomes 0.
__device__ void load_rows(const Rows& rows, u64 first, u32 count, float* tile) {
    u32 cols = rows.cols, pitch = pitch_of(cols), all = count * cols;
    u64 start = first * rows.stride;
    bool whole = aligned(rows.values + start) && (!rows.outputs || aligned(rows.outputs + start));
    if (whole && rows.stride == cols) {
        // One stretch of memory: quads may begin in one row and end in another.
        #pragma unroll 4
        for (u32 at = 4 * threadIdx.x; at + 3 < all; at += 4 * THREADS) {
            float4 v = rows.four(start + at);
            u32 row = at / cols, col = at - row * cols;
            if (cols % 4 == 0) {
                *(float4*)(tile + row * pitch + col) = v;
            } else {
                float parts[4] = {v.x, v.y, v.z, v.w};
                #pragma unroll
                for (u32 i = 0; i < 4; ++i) {
                    tile[row * pitch + col] = parts[i];
                    if (++col == cols) col = 0, ++row;
                }
            }
        }
        u32 at = all / 4 * 4 + threadIdx.x;
        if (at < all) tile[at / cols * pitch + at % cols] = rows.one(start + at);
    } else if (whole && rows.stride % 4 == 0 && cols % 4 == 0) {
        u32 quads = cols / 4;
        #pragma unroll 4
        for (u32 at = threadIdx.x; at < count * quads; at += THREADS) {
            u32 row = at / quads, col = 4 * (at - row * quads);
            *(float4*)(tile + row * pitch + col) = rows.four(start + row * rows.stride + col);
        }
    } else {
        #pragma unroll 4
        for (u32 at = threadIdx.x; at < all; at += THREADS) {
            u32 row = at / cols, col = at - row * cols;
            tile[row * pitch + col] = rows.one(start + row * rows.stride + col);
        }
    }
    if (cols % 4 == 0) return;
    for (u32 row = threadIdx.x; row < count; row += THREADS) {
        for (u32 col = cols; col < 4 * quads_of(cols); ++col) tile[row * pitch + col] = 0.0f;
    }
}

// Brings the small matrix as inner × width, both rounded up to whole quads with 0.
__device__ void load_weights(const float* w, u32 row_stride, u32 col_stride, u32 inner, u32 width, float* to) {
    u32 high = 4 * quads_of(inner), wide = 4 * quads_of(width);
    #pragma unroll 4
    for (u32 at = threadIdx.x; at < high * wide; at += THREADS) {
        // Along the stored rows, whichever direction they have.
        u32 row = col_stride == 1 ? at / wide : at % high;
        u32 col = col_stride == 1 ? at % wide : at / high;
        bool within = row < inner && col < width;
        to[row * wide + col] = within ? __ldg(w + row * row_stride + col * col_stride) : 0.0f;
    }
}

__device__ __forceinline__ float4 fma4(float x, float4 w, float4 sum) {
    return make_float4(fmaf(x, w.x, sum.x), fmaf(x, w.y, sum.y), fmaf(x, w.z, sum.z), fmaf(x, w.w, sum.w));
}

// Which columns and rows of a product a thread owns: a quad of columns of the rows
// group, group + groups, ... Neighbouring groups take neighbouring rows.
struct Place {
    u32 quad, group, groups, quads;

    __device__ explicit Place(u32 width) {
        quads = quads_of(width);
        groups = THREADS / quads;
        quad = threadIdx.x % quads;
        group = threadIdx.x / quads;
    }
};

// sums += tile·weights for the thread's rows.
template <u32 ROWS>
__device__ __forceinline__ void multiply(
    const Place& place, const float* tile, u32 inner, u32 count, const float* weights, float4 (&sums)[ROWS]
) {
    u32 pitch = pitch_of(inner), wide = 4 * place.quads;
    const float* x[ROWS];
    #pragma unroll
    for (u32 i = 0; i < ROWS; ++i) {
        // Rows that are not there are computed from the last one and never written.
        x[i] = tile + min(place.group + i * place.groups, count - 1) * pitch;
    }
    const float* w = weights + 4 * place.quad;
    for (u32 at = 0; at < inner; at += 4) {
        float4 w0 = *(const float4*)(w + (at + 0) * wide), w1 = *(const float4*)(w + (at + 1) * wide);
        float4 w2 = *(const float4*)(w + (at + 2) * wide), w3 = *(const float4*)(w + (at + 3) * wide);
        #pragma unroll
        for (u32 i = 0; i < ROWS; ++i) {
            float4 v = *(const float4*)(x[i] + at);
            sums[i] = fma4(v.w, w3, fma4(v.z, w2, fma4(v.y, w1, fma4(v.x, w0, sums[i]))));
        }
    }
}

// Puts the thread's part of a product into a tile of rows without gaps.
template <u32 ROWS>
__device__ __forceinline__ void stage(
    const Place& place, const float4 (&sums)[ROWS], u32 width, u32 count, float* tile
) {
    u32 col = 4 * place.quad;
    #pragma unroll
    for (u32 i = 0; i < ROWS; ++i) {
        u32 row = place.group + i * place.groups;
        if (place.group >= place.groups || row >= count) continue;
        float* to = tile + row * width + col;
        if (width % 4 == 0) {
            *(float4*)to = sums[i];
        } else {
            float parts[4] = {sums[i].x, sums[i].y, sums[i].z, sums[i].w};
            #pragma unroll
            for (u32 j = 0; j < 4; ++j) {
                if (col + j < width) to[j] = parts[j];
            }
        }
    }
}

// Rows to be written: activation(tile + plus); `plus` has the layout of `values` and may be it.
struct Target {
    float* values;
    const float* plus;
    u64 stride;
    u32 cols;
    u32 activation;
    float parameter;

    __device__ __forceinline__ float one(float value, u64 at) const {
        return activation_value(activation, parameter, plus ? value + plus[at] : value);
    }

    __device__ __forceinline__ void four(float4 v, u64 at) const {
        if (plus) v = plus4(v, *(const float4*)(plus + at));
        v.x = activation_value(activation, parameter, v.x);
        v.y = activation_value(activation, parameter, v.y);
        v.z = activation_value(activation, parameter, v.z);
        v.w = activation_value(activation, parameter, v.w);
        *(float4*)(values + at) = v;
    }
};

__device__ void store_rows(const Target& target, u64 first, u32 count, const float* tile) {
    u32 cols = target.cols, all = count * cols;
    u64 start = first * target.stride;
    bool whole = aligned(target.values + start) && (!target.plus || aligned(target.plus + start));
    bool one_stretch = target.stride == cols;
    if (whole && (one_stretch || (target.stride % 4 == 0 && cols % 4 == 0))) {
        for (u32 at = 4 * threadIdx.x; at + 3 < all; at += 4 * THREADS) {
            u32 row = one_stretch ? 0 : at / cols;
            target.four(*(const float4*)(tile + at), start + row * target.stride + (at - row * cols));
        }
        u32 at = all / 4 * 4 + threadIdx.x;
        if (at < all) target.values[start + at] = target.one(tile[at], start + at);
    } else {
        for (u32 at = threadIdx.x; at < all; at += THREADS) {
            u32 row = at / cols;
            u64 to = start + row * target.stride + (at - row * cols);
            target.values[to] = target.one(tile[at], to);
        }
    }
}

// Shared memory: the weights, then a tile of rows, whose place the results take.
template <u32 ROWS>
__device__ __forceinline__ void forward(
    Rows x, const float* w, u32 w_row, u32 w_col, const float* bias, Target y, u64 rows, u32 tile_rows
) {
    float* weights = &room[0].x;
    float* tile = weights + 16 * quads_of(x.cols) * quads_of(y.cols);
    Place place(y.cols);
    load_weights(w, w_row, w_col, x.cols, y.cols, weights);
    float parts[4];
    #pragma unroll
    for (u32 j = 0; j < 4; ++j) {
        u32 col = 4 * place.quad + j;
        parts[j] = bias && col < y.cols ? bias[col] : 0.0f;
    }
    float4 biases = make_float4(parts[0], parts[1], parts[2], parts[3]);
    for (u64 first = (u64)blockIdx.x * tile_rows; first < rows; first += (u64)gridDim.x * tile_rows) {
        u32 count = min((u64)tile_rows, rows - first);
        load_rows(x, first, count, tile);
        __syncthreads();
        float4 sums[ROWS];
        #pragma unroll
        for (u32 i = 0; i < ROWS; ++i) sums[i] = biases;
        multiply<ROWS>(place, tile, x.cols, count, weights, sums);
        __syncthreads();
        stage<ROWS>(place, sums, y.cols, count, tile);
        __syncthreads();
        store_rows(y, first, count, tile);
        __syncthreads();
    }
}

#define FORWARD(ROWS)                                                                            \
    extern "C" __global__ __launch_bounds__(THREADS) void thin_forward_##ROWS(                   \
        const float* x, u64 x_stride, u64 x_step, u32 rectified,                                 \
        const float* w, u32 w_row, u32 w_col, u64 w_step, const float* bias,                     \
        const float* plus, float* y, u64 y_stride, u64 y_step, u32 activation, float parameter,  \
        u64 rows, u32 inner, u32 width, u32 tile_rows                                            \
    ) {                                                                                          \
        u64 member = blockIdx.y;                                                                 \
        Rows input = {x + member * x_step, nullptr, x_stride, inner, 0, 0.0f, rectified};        \
        const float* summand = plus ? plus + member * y_step : nullptr;                          \
        Target target = {y + member * y_step, summand, y_stride, width, activation, parameter};  \
        forward<ROWS>(input, w + member * w_step, w_row, w_col, bias, target, rows, tile_rows);  \
    }

FORWARD(1)
FORWARD(2)
FORWARD(4)

// A cell of the weight gradient in the registers of a thread, for the rows
// group, group + groups, ... of every tile; and the sums of dz beside it.
template <u32 SIDE>
struct Cell {
    u32 left, right, group, groups, cells;
    float sums[SIDE][SIDE], column[SIDE];

    __device__ Cell(u32 outs, u32 ins) {
        u32 wide = (ins + SIDE - 1) / SIDE, high = (outs + SIDE - 1) / SIDE;
        cells = wide * high;
        groups = THREADS / cells;
        group = threadIdx.x / cells;
        u32 cell = threadIdx.x % cells;
        left = SIDE * (cell / wide);
        right = SIDE * (cell % wide);
        #pragma unroll
        for (u32 i = 0; i < SIDE; ++i) {
            column[i] = 0.0f;
            #pragma unroll
            for (u32 j = 0; j < SIDE; ++j) sums[i][j] = 0.0f;
        }
    }

    // Columns beyond the last one are read, too, and their sums never written.
    __device__ __forceinline__ void add(
        const float* dz, u32 dz_pitch, const float* x, u32 x_pitch, u32 count, bool with_columns
    ) {
        if (group >= groups) return;
        #pragma unroll 2
        for (u32 row = group; row < count; row += groups) {
            float a[SIDE], b[SIDE];
            #pragma unroll
            for (u32 i = 0; i < SIDE; i += 4) {
                *(float4*)(a + i) = *(const float4*)(dz + row * dz_pitch + left + i);
                *(float4*)(b + i) = *(const float4*)(x + row * x_pitch + right + i);
            }
            #pragma unroll
            for (u32 i = 0; i < SIDE; ++i) {
                #pragma unroll
                for (u32 j = 0; j < SIDE; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
            }
            if (with_columns && right == 0) {
                #pragma unroll
                for (u32 i = 0; i < SIDE; ++i) column[i] += a[i];
            }
        }
    }

    // Adds all groups into the first, in a tree; `shared` has room for half a block of cells.
    __device__ __forceinline__ void join(float* shared) {
        u32 half = 0;
        for (u32 left_over = groups; left_over > 1; left_over = half) {
            half = (left_over + 1) / 2;
            u32 slot = threadIdx.x - half * cells;
            if (group >= half && group < left_over) {
                #pragma unroll
                for (u32 i = 0; i < SIDE; ++i) {
                    shared[(SIDE * SIDE + i) * (THREADS / 2) + slot] = column[i];
                    #pragma unroll
                    for (u32 j = 0; j < SIDE; ++j) shared[(i * SIDE + j) * (THREADS / 2) + slot] = sums[i][j];
                }
            }
            __syncthreads();
            slot = threadIdx.x;
            if (group + half < left_over) {
                #pragma unroll
                for (u32 i = 0; i < SIDE; ++i) {
                    column[i] += shared[(SIDE * SIDE + i) * (THREADS / 2) + slot];
                    #pragma unroll
                    for (u32 j = 0; j < SIDE; ++j) sums[i][j] += shared[(i * SIDE + j) * (THREADS / 2) + slot];
                }
            }
            __syncthreads();
        }
    }

    // Writes what the first group holds: dw[i, j] at i·row + j·col.
    __device__ __forceinline__ void write(
        float* dw, u32 add, u32 row_stride, u32 col_stride, float* db, u32 db_add, u32 outs, u32 ins
    ) const {
        if (group != 0) return;
        #pragma unroll
        for (u32 i = 0; i < SIDE; ++i) {
            u32 row = left + i;
            if (row >= outs) break;
            #pragma unroll
            for (u32 j = 0; j < SIDE; ++j) {
                u32 col = right + j;
                if (col < ins) put(dw + row * row_stride + col * col_stride, sums[i][j], add);
            }
            if (db && right == 0) put(db + row, column[i], db_add);
        }
    }
};

// The gradients of one share of the rows. W and dW have the element between output o and input i at
// o·w_row + i·w_col, members of a batch behind each other. Shared memory: the weights (if dx is wanted), a tile of
// dz, a tile of x, whose place dx takes; and four values beyond, which the last cell may read.
// `shares` is null if there is one share: its sums go to dw and db.
template <u32 ROWS, u32 SIDE, bool WITH_DX>
__device__ __forceinline__ void backward(
    Rows dz, Rows x, const float* w, u32 w_row, u32 w_col, Target dx,
    float* dw, u32 dw_add, float* db, float* shares,
    u64 rows, u64 share_rows, u32 tile_rows
) {
    float* weights = &room[0].x;
    float* dz_tile = weights + (WITH_DX ? 16 * quads_of(dz.cols) * quads_of(x.cols) : 0);
    float* x_tile = dz_tile + tile_rows * pitch_of(dz.cols);
    Place place(x.cols);
    Cell<SIDE> cell(dz.cols, x.cols);
    if (WITH_DX) load_weights(w, w_row, w_col, dz.cols, x.cols, weights);
    u64 from = blockIdx.x * share_rows, to = min(rows, from + share_rows);
    for (u64 first = from; first < to; first += tile_rows) {
        u32 count = min((u64)tile_rows, to - first);
        load_rows(dz, first, count, dz_tile);
        load_rows(x, first, count, x_tile);
        __syncthreads();
        cell.add(dz_tile, pitch_of(dz.cols), x_tile, pitch_of(x.cols), count, db != nullptr);
        if (WITH_DX) {
            float4 sums[ROWS];
            #pragma unroll
            for (u32 i = 0; i < ROWS; ++i) sums[i] = make_float4(0, 0, 0, 0);
            multiply<ROWS>(place, dz_tile, dz.cols, count, weights, sums);
            if (x.rectified) {
                #pragma unroll
                for (u32 i = 0; i < ROWS; ++i) {
                    u32 row = min(place.group + i * place.groups, count - 1);
                    float4 v = *(const float4*)(x_tile + row * pitch_of(x.cols) + 4 * place.quad);
                    sums[i].x = v.x > 0.0f ? sums[i].x : 0.0f;
                    sums[i].y = v.y > 0.0f ? sums[i].y : 0.0f;
                    sums[i].z = v.z > 0.0f ? sums[i].z : 0.0f;
                    sums[i].w = v.w > 0.0f ? sums[i].w : 0.0f;
                }
            }
            __syncthreads();
            stage<ROWS>(place, sums, x.cols, count, x_tile);
            __syncthreads();
            store_rows(dx, first, count, x_tile);
        }
        __syncthreads();
    }
    cell.join(dz_tile);
    if (shares) {
        u64 len = dz.cols * x.cols + (db ? dz.cols : 0);
        dw = shares + ((u64)blockIdx.y * gridDim.x + blockIdx.x) * len;
        if (db) db = dw + dz.cols * x.cols;
    }
    cell.write(dw, shares ? 0 : dw_add, w_row, w_col, db, shares ? 0 : 1, dz.cols, x.cols);
}

#define BACKWARD(NAME, ROWS, SIDE, WITH_DX)                                                        \
    extern "C" __global__ __launch_bounds__(THREADS, SIDE == 4 ? 3 : 2) void NAME(                 \
        const float* dy, const float* y, u64 dy_stride, u64 dy_step, u32 activation, float parameter, \
        const float* x, u64 x_stride, u64 x_step, u32 rectified,                                   \
        const float* w, u32 w_row, u32 w_col, float* dx, u32 dx_add, float* dw, u32 dw_add,        \
        float* db, float* shares, u64 rows, u64 share_rows, u32 outs, u32 ins, u32 tile_rows       \
    ) {                                                                                            \
        u64 member = blockIdx.y, weights = (u64)outs * ins;                                        \
        const float* outputs = y ? y + member * dy_step : nullptr;                                 \
        Rows dz = {dy + member * dy_step, outputs, dy_stride, outs, activation, parameter, 0};     \
        Rows input = {x + member * x_step, nullptr, x_stride, ins, 0, 0.0f, rectified};            \
        float* to = WITH_DX ? dx + member * x_step : nullptr;                                      \
        Target target = {to, dx_add ? to : nullptr, x_stride, ins, 0, 0.0f};                       \
        backward<ROWS, SIDE, WITH_DX>(                                                             \
            dz, input, w + member * weights, w_row, w_col, target, dw + member * weights, dw_add,  \
            db, shares, rows, share_rows, tile_rows                                                \
        );                                                                                         \
    }

BACKWARD(thin_backward_1, 1, 4, true)
BACKWARD(thin_backward_2, 2, 4, true)
BACKWARD(thin_backward_4, 4, 4, true)
BACKWARD(thin_weights_4, 1, 4, false)
BACKWARD(thin_weights_8, 1, 8, false)
