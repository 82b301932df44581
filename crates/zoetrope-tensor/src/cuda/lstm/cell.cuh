// A cell of an LSTM, forward and back.

// The gates from their sums, and the memory.
struct LstmCell {
    float i, f, g, o, memory;
};

__device__ __forceinline__ LstmCell lstm_cell(float i, float f, float g, float o, float memory) {
    LstmCell cell = {sigmoid(i), sigmoid(f), tangent(g), sigmoid(o), 0.0f};
    cell.memory = fmaf(cell.i, cell.g, cell.f * memory);
    return cell;
}

// The gradients of the gates before their activation; `d_memory` becomes that of the memory before.
__device__ __forceinline__ void lstm_cell_back(
    const LstmCell& cell, float memory, float d, float& d_memory, float (&to)[4]
) {
    float through = tangent(cell.memory);
    float d_c = fmaf(d * cell.o, 1.0f - through * through, d_memory);
    to[0] = logistic_slope(d_c * cell.g, cell.i);
    to[1] = logistic_slope(d_c * memory, cell.f);
    to[2] = d_c * cell.i * (1.0f - cell.g * cell.g);
    to[3] = logistic_slope(d * through, cell.o);
    d_memory = d_c * cell.f;
}

