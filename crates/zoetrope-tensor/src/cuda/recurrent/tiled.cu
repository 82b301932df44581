// Gradients of weights and biases of recurrent units by tensor cores (`tiles.cuh`).
//
// dᵀ·Y and the column sums of d, with d the gradients of gates [R, A] and Y up to three matrices side by
// side [R, W]: the input's rows, and the states before each step. A block sums 128 columns of d by 8·N of Y
// over a slab of rows in registers, a warp 16 by all (widths are multiples of four); 32 rows at a time
// are copied to shared memory ahead of their use. `recurrent_join` adds the slabs in order. Floor: d
// and Y are read once from memory, 2·R·A·W operations, three times that for f32 of TF32.
//
// No CPU twin: `cpu::recurrent::weight` adds the same sums.

#define ROWS 32
#define WIDE 128
// Eight rows of eight fill the banks.
#define LEFT_ROW (WIDE + 8)
#define MOST_SOURCES 3
// Chunks in shared memory: one is computed while the others arrive.
#define STAGES 3
// Rows of a chunk that a warp of eight copies.
#define COPIES (ROWS / 8)

// Columns of Y: rows below `above` in `first`, the others in `rest`.
struct Source {
    const float* first;
    const float* rest;
    u64 above;
    u64 width;
};

struct TiledProduct {
    const float* left; // [rows, stride], `cols` of them
    float* parts;      // [slab]: [cols][split], then [cols][width - split]
    float* bias_parts; // [slab][cols], may be absent
    u64 rows;
    u64 slab;
    Source sources[MOST_SOURCES];
    u32 stride;
    u32 cols;
    u32 width;
    u32 split;
};

// Grid: slabs × tiles of Y × tiles of d. Block: 256 threads. Shared: STAGES chunks.
template <int N>
__device__ __forceinline__ void recurrent_tiled(const TiledProduct& p) {
    constexpr u32 RIGHT = 8 * N, RIGHT_ROW = RIGHT + 8, CHUNK = ROWS * (LEFT_ROW + RIGHT_ROW);
    extern __shared__ __align__(16) float chunks[];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, c = lane % 4;
    const u32 from_w = blockIdx.y * RIGHT, from_a = blockIdx.z * WIDE;
    const u64 begin = blockIdx.x * p.slab;
    const u64 end = begin + p.slab < p.rows ? begin + p.slab : p.rows;
    // A lane copies four columns of d and, if there are as many, of Y.
    const bool of_d = from_a + 4 * lane < p.cols;
    const float* from_d = p.left + (of_d ? from_a + 4 * lane : 0);
    Source of_y = {p.left, p.left, 0, 0};
    u32 column = from_w + 4 * lane;
    #pragma unroll
    for (int source = 0; source < MOST_SOURCES; ++source) {
        const Source& s = p.sources[source];
        if (lane < RIGHT / 4 && column < s.width) of_y = {s.first + column, s.rest + column, s.above, s.width};
        column -= (u32)s.width;
    }
    auto copy = [&](u64 chunk, u32 stage) {
        float* left = chunks + stage * CHUNK;
        float* right = left + ROWS * LEFT_ROW;
        #pragma unroll
        for (int i = 0; i < COPIES; ++i) {
            const u32 own = warp + 8 * i;
            const bool here = chunk + own < end;
            const u64 row = here ? chunk + own : begin;
            copy_ahead(left + own * LEFT_ROW + 4 * lane, from_d + row * p.stride, here && of_d);
            const bool above = row < of_y.above;
            const float* from_y = (above ? of_y.first : of_y.rest) + (above ? row : row - of_y.above) * of_y.width;
            if (lane < RIGHT / 4) copy_ahead(right + own * RIGHT_ROW + 4 * lane, from_y, here && of_y.width);
        }
    };
    #pragma unroll
    for (u32 stage = 0; stage < STAGES - 1; ++stage) {
        copy(begin + stage * ROWS, stage);
        copies_end();
    }
    // A warp sums 16 columns of d by all of the block's of Y, and by ones: the sums of d's columns.
    const u32 own_a = warp * 16;
    float sums[N / 4][4][4] = {}, columns[4] = {};
    const u32 one[2] = {0x3f800000u, 0x3f800000u};
    u32 stage = 0;
    for (u64 chunk = begin; chunk < end; chunk += ROWS) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        copy(chunk + (STAGES - 1) * ROWS, (stage + STAGES - 1) % STAGES);
        copies_end();
        const float* left = chunks + stage * CHUNK;
        const float* right = left + ROWS * LEFT_ROW;
        #pragma unroll
        for (u32 row = 0; row < ROWS; row += 8) {
            const float* from = left + (row + c) * LEFT_ROW + own_a + g;
            const float mine[4] = {from[0], from[8], from[4 * LEFT_ROW], from[4 * LEFT_ROW + 8]};
            const Left of_left = split_left(mine);
            add_tf32(columns, of_left.low, one);
            #pragma unroll
            for (int four = 0; four < N / 4; ++four) {
                Right of_right[4];
                #pragma unroll
                for (int tile = 0; tile < 4; ++tile) {
                    const float* from = right + (row + c) * RIGHT_ROW + 32 * four + 8 * tile + g;
                    const float both[2] = {from[0], from[4 * RIGHT_ROW]};
                    of_right[tile] = split_right(both);
                }
                add_tiles(sums[four], sums[four], of_left, of_right);
            }
            add_tf32(columns, of_left.high, one);
        }
        stage = (stage + 1) % STAGES;
    }
    copies_wait<0>();
    float* out = p.parts + (u64)blockIdx.x * p.cols * p.width;
    #pragma unroll
    for (int at = 0; at < 4 * N; ++at) {
        const int tile = at / 4, v = at % 4;
        const u32 a = from_a + own_a + g + v / 2 * 8, w = from_w + 8 * tile + 2 * c + v % 2;
        if (a >= p.cols || w >= p.width) continue;
        const u32 place = w < p.split ? a * p.split + w : p.cols * p.split + a * (p.width - p.split) + w - p.split;
        out[place] = sums[tile / 4][tile % 4][v];
    }
    if (!p.bias_parts || blockIdx.y > 0 || c != 0) return;
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        const u32 a = from_a + own_a + g + 8 * row;
        if (a < p.cols) p.bias_parts[(u64)blockIdx.x * p.cols + a] = columns[2 * row];
    }
}

#define RECURRENT_TILED(N)                                                                      \
    extern "C" __global__ void __launch_bounds__(256, 2) recurrent_tiled_##N(TiledProduct p) { \
        recurrent_tiled<N>(p);                                                                  \
    }

RECURRENT_TILED(4)
RECURRENT_TILED(8)
RECURRENT_TILED(12)
