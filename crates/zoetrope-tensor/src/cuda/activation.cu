// y = activation(x) and dx (+)= activation'(y)·dy.
//
// A thread takes four neighbouring elements. Moves 8 bytes an element forward, 12 backward (16 if
// it adds): bound by memory, whatever the function.

extern "C" __global__ void activation_forward(u32 kind, float parameter, const float* x, float* y,
                                              u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(x) | address(y), at, len);
    Four v = load_four(x, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) v.at[k] = activation_value(kind, parameter, v.at[k]);
    store_four(y, v, at, len, whole);
}

extern "C" __global__ void activation_backward(u32 kind, float parameter, const float* y,
                                               const float* dy, float* dx, u32 adds, u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(address(y) | address(dy) | address(dx), at, len);
    const Four value = load_four(y, at, len, whole);
    Four d = load_four(dy, at, len, whole);
#pragma unroll
    for (u32 k = 0; k < 4; k++) d.at[k] *= activation_slope(kind, parameter, value.at[k]);
    join_four(dx, d, adds, at, len, whole);
}
