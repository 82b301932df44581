// y (+)= x with elements dropped by a mask that is a function of a counter.
//
// A thread takes the four elements of one Philox block, the first of which is `before`. 8 bytes an element (12 if it adds) and
// about 20 integer operations: bound by memory.

extern "C" __global__ void dropout_apply(DropoutMask mask, const float* x, float* y, u32 adds, u64 before, u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(x) | address(y), at, len);
    Four v = load_four(x, at, len, whole);
    const Four factor = dropout_factors(mask, before + at / 4);
#pragma unroll
    // An element that is dropped is 0 even if it was infinite or NaN.
    for (u32 k = 0; k < 4; k++) v.at[k] = factor.at[k] == 0.0f ? 0.0f : v.at[k] * factor.at[k];
    join_four(y, v, adds, at, len, whole);
}

// The same by cells: row r is of vertex vertices[r mod count], or of r itself if there is no list, at step
// r / count; elements are counted from `first` on, `all` vertices a step. A thread an element.
extern "C" __global__ void dropout_cells(DropoutMask mask, const float* x, float* y, u32 adds,
                                         const u32* vertices, u32 count, u64 all, u64 first,
                                         u32 cols, u64 len) {
    const u64 at = thread_index();
    if (at >= len) return;
    u64 row = at / cols;
    const u64 column = at - row * cols;
    if (vertices) row = row / count * all + vertices[row % count];
    const float factor = dropout_factor(mask, first + row * cols + column);
    // An element that is dropped is 0 even if it was infinite or NaN.
    const float kept = factor == 0.0f ? 0.0f : x[at] * factor;
    y[at] = adds ? y[at] + kept : kept;
}
