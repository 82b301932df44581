// Losses: Σ w·l / Σ w over elements or rows, and its gradient.
//
// Sums are kept in f64 in two phases: the blocks of a grid whose size follows from the length alone
// write Σ w·l and Σ w, one block joins them in order. The result and the sum of weights stay on the
// GPU. Elements of weight 0 do not count even if they are NaN. Moves 8 bytes an element forward
// (12 with weights), 12 backward (16), 4 more if it adds.

enum { SQUARE, ABSOLUTE, LOGISTIC };

// max(x, 0) + ln(1 + exp(−|x|)).
__device__ __forceinline__ float softplus(float x) {
    return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

// The term of one element; `positive` is the weight of positive targets.
__device__ __forceinline__ double term(u32 kind, float positive, float p, float t) {
    if (kind == LOGISTIC) {
        const float factor = fmaf(positive - 1.0f, t, 1.0f);
        return fmaf(factor, softplus(-p), (1.0f - t) * p);
    }
    const double apart = (double)p - (double)t;
    return kind == SQUARE ? apart * apart : fabs(apart);
}

// Its derivative by p, that of a square halved (the factor 2 is in the scale).
__device__ __forceinline__ float term_slope(u32 kind, float positive, float p, float t) {
    if (kind == SQUARE) return p - t;
    if (kind == ABSOLUTE) return p > t ? 1.0f : p < t ? -1.0f : 0.0f;
    const float factor = fmaf(positive - 1.0f, t, 1.0f);
    return (1.0f - t) - factor * sigmoid(-p);
}

// Writes a block's two sums.
__device__ __forceinline__ void keep_sums(double sum, double weights, double* parts) {
    __shared__ double room[32];
    sum = block_sum(sum, room);
    weights = block_sum(weights, room);
    if (threadIdx.x == 0) {
        parts[2 * blockIdx.x] = sum;
        parts[2 * blockIdx.x + 1] = weights;
    }
}

extern "C" __global__ void loss_sums(u32 kind, float positive, const float* p, const float* t,
                                     const float* weight, u64 len, double* parts) {
    double sum = 0.0, weights = 0.0;
#pragma unroll 4
    for (u64 at = thread_index(); at < len; at += thread_count()) {
        const float w = weight ? weight[at] : 1.0f;
        weights += w;
        if (w != 0.0f) sum += (double)w * term(kind, positive, p[at], t[at]);
    }
    keep_sums(sum, weights, parts);
}

// One block: the loss, and the sum of weights for the backward pass.
extern "C" __global__ void loss_join(const double* parts, u32 blocks, float* loss, double* total) {
    __shared__ double room[32];
    double sum = 0.0, weights = 0.0;
    for (u32 block = threadIdx.x; block < blocks; block += blockDim.x) {
        sum += parts[2 * block];
        weights += parts[2 * block + 1];
    }
    sum = block_sum(sum, room);
    weights = block_sum(weights, room);
    if (threadIdx.x == 0) {
        *loss = weights == 0.0 ? 0.0f : (float)(sum / weights);
        *total = weights;
    }
}

// d_loss / Σ w, or 0 if the weights sum to 0.
__device__ __forceinline__ float per_weight(const float* d_loss, const double* total) {
    return *total == 0.0 ? 0.0f : (float)((double)*d_loss / *total);
}

extern "C" __global__ void loss_backward(u32 kind, float positive, const float* p, const float* t,
                                         const float* weight, const float* d_loss,
                                         const double* total, float* dp, u32 adds, u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const u64 addresses = address(p) | address(t) | address(weight) | address(dp);
    const bool whole = is_whole(addresses, at, len);
    const float scale = (kind == SQUARE ? 2.0f : 1.0f) * per_weight(d_loss, total);
    const Four prediction = load_four(p, at, len, whole), target = load_four(t, at, len, whole);
    Four w = {1.0f, 1.0f, 1.0f, 1.0f};
    if (weight) w = load_four(weight, at, len, whole);
    Four d;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        const float factor = w.at[k] * scale;
        d.at[k] = factor == 0.0f
            ? 0.0f
            : factor * term_slope(kind, positive, prediction.at[k], target.at[k]);
    }
    join_four(dp, d, adds, at, len, whole);
}

// ---- Cross entropy: `lanes` threads own a row of logits. ----

// The largest logit of a row and Σ exp(logit − largest), the same in all lanes of the row.
__device__ __forceinline__ float2 exp_sum(const float* logits, u32 classes, u32 lane, u32 lanes,
                                          bool works) {
    float most = NEGATIVE_INFINITY;
    for (u32 j = lane; works && j < classes; j += lanes) most = fmaxf(most, logits[j]);
    most = group_max(most, lanes);
    float sum = 0.0f;
    for (u32 j = lane; works && j < classes; j += lanes) sum += expf(logits[j] - most);
    sum = group_sum(sum, lanes);
    return make_float2(most, sum);
}

extern "C" __global__ void loss_cross_entropy(const float* logits, u32 classes, u32 lanes,
                                              const u32* target, const float* weight, u64 rows,
                                              double* parts) {
    const u32 lane = threadIdx.x % lanes;
    const u64 stride = thread_count() / lanes;
    double sum = 0.0, weights = 0.0;
    // All rows of a warp take as many turns, because its lanes exchange values.
    for (u64 first = 0; first < rows; first += stride) {
        const u64 row = first + thread_index() / lanes;
        const float w = row >= rows ? 0.0f : weight ? weight[row] : 1.0f;
        const float* own = logits + row * classes;
        const float2 both = exp_sum(own, classes, lane, lanes, w != 0.0f);
        if (lane > 0) continue;
        weights += w;
        if (w != 0.0f) sum += (double)w * (double)(both.x - own[target[row]] + logf(both.y));
    }
    keep_sums(sum, weights, parts);
}

extern "C" __global__ void loss_cross_entropy_backward(const float* logits, u32 classes, u32 lanes,
                                                       const u32* target, const float* weight,
                                                       const float* d_loss, const double* total,
                                                       float* d_logits, u32 adds, u64 rows) {
    const u32 lane = threadIdx.x % lanes;
    const u64 row = thread_index() / lanes;
    float scale = 0.0f;
    if (row < rows) scale = per_weight(d_loss, total) * (weight ? weight[row] : 1.0f);
    const float* own = logits + row * classes;
    const float2 both = exp_sum(own, classes, lane, lanes, scale != 0.0f);
    if (row >= rows) return;
    const float share = 1.0f / both.y;
    for (u32 j = lane; j < classes; j += lanes) {
        float d = 0.0f;
        if (scale != 0.0f) {
            d = scale * (expf(own[j] - both.x) * share);
            if (j == target[row]) d -= scale;
        }
        put(d_logits + row * classes + j, d, adds);
    }
}
