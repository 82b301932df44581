// A chain of element-wise operations as one pass over memory.
//
// The postfix program comes by value and is interpreted: all threads take the same branches. The
// stack is eight registers that move, because sixteen instructions never pile up more than eight
// values and registers cannot be indexed. The backward pass runs the program once, keeps every result in
// shared memory (a column for each thread, so without conflicts), and runs it backwards with a stack
// of derivatives: an instruction takes its own and leaves those of its operands.
//
// Forward moves 4 bytes for each input and the result; backward reads the inputs and dy and writes
// the gradients that are wanted.

struct Program {
    u32 len;
    u32 code[16];
    float constant[16];  // of instructions that have one
    u32 operand[16];     // the instructions that made the operands: left | right << 8
};

struct Arrays {
    const float* input[6];
    float* gradient[6];  // null if it is not wanted
    u32 adds[6];
};

// The numbers of instructions; those below PUSHES take nothing from the stack, those from UNARY on
// one value, the others two.
enum { INPUT, CONSTANT, ADD, SUB, MUL, DIV, NEG, ONE_MINUS, SCALE, SQUARE, SQRT, RELU, LEAKY_RELU,
       SIGMOID, TANH, EXP, LN };
#define PUSHES ADD
#define UNARY NEG

__device__ __forceinline__ float apply(u32 code, float constant, float a, float b) {
    switch (code) {
        case ADD: return a + b;
        case SUB: return a - b;
        case MUL: return a * b;
        case DIV: return a / b;
        case NEG: return -a;
        case ONE_MINUS: return 1.0f - a;
        case SCALE: return constant * a;
        case SQUARE: return a * a;
        case SQRT: return sqrtf(a);
        case RELU: return a > 0.0f ? a : 0.0f;
        case LEAKY_RELU: return a > 0.0f ? a : constant * a;
        case SIGMOID: return sigmoid(a);
        case TANH: return tangent(a);
        case EXP: return expf(a);
        default: return logf(a);
    }
}

// d·∂result/∂a, and d·∂result/∂b to `d_b` for instructions that have two operands.
__device__ __forceinline__ float slope(u32 code, float constant, float a, float b, float y, float d,
                                       float& d_b) {
    switch (code) {
        case ADD: d_b = d; return d;
        case SUB: d_b = -d; return d;
        case MUL: d_b = d * a; return d * b;
        case DIV: d_b = d * -(y / b); return d * (1.0f / b);
        case NEG:
        case ONE_MINUS: return -d;
        case SCALE: return d * constant;
        case SQUARE: return d * (a + a);
        case SQRT: return d * (0.5f / y);
        case RELU: return a > 0.0f ? d : d * 0.0f;
        case LEAKY_RELU: return a > 0.0f ? d : d * constant;
        case SIGMOID: return d * (y * (1.0f - y));
        case TANH: return d * (1.0f - y * y);
        case EXP: return d * y;
        default: return d * (1.0f / a);
    }
}

template <class Item>
struct Stack {
    Item at[8];

    __device__ __forceinline__ void push(const Item& v) {
#pragma unroll
        for (u32 k = 7; k > 0; k--) at[k] = at[k - 1];
        at[0] = v;
    }

    __device__ __forceinline__ Item pop() {
        const Item v = at[0];
#pragma unroll
        for (u32 k = 0; k < 7; k++) at[k] = at[k + 1];
        return v;
    }
};

// A thread takes four neighbouring elements, which share the reading of the program.
extern "C" __global__ void chain_forward(Program program, Arrays arrays, u64 addresses, float* y,
                                         u64 len) {
    const u64 at = first_of_four();
    if (at >= len) return;
    const bool whole = is_whole(addresses, at, len);
    Stack<Four> stack = {};
    for (u32 i = 0; i < program.len; i++) {
        const u32 code = program.code[i];
        const float constant = program.constant[i];
        Four value = {constant, constant, constant, constant};
        if (code == INPUT) value = load_four(arrays.input[program.operand[i]], at, len, whole);
        if (code >= PUSHES) {
            Four b = {};
            if (code < UNARY) b = stack.pop();
            const Four a = stack.pop();
#pragma unroll
            for (u32 k = 0; k < 4; k++) value.at[k] = apply(code, constant, a.at[k], b.at[k]);
        }
        stack.push(value);
    }
    store_four(y, stack.at[0], at, len, whole);
}

extern "C" __global__ void chain_backward(Program program, Arrays arrays, const float* dy, u64 len) {
    extern __shared__ float shared[];
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= len) return;
    float* result = shared + threadIdx.x;  // that of instruction i at result[i · blockDim.x]
    for (u32 i = 0; i < program.len; i++) {
        const u32 code = program.code[i], operand = program.operand[i];
        float value = program.constant[i];
        if (code == INPUT) value = arrays.input[operand][at];
        if (code >= PUSHES) {
            const float a = result[(operand & 255) * blockDim.x];
            const float b = result[(operand >> 8) * blockDim.x];
            value = apply(code, value, a, b);
        }
        result[i * blockDim.x] = value;
    }
    float sum[6] = {};
    Stack<float> stack = {};
    stack.push(dy[at]);
    for (u32 i = program.len; i-- > 0;) {
        const u32 code = program.code[i], operand = program.operand[i];
        const float d = stack.pop();
        if (code < PUSHES) {
#pragma unroll
            for (u32 k = 0; k < 6; k++)
                if (code == INPUT && k == operand) sum[k] += d;
            continue;
        }
        const float a = result[(operand & 255) * blockDim.x];
        const float b = result[(operand >> 8) * blockDim.x];
        float d_b = 0.0f;
        const float d_a = slope(code, program.constant[i], a, b, result[i * blockDim.x], d, d_b);
        stack.push(d_a);
        if (code < UNARY) stack.push(d_b);
    }
#pragma unroll
    for (u32 k = 0; k < 6; k++) {
        float* gradient = arrays.gradient[k];
        if (gradient) gradient[at] = arrays.adds[k] ? gradient[at] + sum[k] : sum[k];
    }
}
