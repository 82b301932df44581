// Sparse times dense: y[r] (+)= sum of v·x[c] over the entries (c, v) of row r, for the matrices of a
// group of snapshots over stacked x and y, in one launch.
//
// How a matrix lies in its block of words is told in spmm.cuh.
//
// Threads: `1 << lanes_log2` lanes share a row of x, V elements each (and M times that if a row is
// wider than a warp). A warp takes as many rows of a slice as fit; the place of a step's entries
// follows from the lengths of the slice's 32 rows by ballots. Lanes that share a row, four or more, read
// several of its entries at once, one each, and hand them round. For a piece of a long row the lane
// groups take entries in turn and add up by shuffles. Long rows of one piece are done then; partial
// sums of the others go to scratch and `spmm_fold` adds them. Every order is fixed by the matrix and
// the width, so that results are the same bits each time.
//
// Bytes that must move: 8 an entry, or 6 if values are products of factors (the few factors are in
// the first-level cache), 4 a row and the width a row of y; of x each row that occurs at
// least once from memory, and each entry's row through the second-level cache.

// Rows of x that a lane has on the way.
const u32 AHEAD = 4;

// What happens to y: overwritten, added to, or overwritten past the caches, if it is too large to
// be found there again and would push x out.
const u32 ADD = 1;
const u32 PAST = 2;

// Where a lane works: which of the groups of lanes it is in, the first lane of that, and its first column
// of x and y.
struct Place {
    u32 lane, group, groups, first, column, stride;

    __device__ Place(u32 lanes_log2, u32 elements, u32 first_column) {
        lane = threadIdx.x % 32;
        group = lane >> lanes_log2;
        first = group << lanes_log2;
        groups = 32u >> lanes_log2;
        stride = elements << lanes_log2;
        column = first_column + (lane & ((1u << lanes_log2) - 1)) * elements;
    }
};

template <int V>
__device__ __forceinline__ void load(const float* from, float (&to)[V]) {
    if constexpr (V == 4) {
        float4 four = __ldg((const float4*)from);
        to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
    } else if constexpr (V == 2) {
        float2 two = __ldg((const float2*)from);
        to[0] = two.x, to[1] = two.y;
    } else {
        to[0] = __ldg(from);
    }
}

template <int V>
__device__ __forceinline__ void store(float* to, const float (&from)[V], u32 mode) {
    float sum[V];
    #pragma unroll
    for (int i = 0; i < V; ++i) sum[i] = mode == ADD ? to[i] + from[i] : from[i];
    if constexpr (V == 4) {
        float4 four = make_float4(sum[0], sum[1], sum[2], sum[3]);
        if (mode == PAST) __stcs((float4*)to, four); else *(float4*)to = four;
    } else if constexpr (V == 2) {
        *(float2*)to = make_float2(sum[0], sum[1]);
    } else {
        *to = sum[0];
    }
}

// What is read once does not push x out of the caches; wide rows read it again, row by row.
template <bool ONCE>
__device__ __forceinline__ u32 index(const u32* from) {
    return ONCE ? __ldcs(from) : __ldg(from);
}

// The values of the entries of a row, by their positions from `first` on: as they are, or as products
// of factors. They are read in two steps, so that rows of x are on the way before factors are asked for.
template <bool ONCE>
struct Values {
    const u32* from; // whole values, or names of 16 bits
    const float* factors; // null if values are whole
    u32 number; // of the row's factor
    float own;

    __device__ Values(const Form& form, u32 row, u32 first)
        : from(form.values() + first), factors(nullptr), number(0), own(0.0f) {
        if (!form.is_factored()) return;
        from = (const u32*)(form.names() + first);
        factors = form.factors();
        number = __ldg(form.numbers() + row);
    }

    // Before the first value is asked for.
    __device__ __forceinline__ void begin() {
        if (factors) own = __ldg(factors + number);
    }

    __device__ __forceinline__ u32 word(u32 at) const {
        if (!factors) return index<ONCE>(from + at);
        const unsigned short* name = (const unsigned short*)from + at;
        return ONCE ? __ldcs(name) : __ldg(name);
    }

    __device__ __forceinline__ float of(u32 word) const {
        return factors ? __ldg(factors + word) * own : __uint_as_float(word);
    }
};

// The running sum of one lane: M vectors of V elements of a row.
template <int V, int M>
struct Sum {
    float at[M][V];

    __device__ Sum() {
        #pragma unroll
        for (int m = 0; m < M; ++m)
            #pragma unroll
            for (int i = 0; i < V; ++i) at[m][i] = 0.0f;
    }

    // Adds N entries in their order, `value(u)` the value of one; all their rows of x are on the way
    // before the first value is asked for.
    template <u32 N, class Value>
    __device__ __forceinline__ void add(const u32 (&columns)[N], const bool (&there)[N], Value value,
                                        const float* x, u32 width, const Place& place) {
        float values[N];
        #pragma unroll
        for (int m = 0; m < M; ++m) {
            float row[N][V];
            u32 column = place.column + m * place.stride;
            #pragma unroll
            for (u32 u = 0; u < N; ++u) {
                #pragma unroll
                for (int i = 0; i < V; ++i) row[u][i] = 0.0f;
                if (there[u] && column < width) load<V>(x + (u64)columns[u] * width + column, row[u]);
            }
            #pragma unroll
            for (u32 u = 0; u < N; ++u) {
                if (m == 0) values[u] = value(u);
                #pragma unroll
                for (int i = 0; i < V; ++i) at[m][i] = fmaf(values[u], row[u][i], at[m][i]);
            }
        }
    }

    // Adds what the lanes of a row read together: the first `count` entries of TOGETHER, `most` of any row
    // of the warp.
    template <u32 TOGETHER, bool ONCE>
    __device__ __forceinline__ void add_together(u32 column, u32 word, const Values<ONCE>& values, u32 count,
                                                 u32 most, const float* x, u32 width, const Place& place) {
        float value = 0.0f;
        #pragma unroll
        for (u32 from = 0; from < TOGETHER; from += AHEAD) {
            if (from >= most) break;
            u32 columns[AHEAD];
            bool there[AHEAD];
            #pragma unroll
            for (u32 u = 0; u < AHEAD; ++u) {
                columns[u] = __shfl_sync(FULL_WARP, column, place.first + from + u);
                there[u] = from + u < count;
            }
            auto passed = [&](u32 u) {
                if (from + u == 0) value = values.of(word);
                return __shfl_sync(FULL_WARP, value, place.first + from + u);
            };
            add(columns, there, passed, x, width, place);
        }
    }

    // Adds the groups of lanes of a warp in a fixed tree.
    __device__ __forceinline__ void join(u32 lanes_log2) {
        for (u32 distance = 1u << lanes_log2; distance < 32; distance *= 2)
            #pragma unroll
            for (int m = 0; m < M; ++m)
                #pragma unroll
                for (int i = 0; i < V; ++i) at[m][i] += __shfl_xor_sync(FULL_WARP, at[m][i], distance);
    }

    __device__ __forceinline__ void put(float* row, u32 width, const Place& place, u32 mode) const {
        #pragma unroll
        for (int m = 0; m < M; ++m) {
            u32 column = place.column + m * place.stride;
            if (column < width) store<V>(row + column, at[m], mode);
        }
    }
};

// The rows of a slice that one warp takes: the `share`-th of `1 << lanes_log2` equal shares. The lanes of a
// row read TOGETHER entries at once, one each, and hand them round; or each all of them, if that is 1.
template <int V, int M, bool ONCE, u32 TOGETHER>
__device__ __forceinline__ void slice_rows(const Form& form, u32 slice, u32 share, const Place& place, const float* x,
                                           float* y, u32 width, u32 mode) {
    u32 packed = __ldg(form.words + form.header.rows_at + slice * SLICE + place.lane);
    u32 at = __ldg(form.words + form.header.starts_at + slice);
    u32 length = packed >> 16 & LENGTHS;
    u32 position = share * place.groups + place.group;
    u32 own = __shfl_sync(FULL_WARP, packed, position);
    u32 own_length = own >> 16 & LENGTHS;
    u32 longest = __shfl_sync(FULL_WARP, length, share * place.groups);
    u32 row = slice * SLICE / WINDOW * WINDOW + (own & PLACES);
    const u32* columns = form.columns() + position;
    Values<ONCE> values(form, row, position);
    Sum<V, M> sum;
    if constexpr (TOGETHER == 1) {
        values.begin();
        for (u32 step = 0; step < longest; step += AHEAD) {
            u32 column[AHEAD], word[AHEAD];
            bool there[AHEAD];
            #pragma unroll
            for (u32 u = 0; u < AHEAD; ++u) {
                there[u] = step + u < own_length;
                column[u] = there[u] ? index<ONCE>(columns + at) : 0;
                word[u] = there[u] ? values.word(at) : 0;
                at += __popc(__ballot_sync(FULL_WARP, length > step + u));
            }
            sum.add(column, there, [&](u32 u) { return values.of(word[u]); }, x, width, place);
        }
    } else {
        const u32 turn = place.lane % TOGETHER;
        u32 column = 0, word = 0;
        auto read = [&](u32 step) {
            u32 mine = at;
            #pragma unroll
            for (u32 u = 0; u < TOGETHER; ++u) {
                if (u == turn) mine = at;
                at += __popc(__ballot_sync(FULL_WARP, length > step + u));
            }
            const bool there = step + turn < own_length;
            column = there ? index<ONCE>(columns + mine) : 0;
            word = there ? values.word(mine) : 0;
        };
        read(0);
        values.begin();
        for (u32 step = 0; step < longest; step += TOGETHER) {
            const u32 now = column, name = word, count = own_length > step ? own_length - step : 0;
            if (step + TOGETHER < longest) read(step + TOGETHER);
            sum.template add_together<TOGETHER>(now, name, values, count, longest - step, x, width, place);
        }
    }
    if (own & ELSEWHERE) return;
    sum.put(y + (u64)row * width, width, place, mode);
}

// A piece of a long row.
template <int V, int M, bool ONCE, u32 TOGETHER>
__device__ __forceinline__ void long_piece(const Form& form, Unit unit, const Place& place, u32 lanes_log2,
                                           const float* x, float* y, float* partial, u32 width, u32 mode) {
    const u32* columns = form.columns() + unit.first;
    Values<ONCE> values(form, unit.row, unit.first);
    Sum<V, M> sum;
    if constexpr (TOGETHER == 1) {
        values.begin();
        for (u32 entry = place.group; entry < unit.len; entry += AHEAD * place.groups) {
            u32 column[AHEAD], word[AHEAD];
            bool there[AHEAD];
            #pragma unroll
            for (u32 u = 0; u < AHEAD; ++u) {
                u32 at = entry + u * place.groups;
                there[u] = at < unit.len;
                column[u] = there[u] ? index<ONCE>(columns + at) : 0;
                word[u] = there[u] ? values.word(at) : 0;
            }
            sum.add(column, there, [&](u32 u) { return values.of(word[u]); }, x, width, place);
        }
        __syncwarp();
    } else {
        const u32 turn = place.lane % TOGETHER;
        u32 column = 0, word = 0;
        auto read = [&](u32 from) {
            const u32 at = from + place.group + turn * place.groups;
            column = at < unit.len ? index<ONCE>(columns + at) : 0;
            word = at < unit.len ? values.word(at) : 0;
        };
        read(0);
        values.begin();
        for (u32 from = 0; from < unit.len; from += TOGETHER * place.groups) {
            const u32 now = column, name = word, left = unit.len - from + place.groups - 1;
            read(from + TOGETHER * place.groups);
            const u32 count = left - place.group >> 5 - lanes_log2;
            sum.template add_together<TOGETHER>(now, name, values, count, left >> 5 - lanes_log2, x, width, place);
        }
    }
    sum.join(lanes_log2);
    if (place.group != 0) return;
    if (unit.slot == DIRECT) {
        sum.put(y + (u64)unit.row * width, width, place, mode);
    } else {
        sum.put(partial + (u64)unit.slot * width, width, place, 0);
    }
}

// Blocks of a member: first those of its long pieces, a piece a warp, then those of its slices; and
// the same again for the next columns if a row is wider than a warp takes. Member: blockIdx.y.
template <int V, int M, bool ONCE, u32 TOGETHER>
__device__ __forceinline__ void multiply(const u64* forms, const float* x, float* y, float* partial, u32 rows, u32 cols,
                                         u32 width, u32 lanes_log2, u32 slots, u32 unit_blocks, u32 slice_blocks,
                                         u32 mode) {
    u32 member = blockIdx.y, tile = blockIdx.x / (unit_blocks + slice_blocks);
    u32 block = blockIdx.x % (unit_blocks + slice_blocks);
    // From one lane, so that the compiler knows it to be the same in all.
    u32 warps = blockDim.x / 32, warp = __shfl_sync(FULL_WARP, threadIdx.x / 32, 0);
    Form form(forms[member]);
    Place place(lanes_log2, V, tile * (V * M << lanes_log2));
    x += (u64)member * cols * width;
    y += (u64)member * rows * width;
    if (block < unit_blocks) {
        u32 at = block * warps + warp;
        if (at >= form.header.units) return;
        partial += (u64)member * slots * width;
        long_piece<V, M, ONCE, TOGETHER>(form, form.unit(at), place, lanes_log2, x, y, partial, width, mode);
    } else {
        u32 at = (block - unit_blocks) * warps + warp;
        u32 slice = at >> lanes_log2;
        if (slice >= form.header.slices) return;
        slice_rows<V, M, ONCE, TOGETHER>(form, slice, at & ((1u << lanes_log2) - 1), place, x, y, width, mode);
    }
}

// Narrow rows are shared by up to four lanes and their entries read once, wide ones by at least eight.
template <int V, int M, bool NARROW_ROWS>
__device__ __forceinline__ void shared_out(const u64* forms, const float* x, float* y, float* partial, u32 rows,
                                           u32 cols, u32 width, u32 lanes_log2, u32 slots, u32 unit_blocks,
                                           u32 slice_blocks, u32 mode) {
    if constexpr (!NARROW_ROWS) {
        multiply<V, M, false, 8>(forms, x, y, partial, rows, cols, width, lanes_log2, slots, unit_blocks,
                                 slice_blocks, mode);
    } else if (lanes_log2 == 2) {
        multiply<V, M, true, 4>(forms, x, y, partial, rows, cols, width, lanes_log2, slots, unit_blocks,
                                slice_blocks, mode);
    } else {
        multiply<V, M, true, 1>(forms, x, y, partial, rows, cols, width, lanes_log2, slots, unit_blocks,
                                slice_blocks, mode);
    }
}

// Blocks an SM: as many as fit with nearly nothing spilled, because the more warps wait the more rows of x
// are on the way. (D6, width 128, H200: 1,472, 1,535 and 1,600 µs with twelve, ten and eight; more rows a warp
// and fewer warps took longer.) Before sm_80 an SM holds eight of them at most.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define BLOCKS(NARROW_ROWS, M) (NARROW_ROWS || M > 1 ? 10 : 12)
#else
#define BLOCKS(NARROW_ROWS, M) 8
#endif

#define MULTIPLY(NAME, V, M, NARROW_ROWS)                                                                           \
    extern "C" __global__ void __launch_bounds__(128, BLOCKS(NARROW_ROWS, M))                                       \
    NAME(const u64* __restrict__ forms, const float* __restrict__ x, float* __restrict__ y,                         \
         float* __restrict__ partial, u32 rows, u32 cols, u32 width, u32 lanes_log2, u32 slots, u32 unit_blocks,    \
         u32 slice_blocks, u32 mode) {                                                                              \
        shared_out<V, M, NARROW_ROWS>(forms, x, y, partial, rows, cols, width, lanes_log2, slots, unit_blocks,      \
                                      slice_blocks, mode);                                                          \
    }

MULTIPLY(spmm_narrow_1, 1, 1, true)
MULTIPLY(spmm_narrow_2, 2, 1, true)
MULTIPLY(spmm_narrow_4, 4, 1, true)
MULTIPLY(spmm_wide_1, 1, 1, false)
MULTIPLY(spmm_wide_2, 2, 1, false)
MULTIPLY(spmm_wide_4, 4, 1, false)
MULTIPLY(spmm_wider_1, 1, 2, false)
MULTIPLY(spmm_wider_2, 2, 2, false)
MULTIPLY(spmm_wider_4, 4, 2, false)

// The second phase: adds the partial sums of a long row, a block for a row (and tile of columns).
// Groups of lanes take partial sums in turn; shuffles, then shared memory, add them up.
template <int V>
__device__ __forceinline__ void fold(const u64* forms, float* y, const float* partial, u32 rows, u32 width,
                                     u32 lanes_log2, u32 slots, u32 folds, u32 mode) {
    __shared__ float room[8][32 * V];
    u32 member = blockIdx.y, tile = blockIdx.x / folds, at = blockIdx.x % folds;
    u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
    Form form(forms[member]);
    if (at >= form.header.folds) return;
    Fold one = form.fold(at);
    Place place(lanes_log2, V, tile * (V << lanes_log2));
    partial += ((u64)member * slots + one.first) * width + place.column;
    Sum<V, 1> sum;
    if (place.column < width) {
        #pragma unroll 4
        for (u32 piece = warp * place.groups + place.group; piece < one.count; piece += warps * place.groups) {
            float row[V];
            load<V>(partial + (u64)piece * width, row);
            #pragma unroll
            for (int i = 0; i < V; ++i) sum.at[0][i] += row[i];
        }
    }
    __syncwarp();
    sum.join(lanes_log2);
    #pragma unroll
    for (int i = 0; i < V; ++i) room[warp][place.lane * V + i] = sum.at[0][i];
    __syncthreads();
    if (warp != 0 || place.group != 0) return;
    for (u32 other = 1; other < warps; ++other)
        #pragma unroll
        for (int i = 0; i < V; ++i) sum.at[0][i] += room[other][place.lane * V + i];
    sum.put(y + ((u64)member * rows + one.row) * width, width, place, mode);
}

#define FOLD(NAME, V)                                                                                          \
    extern "C" __global__ void __launch_bounds__(256)                                                          \
    NAME(const u64* __restrict__ forms, float* __restrict__ y, const float* __restrict__ partial, u32 rows,    \
         u32 width, u32 lanes_log2, u32 slots, u32 folds, u32 mode) {                                           \
        fold<V>(forms, y, partial, rows, width, lanes_log2, slots, folds, mode);                               \
    }

FOLD(spmm_fold_1, 1)
FOLD(spmm_fold_2, 2)
FOLD(spmm_fold_4, 4)

// In place of the values of matrices that came without: which factor each entry's column has.
extern "C" __global__ void spmm_names(const u64* __restrict__ forms) {
    Form form(forms[blockIdx.y]);
    if (!form.is_factored()) return;
    const u32* columns = form.columns();
    const unsigned short* numbers = form.numbers();
    unsigned short* names = (unsigned short*)form.names();
    #pragma unroll 4
    for (u32 at = blockIdx.x * blockDim.x + threadIdx.x; at < form.header.entries; at += gridDim.x * blockDim.x)
        names[at] = __ldg(numbers + columns[at]);
}
