// Graph attention over groups of snapshots: the twin of cpu/gat.rs, which has the formulae.
//
// Mapping: one warp a row. Lanes are laid over (entry, head) for scores, softmax and dropout, and
// over columns for sums; coefficients go from one to the other by shuffles, so that a score is
// computed once and nothing is staged in memory. Rows of more than SEGMENT entries are cut into
// segments, a warp each, which leave partial results for a second kernel: a row of 100,000 entries
// takes as long as its sums need, not as one warp needs. All snapshots of a group run in one
// launch, their arrays named by a table in the arguments.
//
// Forward pass: α = softmax of the scores, out = Σ ᾱ·x. Backward: the sum that the softmax needs is
// dy·y (first kernel), so entries become independent; the second kernel goes over the transpose,
// reads each dy once for both the derivative of α and the gradient of x, and leaves the slopes of
// the scores [E, heads]; the third adds those by destination. Sums have a fixed order.
//
// Floor: an x (forward) or dy (backward) of heads·D values and about 12 bytes for each entry.

// Entries of a segment; rows up to that many are not cut.
const u32 SEGMENT = 256;
const u32 MEMBERS = 32;
const u32 NONE = 0xffffffffu;

// One snapshot, or its transpose.
struct GatMember {
    const u32* offsets;
    const u32* columns;
    const float* values;
    // For each segment its row, the first segment of the row, and how many the row has.
    const u32* segments;
    // For each entry of a transpose, where it is in the matrix.
    const u32* edge_of;
    // Entries of the snapshots before.
    u64 edges_before;
    // Segments of the snapshots before.
    u32 segments_before;
    u32 stream;
};

struct GatGroup {
    GatMember members[MEMBERS];
    DropoutMask dropout;
    u32 count;
    u32 vertices;
    u32 segments;
    u32 heads;
    // Columns of a head.
    u32 width;
    u32 weighted;
    float slope;
    u32 padding;
};

// What one warp does: some entries of a row.
struct Task {
    u32 member;
    u32 row;
    u32 from;
    u32 to;
    // Over all members, or NONE for a whole row.
    u32 segment;
    // The first segment of the row over all members, and how many there are.
    u32 first;
    u32 parts;
};

__device__ __forceinline__ Task segment_task(const GatGroup& g, u32 segment) {
    Task task;
    task.member = 0;
    while (task.member + 1 < g.count && g.members[task.member + 1].segments_before <= segment)
        ++task.member;
    const GatMember& m = g.members[task.member];
    const u32* entry = m.segments + 3 * (segment - m.segments_before);
    task.row = entry[0];
    task.segment = segment;
    task.first = m.segments_before + entry[1];
    task.parts = entry[2];
    task.from = m.offsets[task.row] + (segment - task.first) * SEGMENT;
    task.to = min(task.from + SEGMENT, m.offsets[task.row + 1]);
    return task;
}

// The task of a warp of the whole grid: rows of all members first, then segments. False if
// there is nothing to do.
__device__ __forceinline__ bool find_task(const GatGroup& g, Task& task) {
    const u64 warp = thread_index() / 32;
    const u64 rows = (u64)g.count * g.vertices;
    if (warp >= rows) {
        if (warp - rows >= g.segments) return false;
        task = segment_task(g, (u32)(warp - rows));
        return true;
    }
    task.member = (u32)(warp / g.vertices);
    task.row = (u32)(warp % g.vertices);
    const GatMember& m = g.members[task.member];
    task.from = m.offsets[task.row];
    task.to = m.offsets[task.row + 1];
    task.segment = NONE;
    return task.to - task.from <= SEGMENT;
}

// Lanes over (entry, head): up to 32 heads from `base` on, padded to a power of two.
struct Laid {
    u32 base;
    u32 heads;
    u32 padded;
    u32 entries;
    u32 head;
    u32 entry;
    bool active;
};

__device__ __forceinline__ Laid lay(const GatGroup& g, u32 base) {
    Laid laid;
    const u32 lane = threadIdx.x % 32;
    laid.base = base;
    laid.heads = min(g.heads - base, 32u);
    laid.padded = 1;
    while (laid.padded < laid.heads) laid.padded *= 2;
    laid.entries = 32 / laid.padded;
    laid.entry = lane / laid.padded;
    laid.active = lane % laid.padded < laid.heads;
    laid.head = base + lane % laid.padded;
    return laid;
}

// The score of an entry before the leaky relu.
__device__ __forceinline__ float raw_score(const GatGroup& g, float value, float source, float destination) {
    const float sum = source + destination;
    return g.weighted ? value * sum : sum;
}

__device__ __forceinline__ float leaky(const GatGroup& g, float s) {
    return s > 0.0f ? s : g.slope * s;
}

__device__ __forceinline__ float entry_dropout(const GatGroup& g, const GatMember& m, u64 at) {
    DropoutMask mask = g.dropout;
    mask.stream = m.stream;
    return dropout_factor(mask, at);
}

// The exponential of a difference to a maximum that may be that of nothing.
__device__ __forceinline__ float relative(float x, float top) {
    return x == NEGATIVE_INFINITY ? 0.0f : expf(x - top);
}

// Adds over lanes that have the same place in groups of `from` lanes.
__device__ __forceinline__ float sum_across(float x, u32 from) {
    for (u32 distance = from; distance < 32; distance *= 2)
        x += __shfl_xor_sync(FULL_WARP, x, distance);
    return x;
}

// Sums over entries, K columns a lane; if a row is narrower than a warp several entries at once.
template <int K>
struct Columns {
    u32 team;
    u32 column;
    u32 slot;
    // First column of this pass, and how many columns the heads have.
    u32 start;
    u32 width;
    u32 source_lane[K];
    float sums[K];

    __device__ __forceinline__ Columns(const Laid& laid, u32 head_width, u32 start)
        : start(start), width(laid.heads * head_width) {
        const u32 lane = threadIdx.x % 32;
        team = 1;
        while (team < width && team < 32) team *= 2;
        column = start + lane % team;
        slot = lane / team;
        #pragma unroll
        for (int k = 0; k < K; ++k) {
            sums[k] = 0.0f;
            source_lane[k] = min((column + 32 * k) / head_width, laid.heads - 1);
        }
    }

    // sums += factor·x of `count` entries whose factors and rows are in the lanes of `laid`.
    __device__ __forceinline__ void add(
        const Laid& laid, float factor, u32 row, u32 count, const float* x, u64 apart) {
        #pragma unroll 4
        for (u32 base = 0; base < count; base += 32 / team) {
            const u32 at = (base + slot) * laid.padded;
            const u32 source = __shfl_sync(FULL_WARP, row, at & 31);
            #pragma unroll
            for (int k = 0; k < K; ++k) {
                const float f = __shfl_sync(FULL_WARP, factor, (at + source_lane[k]) & 31);
                if (base + slot < count && column + 32 * k < width)
                    sums[k] = fmaf(f, x[source * apart + column + 32 * k], sums[k]);
            }
        }
    }

    __device__ __forceinline__ void join() {
        #pragma unroll
        for (int k = 0; k < K; ++k) sums[k] = sum_across(sums[k], team);
    }

    __device__ __forceinline__ bool owns(int k) const {
        return slot == 0 && column + 32 * k < width;
    }
};

// What a pass over the operands reads and writes.
struct GatForward {
    const float* x;
    const float* source;
    const float* destination;
    float* out;
    float* alpha;
    // For each segment the largest score, the sum of exponentials [segments, heads] and the sums
    // [segments, heads·D].
    float* tops;
    float* totals;
    float* parts;
};

// The score of an entry after the leaky relu, and its source.
__device__ __forceinline__ float entry_score(
    const GatGroup& g, const GatForward& f, const Task& task, u32 entry, u32 head, u32& source) {
    const GatMember& m = g.members[task.member];
    source = m.columns[entry];
    const u64 before = (u64)task.member * g.vertices;
    const float value = g.weighted ? m.values[entry] : 1.0f;
    return leaky(g, raw_score(g, value, f.source[(before + source) * g.heads + head],
                              f.destination[(before + task.row) * g.heads + head]));
}

template <int K>
__device__ __forceinline__ void forward(const GatGroup& g, const GatForward& f) {
    Task task;
    if (!find_task(g, task)) return;
    const GatMember& m = g.members[task.member];
    const bool whole = task.segment == NONE;
    const u64 row = (u64)task.member * g.vertices + task.row;
    const u64 wide = (u64)g.heads * g.width;
    const float* x = f.x + (u64)task.member * g.vertices * wide;
    float* y = whole ? f.out + row * wide : f.parts + task.segment * wide;
    float* alpha = f.alpha + m.edges_before * g.heads;
    for (u32 base = 0; base < g.heads; base += 32) {
        const Laid laid = lay(g, base);
        float top = NEGATIVE_INFINITY, total = 0.0f;
        u32 source;
        for (u32 e = task.from + laid.entry; laid.active && e < task.to; e += laid.entries) {
            const float s = entry_score(g, f, task, e, laid.head, source);
            if (s > top) {
                total = total * relative(top, s) + 1.0f;
                top = s;
            } else {
                total += expf(s - top);
            }
        }
        for (u32 distance = laid.padded; distance < 32; distance *= 2) {
            const float other_top = __shfl_xor_sync(FULL_WARP, top, distance);
            const float other_total = __shfl_xor_sync(FULL_WARP, total, distance);
            const float both = fmaxf(top, other_top);
            total = total * relative(top, both) + other_total * relative(other_top, both);
            top = both;
        }
        const float factor = whole ? 1.0f / total : 1.0f;
        if (!whole && laid.active && laid.entry == 0) {
            f.tops[(u64)task.segment * g.heads + laid.head] = top;
            f.totals[(u64)task.segment * g.heads + laid.head] = total;
        }
        for (u32 start = 0; start < laid.heads * g.width; start += 32 * K) {
            Columns<K> columns(laid, g.width, start);
            for (u32 from = task.from; from < task.to; from += laid.entries) {
                const u32 e = from + laid.entry;
                float weight = 0.0f;
                source = 0;
                if (laid.active && e < task.to) {
                    weight = expf(entry_score(g, f, task, e, laid.head, source) - top) * factor;
                    const u64 at = (u64)e * g.heads + laid.head;
                    if (whole && start == 0) alpha[at] = weight;
                    weight *= entry_dropout(g, m, at);
                }
                const u32 count = min(task.to - from, laid.entries);
                columns.add(laid, weight, source, count, x + (u64)base * g.width, wide);
            }
            columns.join();
            #pragma unroll
            for (int k = 0; k < K; ++k)
                if (columns.owns(k)) y[base * g.width + columns.column + 32 * k] = columns.sums[k];
        }
    }
}

// Joins the segments of long rows: a warp a segment writes its α; that of the first also the row.
extern "C" __global__ void gat_forward_join(const GatGroup g, const GatForward f) {
    const u64 warp = thread_index() / 32;
    if (warp >= g.segments) return;
    const Task task = segment_task(g, (u32)warp);
    const GatMember& m = g.members[task.member];
    const u64 wide = (u64)g.heads * g.width;
    const u32 lane = threadIdx.x % 32;
    const float* tops = f.tops + (u64)task.first * g.heads;
    const float* totals = f.totals + (u64)task.first * g.heads;
    for (u32 base = 0; base < g.heads; base += 32) {
        const Laid laid = lay(g, base);
        float top = NEGATIVE_INFINITY, total = 0.0f;
        for (u32 p = laid.entry; laid.active && p < task.parts; p += laid.entries)
            top = fmaxf(top, tops[p * g.heads + laid.head]);
        for (u32 distance = laid.padded; distance < 32; distance *= 2)
            top = fmaxf(top, __shfl_xor_sync(FULL_WARP, top, distance));
        for (u32 p = laid.entry; laid.active && p < task.parts; p += laid.entries)
            total += totals[p * g.heads + laid.head] * expf(tops[p * g.heads + laid.head] - top);
        const float factor = 1.0f / sum_across(total, laid.padded);
        for (u32 e = task.from + laid.entry; laid.active && e < task.to; e += laid.entries) {
            u32 source;
            const float s = entry_score(g, f, task, e, laid.head, source);
            f.alpha[(m.edges_before + e) * g.heads + laid.head] = expf(s - top) * factor;
        }
        if (task.segment != task.first) continue;
        float* y = f.out + ((u64)task.member * g.vertices + task.row) * wide;
        for (u32 start = 0; start < laid.heads * g.width; start += 32) {
            const u32 c = start + lane;
            const u32 h = min(c / g.width, laid.heads - 1);
            const float head_top = __shfl_sync(FULL_WARP, top, h);
            const float head_factor = __shfl_sync(FULL_WARP, factor, h);
            if (c >= laid.heads * g.width) continue;
            const float* parts = f.parts + (u64)task.first * wide + base * g.width + c;
            float sum = 0.0f;
            #pragma unroll 4
            for (u32 p = 0; p < task.parts; ++p)
                sum = fmaf(expf(tops[p * g.heads + base + h] - head_top), parts[p * wide], sum);
            y[base * g.width + c] = sum * head_factor;
        }
    }
}

// totals[row, head] = dy·y of the head: what the softmax takes from the derivative of each α.
// `lanes`, a power of two, share a head.
extern "C" __global__ void gat_backward_totals(
    const float* out, const float* d_out, float* totals, u64 count, u32 width, u32 lanes) {
    const u64 at = thread_index() / lanes;
    const u32 lane = threadIdx.x % lanes;
    float sum = 0.0f;
    if (at < count)
        for (u32 c = lane; c < width; c += lanes)
            sum = fmaf(out[at * width + c], d_out[at * width + c], sum);
    for (u32 distance = lanes / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(FULL_WARP, sum, distance);
    if (at < count && lane == 0) totals[at] = sum;
}

struct GatBackward {
    const float* x;
    const float* source;
    const float* destination;
    const float* alpha;
    const float* d_out;
    const float* totals;
    float* slopes;
    // Null if not wanted.
    float* d_x;
    float* d_source;
    float* d_destination;
    // For each segment of a source [segments, heads·D], of a source [segments, heads], of a
    // destination [segments, heads].
    float* x_parts;
    float* source_parts;
    float* destination_parts;
};

__device__ __forceinline__ float head_dot(const float* a, const float* b, u32 width) {
    float sum = 0.0f;
    if ((((u64)a | (u64)b) & 15) == 0 && (width & 3) == 0) {
        #pragma unroll 4
        for (u32 c = 0; c < width / 4; ++c) {
            const float4 p = ((const float4*)a)[c], q = ((const float4*)b)[c];
            sum = fmaf(p.x, q.x, fmaf(p.y, q.y, fmaf(p.z, q.z, fmaf(p.w, q.w, sum))));
        }
    } else {
        for (u32 c = 0; c < width; ++c) sum = fmaf(a[c], b[c], sum);
    }
    return sum;
}

// Over the rows of the transposes.
template <int K>
__device__ __forceinline__ void backward_sources(const GatGroup& g, const GatBackward& b) {
    Task task;
    if (!find_task(g, task)) return;
    const GatMember& m = g.members[task.member];
    const bool whole = task.segment == NONE;
    const u64 before = (u64)task.member * g.vertices, row = before + task.row;
    const u64 wide = (u64)g.heads * g.width;
    const float* d_out = b.d_out + before * wide;
    const float* alpha = b.alpha + m.edges_before * g.heads;
    float* slopes = b.slopes + m.edges_before * g.heads;
    for (u32 base = 0; base < g.heads; base += 32) {
        const Laid laid = lay(g, base);
        float slope_sum = 0.0f;
        for (u32 start = 0; start < laid.heads * g.width; start += 32 * K) {
            Columns<K> columns(laid, g.width, start);
            for (u32 from = task.from; from < task.to; from += laid.entries) {
                const u32 i = from + laid.entry;
                float weight = 0.0f;
                u32 r = 0;
                if (laid.active && i < task.to) {
                    r = m.columns[i];
                    const u64 at = (u64)m.edge_of[i] * g.heads + laid.head;
                    const float a = alpha[at], factor = entry_dropout(g, m, at);
                    weight = a * factor;
                    if (start == 0) {
                        const u64 there = (before + r) * g.heads + laid.head;
                        const float dot = head_dot(
                            d_out + r * wide + laid.head * g.width,
                            b.x + row * wide + laid.head * g.width, g.width);
                        const float value = g.weighted ? m.values[i] : 1.0f;
                        const float s = raw_score(
                            g, value, b.source[row * g.heads + laid.head], b.destination[there]);
                        const float leak = s > 0.0f ? value : g.slope * value;
                        const float slope = a * (dot * factor - b.totals[there]) * leak;
                        slopes[at] = slope;
                        slope_sum += slope;
                    }
                }
                if (!b.d_x) continue;
                const u32 count = min(task.to - from, laid.entries);
                columns.add(laid, weight, r, count, d_out + (u64)base * g.width, wide);
            }
            if (!b.d_x) break;
            columns.join();
            #pragma unroll
            for (int k = 0; k < K; ++k) {
                if (!columns.owns(k)) continue;
                const u64 c = base * g.width + columns.column + 32 * k;
                if (whole) b.d_x[row * wide + c] += columns.sums[k];
                else b.x_parts[task.segment * wide + c] = columns.sums[k];
            }
        }
        slope_sum = sum_across(slope_sum, laid.padded);
        if (b.d_source && laid.active && laid.entry == 0) {
            if (whole) b.d_source[row * g.heads + laid.head] += slope_sum;
            else b.source_parts[(u64)task.segment * g.heads + laid.head] = slope_sum;
        }
    }
}

// Over the rows of the matrices: adds the slopes of a destination.
extern "C" __global__ void gat_backward_destinations(const GatGroup g, const GatBackward b) {
    Task task;
    if (!find_task(g, task)) return;
    const GatMember& m = g.members[task.member];
    const float* slopes = b.slopes + m.edges_before * g.heads;
    const u64 row = (u64)task.member * g.vertices + task.row;
    for (u32 base = 0; base < g.heads; base += 32) {
        const Laid laid = lay(g, base);
        float sum = 0.0f;
        #pragma unroll 4
        for (u32 e = task.from + laid.entry; e < task.to; e += laid.entries)
            if (laid.active) sum += slopes[(u64)e * g.heads + laid.head];
        sum = sum_across(sum, laid.padded);
        if (!laid.active || laid.entry != 0) continue;
        if (task.segment == NONE) b.d_destination[row * g.heads + laid.head] += sum;
        else b.destination_parts[(u64)task.segment * g.heads + laid.head] = sum;
    }
}

// Adds the parts of long rows: a block a row, found by its first segment. `parts` is
// [segments, width], `sums` [rows, width].
__device__ __forceinline__ void add_parts(
    const Task& task, u64 row, const float* parts, float* sums, u64 width) {
    for (u64 c = threadIdx.x; c < width; c += blockDim.x) {
        float sum = 0.0f;
        #pragma unroll 4
        for (u32 p = 0; p < task.parts; ++p) sum += parts[(task.first + p) * width + c];
        sums[row * width + c] += sum;
    }
}

extern "C" __global__ void gat_backward_join(
    const GatGroup g, const float* parts, float* sums, u32 width, const float* more_parts,
    float* more_sums, u32 more_width) {
    const Task task = segment_task(g, blockIdx.x);
    if (task.segment != task.first) return;
    const u64 row = (u64)task.member * g.vertices + task.row;
    if (sums) add_parts(task, row, parts, sums, width);
    if (more_sums) add_parts(task, row, more_parts, more_sums, more_width);
}

// By the columns that a warp adds at once: 32 times the number at the end of the name.
#define GAT_WIDTH(K)                                                                              \
    extern "C" __global__ void __launch_bounds__(256) gat_forward_##K(                            \
        const GatGroup g, const GatForward f) {                                                   \
        forward<K>(g, f);                                                                         \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(256) gat_backward_sources_##K(                   \
        const GatGroup g, const GatBackward b) {                                                  \
        backward_sources<K>(g, b);                                                                \
    }

GAT_WIDTH(1)
GAT_WIDTH(2)
GAT_WIDTH(4)
