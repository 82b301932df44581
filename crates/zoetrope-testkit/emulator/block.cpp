#include "block.h"

#include <link.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "fibers.h"

namespace emulator {
namespace {

constexpr unsigned most_threads = 1024;
constexpr unsigned char poison = 0xff;  // NaN as a float, -1 as an integer
constexpr unsigned char guard = 0xa5;
constexpr size_t guard_bytes = 256;
constexpr uint64_t canary = 0x5a0e7209e5a0e720;

struct Block;

enum class Wait : unsigned char { nothing, barrier, warp };

struct Fiber;

// What lies at the low end of a stack. The canary is above the rest, where an overflow arrives first.
struct Slot : Thread {
    Fiber* fiber;
    uint64_t untouched;
};

// What the scheduler and the warp operations touch. It lies apart from the stacks, because addresses that
// differ by 64 KiB share a few lines of the cache.
struct Fiber {
    Resume resume;
    Block* in;
    Slot* slot;  // nowhere before the thread begins
    unsigned lane, warp;
    Wait wait;
    WarpOp op;
    unsigned mask;
    unsigned source;
    int line;
    unsigned long long value;
};

Fiber& fiber_of(Thread* t) { return *static_cast<Slot*>(t)->fiber; }

// One bit a lane.
struct Warp {
    uint32_t live, runnable, waiting;
};

// The block that a thread of the host is running, and the stacks it runs on.
struct Block {
    const Launch* launch = nullptr;
    Resume scheduler = nullptr;
    char* stacks = nullptr;
    // Stacks that no thread is on, the one that was left last at the end. Most threads run from their beginning
    // to their end without waiting for others, so that they take turns on one that is in the cache.
    unsigned idle[most_threads];
    unsigned idle_count = 0;
    std::vector<char> shared;  // dynamic shared memory and the guard behind it
    Warp warps[most_threads / 32];
    Fiber fibers[most_threads];
    Fiber* current = nullptr;
    unsigned threads = 0, live = 0;
    // The barrier of the block.
    unsigned arrived = 0;
    BarrierOp op = BarrierOp::plain;
    int line = 0, sum = 0, result = 0;

    unsigned warp_count() const { return (threads + 31) / 32; }
};

const char* name_of(WarpOp op) {
    switch (op) {
        case WarpOp::shuffle: return "__shfl_sync";
        case WarpOp::ballot: return "__ballot_sync, __any_sync or __all_sync";
        case WarpOp::sync: return "__syncwarp";
        case WarpOp::match: return "__match_any_sync";
        case WarpOp::product: return "mma";
        default: return "__reduce_sync";
    }
}

void describe(const Fiber& f) {
    std::fprintf(stderr, "cuda emulator: kernel %s, block (%u, %u, %u), thread (%u, %u, %u): ", f.in->launch->kernel->name,
                 f.slot->block.x, f.slot->block.y, f.slot->block.z, f.slot->thread.x, f.slot->thread.y, f.slot->thread.z);
}

[[noreturn]] void fail(Thread* t, const char* why) {
    describe(fiber_of(t));
    std::fprintf(stderr, "%s\n", why);
    std::abort();
}

void suspend(Fiber& f) { zoetrope_fiber_switch(&f.resume, f.in->scheduler); }

// ---------------------------------------------------------------------------------------- the barrier

void release_barrier(Block& b, BarrierOp op) {
    b.result = op == BarrierOp::all ? b.sum == int(b.arrived) : op == BarrierOp::any ? b.sum != 0 : b.sum;
    b.arrived = 0;
    b.sum = 0;
    for (unsigned w = 0; w < b.warp_count(); ++w) b.warps[w].runnable = b.warps[w].live;
}

int barrier(Thread* t, int line, BarrierOp op, int predicate) {
    Fiber& f = fiber_of(t);
    Block& b = *f.in;
    if (b.arrived != 0 && b.line != line) {
        describe(f);
        std::fprintf(stderr, "__syncthreads at line %d, while other threads of the block wait at line %d\n", line, b.line);
        std::abort();
    }
    b.line = line;
    b.sum += predicate;
    f.wait = Wait::barrier;
    f.line = line;
    b.op = op;
    if (++b.arrived == b.live) {
        release_barrier(b, op);
        b.warps[f.warp].runnable &= ~(1u << f.lane);
    } else {
        suspend(f);
    }
    f.wait = Wait::nothing;
    return b.result;
}

// -------------------------------------------------------------------------------------- warp operations

// The operand of a tensor core that rounds to TF32: the low 13 bits are not there.
float tf32(unsigned bits) {
    bits &= 0xffffe000u;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// The product of a warp, m16n8k8: `given` are the addresses of what the lanes have.
void multiply(const unsigned long long (&given)[32]) {
    auto lane = [&](unsigned row, unsigned column) -> TileProduct& {
        return *reinterpret_cast<TileProduct*>(given[row % 8 * 4 + column]);
    };
    for (unsigned row = 0; row < 16; ++row) {
        for (unsigned column = 0; column < 8; ++column) {
            float& sum = lane(row, column / 2).sum[row / 8 * 2 + column % 2];
            for (unsigned k = 0; k < 8; ++k) {
                float left = tf32(lane(row, k % 4).left[row / 8 + k / 4 * 2]);
                float right = tf32(lane(column, k % 4).right[k / 4]);
                sum += left * right;
            }
        }
    }
}

// Every live lane of `mask` waits: computes what each of them gets.
void complete(Block& b, unsigned warp_index, unsigned mask, WarpOp op) {
    Warp& w = b.warps[warp_index];
    uint32_t lanes = mask & w.live;
    unsigned long long given[32], all = 0;
    bool first = true;
    for (uint32_t left = lanes; left; left &= left - 1) {
        unsigned lane = __builtin_ctz(left);
        Fiber& f = b.fibers[warp_index * 32 + lane];
        if (f.mask != mask || f.op != op) {
            describe(f);
            std::fprintf(stderr, "waits at %s with mask %08x, while another lane of its warp waits for it at %s with mask %08x\n",
                         name_of(f.op), f.mask, name_of(op), mask);
            std::abort();
        }
        unsigned long long v = given[lane] = f.value;
        switch (op) {
            case WarpOp::ballot: all |= v << lane; break;
            case WarpOp::add: all = uint32_t(all + v); break;
            case WarpOp::min: all = first || v < all ? v : all; break;
            case WarpOp::max: all = first || v > all ? v : all; break;
            case WarpOp::bit_and: all = first ? v : all & v; break;
            case WarpOp::bit_or: all |= v; break;
            case WarpOp::bit_xor: all ^= v; break;
            default: break;
        }
        first = false;
    }
    if (op == WarpOp::product) {
        if (lanes != ~0u) fail(b.fibers[warp_index * 32].slot, "a product of tiles without all lanes of the warp");
        multiply(given);
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        Fiber& f = b.fibers[warp_index * 32 + __builtin_ctz(left)];
        f.wait = Wait::nothing;
        if (op == WarpOp::shuffle) {
            // A lane outside of the mask gives an undefined value on the device: poison shows it.
            f.value = f.source < 32 && (lanes >> f.source & 1) ? given[f.source] : ~0ull;
        } else if (op == WarpOp::match) {
            unsigned long long mine = f.value;
            f.value = 0;
            for (uint32_t other = lanes; other; other &= other - 1) {
                unsigned lane = __builtin_ctz(other);
                f.value |= (unsigned long long)(given[lane] == mine) << lane;
            }
        } else {
            f.value = all;
        }
    }
    w.waiting &= ~lanes;
    w.runnable |= lanes;
}

unsigned long long warp(Thread* t, WarpOp op, unsigned mask, unsigned long long value, unsigned source) {
    Fiber& f = fiber_of(t);
    Block& b = *f.in;
    unsigned index = f.warp;
    Warp& w = b.warps[index];
    uint32_t bit = 1u << f.lane;
    if (!(mask & bit)) fail(t, "a warp operation whose mask does not name the calling lane");
    f.wait = Wait::warp;
    f.op = op;
    f.mask = mask;
    f.value = value;
    f.source = source;
    w.waiting |= bit;
    if ((w.waiting & mask) == (w.live & mask)) {
        complete(b, index, mask, op);
        w.runnable &= ~bit;
    } else {
        suspend(f);
    }
    return f.value;
}

unsigned live_lanes(Thread* t) {
    Fiber& f = fiber_of(t);
    return f.in->warps[f.warp].live;
}

const Runtime runtime = {barrier, warp, live_lanes, [](Thread* t, const char* why) { fail(t, why); }};

// -------------------------------------------------------------------------------------- the scheduler

// The last thing that a fiber does: others may have waited for nobody but it.
void leave(Fiber& f) {
    Block& b = *f.in;
    unsigned index = f.warp;
    Warp& w = b.warps[index];
    w.live &= ~(1u << f.lane);
    --b.live;
    for (uint32_t left = w.waiting; left; left &= left - 1) {
        Fiber& other = b.fibers[index * 32 + __builtin_ctz(left)];
        if (other.wait == Wait::warp && (w.waiting & other.mask) == (w.live & other.mask)) complete(b, index, other.mask, other.op);
    }
    if (b.arrived != 0 && b.arrived == b.live) release_barrier(b, b.op);
}

void fiber_main() {
    Fiber& f = fiber_of(reinterpret_cast<Thread*>(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) & ~(stack_bytes - 1)));
    f.in->launch->kernel->call(f.in->launch->parameters);
    leave(f);
    suspend(f);
    std::abort();
}

[[noreturn]] void report_deadlock(Block& b) {
    std::fprintf(stderr, "cuda emulator: the threads of a block wait for each other for ever\n");
    unsigned shown = 0;
    const Fiber* last = nullptr;
    for (unsigned i = 0; i < b.threads && shown < 12; ++i) {
        Fiber& f = b.fibers[i];
        if (!(b.warps[i / 32].live >> i % 32 & 1)) continue;
        // One line for each run of threads that wait at the same place.
        if (last && last->wait == f.wait && (f.wait == Wait::barrier ? last->line == f.line : last->op == f.op && last->mask == f.mask)) continue;
        last = &f;
        ++shown;
        describe(f);
        if (f.wait == Wait::barrier) std::fprintf(stderr, "waits at __syncthreads, line %d\n", f.line);
        else std::fprintf(stderr, "waits at %s, mask %08x; live lanes %08x\n", name_of(f.op), f.mask, b.warps[i / 32].live);
    }
    std::abort();
}

// Backwards, threads and blocks run in the opposite order: a missing barrier that one order hides, the
// other shows.
bool backwards() {
    static const bool value = [] {
        const char* order = std::getenv("ZOETROPE_EMULATED_ORDER");
        return order && std::strcmp(order, "backward") == 0;
    }();
    return value;
}

// Puts the thread on a stack that is idle.
void begin(Block& b, Fiber& f, uint3 index, char* shared) {
    const Launch& launch = *b.launch;
    unsigned number = unsigned(&f - b.fibers), stack = b.idle[--b.idle_count];
    uint3 at = {number % launch.block.x, number / launch.block.x % launch.block.y, number / launch.block.x / launch.block.y};
    auto slot = reinterpret_cast<Slot*>(b.stacks + stack * stack_bytes);
    static_cast<Thread&>(*slot) = Thread{at, index, launch.block, launch.grid, f.lane, shared, &runtime};
    slot->fiber = &f;
    slot->untouched = canary;
    f.slot = slot;
    // Stacks begin at different lines of the cache, too.
    f.resume = fiber_prepare(b.stacks + (stack + 1) * stack_bytes - stack % 64 * 192, fiber_main);
}

// After the last thing that the thread did.
void end(Block& b, Fiber& f) {
    if (f.slot->untouched != canary) fail(f.slot, "needs more than 48 KiB of stack");
    b.idle[b.idle_count++] = unsigned((reinterpret_cast<char*>(f.slot) - b.stacks) / stack_bytes);
}

void run_block(Block& b, uint3 index) {
    const Launch& launch = *b.launch;
    char* shared = b.shared.data();
    shared += -reinterpret_cast<uintptr_t>(shared) & 127;
    std::memset(shared, poison, launch.shared_bytes);
    std::memset(shared + launch.shared_bytes, guard, guard_bytes);
    for (unsigned i = 0; i < b.threads; ++i) {
        Fiber& f = b.fibers[i];
        f.in = &b;
        f.slot = nullptr;
        f.lane = i % 32;
        f.warp = i / 32;
        f.wait = Wait::nothing;
        b.idle[i] = b.threads - 1 - i;
    }
    b.idle_count = b.threads;
    unsigned warps = b.warp_count();
    for (unsigned w = 0; w < warps; ++w) {
        uint32_t lanes = b.threads - w * 32 >= 32 ? ~0u : (1u << (b.threads - w * 32)) - 1;
        b.warps[w] = {lanes, lanes, 0};
    }
    b.live = b.threads;
    b.arrived = 0;
    b.sum = 0;
    while (b.live != 0) {
        bool moved = false;
        for (unsigned step = 0; step < warps; ++step) {
            unsigned w = backwards() ? warps - 1 - step : step;
            while (uint32_t runnable = b.warps[w].runnable) {
                unsigned lane = backwards() ? 31 - __builtin_clz(runnable) : __builtin_ctz(runnable);
                b.warps[w].runnable = runnable & ~(1u << lane);
                Fiber& f = b.fibers[w * 32 + lane];
                b.current = &f;
                if (!f.slot) begin(b, f, index, shared);
                zoetrope_fiber_switch(&b.scheduler, f.resume);
                if (!(b.warps[w].live >> lane & 1)) end(b, f);
                moved = true;
            }
        }
        if (!moved) report_deadlock(b);
    }
    for (size_t i = 0; i < guard_bytes; ++i) {
        if (static_cast<unsigned char>(shared[launch.shared_bytes + i]) != guard) {
            describe(b.fibers[0]);
            std::fprintf(stderr, "a thread of the block wrote behind the %u bytes of dynamic shared memory (byte %zu)\n", launch.shared_bytes,
                         launch.shared_bytes + i);
            std::abort();
        }
    }
}

// ------------------------------------------------------------------------------ static shared variables

struct Segment {
    void* anchor;
    char* begin;
    size_t bytes;
};

// The thread-local segment of a module holds its static __shared__ variables and one anchor byte, so
// filling it with poison before each block makes reads of unwritten shared memory show.
Segment static_shared(const Module& module) {
    Segment found = {module.shared_anchor(), nullptr, 0};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            auto& segment = *static_cast<Segment*>(data);
            if (!info->dlpi_tls_data) return 0;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& header = info->dlpi_phdr[i];
                auto begin = static_cast<char*>(info->dlpi_tls_data);
                if (header.p_type != PT_TLS || segment.anchor < begin || segment.anchor >= begin + header.p_memsz) continue;
                segment.begin = begin;
                segment.bytes = header.p_memsz;
                return 1;
            }
            return 0;
        },
        &found);
    return found;
}

// ------------------------------------------------------------------------------------- invalid addresses

thread_local Block* running = nullptr;
struct sigaction before[2];

// A thread that reads or writes far outside of everything is named before the process ends. Faults of the
// host go to whoever handled them before.
void on_fault(int number, siginfo_t* info, void* context) {
    const auto& other = before[number == SIGBUS];
    if (running && running->current) {
        describe(*running->current);
        std::fprintf(stderr, "reads or writes the invalid address %p\n", info->si_addr);
        signal(number, SIG_DFL);
    } else if (other.sa_flags & SA_SIGINFO) {
        other.sa_sigaction(number, info, context);
    } else {
        signal(number, SIG_DFL);
    }
}

void watch_faults() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(SIGSEGV, &action, &before[0]);
        sigaction(SIGBUS, &action, &before[1]);
    });
}

// ------------------------------------------------------------------------------------ stacks and threads

std::mutex idle_lock;
std::vector<Block*> idle_blocks;

Block* take_block(const Launch& launch) {
    Block* b = nullptr;
    {
        std::lock_guard<std::mutex> hold(idle_lock);
        if (!idle_blocks.empty()) {
            b = idle_blocks.back();
            idle_blocks.pop_back();
        }
    }
    if (!b) {
        b = new Block;
        // One stack more than needed, to align the first. Pages are made when a thread touches them.
        void* raw = mmap(nullptr, (most_threads + 1) * stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (raw == MAP_FAILED) {
            std::perror("cuda emulator: stacks");
            std::abort();
        }
        auto aligned = (reinterpret_cast<uintptr_t>(raw) + stack_bytes - 1) & ~(stack_bytes - 1);
        b->stacks = reinterpret_cast<char*>(aligned);
    }
    b->launch = &launch;
    b->threads = launch.block.x * launch.block.y * launch.block.z;
    b->shared.resize(launch.shared_bytes + guard_bytes + 128);
    return b;
}

void run_some(const Launch& launch, std::atomic<uint64_t>& next, uint64_t blocks) {
    Block* b = take_block(launch);
    Segment segment = static_shared(*launch.module);
    running = b;
    for (uint64_t i; (i = next.fetch_add(1)) < blocks;) {
        uint64_t at = backwards() ? blocks - 1 - i : i;
        if (segment.bytes > 1) std::memset(segment.begin, poison, segment.bytes);
        uint64_t row = at / launch.grid.x;
        run_block(*b, uint3{unsigned(at % launch.grid.x), unsigned(row % launch.grid.y), unsigned(row / launch.grid.y)});
    }
    running = nullptr;
    b->current = nullptr;
    std::lock_guard<std::mutex> hold(idle_lock);
    idle_blocks.push_back(b);
}

unsigned host_threads() {
    static const unsigned value = [] {
        const char* text = std::getenv("ZOETROPE_EMULATED_THREADS");
        int count = text ? std::atoi(text) : 1;
        return count > 1 ? unsigned(count) : 1u;
    }();
    return value;
}

std::mutex last_lock;
std::string last_name = "none";

}  // namespace

std::string last_kernel() {
    std::lock_guard<std::mutex> hold(last_lock);
    return last_name;
}

void run_grid(const Launch& launch) {
    {
        std::lock_guard<std::mutex> hold(last_lock);
        last_name = launch.kernel->name;
    }
    watch_faults();
    uint64_t blocks = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    std::atomic<uint64_t> next{0};
    std::vector<std::thread> others;
    for (unsigned i = 1; i < host_threads() && i < blocks; ++i) others.emplace_back([&] { run_some(launch, next, blocks); });
    run_some(launch, next, blocks);
    for (auto& other : others) other.join();
}

}  // namespace emulator
