// Exercises the emulated libraries through their C interfaces only, as a program linked to CUDA would.
// `self_test KERNELS` runs every check; `self_test KERNELS NAME` runs one that must end the process.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using Handle = void*;
using Pointer = uint64_t;
extern "C" {
int cuInit(unsigned);
int cuDeviceGet(int*, int);
int cuDevicePrimaryCtxRetain(Handle*, int);
int cuCtxSetCurrent(Handle);
int cuCtxSynchronize();
int cuMemAlloc_v2(Pointer*, size_t);
int cuMemFree_v2(Pointer);
int cuMemcpyHtoD_v2(Pointer, const void*, size_t);
int cuMemcpyDtoH_v2(void*, Pointer, size_t);
int cuMemcpyDtoDAsync_v2(Pointer, Pointer, size_t, Handle);
int cuMemsetD32Async(Pointer, unsigned, size_t, Handle);
int cuModuleLoadData(Handle*, const void*);
int cuModuleGetFunction(Handle*, Handle, const char*);
int cuModuleGetGlobal_v2(Pointer*, size_t*, Handle, const char*);
int cuFuncSetAttribute(Handle, int, int);
int cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**);
int cuStreamCreate(Handle*, unsigned);
int cuStreamSynchronize(Handle);
int cuStreamWaitEvent(Handle, Handle, unsigned);
int cuStreamBeginCapture_v2(Handle, int);
int cuStreamEndCapture(Handle, Handle*);
int cuEventCreate(Handle*, unsigned);
int cuEventRecord(Handle, Handle);
int cuGraphGetNodes(Handle, Handle*, size_t*);
int cuGraphInstantiateWithFlags(Handle*, Handle, unsigned long long);
int cuGraphLaunch(Handle, Handle);
int cuGraphExecUpdate_v2(Handle, Handle, Handle);
int nvrtcCreateProgram(Handle*, const char*, const char*, int, const char* const*, const char* const*);
int nvrtcCompileProgram(Handle, int, const char* const*);
int nvrtcGetProgramLogSize(Handle, size_t*);
int nvrtcGetProgramLog(Handle, char*);
int nvrtcGetCUBINSize(Handle, size_t*);
int nvrtcGetCUBIN(Handle, char*);
int cublasLtCreate(Handle*);
int cublasLtMatmulDescCreate(Handle*, int, int);
int cublasLtMatmulDescSetAttribute(Handle, int, const void*, size_t);
int cublasLtMatrixLayoutCreate(Handle*, int, uint64_t, uint64_t, int64_t);
int cublasLtMatrixLayoutSetAttribute(Handle, int, const void*, size_t);
int cublasLtMatmul(Handle, Handle, const void*, Pointer, Handle, Pointer, Handle, const void*, Pointer, Handle, Pointer, Handle, Handle, Handle, size_t,
                   Handle);
}

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)
#define OK(call) CHECK((call) == 0)

static Handle module, stream, other_stream;

template <class T> Pointer upload(const std::vector<T>& values) {
    Pointer pointer;
    OK(cuMemAlloc_v2(&pointer, values.size() * sizeof(T)));
    OK(cuMemcpyHtoD_v2(pointer, values.data(), values.size() * sizeof(T)));
    return pointer;
}

template <class T> std::vector<T> download(Pointer pointer, size_t count) {
    std::vector<T> values(count);
    OK(cuMemcpyDtoH_v2(values.data(), pointer, count * sizeof(T)));
    return values;
}

template <class... P> int launch(Handle on, const char* name, unsigned grid, unsigned block, unsigned shared, P... parameters) {
    Handle function;
    OK(cuModuleGetFunction(&function, module, name));
    void* pointers[] = {&parameters..., nullptr};
    return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, on, pointers, nullptr);
}

static std::string compile(const std::string& source, const char* option, int expected) {
    Handle program;
    size_t bytes;
    OK(nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr));
    const char* options[] = {"--gpu-architecture=sm_90", "--std=c++17", option};
    int result = nvrtcCompileProgram(program, 3, options);
    OK(nvrtcGetProgramLogSize(program, &bytes));
    std::string log(bytes, 0);
    OK(nvrtcGetProgramLog(program, &log[0]));
    if (result != expected) std::fprintf(stderr, "%s\n", log.c_str());
    CHECK(result == expected);
    if (result != 0) return log;
    OK(nvrtcGetCUBINSize(program, &bytes));
    std::string image(bytes, 0);
    OK(nvrtcGetCUBIN(program, &image[0]));
    return image;
}

static void compiles_and_refuses() {
    CHECK(compile("__device__ void f(float* x) { atomicAdd(x, 1.0f); }", "-DX=1", 6).find("atomicAdd") != std::string::npos);
    CHECK(compile("\n\nint f() { return INFINITY; }", "-DX=1", 6).find("kernels.cu:3") != std::string::npos);
    compile("#include <cmath>\n", "-DX=1", 6);
    compile("static_assert(X == 7 && __CUDA_ARCH__ == 900, \"\");", "-DX=7", 0);
}

static void runs_kernels() {
    std::vector<float> x(1000);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 17);
    Pointer px = upload(x), sums = upload(std::vector<float>(4));
    OK(launch(nullptr, "block_sums", 4, 256, 0, px, 1000u, sums));
    auto got = download<float>(sums, 4);
    for (size_t b = 0; b < 4; ++b) {
        float sum = 0;
        for (size_t i = b * 256; i < std::min<size_t>(1000, (b + 1) * 256); ++i) sum += x[i];
        CHECK(got[b] == sum);
    }
    CHECK(launch(nullptr, "block_sums", 4, 512, 0, px, 1000u, sums) == 701);

    OK(launch(nullptr, "reverse", 2, 100, 1600, px));
    got = download<float>(px, 800);
    for (size_t i = 0; i < 800; ++i) CHECK(got[i] == x[i / 400 * 400 + (99 - i % 400 / 4) * 4 + i % 4]);
    CHECK(launch(nullptr, "reverse", 1, 1, 100000, px) == 1);
    Handle function;
    OK(cuModuleGetFunction(&function, module, "reverse"));
    OK(cuFuncSetAttribute(function, 8, 100000));
    CHECK(cuFuncSetAttribute(function, 8, 300000) != 0);
    OK(launch(nullptr, "reverse", 1, 250, 100000, px));

    struct Shape {
        uint64_t n;
        uint32_t step;
    };
    Pointer pi = upload(std::vector<int>{1, 2, 3, 4, 5, 6});
    OK(launch(nullptr, "scale_int_3", 1, 2, 0, pi, Shape{3, 2}, 2.0));
    CHECK((download<int>(pi, 6) == std::vector<int>{6, 2, 18, 4, 30, 6}));
    OK(launch(nullptr, "scale_float_2", 1, 32, 0, sums, Shape{4, 1}, 0.5));

    Pointer out = upload(std::vector<unsigned>(20 * 8));
    OK(launch(nullptr, "warp_tour", 1, 20, 0, out));
    auto tour = download<unsigned>(out, 20 * 8);
    for (unsigned t = 0; t < 20; ++t) {
        CHECK(tour[t * 8] == 0x49249u);
        CHECK(tour[t * 8 + 1] == (t ^ 1));
        CHECK(tour[t * 8 + 2] == (t % 8 < 2 ? t : t - 2));
        CHECK(tour[t * 8 + 3] == 19);
        CHECK(tour[t * 8 + 4] == 0xfu << t / 4 * 4);
        CHECK(tour[t * 8 + 5] == 10);
        CHECK(tour[t * 8 + 6] == (t < 4 ? 7u : 0u));
        if (t < 10) CHECK(tour[t * 8 + 7] == 1);
    }

    Pointer table, counter;
    size_t bytes;
    std::vector<float> constants = {1, 2, 3, 4};
    OK(cuModuleGetGlobal_v2(&table, &bytes, module, "table"));
    CHECK(bytes == 16);
    OK(cuMemcpyHtoD_v2(table, constants.data(), bytes));
    OK(launch(nullptr, "count", 1, 32, 0, pi, 6u, sums));
    OK(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"));
    CHECK(download<uint64_t>(counter, 1)[0] == 6);
    CHECK(download<float>(sums, 4) == constants);

    OK(launch(nullptr, "read_unwritten", 2, 1, 8, sums));
    for (float value : download<float>(sums, 4)) CHECK(std::isnan(value));
    for (Pointer p : {px, sums, pi, out}) OK(cuMemFree_v2(p));
}

static void guards_memory() {
    Pointer p;
    CHECK(cuMemAlloc_v2(&p, size_t(9) << 30) == 2);
    OK(cuMemAlloc_v2(&p, 100));
    std::vector<char> host(200);
    CHECK(cuMemcpyHtoD_v2(p, host.data(), 101) == 1);
    CHECK(cuMemcpyHtoD_v2(p + 50, host.data(), 51) == 1);
    CHECK(cuMemFree_v2(p + 4) == 1);
    CHECK(std::isnan(download<float>(p, 25)[7]));
    OK(cuMemFree_v2(p));
    CHECK(cuMemFree_v2(p) == 1);
}

static Handle capture(float times, Pointer x, Pointer copied) {
    Handle forked, joined, graph;
    OK(cuEventCreate(&forked, 0));
    OK(cuEventCreate(&joined, 0));
    struct Shape {
        uint64_t n;
        uint32_t step;
    };
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(launch(stream, "scale_float_2", 1, 32, 0, x, Shape{4, 1}, double(times)));
    OK(cuEventRecord(forked, stream));
    OK(cuStreamWaitEvent(other_stream, forked, 0));
    OK(cuMemcpyDtoDAsync_v2(copied, x, 16, other_stream));
    OK(cuEventRecord(joined, other_stream));
    OK(cuStreamWaitEvent(stream, joined, 0));
    OK(cuMemsetD32Async(x, 0x3f800000, 1, stream));
    OK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static void captures_and_replays() {
    Pointer x = upload(std::vector<float>{1, 2, 3, 4}), copied = upload(std::vector<float>(4));
    Handle graph = capture(1.0, x, copied), exec;
    CHECK((download<float>(x, 4) == std::vector<float>{1, 2, 3, 4}));
    size_t nodes;
    OK(cuGraphGetNodes(graph, nullptr, &nodes));
    CHECK(nodes == 3);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    CHECK((download<float>(copied, 4) == std::vector<float>{2, 4, 6, 8}));
    CHECK((download<float>(x, 4) == std::vector<float>{1, 4, 6, 8}));
    uint64_t info[3];
    OK(cuGraphExecUpdate_v2(exec, capture(2.0, x, copied), info));
    OK(cuGraphLaunch(exec, stream));
    CHECK((download<float>(copied, 4) == std::vector<float>{4, 16, 24, 32}));

    // Waiting during capture is refused and spoils it; work that nobody joined is found.
    OK(cuStreamBeginCapture_v2(stream, 0));
    float value;
    CHECK(cuMemcpyDtoH_v2(&value, x, 4) == 900);
    CHECK(cuStreamSynchronize(stream) == 900);
    CHECK(cuStreamEndCapture(stream, &graph) == 901);
    Handle forked;
    OK(cuEventCreate(&forked, 0));
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cuEventRecord(forked, stream));
    OK(cuStreamWaitEvent(other_stream, forked, 0));
    OK(cuMemcpyDtoDAsync_v2(copied, x, 16, other_stream));
    CHECK(cuStreamEndCapture(stream, &graph) == 904);
    OK(cuStreamSynchronize(other_stream));
}

static void multiplies(int ta, int tb, int order, bool captured) {
    const uint64_t m = 5, n = 7, k = 11;
    const int batches = 3, row_order = order;
    uint64_t shapes[3][2] = {{ta ? k : m, ta ? m : k}, {tb ? n : k, tb ? k : n}, {m, n}};
    std::mt19937 random(7);
    Handle blas, description, layouts[3];
    OK(cublasLtCreate(&blas));
    OK(cublasLtMatmulDescCreate(&description, 68, 0));
    OK(cublasLtMatmulDescSetAttribute(description, 3, &ta, 4));
    OK(cublasLtMatmulDescSetAttribute(description, 4, &tb, 4));
    int64_t strides[3], steps[3];
    std::vector<float> host[3];
    Pointer device[3];
    for (int i = 0; i < 3; ++i) {
        uint64_t run = row_order ? shapes[i][1] : shapes[i][0], runs = row_order ? shapes[i][0] : shapes[i][1];
        strides[i] = int64_t(run) + 2 + i;
        steps[i] = strides[i] * int64_t(runs) + 3;
        host[i].resize(size_t(steps[i] * batches));
        for (auto& v : host[i]) v = std::uniform_real_distribution<float>(-1, 1)(random);
        device[i] = upload(host[i]);
        OK(cublasLtMatrixLayoutCreate(&layouts[i], 0, shapes[i][0], shapes[i][1], strides[i]));
        OK(cublasLtMatrixLayoutSetAttribute(layouts[i], 1, &row_order, 4));
        OK(cublasLtMatrixLayoutSetAttribute(layouts[i], 5, &batches, 4));
        OK(cublasLtMatrixLayoutSetAttribute(layouts[i], 6, &steps[i], 8));
    }
    std::vector<float> bias(m, 0.25f);
    Pointer pbias = upload(bias);
    unsigned epilogue = 6;
    OK(cublasLtMatmulDescSetAttribute(description, 7, &epilogue, 4));
    OK(cublasLtMatmulDescSetAttribute(description, 8, &pbias, 8));
    float alpha = 0.5f, beta = 2.0f;
    if (captured) OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cublasLtMatmul(blas, description, &alpha, device[0], layouts[0], device[1], layouts[1], &beta, device[2], layouts[2], device[2], layouts[2], nullptr,
                      nullptr, 0, stream));
    if (captured) {
        Handle graph, exec;
        OK(cuStreamEndCapture(stream, &graph));
        CHECK(download<float>(device[2], host[2].size()) == host[2]);
        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cuGraphLaunch(exec, stream));
    }
    auto got = download<float>(device[2], host[2].size());
    auto at = [&](int i, int batch, uint64_t row, uint64_t column) {
        return size_t(batch * steps[i]) + (row_order ? row * strides[i] + column : column * strides[i] + row);
    };
    auto expected = host[2];
    for (int batch = 0; batch < batches; ++batch)
        for (uint64_t i = 0; i < m; ++i)
            for (uint64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (uint64_t p = 0; p < k; ++p)
                    sum += double(host[0][ta ? at(0, batch, p, i) : at(0, batch, i, p)]) * host[1][tb ? at(1, batch, j, p) : at(1, batch, p, j)];
                auto& value = expected[at(2, batch, i, j)];
                value = float(std::max(0.0, alpha * sum + double(beta) * value + bias[i]));
            }
    for (size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - expected[i]) < 1e-5f);
    for (Pointer p : {device[0], device[1], device[2], pbias}) OK(cuMemFree_v2(p));
}

// Each of these ends the process; the parent expects that, and words of the message.
static void die(const std::string& how) {
    Pointer p = upload(std::vector<float>(33));
    if (how == "write_behind") OK(launch(stream, "write_behind", 1, 4, 0, p, 33u));
    if (how == "write_behind_shared") OK(launch(stream, "write_behind_shared", 1, 32, 128));
    if (how == "write_far") OK(launch(stream, "write_far", 1, 1, 0, p));
    if (how == "diverge") OK(launch(stream, "diverge", 1, 32, 0));
    if (how == "two_barriers") OK(launch(stream, "two_barriers", 1, 32, 0));
    cuStreamSynchronize(stream);
}

static void dies(const std::string& self, const std::string& kernels, const std::string& how, const std::string& words) {
    FILE* child = popen(("'" + self + "' '" + kernels + "' " + how + " 2>&1").c_str(), "r");
    char buffer[4096];
    std::string said;
    while (size_t got = std::fread(buffer, 1, sizeof buffer, child)) said.append(buffer, got);
    CHECK(pclose(child) != 0);
    if (said.find(words) == std::string::npos) std::fprintf(stderr, "%s said: %s\n", how.c_str(), said.c_str());
    CHECK(said.find(words) != std::string::npos);
}

int main(int count, char** arguments) {
    CHECK(count >= 2);
    std::ifstream file(arguments[1]);
    std::string source{std::istreambuf_iterator<char>(file), {}};
    int device;
    Handle context;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    Pointer none;
    CHECK(cuMemAlloc_v2(&none, 4) == 201);
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, compile(source, "-DX=1", 0).data()));
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamCreate(&other_stream, 0));
    if (count > 2) {
        die(arguments[2]);
        return 0;
    }
    compiles_and_refuses();
    runs_kernels();
    guards_memory();
    captures_and_replays();
    for (int which = 0; which < 8; ++which) multiplies(which & 1, which >> 1 & 1, which >> 2, which == 3);
    dies(arguments[0], arguments[1], "write_behind", "behind an allocation of 132 bytes; the last kernel was write_behind");
    dies(arguments[0], arguments[1], "write_behind_shared", "behind the 128 bytes of dynamic shared memory");
    dies(arguments[0], arguments[1], "write_far", "kernel write_far, block (0, 0, 0), thread (0, 0, 0): reads or writes the invalid address");
    dies(arguments[0], arguments[1], "diverge", "kernel diverge, block (0, 0, 0), thread (0, 0, 0): waits at __shfl_sync");
    dies(arguments[0], arguments[1], "two_barriers", "while other threads of the block wait at line");
    OK(cuCtxSynchronize());
    std::puts("the emulator keeps its promises");
}
