// Rows put together from parts of other rows.
//
// A thread writes one unit of one row, 16 bytes if widths and addresses allow it; threads beside
// each other take units beside each other. Bytes: 8 a value and 4 a part and row. Rows that are
// written are named once each, so the order of threads does not matter; a mean adds its terms in the
// order of the list.

struct TablePiece {
    const float* values;
    const u32* rows;
    const u32* terms;
    u32 stride;
    u32 end;
};

struct TablePieces {
    TablePiece piece[3];
};

__device__ __forceinline__ float table_add(float a, float b) {
    return a + b;
}

__device__ __forceinline__ float4 table_add(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ __forceinline__ float table_share(float a, float count) {
    return a / count;
}

__device__ __forceinline__ float4 table_share(float4 a, float count) {
    return make_float4(a.x / count, a.y / count, a.z / count, a.w / count);
}

// `zero` is what a mean begins with.
template <class Unit>
__device__ __forceinline__ void table_write(const TablePieces& pieces, const u32* to, u32 width,
                                            float* target, u64 units, Unit zero) {
    const u64 at = thread_index();
    if (at >= units) return;
    const u64 row = at / width;
    const u32 column = (u32)(at - row * width);
    const u32 which = (column >= pieces.piece[0].end) + (column >= pieces.piece[1].end);
    const TablePiece piece = pieces.piece[which];
    const u32 own = column - (which == 0 ? 0 : pieces.piece[which - 1].end);
    const Unit* values = (const Unit*)piece.values + own;
    const u64 place = to ? to[row] : row;
    Unit* result = (Unit*)target + place * width + column;
    if (!piece.terms) {
        *result = values[(u64)piece.rows[row] * piece.stride];
        return;
    }
    const u32 begin = piece.terms[row], end = piece.terms[row + 1];
    Unit sum = zero;
    for (u32 term = begin; term < end; term++)
        sum = table_add(sum, values[(u64)piece.rows[term] * piece.stride]);
    *result = table_share(sum, (float)(end > begin ? end - begin : 1));
}

extern "C" __global__ void table_put(TablePieces pieces, const u32* to, u32 width, float* target,
                                     u64 units) {
    table_write(pieces, to, width, target, units, 0.0f);
}

extern "C" __global__ void table_put_wide(TablePieces pieces, const u32* to, u32 width, float* target,
                                          u64 units) {
    table_write(pieces, to, width, target, units, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
}
