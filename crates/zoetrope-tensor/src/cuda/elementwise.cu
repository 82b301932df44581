// Kernels of elementwise.rs.

extern "C" __global__ void elementwise_scale_add(float factor, const float* x, float* y, u64 len) {
    u64 at = thread_index();
    if (at < len) y[at] = fmaf(factor, x[at], y[at]);
}

extern "C" __global__ void elementwise_add_number(float number, float* y, u64 len) {
    u64 at = thread_index();
    if (at < len) y[at] += number;
}
