// Temporal self-attention: every vertex attends over its own time steps. The twin of
// cpu/attention.rs, which has the formulae.
//
// Mapping: a block takes a tile of (vertex, head) items, puts their queries, keys and values into
// its room and computes everything there: products with a tile of two by two results a thread,
// softmax with eight lanes a row. The room is shared memory or, if the steps of a single head
// are too many for that, a slice of global memory: the same code runs on both. Rows of the room
// have an odd length, so that neighbouring threads never meet in a bank. Nothing is saved; the backward
// pass computes the probabilities again, and each gradient is written by one thread.
//
// Floor: there, queries, keys, values and the result once; back, seven matrices once.

struct TemporalCall {
    const float* inputs[3];
    // 0 for each cell (step, vertex) that is not there, or null.
    const float* mask;
    // The numbers of vertices that dropout depends on, or null if those are their places.
    const u32* numbers;
    DropoutMask dropout;
    // Values from one row of queries, keys and values to the next.
    u32 apart;
    u32 steps;
    u32 vertices;
    u32 heads;
    // Columns of a head.
    u32 width;
    u32 causal;
    float scale;
    // Vertices and heads of a tile.
    u32 tile_vertices;
    u32 tile_heads;
    u32 padding;
};

// The tile that a block works on.
struct Tile {
    u32 vertex;
    u32 vertices;
    u32 head;
    u32 heads;
    // Values from one staged row to the next, and from one row of probabilities to the next.
    u32 stride;
    u32 square;
};

__device__ __forceinline__ u32 head_tiles(const TemporalCall& t) {
    return (t.heads + t.tile_heads - 1) / t.tile_heads;
}

__device__ __forceinline__ u32 tiles_of(const TemporalCall& t) {
    return (t.vertices + t.tile_vertices - 1) / t.tile_vertices * head_tiles(t);
}

__device__ __forceinline__ Tile tile_at(const TemporalCall& t, u32 index) {
    Tile tile;
    tile.vertex = index / head_tiles(t) * t.tile_vertices;
    tile.vertices = min(t.tile_vertices, t.vertices - tile.vertex);
    tile.head = index % head_tiles(t) * t.tile_heads;
    tile.heads = min(t.tile_heads, t.heads - tile.head);
    tile.stride = (t.tile_heads * t.width) | 1;
    tile.square = t.steps | 1;
    return tile;
}

// Where the row of a cell begins in a stacked matrix, from the tile's first head on.
__device__ __forceinline__ u64 place_of(
    const TemporalCall& t, const Tile& tile, u32 step, u32 vertex, u32 apart) {
    return ((u64)step * t.vertices + tile.vertex + vertex) * apart + (u64)tile.head * t.width;
}

// Copies the tile's part of a stacked matrix, or of the sum of two; rows are [vertex, step].
__device__ __forceinline__ void stage(
    const TemporalCall& t, const Tile& tile, const float* x, const float* more, u32 apart,
    float* room) {
    const u32 columns = tile.heads * t.width, rows = tile.vertices * t.steps;
    const u32 lane = threadIdx.x % 32;
    for (u32 row = threadIdx.x / 32; row < rows; row += blockDim.x / 32) {
        const u64 from = place_of(t, tile, row % t.steps, row / t.steps, apart);
        for (u32 c = lane; c < columns; c += 32)
            room[row * tile.stride + c] = more ? x[from + c] + more[from + c] : x[from + c];
    }
}

__device__ __forceinline__ void stage_mask(const TemporalCall& t, const Tile& tile, float* there) {
    if (!t.mask) return;
    for (u32 row = threadIdx.x; row < tile.vertices * t.steps; row += blockDim.x) {
        const u64 cell = (u64)(row % t.steps) * t.vertices + tile.vertex + row / t.steps;
        there[row] = t.mask[cell] != 0.0f ? 1.0f : 0.0f;
    }
}

// One side of a product: where the values of an item are, and how far apart.
struct Side {
    const float* base;
    // Whether it is a matrix of probabilities, else one that was staged.
    bool is_square;
    u32 row;
    u32 step;
};

__device__ __forceinline__ const float* side_at(
    const TemporalCall& t, const Tile& tile, const Side& side, u32 item) {
    if (side.is_square) return side.base + item * t.steps * tile.square;
    return side.base + item / tile.heads * t.steps * tile.stride + item % tile.heads * t.width;
}

// put(item, i, j, Σ_k a[i, k]·b[j, k]) for every item of the tile; k runs over range(first i, last i).
template <class Range, class Put>
__device__ __forceinline__ void products(
    const TemporalCall& t, const Tile& tile, u32 rows, u32 cols, Side a, Side b, Range range,
    Put put) {
    // Rows of a thread follow each other, columns lie half a matrix apart: neighbouring threads
    // then have neighbouring columns.
    const u32 pairs = (rows + 1) / 2, half = (cols + 1) / 2, tiles = pairs * half;
    for (u32 at = threadIdx.x; at < tile.vertices * tile.heads * tiles; at += blockDim.x) {
        const u32 item = at / tiles, rest = at % tiles;
        const u32 i = rest / half * 2, j = rest % half;
        // Beyond the end the last row or column is computed again and not put.
        const u32 below = min(i + 1, rows - 1), beside = min(j + half, cols - 1);
        const float* first = side_at(t, tile, a, item);
        const float* second = side_at(t, tile, b, item);
        const float* a0 = first + i * a.row;
        const float* a1 = first + below * a.row;
        const float* b0 = second + j * b.row;
        const float* b1 = second + beside * b.row;
        float s00 = 0.0f, s01 = 0.0f, s10 = 0.0f, s11 = 0.0f;
        const uint2 bounds = range(i, below);
        #pragma unroll 4
        for (u32 k = bounds.x; k < bounds.y; ++k) {
            const float x0 = a0[k * a.step], x1 = a1[k * a.step];
            const float y0 = b0[k * b.step], y1 = b1[k * b.step];
            s00 = fmaf(x0, y0, s00);
            s01 = fmaf(x0, y1, s01);
            s10 = fmaf(x1, y0, s10);
            s11 = fmaf(x1, y1, s11);
        }
        put(item, i, j, s00);
        if (j + half < cols) put(item, i, j + half, s01);
        if (i + 1 < rows) put(item, i + 1, j, s10);
        if (i + 1 < rows && j + half < cols) put(item, i + 1, j + half, s11);
    }
}

// The sum and the maximum over eight neighbouring lanes.
__device__ __forceinline__ float eight_sum(float x) {
    for (u32 distance = 4; distance > 0; distance /= 2)
        x += __shfl_xor_sync(FULL_WARP, x, distance);
    return x;
}

__device__ __forceinline__ float eight_max(float x) {
    for (u32 distance = 4; distance > 0; distance /= 2)
        x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, distance));
    return x;
}

// The factor of dropout of a probability: counters go by (vertex, head, key, query).
__device__ __forceinline__ float factor_of(
    const TemporalCall& t, const Tile& tile, u32 item, u32 query, u32 key) {
    const u32 place = tile.vertex + item / tile.heads;
    const u64 vertex = t.numbers ? t.numbers[place] : place, head = tile.head + item % tile.heads;
    return dropout_factor(t.dropout, ((vertex * t.heads + head) * t.steps + key) * t.steps + query);
}

// From q·k to probabilities after dropout. With `slopes`, which holds the derivatives of those, also
// from them to the derivatives of q·k.
__device__ __forceinline__ void softmax(
    const TemporalCall& t, const Tile& tile, float* p, float* slopes, const float* there) {
    const u32 rows = tile.vertices * tile.heads * t.steps, lane = threadIdx.x % 8;
    // Whole warps stay together for the shuffles.
    for (u32 first = threadIdx.x / 32 * 4; first < rows; first += blockDim.x / 8) {
        const u32 at = first + threadIdx.x % 32 / 8;
        const u32 item = at / t.steps, query = at % t.steps, vertex = item / tile.heads;
        const u32 seen = at >= rows ? 0 : t.causal ? query + 1 : t.steps;
        float* row = p + at * tile.square;
        float top = NEGATIVE_INFINITY, sum = 0.0f;
        for (u32 key = lane; key < seen; key += 8) {
            float s = row[key] * t.scale;
            if (t.mask && there[vertex * t.steps + query] * there[vertex * t.steps + key] == 0.0f)
                s = NEGATIVE_INFINITY;
            row[key] = s;
            top = fmaxf(top, s);
        }
        top = eight_max(top);
        if (top == NEGATIVE_INFINITY) top = 0.0f;
        for (u32 key = lane; key < seen; key += 8) {
            row[key] = expf(row[key] - top);
            sum += row[key];
        }
        sum = eight_sum(sum);
        const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
        if (!slopes) {
            for (u32 key = lane; key < seen; key += 8)
                row[key] *= inverse * factor_of(t, tile, item, query, key);
        } else {
            float* slope = slopes + at * tile.square;
            float total = 0.0f;
            for (u32 key = lane; key < seen; key += 8) {
                row[key] *= inverse;
                slope[key] *= factor_of(t, tile, item, query, key);
                total = fmaf(row[key], slope[key], total);
            }
            total = eight_sum(total);
            for (u32 key = lane; key < seen; key += 8) {
                slope[key] = t.scale * row[key] * (slope[key] - total);
                row[key] *= factor_of(t, tile, item, query, key);
            }
        }
        // Products go beyond what a query sees, up to what its neighbour in the tile sees.
        for (u32 key = seen + lane; at < rows && key < t.steps; key += 8) {
            row[key] = 0.0f;
            if (slopes) slopes[at * tile.square + key] = 0.0f;
        }
    }
}

// Room: queries, keys, values, probabilities, who is there.
__device__ __forceinline__ void attend(const TemporalCall& t, float* out, float* room) {
    const u32 wide = t.heads * t.width;
    const auto all = [&](u32, u32) { return make_uint2(0, t.width); };
    const auto seen = [&](u32, u32 last) { return make_uint2(0, t.causal ? last + 1 : t.steps); };
    for (u32 index = blockIdx.x; index < tiles_of(t); index += gridDim.x) {
        const Tile tile = tile_at(t, index);
        const u32 staged = t.tile_vertices * t.steps * tile.stride;
        float* q = room;
        float* k = q + staged;
        float* v = k + staged;
        float* p = v + staged;
        float* there = p + t.tile_vertices * t.tile_heads * t.steps * tile.square;
        __syncthreads();
        stage(t, tile, t.inputs[0], 0, t.apart, q);
        stage(t, tile, t.inputs[1], 0, t.apart, k);
        stage(t, tile, t.inputs[2], 0, t.apart, v);
        stage_mask(t, tile, there);
        __syncthreads();
        const Side rows_q = {q, false, tile.stride, 1}, rows_k = {k, false, tile.stride, 1};
        products(t, tile, t.steps, t.steps, rows_q, rows_k, all,
                 [&](u32 item, u32 i, u32 j, float sum) {
                     p[(item * t.steps + i) * tile.square + j] = sum;
                 });
        __syncthreads();
        softmax(t, tile, p, 0, there);
        __syncthreads();
        const Side rows_p = {p, true, tile.square, 1}, cols_v = {v, false, 1, tile.stride};
        products(t, tile, t.steps, t.width, rows_p, cols_v, seen,
                 [&](u32 item, u32 i, u32 j, float sum) {
                     const u64 row = place_of(t, tile, i, item / tile.heads, wide);
                     out[row + item % tile.heads * t.width + j] = sum;
                 });
    }
}

extern "C" __global__ void __launch_bounds__(256) attention_forward(const TemporalCall t, float* out) {
    extern __shared__ float shared[];
    attend(t, out, shared);
}

extern "C" __global__ void __launch_bounds__(256) attention_forward_long(
    const TemporalCall t, float* out, float* rooms, u64 room) {
    attend(t, out, rooms + blockIdx.x * room);
}

// Where the gradients of queries, keys and values go, with the stride of the inputs.
struct TemporalGradients {
    float* places[3];
    // The gradient of the result is the sum of both; the second may be null.
    const float* d_out;
    const float* d_more;
    u32 add;
    u32 padding;
};

// Room: queries, keys, values, the gradient of the result, probabilities, their derivatives, who is
// there.
__device__ __forceinline__ void attend_back(
    const TemporalCall& t, const TemporalGradients& g, float* room) {
    const u32 wide = t.heads * t.width;
    const auto all = [&](u32, u32) { return make_uint2(0, t.width); };
    const auto seen = [&](u32, u32 last) { return make_uint2(0, t.causal ? last + 1 : t.steps); };
    const auto seeing = [&](u32 first, u32) { return make_uint2(t.causal ? first : 0, t.steps); };
    for (u32 index = blockIdx.x; index < tiles_of(t); index += gridDim.x) {
        const Tile tile = tile_at(t, index);
        const u32 staged = t.tile_vertices * t.steps * tile.stride;
        const u32 squares = t.tile_vertices * t.tile_heads * t.steps * tile.square;
        float* q = room;
        float* k = q + staged;
        float* v = k + staged;
        float* d_out = v + staged;
        float* p = d_out + staged;
        float* slopes = p + squares;
        float* there = slopes + squares;
        __syncthreads();
        stage(t, tile, t.inputs[0], 0, t.apart, q);
        stage(t, tile, t.inputs[1], 0, t.apart, k);
        stage(t, tile, t.inputs[2], 0, t.apart, v);
        stage(t, tile, g.d_out, g.d_more, wide, d_out);
        stage_mask(t, tile, there);
        __syncthreads();
        const Side rows_q = {q, false, tile.stride, 1}, rows_k = {k, false, tile.stride, 1};
        const Side rows_v = {v, false, tile.stride, 1}, rows_d = {d_out, false, tile.stride, 1};
        products(t, tile, t.steps, t.steps, rows_q, rows_k, all,
                 [&](u32 item, u32 i, u32 j, float sum) {
                     p[(item * t.steps + i) * tile.square + j] = sum;
                 });
        products(t, tile, t.steps, t.steps, rows_d, rows_v, all,
                 [&](u32 item, u32 i, u32 j, float sum) {
                     slopes[(item * t.steps + i) * tile.square + j] = sum;
                 });
        __syncthreads();
        softmax(t, tile, p, slopes, there);
        __syncthreads();
        const auto into = [&](float* place) {
            return [&, place](u32 item, u32 i, u32 j, float sum) {
                const u64 row = place_of(t, tile, i, item / tile.heads, t.apart);
                put(place + row + item % tile.heads * t.width + j, sum, g.add);
            };
        };
        const Side cols_q = {q, false, 1, tile.stride}, cols_k = {k, false, 1, tile.stride};
        const Side cols_d = {d_out, false, 1, tile.stride};
        const Side by_query = {slopes, true, tile.square, 1}, by_key = {slopes, true, 1, tile.square};
        const Side kept = {p, true, 1, tile.square};
        products(t, tile, t.steps, t.width, by_query, cols_k, seen, into(g.places[0]));
        products(t, tile, t.steps, t.width, by_key, cols_q, seeing, into(g.places[1]));
        products(t, tile, t.steps, t.width, kept, cols_d, seeing, into(g.places[2]));
    }
}

extern "C" __global__ void __launch_bounds__(256) attention_backward(
    const TemporalCall t, const TemporalGradients g) {
    extern __shared__ float shared[];
    attend_back(t, g, shared);
}

extern "C" __global__ void __launch_bounds__(256) attention_backward_long(
    const TemporalCall t, const TemporalGradients g, float* rooms, u64 room) {
    attend_back(t, g, rooms + blockIdx.x * room);
}
