// The next snapshots from the one before them (ESDG §3.2): the host sends what differs
// (difference.rs of zoetrope-graph), and five kernels make all the blocks that products read, the same words
// as if they had been sent whole.
//
// A list holds the entries of all these snapshots by row and column, each with the step in which it
// comes and the first one without it. It follows from the list before and two sorted lists of changes:
//
//   rows      offset of row r = old offset − dead before it + born in rows before r
//             place of a born entry = where its column comes in the old row, − dead before that, + its
//             own rank; words of vertices at each step
//   entries   place p holds the born entry with that place, if there is one; otherwise the
//             (p − rank of p among places of born ones)-th entry that is left of the old list: of the
//             dead d_0 < d_1 < …, those with d_i − i ≤ k lie before the k-th that is left
//   marks     when entries die, and where the changes of their weights begin
//   order     of each snapshot, rows of a window by length, a stable counting sort; the words that came
//             as they are
//   fill      of each snapshot, columns and values into slices and pieces
//
// Nothing depends on which thread comes first. The last two take all snapshots at once, so that a small
// one costs no launches of its own. Bytes that must move: 12 an entry of the old and the new list (16
// with weights), and for each snapshot 12 an entry of the list, 8 one of the block and 16 a row; against
// 55 GB/s of the bus for what is not sent.
// No CPU twin: a host has every snapshot whole; the tests of `Union` do the same searches.

struct Lists {
    u32* offsets;
    u32* columns;
    u32* weights;  // bits or numbers; null if there are none
};

// What is known of the entries of the latest list: four bytes, which are the first step with it, the
// first one without it, the number of its weight, whether that changes; and where its changes begin.
struct Lives {
    u32* words;
    u32* changes;
};

// The first words of a packet (cuda/spmm/packet.rs): counts, and where lists begin.
struct Head {
    u32 steps, rows, entries, born, dead, weights, vertices, all_vertices_at;
    u32 born_at, born_columns_at, born_weights_at, born_steps_at, dead_at, dead_steps_at;
    u32 weights_at[3], vertices_at[3], snapshots_at, numbered, by_rows, vertex_numbers_at;
};

struct Snapshot {
    u32 frame_at, frame, lengths_at, lengths, codes_at, vertices_at, unused[2];
};

// Words, or bytes if they are numbers.
struct Values {
    const u32* words;
    u32 numbered;

    __device__ u32 operator[](u32 at) const { return numbered ? ((const unsigned char*)words)[at] : words[at]; }
};

// New values: places in ascending order, those of one place by step.
struct Changes {
    const u32* places;
    const unsigned char* steps;
    Values values;
    u32 len;
};

struct Packet {
    const u32* words;
    Head head;

    __device__ explicit Packet(const u32* words) : words(words), head(*(const Head*)words) {}
    __device__ const u32* list(u32 at) const { return words + at; }
    __device__ const unsigned char* bytes(u32 at) const { return (const unsigned char*)(words + at); }
    __device__ const u32* dead() const { return list(head.dead_at); }
    __device__ Values born_weights() const { return Values{list(head.born_weights_at), head.numbered}; }
    __device__ Changes weights() const { return changes(head.weights_at, head.weights, head.numbered); }
    __device__ Changes vertices() const { return changes(head.vertices_at, head.vertices, 0); }
    __device__ Snapshot snapshot(u32 step) const { return ((const Snapshot*)(words + head.snapshots_at))[step]; }
    __device__ Changes changes(const u32* at, u32 len, u32 numbered) const {
        return Changes{list(at[0]), bytes(at[1]), Values{list(at[2]), numbered}, len};
    }
};

const u32 TILE = 1024;
const u32 SHORT = 32;
const u32 MOST_STEPS = 64;
const u32 NEVER = 255;

struct Blocks {
    u32* of_step[MOST_STEPS];
};

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

// The words of a vertex at every step, beginning with the latest ones.
__device__ __forceinline__ void follow_vertex(const Packet& packet, u32* vertices, u32* by_step, u32 vertex) {
    const Head& head = packet.head;
    if (head.all_vertices_at > 0) {
        const u32* all = packet.list(head.all_vertices_at);
        for (u32 step = 0; step < head.steps; ++step)
            by_step[(u64)step * head.rows + vertex] = all[(u64)step * head.rows + vertex];
        vertices[vertex] = all[(u64)(head.steps - 1) * head.rows + vertex];
        return;
    }
    if (head.vertex_numbers_at > 0) {
        const unsigned short* numbers = (const unsigned short*)packet.list(head.vertex_numbers_at);
        u32 word = 0;
        for (u32 step = 0; step < head.steps; ++step) {
            word = packet.list(packet.snapshot(step).vertices_at)[numbers[(u64)step * head.rows + vertex]];
            by_step[(u64)step * head.rows + vertex] = word;
        }
        vertices[vertex] = word;
        return;
    }
    Changes changes = packet.vertices();
    u32 at = count_below(changes.places, changes.len, vertex), word = vertices[vertex];
    for (u32 step = 0; step < head.steps; ++step) {
        if (at < changes.len && changes.places[at] == vertex && changes.steps[at] == step) word = changes.values[at++];
        by_step[(u64)step * head.rows + vertex] = word;
    }
    vertices[vertex] = word;
}

// A thread for each row and one more, each born entry, each change of a weight in the packet before,
// which is null if nothing is there to begin with.
extern "C" __global__ void __launch_bounds__(256)
difference_rows(const u32* __restrict__ before, const u32* __restrict__ words, Lists from, Lists to, u32* __restrict__ places,
                u32* __restrict__ vertices, u32* __restrict__ by_step) {
    Packet packet(words);
    const Head& head = packet.head;
    const u32* dead = nullptr;
    u32 dead_len = 0, at = blockIdx.x * blockDim.x + threadIdx.x;
    if (before) {
        Packet old(before);
        dead = old.dead();
        dead_len = old.head.dead;
        Changes changes = old.weights();
        if (at < changes.len && (at + 1 == changes.len || changes.places[at + 1] != changes.places[at]))
            from.weights[changes.places[at]] = changes.values[at];
    }
    // The row of each that is born, or how many are before each row.
    const u32* born = packet.list(head.born_at);
    if (at <= head.rows) {
        u32 offset = before ? from.offsets[at] : 0;
        to.offsets[at] = offset - count_below(dead, dead_len, offset)
                       + (head.by_rows ? count_below(born, head.born, at) : born[at]);
    }
    if (at < head.born) {
        u32 place = 0;
        if (before) {
            u32 row = head.by_rows ? born[at] : first_past(0, head.rows, [&](u32 row) { return __ldg(born + row + 1) > at; });
            u32 column = packet.list(head.born_columns_at)[at];
            const u32* columns = from.columns;
            place = first_past(from.offsets[row], from.offsets[row + 1],
                               [&](u32 entry) { return __ldg(columns + entry) > column; });
            place -= count_below(dead, dead_len, place);
        }
        places[at] = place + at;
    }
    if (vertices && at < head.rows) follow_vertex(packet, vertices, by_step, at);
}

// A block for each TILE entries of the new list; its ranks lie between those of its ends.
extern "C" __global__ void __launch_bounds__(256)
difference_entries(const u32* __restrict__ before, const u32* __restrict__ words, Lists from, Lists to,
                   const u32* __restrict__ places, Lives lives) {
    __shared__ u32 born[2], dead[2];
    Packet packet(words);
    const Head& head = packet.head;
    const u32* gone = nullptr;
    u32 dead_len = 0, first = blockIdx.x * TILE, end = min(first + TILE, head.entries);
    if (before) {
        Packet old(before);
        gone = old.dead();
        dead_len = old.head.dead;
    }
    auto dead_before = [&](u32 low, u32 high, u32 left) {
        return first_past(low, high, [&](u32 at) { return __ldg(gone + at) - at > left; });
    };
    if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
        u32 side = threadIdx.x / 32, place = side == 0 ? first : end;
        born[side] = count_below(places, head.born, place);
        dead[side] = dead_before(0, dead_len, place - born[side]);
    }
    __syncthreads();
    const u32* columns = packet.list(head.born_columns_at);
    Values weights = packet.born_weights();
    const unsigned char* steps = packet.bytes(head.born_steps_at);
    for (u32 place = first + threadIdx.x; place < end; place += blockDim.x) {
        u32 rank = first_past(born[0], born[1], [&](u32 at) { return __ldg(places + at) >= place; });
        u32 step = 0, weight = 0;
        if (rank < born[1] && __ldg(places + rank) == place) {
            to.columns[place] = columns[rank];
            if (to.weights) weight = weights[rank];
            step = steps[rank];
        } else {
            u32 left = place - rank;
            u32 old = left + dead_before(dead[0], dead[1], left);
            to.columns[place] = from.columns[old];
            if (to.weights) weight = from.weights[old];
        }
        if (to.weights) to.weights[place] = weight;
        lives.words[place] = step | NEVER << 8 | (head.numbered ? weight << 16 : 0);
    }
}

// A thread for each entry that dies, each change of a weight.
extern "C" __global__ void difference_marks(const u32* __restrict__ words, Lives lives) {
    Packet packet(words);
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char* bytes = (unsigned char*)lives.words;
    if (at < packet.head.dead) bytes[4 * (u64)packet.dead()[at] + 1] = packet.bytes(packet.head.dead_steps_at)[at];
    Changes changes = packet.weights();
    if (at < changes.len && (at == 0 || changes.places[at - 1] != changes.places[at])) {
        bytes[4 * (u64)changes.places[at] + 3] = 1;
        lives.changes[changes.places[at]] = at;
    }
}

__device__ __forceinline__ bool is_alive(u32 life, u32 step) {
    return (life & 0xff) <= step && step < (life >> 8 & 0xff);
}

// How many entries each lane's row has at a step. Long rows of the list are counted by the warp.
__device__ __forceinline__ u32 count_alive(const Lives& lives, u32 from, u32 to, u32 step) {
    u32 count = 0, lane = threadIdx.x % 32;
    bool is_long = to - from > 2 * SHORT;
    if (!is_long)
        #pragma unroll 4
        for (u32 entry = from; entry < to; ++entry) count += is_alive(__ldg(lives.words + entry), step);
    for (u32 rest = __ballot_sync(FULL_WARP, is_long); rest != 0; rest &= rest - 1) {
        u32 owner = __ffs(rest) - 1, sum = 0;
        u32 first = __shfl_sync(FULL_WARP, from, owner), end = __shfl_sync(FULL_WARP, to, owner);
        for (u32 entry = first + lane; entry < end; entry += 32) sum += is_alive(__ldg(lives.words + entry), step);
        for (u32 other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(FULL_WARP, sum, other);
        if (lane == owner) count = sum;
    }
    return count;
}

// Places and lengths of the rows of a window, longest first, those of one length in their own order: a
// warp takes 128 rows, and counts of (length, warp) say where each begins. `tell` gets the length of
// every row.
template <class F>
__device__ __forceinline__ void order_window(const u32* offsets, const Lives& lives, u32 step, u32* packed, u32 window,
                                             u32 rows, F tell) {
    __shared__ u32 next[SHORT + 1][33];
    __shared__ u32 totals[SHORT + 1];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (u32 at = threadIdx.x; at < (SHORT + 1) * 33; at += blockDim.x) next[at / 33][at % 33] = 0;
    __syncthreads();
    u32 base = window * WINDOW, mine[4];
    #pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        u32 row = base + warp * 128 + k * 32 + lane;
        bool there = row < rows;
        u32 length = count_alive(lives, there ? offsets[row] : 0, there ? offsets[row + 1] : 0, step);
        mine[k] = length > SHORT ? ELSEWHERE : length;
        if (there) {
            tell(row, length);
            atomicAdd(&next[SHORT - (mine[k] & LENGTHS)][warp], 1u);
        }
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

// For each snapshot (y) a block for each window of rows, which also says which factor a vertex has if
// there are no weights; the others copy the frame and compute factors, the same bits as the host's.
// Where the parts of the block lie is told by its header, which the frame begins with.
extern "C" __global__ void __launch_bounds__(1024)
difference_order(const u32* __restrict__ words, Lists lists, Lives lives, const u32* __restrict__ by_step, Blocks blocks,
                 u32 windows) {
    Packet packet(words);
    u32 step = blockIdx.y;
    Snapshot snapshot = packet.snapshot(step);
    const u32* frame = packet.list(snapshot.frame_at);
    const u32* lengths = packet.list(snapshot.lengths_at);
    const Header header = *(const Header*)frame;
    u32* block = blocks.of_step[step];
    if (blockIdx.x < windows) {
        unsigned short* numbers = (unsigned short*)(block + header.numbers_at);
        const u32* vertices = by_step ? by_step + (u64)step * header.rows : nullptr;
        order_window(lists.offsets, lives, step, block + header.rows_at, blockIdx.x, header.rows, [&](u32 row, u32 length) {
            if (snapshot.lengths > 0)
                numbers[row] = (unsigned short)count_below(lengths, snapshot.lengths, vertices ? vertices[row] : length);
        });
        return;
    }
    u32 first = (blockIdx.x - windows) * blockDim.x + threadIdx.x, stride = (gridDim.x - windows) * blockDim.x;
    for (u32 at = first; at < snapshot.frame; at += stride)
        block[at < header.rows_at ? at : header.units_at + (at - header.rows_at)] = frame[at];
    for (u32 at = header.rows + first; at < header.slices * SLICE; at += stride) block[header.rows_at + at] = ELSEWHERE;
    float* factors = (float*)(block + header.factors_at);
    for (u32 at = first; at < snapshot.lengths; at += stride)
        factors[at] = lengths[at] == 0 ? 0.0f : 1.0f / sqrtf((float)lengths[at]);
}

// Columns, and values if they do not follow from factors alone, of each snapshot (y) into their
// places. Blocks as in `spmm_values`: pieces of long rows first, a warp for each, then slices.
extern "C" __global__ void __launch_bounds__(128)
difference_fill(const u32* __restrict__ words, Lists lists, Lives lives, const u32* __restrict__ by_step, Blocks blocks,
                u32 unit_blocks, u32 transposed) {
    Packet packet(words);
    u32 step = blockIdx.y;
    u32* block = blocks.of_step[step];
    Form form((u64)block);
    u32* columns = block + form.header.columns_at;
    float* values = (float*)(block + form.header.values_at);
    const float* factors = by_step ? (const float*)by_step + (u64)step * form.header.rows : nullptr;
    Changes changes = packet.weights();
    const u32* codes = packet.head.numbered ? packet.list(packet.snapshot(step).codes_at) : nullptr;
    auto put = [&](u32 to, u32 entry, u32 life, u32 row) {
        u32 column = __ldg(lists.columns + entry);
        columns[to] = column;
        if (!lists.weights) return;
        u32 bits = codes ? life >> 16 & 0xff : __ldg(lists.weights + entry);
        if (life >> 24) {
            u32 first = __ldg(lives.changes + entry), end = min(first + MOST_STEPS, changes.len);
            u32 past = first_past(first, end, [&](u32 at) { return changes.places[at] != entry || changes.steps[at] > step; });
            if (past > first) bits = changes.values[past - 1];
        }
        float value = __uint_as_float(codes ? __ldg(codes + bits) : bits);
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
        u32 passed = 0, begin = unit.first - form.unit(head).first, end = begin + unit.len;
        u32 last = lists.offsets[unit.row + 1];
        for (u32 next = lists.offsets[unit.row]; passed < end && next < last; next += 4 * 32) {
            u32 own[4];
            #pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                u32 entry = next + 32 * k + lane;
                own[k] = entry < last ? __ldg(lives.words + entry) : 0;
            }
            #pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                bool alive = is_alive(own[k], step);
                u32 there = __ballot_sync(FULL_WARP, alive);
                u32 rank = passed + __popc(there & ((1u << lane) - 1));
                if (alive && begin <= rank && rank < end)
                    put(unit.first + rank - begin, next + 32 * k + lane, own[k], unit.row);
                passed += __popc(there);
            }
        }
        return;
    }
    u32 slice = (blockIdx.x - unit_blocks) * warps + warp;
    if (slice >= form.header.slices) return;
    u32 packed = form.words[form.header.rows_at + slice * SLICE + lane];
    u32 at = form.words[form.header.starts_at + slice] + lane;
    u32 length = packed >> 16 & LENGTHS, row = slice * SLICE / WINDOW * WINDOW + (packed & PLACES);
    u32 entry = length > 0 ? lists.offsets[row] : 0;
    u32 longest = __shfl_sync(FULL_WARP, length, 0);
    for (u32 count = 0; count < longest; ++count) {
        if (count < length) {
            u32 life;
            while (!is_alive(life = __ldg(lives.words + entry), step)) ++entry;
            put(at, entry++, life, row);
        }
        at += __popc(__ballot_sync(FULL_WARP, length > count));
    }
}
