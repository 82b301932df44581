#include "fibers.h"

#include <cstdint>
#include <cstdlib>

namespace emulator {

#if defined(__x86_64__)

// The registers that a function has to keep by the System V ABI, and the stack pointer. The floating
// point control words are the same for all fibers.
asm(R"(
    .text
    .globl zoetrope_fiber_switch
    .hidden zoetrope_fiber_switch
    .type zoetrope_fiber_switch, @function
zoetrope_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size zoetrope_fiber_switch, .-zoetrope_fiber_switch
)");

Resume fiber_prepare(char* end, void (*entry)()) {
    auto top = reinterpret_cast<uint64_t*>(end);
    top[-1] = 0;  // the return address of `entry`: ends a backtrace
    top[-2] = reinterpret_cast<uint64_t>(entry);
    for (int saved = 3; saved <= 8; ++saved) top[-saved] = 0;
    return top - 8;
}

#else

}  // namespace emulator

#include <ucontext.h>

namespace emulator {

// One context for each stack, kept right below its top; a suspended flow keeps its own on its stack.
struct Context {
    ucontext_t registers;
};

Resume fiber_prepare(char* top, void (*entry)()) {
    auto low = reinterpret_cast<uintptr_t>(top - 1) & ~(stack_bytes - 1);
    auto context = reinterpret_cast<Context*>(top) - 1;
    getcontext(&context->registers);
    context->registers.uc_stack.ss_sp = reinterpret_cast<void*>(low);
    context->registers.uc_stack.ss_size = reinterpret_cast<uintptr_t>(context) - low;
    context->registers.uc_link = nullptr;
    makecontext(&context->registers, entry, 0);
    return context;
}

extern "C" void zoetrope_fiber_switch(Resume* from, Resume to) {
    Context here;
    *from = &here;
    swapcontext(&here.registers, &static_cast<Context*>(to)->registers);
}

#endif

}  // namespace emulator
