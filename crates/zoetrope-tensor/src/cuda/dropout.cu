// y (+)= x with elements dropped by a mask that is a function of a counter.
//
// A thread takes the four elements of one Philox block. 8 bytes an element (12 if it adds) and
// about 20 integer operations: bound by memory.

extern "C" __global__ void dropout_apply(DropoutMask mask, const float* x, float* y, u32 adds, u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(x) | address(y), at, len);
    Four v = load_four(x, at, len, whole);
    const Four factor = dropout_factors(mask, at / 4);
#pragma unroll
    // An element that is dropped is 0 even if it was infinite or NaN.
    for (u32 k = 0; k < 4; k++) v.at[k] = factor.at[k] == 0.0f ? 0.0f : v.at[k] * factor.at[k];
    join_four(y, v, adds, at, len, whole);
}
