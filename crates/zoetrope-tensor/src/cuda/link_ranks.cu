// Links ranked among destinations that are drawn for them: the twin of `cpu::link_ranks`, draw for draw.
//
// A warp owns a link. Its lanes draw side by side; a draw that came before is replaced by the number that its
// place adds (Floyd): what is drawn is replaced if an earlier draw is equal, or if it is what an earlier place
// that was replaced added. The first is found by comparing all, the second by following places down. Then a
// lane takes a destination at a time: a search in the row of the source, a row of `destination` (4·width bytes,
// mostly from the second cache), a count. Read of a link: width·4·(negatives + 2) bytes. No list of pairs is
// written, and a result is two counts, whatever the order in which lanes add them.
//
// Scores are summed from the first column to the last, those of links and of what is drawn alike, so that
// equal rows have equal scores.

struct LinkRows {
    const u32* source;       // of each link
    const u32* destination;  // of each link, ascending within a source
    const u32* begin;        // where the links of its source begin
    const u32* end;          // and where they end
    u32 count;
    u32 vertices;
};

struct LinkDraws {
    u64 seed;
    u64 first;
    u32 stream;
    u32 step;
};

__device__ __forceinline__ float link_score(const float* s, const float* t, const float* w, float bias,
                                            u32 width, bool whole) {
    float sum = 0.0f;
    if (whole) {
        for (u32 j = 0; j < width; j += 4) {
            const float4 a = *(const float4*)(s + j), b = *(const float4*)(t + j), c = *(const float4*)(w + j);
            sum = fmaf(fmaxf(a.x + b.x, 0.0f), c.x, sum);
            sum = fmaf(fmaxf(a.y + b.y, 0.0f), c.y, sum);
            sum = fmaf(fmaxf(a.z + b.z, 0.0f), c.z, sum);
            sum = fmaf(fmaxf(a.w + b.w, 0.0f), c.w, sum);
        }
    } else {
        for (u32 j = 0; j < width; j++) sum = fmaf(fmaxf(s[j] + t[j], 0.0f), w[j], sum);
    }
    return sum + bias;
}

__device__ __forceinline__ u32 warp_count(u32 x) {
    #pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(FULL_WARP, x, distance);
    return x;
}

// Shared memory: two numbers for each destination of each warp.
extern "C" __global__ void link_ranks_count(const float* source, const float* destination, u32 width,
                                            const float* weight, const float* bias, LinkRows links,
                                            u32 negatives, LinkDraws draws, uint2* ranks) {
    extern __shared__ u32 drawn_by_block[];
    const u32 lane = threadIdx.x % 32;
    const u64 link = thread_index() / 32;
    if (link >= links.count) return;
    u32* drawn = drawn_by_block + threadIdx.x / 32 * 2 * negatives;
    u32* replaced = drawn + negatives;
    const u32 own = links.source[link], begin = links.begin[link], length = links.end[link] - begin;
    const u32 size = links.vertices - 1 - length;
    if (size == 0) {
        if (lane == 0) ranks[link] = make_uint2(0xffffffffu, 0);
        return;
    }
    const u32 taken = negatives < size ? negatives : size, lowest = size - taken;
    for (u32 n = lane; n < taken; n += 32) {
        const u64 index = draws.first + link * negatives + n;
        u32 block[4] = {(u32)index, (u32)(index >> 32), draws.step, draws.stream};
        philox(block, draws.seed);
        // Of as many as there are each is taken, whatever is drawn.
        drawn[n] = lowest == 0 ? n : (u32)__umul64hi((u64)block[1] << 32 | block[0], (u64)lowest + n + 1);
    }
    __syncwarp();
    for (u32 n = lane; n < taken; n += 32) {
        u32 met = 0;
        if (lowest > 0)
            for (u32 k = 0; k < n; k++) met |= drawn[k] == drawn[n];
        replaced[n] = met;
    }
    __syncwarp();
    const float* s = source + (u64)own * width;
    const bool whole = width % 4 == 0 && ((address(source) | address(destination) | address(weight)) & 15) == 0;
    const u32* row = links.destination + begin;
    const float mine =
        link_score(s, destination + (u64)links.destination[link] * width, weight, *bias, width, whole);
    u32 higher = 0, equal = 0, broken = mine != mine;
    for (u32 n = lane; n < taken; n += 32) {
        u32 at = n;
        while (!replaced[at] && drawn[at] >= lowest && drawn[at] - lowest < at) at = drawn[at] - lowest;
        const u32 rank = replaced[at] ? lowest + n : drawn[n];
        // How many links of the source have at most `rank` vertices before them that are none.
        u32 low = 0, high = length;
        while (low < high) {
            const u32 middle = (low + high) / 2, vertex = row[middle];
            if (vertex - (vertex > own) - middle <= rank) low = middle + 1;
            else high = middle;
        }
        const u32 place = rank + low, vertex = place + (place >= own);
        const float score = link_score(s, destination + (u64)vertex * width, weight, *bias, width, whole);
        higher += score > mine;
        equal += score == mine;
        broken |= score != score;
    }
    higher = warp_count(higher), equal = warp_count(equal), broken = warp_count(broken);
    if (lane == 0) ranks[link] = broken ? make_uint2(0xffffffffu, 1) : make_uint2(higher, equal);
}
