// Rows that came from the GPUs of other ranks, and sums over ranks.
//
// Messages of all ranks lie one after the other in the order of ranks, own rows among them. One thread
// owns one value of the result and reads what belongs there in that order, so that sums are
// ((x₀ + x₁) + x₂) + … as on the host, and nothing is added by an atomic.
//
// Bytes: 4 of list a row and 8 a value for `put`; 4 to 8 of list a row and 12 a value for `add`; 4 (P + 1)
// a value for `sum`.
//
// No CPU twin: ranks on processors do the same in zoetrope-dist (`exchange/rows.rs`, `ranks/all_reduce.rs`).

// y[r] = x[positions[r]], or 0 if nobody sent the row (the position is NONE).
template <class Unit>
__device__ __forceinline__ void put(const float* x, u32 units, const u32* positions, float* y, u64 count) {
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const u64 row = quotient(at, units);
    const u32 position = positions[row];
    Unit value = {};
    if (position != 0xffffffffu) value = ((const Unit*)x)[(u64)position * units + (at - row * units)];
    ((Unit*)y)[at] = value;
}

extern "C" __global__ void link_put(const float* x, u32 units, const u32* positions, float* y, u64 count) {
    put<float>(x, units, positions, y, count);
}

extern "C" __global__ void link_put_wide(const float* x, u32 units, const u32* positions, float* y, u64 count) {
    put<float4>(x, units, positions, y, count);
}

// y[r] += Σ x[positions[i]] over i in starts[r] .. starts[r + 1], in that order. The sum is made first and
// added as a whole, as the host does that gets y's addend in one piece.
extern "C" __global__ void link_add(const float* x, u32 width, const u32* starts, const u32* positions,
                                    float* y, u64 count) {
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const u64 row = quotient(at, width);
    const u64 column = at - row * width;
    float sum = 0.0f;
    for (u32 i = starts[row]; i < starts[row + 1]; i++) sum += x[(u64)positions[i] * width + column];
    y[at] += sum;
}

// own[i] = ((x₀[i] + x₁[i]) + …), where xᵣ is own for this rank and parts[r] for every other.
extern "C" __global__ void link_sum(const float* parts, float* own, u32 rank, u32 size, u64 count) {
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    float sum = rank == 0 ? own[at] : parts[at];
    for (u32 from = 1; from < size; from++) sum += from == rank ? own[at] : parts[(u64)from * count + at];
    own[at] = sum;
}
