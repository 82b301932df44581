// Kernels of steps.rs: one thread each.

extern "C" __global__ void steps_add(const float* loss, float factor, float* losses, const u32* counters) {
    losses[counters[0]] += factor * loss[0];
}

extern "C" __global__ void steps_advance(u32* counters, u32 counted) {
    counters[0] += counted;
    counters[1] += 1;
}
