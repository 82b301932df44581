// One step of an optimiser on all parameters, which lie one after the other in flat arrays, with
// PyTorch's formulas and the order of operations of the CPU side.
//
// Three launches: squares of the gradients by blocks (4 bytes a value), one block that decides what
// the step does, and the step itself (12 to 28 bytes a value). Learning rate and number of steps are
// read from `State` on the GPU, so that the launches can be recorded and played again. Once the norm
// of the gradients is not finite, the parameters and their state stay as they are for good.

struct State {
    float rate;
    u32 step;         // steps made
    u32 failed_step;  // the first whose gradients were not finite; 0: none
    float factor;     // by which clipping scales the gradients
    float step_size;  // Adam: rate / (1 − β₁ᵗ)
    float root;       // Adam: √(1 − β₂ᵗ)
};

enum { SGD, SGD_MOMENTUM, ADAM, RMS, RMS_MOMENTUM };

struct Rule {
    u32 kind;
    u32 variant;  // SGD: looks ahead; Adam: decoupled decay
    float decay;
    float first;   // momentum, β₁ or α
    float second;  // β₂, or the momentum of RMSprop
    float epsilon;
};

extern "C" __global__ void optimiser_squares(const float* gradients, u64 len, double* parts) {
    __shared__ double room[32];
    double sum = 0.0;
    for (u64 at = first_of_four(); at < len; at += 4 * thread_count()) {
        const Four g = load_four(gradients, at, len, is_whole(address(gradients), at, len));
        #pragma unroll
        for (u32 k = 0; k < 4; k++) sum += (double)g.at[k] * (double)g.at[k];
    }
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// One block. `limit` is the largest norm, 0 for none.
extern "C" __global__ void optimiser_advance(const double* parts, u32 blocks, double limit, Rule rule,
                                             State* state) {
    __shared__ double room[32];
    double sum = 0.0;
    for (u32 block = threadIdx.x; block < blocks; block += blockDim.x) sum += parts[block];
    sum = block_sum(sum, room);
    if (threadIdx.x > 0 || state->failed_step) return;
    const double norm = sqrt(sum);
    const u32 step = state->step + 1;
    // Neither infinite nor NaN.
    if (!(norm - norm == 0.0)) {
        state->failed_step = step;
        return;
    }
    state->step = step;
    const double factor = limit > 0.0 ? limit / (norm + 1e-6) : 1.0;
    state->factor = factor < 1.0 ? (float)factor : 1.0f;
    if (rule.kind == ADAM) {
        const double first = pow((double)rule.first, (double)step);
        const double second = pow((double)rule.second, (double)step);
        state->step_size = (float)((double)state->rate / (1.0 - first));
        state->root = (float)sqrt(1.0 - second);
    }
}

// The parameter that an element belongs to: the last one that starts there or before.
__device__ __forceinline__ u32 parameter_of(u64 element, const u64* starts, u32 count) {
    u32 low = 0, high = count;
    while (high - low > 1) {
        const u32 middle = (low + high) / 2;
        if (starts[middle] <= element) low = middle; else high = middle;
    }
    return low;
}

// New values of one element and of its state.
__device__ __forceinline__ void update(const Rule& rule, const State& state, float g, float& p,
                                       float& a, float& b) {
    g *= state.factor;
    if (rule.kind == ADAM && rule.variant) {
        p *= 1.0f - state.rate * rule.decay;
    } else if (rule.decay != 0.0f) {
        g = fmaf(p, rule.decay, g);
    }
    switch (rule.kind) {
        case SGD: p = fmaf(g, -state.rate, p); break;
        case SGD_MOMENTUM: {
            a = fmaf(a, rule.first, g);
            const float direction = rule.variant ? fmaf(a, rule.first, g) : a;
            p = fmaf(direction, -state.rate, p);
            break;
        }
        case ADAM: {
            const float rest1 = (float)(1.0 - (double)rule.first);
            const float rest2 = (float)(1.0 - (double)rule.second);
            a = fmaf(rest1, g - a, a);
            b = fmaf(rest2, g * g, b * rule.second);
            p = fmaf(a / (sqrtf(b) / state.root + rule.epsilon), -state.step_size, p);
            break;
        }
        default: {
            const float rest = (float)(1.0 - (double)rule.first);
            a = fmaf(rest, g * g, a * rule.first);
            float step = g / (sqrtf(a) + rule.epsilon);
            if (rule.kind == RMS_MOMENTUM) step = b = fmaf(b, rule.second, step);
            p = fmaf(step, -state.rate, p);
        }
    }
}

// A thread takes four elements of one parameter, since parameters start at multiples of four. Those
// without a gradient stay as they are. `first` and `second` are null if the rule keeps no such
// state.
extern "C" __global__ void optimiser_update(Rule rule, const State* state, float* values,
                                            const float* gradients, float* first, float* second,
                                            u64 len, const u64* starts, const u32* reached,
                                            u32 count) {
    const u64 at = first_of_four();
    if (at >= len || state->failed_step || !reached[parameter_of(at, starts, count)]) return;
    const u64 addresses = address(values) | address(gradients) | address(first) | address(second);
    const bool whole = is_whole(addresses, at, len);
    const State now = *state;
    const Four g = load_four(gradients, at, len, whole);
    Four p = load_four(values, at, len, whole), a = {}, b = {};
    if (first) a = load_four(first, at, len, whole);
    if (second) b = load_four(second, at, len, whole);
    #pragma unroll
    for (u32 k = 0; k < 4; k++) update(rule, now, g.at[k], p.at[k], a.at[k], b.at[k]);
    store_four(values, p, at, len, whole);
    if (first) store_four(first, a, at, len, whole);
    if (second) store_four(second, b, at, len, whole);
}
