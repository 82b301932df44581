// The next snapshot from the one before it (ESDG §3.2): the host sends what differs (cuda/spmm/patch.rs),
// and four kernels make the block that products read, the same words as if it had been sent whole.
//
// The entries of both snapshots are lists by row and column. What is left of the old one keeps its
// order in the new one, so that every place follows from ranks in the two sorted lists of changes:
//
//   rows      new offset of row r  = old offset − removed before it + added to rows before r
//             place of an added entry = where its column comes in the old row, − removed before that,
//             + its own rank
//   entries   place p holds the added entry with that place, if there is one; otherwise the
//             (p − rank of p among added places)-th entry that was kept: of the removed positions
//             r_0 < r_1 < …, those with r_i − i ≤ k lie before the k-th that was kept
//   order     rows of a window by length, a stable counting sort; the words that came as they are
//   fill      columns and values into slices and pieces
//
// Nothing depends on which thread comes first. Bytes that must move: 8 an entry of the old and the new
// list, 8 of the list and the block (twice that with weights), 16 a row; against 55 GB/s of the bus
// for what is not sent.
// No CPU twin: a host has every snapshot whole; `Patch::apply` does the same searches where tests ask it to.

struct Lists {
    u32* offsets;
    u32* columns;
    float* weights;  // null where there are none
};

struct Patch {
    const u32* removed;
    const u32* added_rows;
    const u32* added_columns;
    const float* added_weights;
    const u32* weight_places;  // null where all weights come
    const float* weight_values;
    const u32* vertex_places;  // null where all vertices come
    const u32* vertex_values;
    u32 removed_len, added_len, weights_len, vertices_len;
};

const u32 TILE = 1024;
const u32 SHORT = 32;

// The first of `from`..`to` at which `is_past` holds, for a list in which it holds to the end.
template <class F>
__device__ __forceinline__ u32 first_past(u32 from, u32 to, F is_past) {
    while (from < to) {
        u32 middle = from + (to - from) / 2;
        if (is_past(middle)) to = middle; else from = middle + 1;
    }
    return from;
}

__device__ __forceinline__ u32 count_below(const u32* list, u32 len, u32 bound) {
    return first_past(0, len, [&](u32 at) { return __ldg(list + at) >= bound; });
}

// A thread for each row and one more, each added entry, each vertex that changed.
extern "C" __global__ void __launch_bounds__(256)
difference_rows(Patch patch, Lists from, Lists to, u32* __restrict__ places, u32* __restrict__ vertices, u32 rows) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at <= rows) {
        u32 offset = from.offsets[at];
        to.offsets[at] = offset - count_below(patch.removed, patch.removed_len, offset)
                       + count_below(patch.added_rows, patch.added_len, at);
    }
    if (at < patch.added_len) {
        u32 row = patch.added_rows[at], column = patch.added_columns[at];
        const u32* columns = from.columns;
        u32 place = first_past(from.offsets[row], from.offsets[row + 1],
                               [&](u32 entry) { return __ldg(columns + entry) > column; });
        places[at] = place - count_below(patch.removed, patch.removed_len, place) + at;
    }
    if (at < patch.vertices_len) vertices[patch.vertex_places ? patch.vertex_places[at] : at] = patch.vertex_values[at];
}

// A block for each TILE entries of the new list; its ranks lie between those of its ends.
extern "C" __global__ void __launch_bounds__(256)
difference_entries(Patch patch, Lists from, Lists to, const u32* __restrict__ places, u32 entries) {
    __shared__ u32 added[2], removed[2];
    u32 first = blockIdx.x * TILE, end = min(first + TILE, entries);
    const u32* gone = patch.removed;
    auto removed_before = [&](u32 low, u32 high, u32 kept) {
        return first_past(low, high, [&](u32 at) { return __ldg(gone + at) - at > kept; });
    };
    if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
        u32 side = threadIdx.x / 32, place = side == 0 ? first : end;
        added[side] = count_below(places, patch.added_len, place);
        removed[side] = removed_before(0, patch.removed_len, place - added[side]);
    }
    __syncthreads();
    for (u32 place = first + threadIdx.x; place < end; place += blockDim.x) {
        u32 rank = first_past(added[0], added[1], [&](u32 at) { return __ldg(places + at) >= place; });
        if (rank < added[1] && __ldg(places + rank) == place) {
            to.columns[place] = patch.added_columns[rank];
            if (to.weights) to.weights[place] = patch.added_weights[rank];
        } else {
            u32 kept = place - rank;
            u32 old = kept + removed_before(removed[0], removed[1], kept);
            to.columns[place] = __ldg(from.columns + old);
            if (to.weights) to.weights[place] = __ldg(from.weights + old);
        }
    }
}

// Places and lengths of the rows of a window, longest first, those of one length in their own order: a
// warp takes 128 rows, and counts of (length, warp) say where each begins.
__device__ __forceinline__ void order_window(const u32* offsets, u32* packed, u32 window, u32 rows) {
    __shared__ u32 next[SHORT + 1][33];
    __shared__ u32 totals[SHORT + 1];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (u32 at = threadIdx.x; at < (SHORT + 1) * 33; at += blockDim.x) next[at / 33][at % 33] = 0;
    __syncthreads();
    u32 base = window * WINDOW, mine[4];
    #pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        u32 row = base + warp * 128 + k * 32 + lane;
        u32 length = row < rows ? offsets[row + 1] - offsets[row] : 0;
        mine[k] = length > SHORT ? ELSEWHERE : length;
        if (row < rows) atomicAdd(&next[SHORT - (mine[k] & LENGTHS)][warp], 1u);
    }
    __syncthreads();
    // Sums over lengths, then over the warps of each: 33 sequences of 32 numbers.
    if (threadIdx.x <= SHORT) {
        u32 sum = 0;
        for (u32 other = 0; other < 32; ++other) {
            u32 count = next[threadIdx.x][other];
            next[threadIdx.x][other] = sum;
            sum += count;
        }
        totals[threadIdx.x] = sum;
    }
    __syncthreads();
    if (threadIdx.x <= SHORT) {
        u32 before = 0;
        for (u32 other = 0; other < threadIdx.x; ++other) before += totals[other];
        for (u32 other = 0; other < 32; ++other) next[threadIdx.x][other] += before;
    }
    __syncthreads();
    for (u32 k = 0; k < 4; ++k) {
        u32 place = warp * 128 + k * 32 + lane;
        bool there = base + place < rows;
        u32 length = mine[k] & LENGTHS;
        u32 equal = __ballot_sync(FULL_WARP, there);
        #pragma unroll
        for (u32 bit = 0; bit < 6; ++bit) {
            u32 set = __ballot_sync(FULL_WARP, length >> bit & 1);
            equal &= length >> bit & 1 ? set : ~set;
        }
        u32 before = __popc(equal & ((1u << lane) - 1));
        if (there) packed[base + next[SHORT - length][warp] + before] = (mine[k] & ELSEWHERE) | length << 16 | place;
        __syncwarp();
        if (there && before == 0) next[SHORT - length][warp] += __popc(equal);
        __syncwarp();
    }
}

// A block for each window of rows; the others copy the frame, set weights that changed and, without
// weights, compute factors (the same bits as the host's) and which one a vertex has. Where the parts of
// the block lie is told by its header, which the frame begins with.
extern "C" __global__ void __launch_bounds__(1024)
difference_order(Patch patch, Lists to, const u32* __restrict__ frame, u32 frame_len, const u32* __restrict__ lengths,
                 u32 lengths_len, const u32* __restrict__ vertices, u32* __restrict__ block, u32 windows) {
    const Header header = *(const Header*)frame;
    if (blockIdx.x < windows) {
        order_window(to.offsets, block + header.rows_at, blockIdx.x, header.rows);
        return;
    }
    u32 first = (blockIdx.x - windows) * blockDim.x + threadIdx.x, step = (gridDim.x - windows) * blockDim.x;
    for (u32 at = first; at < frame_len; at += step)
        block[at < header.rows_at ? at : header.units_at + (at - header.rows_at)] = frame[at];
    for (u32 at = header.rows + first; at < header.slices * SLICE; at += step) block[header.rows_at + at] = ELSEWHERE;
    float* factors = (float*)(block + header.factors_at);
    for (u32 at = first; at < lengths_len; at += step)
        factors[at] = lengths[at] == 0 ? 0.0f : 1.0f / sqrtf((float)lengths[at]);
    unsigned short* numbers = (unsigned short*)(block + header.numbers_at);
    for (u32 at = first; lengths_len > 0 && at < header.rows; at += step)
        numbers[at] = (unsigned short)count_below(lengths, lengths_len,
                                                  vertices ? vertices[at] : to.offsets[at + 1] - to.offsets[at]);
    if (to.weights && patch.weight_places)
        for (u32 at = first; at < patch.weights_len; at += step)
            to.weights[patch.weight_places[at]] = patch.weight_values[at];
}

// Columns, and values where they do not follow from factors alone, into their places. Blocks as in
// `spmm_values`: pieces of long rows first, a warp for each, then slices.
extern "C" __global__ void __launch_bounds__(128)
difference_fill(Lists lists, const float* __restrict__ factors, u32* __restrict__ block, u32 unit_blocks, u32 transposed) {
    Form form((u64)block);
    u32* columns = block + form.header.columns_at;
    float* values = (float*)(block + form.header.values_at);
    auto put = [&](u32 to, u32 from, u32 row) {
        u32 column = __ldg(lists.columns + from);
        columns[to] = column;
        if (!lists.weights) return;
        float value = __ldg(lists.weights + from);
        if (factors) {
            float own = __ldg(factors + row), other = __ldg(factors + column);
            value = transposed ? own * value * other : other * value * own;
        }
        values[to] = value;
    };
    u32 warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (blockIdx.x < unit_blocks) {
        u32 at = blockIdx.x * warps + warp;
        if (at >= form.header.units) return;
        Unit unit = form.unit(at);
        // The pieces of a row lie side by side; its first one says where in the row this one begins.
        u32 head = first_past(0, at, [&](u32 other) { return form.unit(other).row >= unit.row; });
        u32 from = lists.offsets[unit.row] + unit.first - form.unit(head).first;
        for (u32 entry = lane; entry < unit.len; entry += 32) put(unit.first + entry, from + entry, unit.row);
        return;
    }
    u32 slice = (blockIdx.x - unit_blocks) * warps + warp;
    if (slice >= form.header.slices) return;
    u32 packed = form.words[form.header.rows_at + slice * SLICE + lane];
    u32 at = form.words[form.header.starts_at + slice] + lane;
    u32 length = packed >> 16 & LENGTHS, row = slice * SLICE / WINDOW * WINDOW + (packed & PLACES);
    u32 from = length > 0 ? lists.offsets[row] : 0;
    u32 longest = __shfl_sync(FULL_WARP, length, 0);
    for (u32 step = 0; step < longest; ++step) {
        if (step < length) put(at, from + step, row);
        at += __popc(__ballot_sync(FULL_WARP, length > step));
    }
}
