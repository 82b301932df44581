// Rectangles copied or added from one matrix to another: concatenation, ranges of columns, and
// their gradients, all parts in one launch.
//
// The table of parts comes by value; a block finds its part by its number and moves as many
// units of it as the table says. If width, strides and addresses allow it, an element is 16 bytes. Moves 8 bytes
// a value (12 if it adds).

#define PARTS 64

struct CopiedColumns {
    const float* from;
    float* to;
    u64 elements;     // rows · width
    u32 width;        // of the rectangle; 0: one stretch of memory
    u32 from_stride;  // from one row to the next
    u32 to_stride;
    u32 first_block;
};

// Each part with whether it adds and whether its unit is 16 bytes; widths, strides and elements are
// counted in units.
struct Parts {
    u32 count;
    u32 per_block;  // units
    u32 adds[PARTS / 32];
    u32 wide[PARTS / 32];
    CopiedColumns part[PARTS];
};

template <class Unit>
__device__ __forceinline__ Unit joined(Unit a, Unit b);
template <>
__device__ __forceinline__ float joined(float a, float b) {
    return a + b;
}
template <>
__device__ __forceinline__ float4 joined(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <class Unit>
__device__ __forceinline__ void move(const CopiedColumns& part, u32 adds, u32 per_block) {
    const Unit* from = (const Unit*)part.from;
    Unit* to = (Unit*)part.to;
    u64 at = (u64)(blockIdx.x - part.first_block) * per_block + threadIdx.x;
    // One division a thread: from one of its units to the next it goes on by so many rows and columns.
    const u32 width = part.width ? part.width : 1;
    const u32 rows = part.width ? blockDim.x / width : blockDim.x, columns = part.width ? blockDim.x % width : 0;
    u64 row = part.width ? quotient(at, width) : at;
    u32 column = part.width ? (u32)(at - row * width) : 0;
    const u64 from_stride = part.width ? part.from_stride : 1, to_stride = part.width ? part.to_stride : 1;
    for (u32 k = threadIdx.x; k < per_block && at < part.elements; k += blockDim.x, at += blockDim.x) {
        const Unit value = from[row * from_stride + column];
        Unit* place = to + row * to_stride + column;
        *place = adds ? joined(value, *place) : value;
        row += rows, column += columns;
        if (column >= width) column -= width, row++;
    }
}

extern "C" __global__ void concat_parts(Parts parts) {
    u32 mine = 0;
    while (mine + 1 < parts.count && parts.part[mine + 1].first_block <= blockIdx.x) mine++;
    const u32 adds = parts.adds[mine / 32] >> mine % 32 & 1;
    if (parts.wide[mine / 32] >> mine % 32 & 1) {
        move<float4>(parts.part[mine], adds, parts.per_block);
    } else {
        move<float>(parts.part[mine], adds, parts.per_block);
    }
}
