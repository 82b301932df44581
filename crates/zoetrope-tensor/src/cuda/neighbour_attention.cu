// Attention of targets over sampled neighbours, aggregated before it is projected: the twin of
// cpu/neighbour_attention.rs, which has the formulae.
//
// Mapping: a block of 256 threads answers one target at a time in the forward pass, one query with
// all its targets in the backward pass. What the slots of a target hold is put side by side in a tile
// (ten slots of 373 values: 15 KiB of shared memory); a warp takes a slot for gathering and for
// dot products, a thread takes a column for weighted sums. Targets with more slots than the tile
// has rows go through it in chunks. The room of a block is shared memory or, if a row alone is
// too wide for that, a slice of global memory: the same code runs on both.
//
// Backward pass: the sum over slots that the softmax needs is dy·y, so that chunks stay independent.
// The first kernel leaves what reaches the row of each slot in a table [slots, M] and sums of the
// time encoder for each block; the second adds those by row and by column. Every sum has a fixed
// order; nothing is added atomically.
//
// Floor: the rows, features and queries that are read and the results that are written, once.

const u32 WARPS = 8;
const u32 THREADS = 32 * WARPS;
// Slots of a row above which all warps of a block add them.
const u32 LONG = 32;

struct NeighbourCall {
    const u32* offsets;
    const u32* query;
    const u32* source;
    const u32* event;
    const u32* targets_of_query_offsets;
    const u32* targets_of_query;
    const double* deltas;
    const float* queries;
    const float* rows;
    const float* features;
    const float* weight;
    const float* bias;
    DropoutMask dropout;
    u32 targets;
    u32 query_count;
    u32 heads;
    u32 row_width;
    u32 feature_width;
    u32 time_width;
    // Slots of a tile.
    u32 chunk;
    float scale;
    float slope;
    u32 leaky;
};

// X.
__device__ __forceinline__ u32 width_of(const NeighbourCall& n) {
    return n.row_width + n.feature_width + n.time_width + 1;
}

// Values from one row of a tile to the next: whole groups of four.
__device__ __forceinline__ u32 stride_of(const NeighbourCall& n) {
    return (width_of(n) + 3) & ~3u;
}

// Copies a row with one warp, four values at a time if both sides allow.
__device__ __forceinline__ void copy_row(const float* from, float* to, u32 width, u32 lane) {
    if ((((u64)from | (u64)to) & 15) == 0 && (width & 3) == 0) {
        for (u32 i = lane; i < width / 4; i += 32) ((float4*)to)[i] = ((const float4*)from)[i];
    } else {
        for (u32 i = lane; i < width; i += 32) to[i] = from[i];
    }
}

// Copies the vectors of all heads of a query or of a result to rows of a tile.
__device__ __forceinline__ void copy_heads(const NeighbourCall& n, const float* from, float* to) {
    const u32 width = width_of(n), stride = stride_of(n);
    for (u32 h = 0; h < n.heads; ++h)
        for (u32 c = threadIdx.x; c < width; c += THREADS)
            to[h * stride + c] = from[(u64)h * width + c];
}

// Gathers the slots from..to, a warp each.
__device__ void gather(const NeighbourCall& n, u32 from, u32 to, float* tile) {
    const u32 lane = threadIdx.x % 32, stride = stride_of(n);
    for (u32 slot = from + threadIdx.x / 32; slot < to; slot += WARPS) {
        float* x = tile + (slot - from) * stride;
        if (n.row_width > 0)
            copy_row(n.rows + (u64)n.source[slot] * n.row_width, x, n.row_width, lane);
        x += n.row_width;
        if (n.feature_width > 0)
            copy_row(n.features + (u64)n.event[slot] * n.feature_width, x, n.feature_width, lane);
        x += n.feature_width;
        if (n.time_width > 0) {
            const double delta = n.deltas[slot];
            for (u32 k = lane; k < n.time_width; k += 32)
                x[k] = turn_cosine(turn_part(n.weight[k], delta, n.bias[k]));
        }
        if (lane == 0) x[n.time_width] = 1.0f;
    }
}

// The dot products of one row with the vectors of heads h and h + 1, by one warp; the second is 0
// if there is no such head.
__device__ __forceinline__ float2 two_dots(
    const float* x, const float* vectors, u32 stride, u32 width, bool both, u32 lane) {
    float2 sum = make_float2(0.0f, 0.0f);
    for (u32 c = lane; c < width; c += 32) {
        sum.x = fmaf(x[c], vectors[c], sum.x);
        if (both) sum.y = fmaf(x[c], vectors[stride + c], sum.y);
    }
    return make_float2(warp_sum(sum.x), both ? warp_sum(sum.y) : 0.0f);
}

// From scores in `weights` [slots, heads] to the weights after dropout; alpha keeps them before.
__device__ void softmax(
    const NeighbourCall& n, u32 first, u32 slots, float* weights, float* alpha) {
    const u32 lane = threadIdx.x % 32;
    for (u32 h = threadIdx.x / 32; h < n.heads; h += WARPS) {
        float top = NEGATIVE_INFINITY, sum = 0.0f;
        for (u32 j = lane; j < slots; j += 32) {
            const float s = weights[j * n.heads + h];
            top = fmaxf(top, n.leaky && s < 0.0f ? n.slope * s : s);
        }
        top = warp_max(top);
        for (u32 j = lane; j < slots; j += 32) {
            const float s = weights[j * n.heads + h];
            sum += expf((n.leaky && s < 0.0f ? n.slope * s : s) - top);
        }
        const float factor = 1.0f / warp_sum(sum);
        for (u32 j = lane; j < slots; j += 32) {
            const float s = weights[j * n.heads + h];
            const float weight = expf((n.leaky && s < 0.0f ? n.slope * s : s) - top) * factor;
            const u64 at = (u64)(first + j) * n.heads + h;
            // The sign tells the backward pass on which side of the leaky relu the score was.
            alpha[at] = n.leaky ? copysignf(weight, s) : weight;
            weights[j * n.heads + h] = weight * dropout_factor(n.dropout, at);
        }
    }
}

// y (+)= Σ weight·x over the rows of a tile, a column a thread, two heads at a time.
__device__ void weighted_sums(
    const NeighbourCall& n, const float* tile, u32 rows, const float* weights, float* y,
    u32 apart, bool add) {
    const u32 width = width_of(n), stride = stride_of(n);
    for (u32 c = threadIdx.x; c < width; c += THREADS) {
        for (u32 h = 0; h < n.heads; h += 2) {
            const bool both = h + 1 < n.heads;
            float first = add ? y[h * apart + c] : 0.0f;
            float second = add && both ? y[(h + 1) * apart + c] : 0.0f;
            for (u32 j = 0; j < rows; ++j) {
                const float x = tile[j * stride + c];
                first = fmaf(weights[j * n.heads + h], x, first);
                if (both) second = fmaf(weights[j * n.heads + h + 1], x, second);
            }
            y[h * apart + c] = first;
            if (both) y[(h + 1) * apart + c] = second;
        }
    }
}

// Room: the tile, the query, one weight for each slot and head.
__device__ __forceinline__ void attend(
    const NeighbourCall& n, float* out, float* alpha, float* room) {
    const u32 width = width_of(n), stride = stride_of(n), lane = threadIdx.x % 32;
    float* tile = room;
    float* asked = tile + n.chunk * stride;
    float* weights = asked + n.heads * stride;
    for (u32 target = blockIdx.x; target < n.targets; target += gridDim.x) {
        const u32 first = n.offsets[target], last = n.offsets[target + 1];
        float* y = out + (u64)target * n.heads * width;
        if (first == last) {
            for (u32 c = threadIdx.x; c < n.heads * width; c += THREADS) y[c] = 0.0f;
            continue;
        }
        __syncthreads();
        copy_heads(n, n.queries + (u64)n.query[target] * n.heads * width, asked);
        for (u32 from = first; from < last; from += n.chunk) {
            const u32 to = min(from + n.chunk, last);
            __syncthreads();
            gather(n, from, to, tile);
            __syncthreads();
            for (u32 slot = from + threadIdx.x / 32; slot < to; slot += WARPS) {
                float* scores = weights + (slot - first) * n.heads;
                for (u32 h = 0; h < n.heads; h += 2) {
                    const bool both = h + 1 < n.heads;
                    const float2 dots = two_dots(
                        tile + (slot - from) * stride, asked + h * stride, stride, width, both, lane);
                    if (lane == 0) scores[h] = dots.x * n.scale;
                    if (lane == 0 && both) scores[h + 1] = dots.y * n.scale;
                }
            }
        }
        __syncthreads();
        softmax(n, first, last - first, weights, alpha);
        const bool whole = last - first <= n.chunk;
        for (u32 from = first; from < last; from += n.chunk) {
            const u32 to = min(from + n.chunk, last);
            __syncthreads();
            if (!whole) {
                gather(n, from, to, tile);
                __syncthreads();
            }
            const float* own = weights + (from - first) * n.heads;
            weighted_sums(n, tile, to - from, own, y, width, from > first);
        }
    }
}

// out [targets, heads·X] and alpha [slots, heads].
extern "C" __global__ void __launch_bounds__(256) neighbour_attention_forward(
    const NeighbourCall n, float* out, float* alpha) {
    extern __shared__ float shared[];
    attend(n, out, alpha, shared);
}

extern "C" __global__ void __launch_bounds__(256) neighbour_attention_forward_wide(
    const NeighbourCall n, float* out, float* alpha, float* rooms, u64 room) {
    attend(n, out, alpha, rooms + blockIdx.x * room);
}

// What the backward pass writes; null if it is not wanted.
struct NeighbourSlopes {
    const float* alpha;
    const float* out;
    const float* d_out;
    float* d_queries;
    // What reaches the row of each slot, [slots, M].
    float* d_slots;
    // For each block Σ sin·Δt·dx, then Σ sin·dx.
    float* time_sums;
    u32 add;
    u32 padding;
};

// The derivatives of q·x of the slots from..to in `slopes`, and ᾱ in `weights`.
__device__ void through_softmax(
    const NeighbourCall& n, const float* alpha, u32 from, u32 to, const float* tile,
    const float* dy, const float* totals, float* weights, float* slopes) {
    const u32 width = width_of(n), stride = stride_of(n), lane = threadIdx.x % 32;
    for (u32 slot = from + threadIdx.x / 32; slot < to; slot += WARPS) {
        for (u32 h = 0; h < n.heads; h += 2) {
            const bool both = h + 1 < n.heads;
            const float2 dots = two_dots(
                tile + (slot - from) * stride, dy + h * stride, stride, width, both, lane);
            if (lane < (both ? 2u : 1u)) {
                const u64 at = (u64)slot * n.heads + h + lane;
                const float factor = dropout_factor(n.dropout, at);
                const float kept = alpha[at], size = fabsf(kept);
                const float slope = signbit(kept) ? n.slope * n.scale : n.scale;
                const float dot = (lane == 0 ? dots.x : dots.y) * factor;
                const u32 place = (slot - from) * n.heads + h + lane;
                weights[place] = size * factor;
                slopes[place] = size * (dot - totals[h + lane]) * slope;
            }
        }
    }
}

// What reaches the column c of x of one slot.
__device__ __forceinline__ float reaching(
    const NeighbourCall& n, const float* weights, const float* slopes, const float* dy,
    const float* asked, u32 c) {
    const u32 stride = stride_of(n);
    float sum = 0.0f;
    for (u32 h = 0; h < n.heads; ++h) {
        sum = fmaf(weights[h], dy[h * stride + c], sum);
        sum = fmaf(slopes[h], asked[h * stride + c], sum);
    }
    return sum;
}

// Room: the tile, the query, dy, the query's gradient, ᾱ, slopes, one total a head, time sums.
__device__ __forceinline__ void attend_back(
    const NeighbourCall& n, const NeighbourSlopes& s, float* room) {
    const u32 width = width_of(n), stride = stride_of(n), lane = threadIdx.x % 32;
    const u32 wide = n.heads * width;
    float* tile = room;
    float* asked = tile + n.chunk * stride;
    float* dy = asked + n.heads * stride;
    float* d_query = dy + n.heads * stride;
    float* weights = d_query + n.heads * stride;
    float* slopes = weights + n.chunk * n.heads;
    float* totals = slopes + n.chunk * n.heads;
    float* sums = totals + n.heads;
    const u32 time_from = n.row_width + n.feature_width;
    // A column belongs to the same thread throughout: its sums need no barrier.
    for (u32 k = threadIdx.x; k < 2 * n.time_width; k += THREADS) sums[k] = 0.0f;
    __syncthreads();
    for (u32 query = blockIdx.x; query < n.query_count; query += gridDim.x) {
        for (u32 c = threadIdx.x; c < n.heads * stride; c += THREADS) d_query[c] = 0.0f;
        copy_heads(n, n.queries + (u64)query * wide, asked);
        const u32 listed = n.targets_of_query_offsets[query + 1];
        for (u32 i = n.targets_of_query_offsets[query]; i < listed; ++i) {
            const u32 target = n.targets_of_query[i];
            const u32 first = n.offsets[target], last = n.offsets[target + 1];
            const float* d_out = s.d_out + (u64)target * wide;
            __syncthreads();
            copy_heads(n, d_out, dy);
            for (u32 h = threadIdx.x / 32; h < n.heads; h += WARPS) {
                const float* out = s.out + (u64)target * wide + (u64)h * width;
                float sum = 0.0f;
                for (u32 c = lane; c < width; c += 32)
                    sum = fmaf(out[c], d_out[(u64)h * width + c], sum);
                sum = warp_sum(sum);
                if (lane == 0) totals[h] = sum;
            }
            for (u32 from = first; from < last; from += n.chunk) {
                const u32 to = min(from + n.chunk, last);
                __syncthreads();
                gather(n, from, to, tile);
                __syncthreads();
                through_softmax(n, s.alpha, from, to, tile, dy, totals, weights, slopes);
                __syncthreads();
                if (s.d_queries) weighted_sums(n, tile, to - from, slopes, d_query, stride, true);
                if (s.d_slots) {
                    for (u32 slot = from + threadIdx.x / 32; slot < to; slot += WARPS) {
                        const u32 place = (slot - from) * n.heads;
                        float* d_slot = s.d_slots + (u64)slot * n.row_width;
                        for (u32 c = lane; c < n.row_width; c += 32)
                            d_slot[c] = reaching(n, weights + place, slopes + place, dy, asked, c);
                    }
                }
                if (s.time_sums) {
                    for (u32 k = threadIdx.x; k < n.time_width; k += THREADS) {
                        float by_weight = sums[k], by_bias = sums[n.time_width + k];
                        for (u32 slot = from; slot < to; ++slot) {
                            const u32 place = (slot - from) * n.heads;
                            const double delta = n.deltas[slot];
                            const float sine =
                                turn_sine(turn_part(n.weight[k], delta, n.bias[k]));
                            const float slope = sine * reaching(
                                n, weights + place, slopes + place, dy, asked, time_from + k);
                            by_bias += slope;
                            by_weight = fmaf(slope, (float)delta, by_weight);
                        }
                        sums[k] = by_weight;
                        sums[n.time_width + k] = by_bias;
                    }
                }
            }
        }
        __syncthreads();
        if (s.d_queries) {
            float* d = s.d_queries + (u64)query * wide;
            for (u32 h = 0; h < n.heads; ++h)
                for (u32 c = threadIdx.x; c < width; c += THREADS) {
                    const float sum = d_query[h * stride + c];
                    d[h * width + c] = s.add ? d[h * width + c] + sum : sum;
                }
        }
        __syncthreads();
    }
    if (s.time_sums)
        for (u32 k = threadIdx.x; k < 2 * n.time_width; k += THREADS)
            s.time_sums[(u64)blockIdx.x * 2 * n.time_width + k] = sums[k];
}

extern "C" __global__ void __launch_bounds__(256) neighbour_attention_backward(
    const NeighbourCall n, const NeighbourSlopes s) {
    extern __shared__ float shared[];
    attend_back(n, s, shared);
}

extern "C" __global__ void __launch_bounds__(256) neighbour_attention_backward_wide(
    const NeighbourCall n, const NeighbourSlopes s, float* rooms, u64 room) {
    attend_back(n, s, rooms + blockIdx.x * room);
}

// What the second kernel of the backward pass adds.
struct NeighbourJoin {
    const u32* slots_of_source_offsets;
    const u32* slots_of_source;
    const float* d_slots;
    float* d_rows;
    const float* time_sums;
    float* d_weight;
    float* d_bias;
    u32 rows;
    u32 row_width;
    u32 time_width;
    u32 blocks;
    u32 row_blocks;
    u32 add;
};

// The sum of some slots' rows, four columns a lane.
__device__ __forceinline__ void add_slots(
    const NeighbourJoin& j, u32 from, u32 to, u32 c0, u32 lane, float sums[4]) {
    #pragma unroll
    for (u32 r = 0; r < 4; ++r) sums[r] = 0.0f;
    #pragma unroll 4
    for (u32 i = from; i < to; ++i) {
        const float* d_slot = j.d_slots + (u64)j.slots_of_source[i] * j.row_width + c0;
        #pragma unroll
        for (u32 r = 0; r < 4; ++r) {
            const u32 c = lane + 32 * r;
            if (c0 + c < j.row_width) sums[r] += d_slot[c];
        }
    }
}

__device__ __forceinline__ void store(const NeighbourJoin& j, u32 row, u32 c, float sum) {
    float* d = j.d_rows + (u64)row * j.row_width + c;
    *d = j.add ? *d + sum : sum;
}

// The first blocks add the slots of eight rows each, a warp a row, all warps together if a row
// is read often; the last ones add eight columns of the time encoder each.
extern "C" __global__ void __launch_bounds__(256) neighbour_attention_join(const NeighbourJoin j) {
    __shared__ float parts[WARPS * 128];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sums[4];
    if (blockIdx.x >= j.row_blocks) {
        const u32 column = (blockIdx.x - j.row_blocks) * 8 + threadIdx.x % 8;
        float sum = 0.0f;
        if (column < 2 * j.time_width) {
            #pragma unroll 8
            for (u32 block = threadIdx.x / 8; block < j.blocks; block += 32)
                sum += j.time_sums[(u64)block * 2 * j.time_width + column];
        }
        parts[threadIdx.x] = sum;
        for (u32 half = 16; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half * 8) parts[threadIdx.x] += parts[threadIdx.x + half * 8];
        }
        if (threadIdx.x < 8 && column < 2 * j.time_width) {
            const bool is_weight = column < j.time_width;
            float* d = is_weight ? j.d_weight : j.d_bias;
            if (d) d[is_weight ? column : column - j.time_width] -= parts[threadIdx.x];
        }
        return;
    }
    const u32 own = blockIdx.x * WARPS + warp;
    if (own < j.rows) {
        const u32 from = j.slots_of_source_offsets[own], to = j.slots_of_source_offsets[own + 1];
        if (to - from <= LONG) {
            for (u32 c0 = 0; c0 < j.row_width; c0 += 128) {
                add_slots(j, from, to, c0, lane, sums);
                for (u32 r = 0; r < 4; ++r)
                    if (c0 + lane + 32 * r < j.row_width) store(j, own, c0 + lane + 32 * r, sums[r]);
            }
        }
    }
    for (u32 row = blockIdx.x * WARPS; row < min(j.rows, (blockIdx.x + 1) * WARPS); ++row) {
        const u32 from = j.slots_of_source_offsets[row], to = j.slots_of_source_offsets[row + 1];
        if (to - from <= LONG) continue;
        const u32 each = (to - from + WARPS - 1) / WARPS;
        const u32 start = min(from + warp * each, to), end = min(start + each, to);
        for (u32 c0 = 0; c0 < j.row_width; c0 += 128) {
            add_slots(j, start, end, c0, lane, sums);
            for (u32 r = 0; r < 4; ++r) parts[warp * 128 + lane + 32 * r] = sums[r];
            __syncthreads();
            if (threadIdx.x < 128 && c0 + threadIdx.x < j.row_width) {
                float sum = 0.0f;
                for (u32 w = 0; w < WARPS; ++w) sum += parts[w * 128 + threadIdx.x];
                store(j, row, c0 + threadIdx.x, sum);
            }
            __syncthreads();
        }
    }
}
