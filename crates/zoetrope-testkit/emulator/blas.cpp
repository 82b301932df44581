// The emulated cuBLASLt: D = epilogue(alpha · op(A) · op(B) + beta · C) on float matrices, summed in double
// precision and rounded once. Every compute type gives the same result.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int zoetrope_emulator_enqueue(void* stream, const char* name, void (*run)(void*), void* data, void (*drop)(void*));
EXPORT int zoetrope_emulator_on_device(const void* pointer, size_t bytes);

// What a profiler sees: a mangled name, as those of the library's kernels are.
constexpr const char* product_name = "_ZN8cublasLt16emulated_productILi32EEEvPKfS2_Pf";

enum Status : int { SUCCESS = 0, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };

struct Layout {
    int32_t type;
    uint64_t rows, columns;
    int64_t stride;
    int32_t order = 0;  // 0 columns, 1 rows lie together
    int32_t batch_count = 1;
    int64_t batch_stride = 0;

    size_t at(uint64_t row, uint64_t column) const { return order == 1 ? row * stride + column : column * stride + row; }
    // Elements from the first to the last of one matrix.
    size_t span() const { return rows && columns ? at(rows - 1, columns - 1) + 1 : 0; }
};

struct Description {
    int32_t compute, scale;
    int32_t pointer_mode = 0;
    int32_t transpose[2] = {0, 0};
    uint32_t epilogue = 1;
    const float* bias = nullptr;
    int64_t bias_batch_stride = 0;
};

struct Heuristic {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int32_t state;
    float waves;
    int32_t reserved[4];
};

namespace {

constexpr int float32 = 0;  // CUDA_R_32F
constexpr uint32_t epilogue_default = 1, epilogue_relu = 2, epilogue_bias = 4;

struct Product {
    Description description;
    Layout a, b, c, d;
    const float *pa, *pb, *pc;
    float* pd;
    float alpha, beta;
};

uint64_t op_rows(const Layout& m, bool transposed) { return transposed ? m.columns : m.rows; }
uint64_t op_columns(const Layout& m, bool transposed) { return transposed ? m.rows : m.columns; }

Status check(const Description& x, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
    bool ta = x.transpose[0] != 0, tb = x.transpose[1] != 0;
    for (const Layout* m : {&a, &b, &c, &d}) {
        if (m->type != float32 || m->order < 0 || m->order > 1) return NOT_SUPPORTED;
        if (m->stride < int64_t(m->order == 1 ? m->columns : m->rows)) return INVALID_VALUE;
        if (m->batch_count != d.batch_count) return INVALID_VALUE;
    }
    bool known = x.epilogue == epilogue_default || (x.epilogue & ~(epilogue_relu | epilogue_bias)) == 0;
    if (!known || x.scale != float32 || x.pointer_mode != 0) return NOT_SUPPORTED;
    bool fits = op_rows(a, ta) == d.rows && op_columns(b, tb) == d.columns && op_columns(a, ta) == op_rows(b, tb);
    return fits && c.rows == d.rows && c.columns == d.columns && d.rows && d.columns && a.rows && a.columns ? SUCCESS : INVALID_VALUE;
}

bool lies_on_device(const float* pointer, const Layout& m) {
    size_t elements = size_t(m.batch_count - 1) * size_t(m.batch_stride) + m.span();
    return zoetrope_emulator_on_device(pointer, elements * sizeof(float));
}

void multiply(void* data) {
    const Product& p = *static_cast<Product*>(data);
    const Description& x = p.description;
    bool ta = x.transpose[0] != 0, tb = x.transpose[1] != 0;
    uint64_t rows = p.d.rows, columns = p.d.columns, inner = op_columns(p.a, ta);
    std::vector<float> right(inner * columns);  // op(B) with rows together, so that the innermost loop runs along it
    std::vector<double> sums(columns);
    for (int64_t batch = 0; batch < p.d.batch_count; ++batch) {
        const float *a = p.pa + batch * p.a.batch_stride, *b = p.pb + batch * p.b.batch_stride;
        const float* c = p.pc + batch * p.c.batch_stride;
        float* d = p.pd + batch * p.d.batch_stride;
        for (uint64_t k = 0; k < inner; ++k)
            for (uint64_t j = 0; j < columns; ++j) right[k * columns + j] = b[tb ? p.b.at(j, k) : p.b.at(k, j)];
        for (uint64_t i = 0; i < rows; ++i) {
            std::fill(sums.begin(), sums.end(), 0.0);
            for (uint64_t k = 0; k < inner; ++k) {
                double left = a[ta ? p.a.at(k, i) : p.a.at(i, k)];
                const float* row = &right[k * columns];
                for (uint64_t j = 0; j < columns; ++j) sums[j] += left * row[j];
            }
            for (uint64_t j = 0; j < columns; ++j) {
                double value = p.alpha * sums[j];
                // With beta = 0 the old values are not read: they may be NaN.
                if (p.beta != 0) value += double(p.beta) * c[p.c.at(i, j)];
                if (x.epilogue & epilogue_bias) value += x.bias[batch * x.bias_batch_stride + int64_t(i)];
                if (x.epilogue & epilogue_relu) value = value > 0 || value != value ? value : 0;
                d[p.d.at(i, j)] = float(value);
            }
        }
    }
}

template <class T> Status set(T& field, const void* from, size_t bytes) {
    if (bytes != sizeof field) return INVALID_VALUE;
    std::memcpy(&field, from, bytes);
    return SUCCESS;
}

}  // namespace

EXPORT Status cublasLtCreate(void** handle) {
    *handle = new char;
    return SUCCESS;
}
EXPORT Status cublasLtDestroy(void* handle) {
    delete static_cast<char*>(handle);
    return SUCCESS;
}
EXPORT size_t cublasLtGetVersion() { return 130000; }
EXPORT size_t cublasLtGetCudartVersion() { return 13000; }

EXPORT Status cublasLtMatmulDescCreate(Description** description, int32_t compute, int32_t scale) {
    *description = new Description{compute, scale};
    return SUCCESS;
}
EXPORT Status cublasLtMatmulDescDestroy(Description* description) {
    delete description;
    return SUCCESS;
}
EXPORT Status cublasLtMatmulDescSetAttribute(Description* x, int attribute, const void* from, size_t bytes) {
    switch (attribute) {
        case 0: return set(x->compute, from, bytes);
        case 1: return set(x->scale, from, bytes);
        case 2: return set(x->pointer_mode, from, bytes);
        case 3: return set(x->transpose[0], from, bytes);
        case 4: return set(x->transpose[1], from, bytes);
        case 7: return set(x->epilogue, from, bytes);
        case 8: return set(x->bias, from, bytes);
        case 10: return set(x->bias_batch_stride, from, bytes);
        default: return NOT_SUPPORTED;
    }
}

EXPORT Status cublasLtMatrixLayoutCreate(Layout** layout, int32_t type, uint64_t rows, uint64_t columns, int64_t stride) {
    *layout = new Layout{type, rows, columns, stride};
    return SUCCESS;
}
EXPORT Status cublasLtMatrixLayoutDestroy(Layout* layout) {
    delete layout;
    return SUCCESS;
}
EXPORT Status cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* from, size_t bytes) {
    switch (attribute) {
        case 0: return set(layout->type, from, bytes);
        case 1: return set(layout->order, from, bytes);
        case 2: return set(layout->rows, from, bytes);
        case 3: return set(layout->columns, from, bytes);
        case 4: return set(layout->stride, from, bytes);
        case 5: return set(layout->batch_count, from, bytes);
        case 6: return set(layout->batch_stride, from, bytes);
        default: return NOT_SUPPORTED;
    }
}

EXPORT Status cublasLtMatmulPreferenceCreate(void** preference) { return cublasLtCreate(preference); }
EXPORT Status cublasLtMatmulPreferenceDestroy(void* preference) { return cublasLtDestroy(preference); }
// Whatever is preferred, there is one algorithm, and it needs no workspace.
EXPORT Status cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, size_t) { return SUCCESS; }

EXPORT Status cublasLtMatmulAlgoGetHeuristic(void*, const Description* x, const Layout* a, const Layout* b, const Layout* c, const Layout* d, void*,
                                             int requested, Heuristic* results, int* count) {
    *count = 0;
    if (requested < 1) return INVALID_VALUE;
    if (auto error = check(*x, *a, *b, *c, *d)) return error;
    *results = Heuristic{};
    results->waves = 1;
    *count = 1;
    return SUCCESS;
}

EXPORT Status cublasLtMatmul(void*, const Description* x, const float* alpha, const float* pa, const Layout* a, const float* pb, const Layout* b,
                             const float* beta, const float* pc, const Layout* c, float* pd, const Layout* d, const void*, void*, size_t, void* stream) {
    if (auto error = check(*x, *a, *b, *c, *d)) return error;
    bool inside = lies_on_device(pa, *a) && lies_on_device(pb, *b) && lies_on_device(pd, *d) && (*beta == 0 || lies_on_device(pc, *c));
    bool biased = x->epilogue & epilogue_bias;
    if (biased && !zoetrope_emulator_on_device(x->bias, d->rows * sizeof(float))) inside = false;
    if (!inside) {
        std::fprintf(stderr, "cuda emulator: cublasLtMatmul of %llu x %llu: an operand leaves its allocation\n", (unsigned long long)d->rows,
                     (unsigned long long)d->columns);
        return INVALID_VALUE;
    }
    auto product = new Product{*x, *a, *b, *c, *d, pa, pb, pc, pd, *alpha, *beta};
    int error = zoetrope_emulator_enqueue(stream, product_name, multiply, product, [](void* data) { delete static_cast<Product*>(data); });
    return error ? EXECUTION_FAILED : SUCCESS;
}
