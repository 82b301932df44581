// Sampling neighbours in time: the twin of zoetrope_graph::sampler, to the same choice of events.
//
// A thread answers one moment: a binary search by time and, if the cut-off matters, one by event
// number (about 2·log2(degree) reads that wait for each other, hidden by the other moments). A scan
// gives each moment its place. Evenly drawn positions are settled by the thread of their moment; then
// a thread for each place reads neighbour, event and time (16 bytes) and writes them (16 bytes).
// Nothing depends on the order of threads.
//
// No CPU twin: on the host the graph itself samples.

struct TemporalIndex {
    const u64* offsets;
    const u32* neighbour;
    const u32* event;
    const i64* time;
};

struct TemporalMoments {
    const i64* time;
    const u64* before;
    const u32* vertex;
    u32 count;
};

// Where the past of each moment ends, and how many events it gets.
extern "C" __global__ void temporal_count(TemporalIndex index, TemporalMoments moments, u32 past, u32 most,
                                          u64* ends, u32* counts) {
    const u64 at = thread_index();
    if (at >= moments.count) return;
    const u32 vertex = moments.vertex[at];
    const u64 start = index.offsets[vertex];
    u64 low = start, high = index.offsets[vertex + 1];
    const i64 time = moments.time[at];
    while (low < high) {
        const u64 middle = low + (high - low) / 2;
        const i64 then = index.time[middle];
        if (past ? then <= time : then < time) low = middle + 1;
        else high = middle;
    }
    // Times alone decide nearly always.
    const u64 before = moments.before[at];
    if (low > start && index.event[low - 1] >= before) {
        high = low;
        low = start;
        while (low < high) {
            const u64 middle = low + (high - low) / 2;
            if (index.event[middle] < before) low = middle + 1;
            else high = middle;
        }
    }
    ends[at] = low;
    const u64 seen = low - start;
    counts[at] = seen < most ? (u32)seen : most;
}

// offsets[i + 1] = the sum of the first i + 1 counts. One block of 1024 threads goes over all.
extern "C" __global__ void __launch_bounds__(1024) temporal_places(const u32* counts, u32 count,
                                                                   u32* offsets) {
    __shared__ u32 sums[32];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 before = 0;
    if (threadIdx.x == 0) offsets[0] = 0;
    for (u32 first = 0; first < count; first += 1024) {
        const u32 at = first + threadIdx.x;
        u32 own = at < count ? counts[at] : 0;
        for (u32 distance = 1; distance < 32; distance *= 2) {
            const u32 other = __shfl_up_sync(FULL_WARP, own, distance);
            if (lane >= distance) own += other;
        }
        if (lane == 31) sums[warp] = own;
        __syncthreads();
        if (warp == 0) {
            u32 sum = sums[lane];
            for (u32 distance = 1; distance < 32; distance *= 2) {
                const u32 other = __shfl_up_sync(FULL_WARP, sum, distance);
                if (lane >= distance) sum += other;
            }
            sums[lane] = sum;
        }
        __syncthreads();
        if (at < count) offsets[at + 1] = before + own + (warp > 0 ? sums[warp - 1] : 0);
        before += sums[31];
        __syncthreads();
    }
}

// Distinct positions below the number of events that each moment sees, ascending: Floyd's way, a draw
// for each place. Moments that take all they see draw nothing.
extern "C" __global__ void temporal_draw(TemporalIndex index, TemporalMoments moments, u64 seed,
                                         u32 step, const u64* ends, const u32* offsets,
                                         u64* positions) {
    const u64 at = thread_index();
    if (at >= moments.count) return;
    const u32 vertex = moments.vertex[at];
    const u64 bound = ends[at] - index.offsets[vertex];
    const u32 places = offsets[at + 1] - offsets[at];
    if (places == bound) return;
    u64* chosen = positions + offsets[at];
    // Seed, vertex and time make a key; step and slot count under it.
    const u64 time = (u64)moments.time[at];
    u32 block[4] = {(u32)time, (u32)(time >> 32), vertex, 0x5a01u};
    philox(block, seed);
    const u64 key = (u64)block[1] << 32 | block[0];
    const u64 first = bound - places;
    for (u32 slot = 0; slot < places; slot++) {
        if (slot % 2 == 0) {
            block[0] = slot / 2, block[1] = 0, block[2] = step, block[3] = 0x5a02u;
            philox(block, key);
        }
        const u32 low = block[slot % 2 * 2], high = block[slot % 2 * 2 + 1];
        const u64 draw = __umul64hi((u64)high << 32 | low, first + slot + 1);
        // Every number taken so far is below the one that the slot adds.
        u32 place = slot;
        while (place > 0 && chosen[place - 1] > draw) place--;
        if (place > 0 && chosen[place - 1] == draw) {
            chosen[slot] = first + slot;
        } else {
            for (u32 move = slot; move > place; move--) chosen[move] = chosen[move - 1];
            chosen[place] = draw;
        }
    }
}

// Neighbour, event and time of every place; `positions` is null if the newest are taken.
extern "C" __global__ void temporal_fill(TemporalIndex index, TemporalMoments moments, u32 most,
                                         const u64* ends, const u32* offsets, const u64* positions,
                                         u32* vertex, u32* event, i64* time) {
    const u64 at = thread_index();
    const u64 moment = at / most;
    if (moment >= moments.count) return;
    // Places that no event takes are the last ones; they are copied to the host with the others.
    if (at >= offsets[moments.count]) vertex[at] = 0, event[at] = 0, time[at] = 0;
    const u32 slot = (u32)(at - moment * most), begin = offsets[moment];
    const u32 places = offsets[moment + 1] - begin;
    if (slot >= places) return;
    const u64 start = index.offsets[moments.vertex[moment]], end = ends[moment];
    const bool all = places == end - start;
    const u64 from = positions && !all ? start + positions[begin + slot] : end - places + slot;
    vertex[begin + slot] = index.neighbour[from];
    event[begin + slot] = index.event[from];
    time[begin + slot] = index.time[from];
}
