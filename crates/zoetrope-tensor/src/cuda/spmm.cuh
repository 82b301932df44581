// A sparse matrix as one block of words (cuda/spmm/slices.rs): slices of 32 short rows, longest first,
// whose entries lie step by step (all first entries, all second entries, …, without padding), and
// pieces of the long rows, whose entries lie one after another.

const u32 WINDOW = 4096;
const u32 SLICE = 32;
const u32 PLACES = 0xffffu;
const u32 LENGTHS = 0x7fffu;
const u32 ELSEWHERE = 0x80000000u;
const u32 DIRECT = 0xffffffffu;

struct Unit {
    u32 row, first, len, slot;
};

struct Fold {
    u32 row, first, count, unused;
};

// The first words of a block: counts, and where the other parts begin, in words.
struct Header {
    u32 rows, slices, units, folds;
    u32 starts_at, rows_at, units_at, folds_at;
    u32 columns_at, factors_at, numbers_at, values_at;
    u32 entries, unused[3];
};

struct Form {
    const u32* words;
    Header header;

    __device__ explicit Form(u64 address) : words((const u32*)address), header(*(const Header*)address) {}
    __device__ const u32* columns() const { return words + header.columns_at; }
    __device__ const u32* values() const { return words + header.values_at; }
    __device__ bool is_factored() const { return header.factors_at < header.numbers_at; }
    // If values are products: the factors, which one a vertex has, which one an entry's column.
    __device__ const float* factors() const { return (const float*)(words + header.factors_at); }
    __device__ const unsigned short* numbers() const { return (const unsigned short*)(words + header.numbers_at); }
    __device__ const unsigned short* names() const { return (const unsigned short*)(words + header.values_at); }
    __device__ Unit unit(u32 at) const { return ((const Unit*)(words + header.units_at))[at]; }
    __device__ Fold fold(u32 at) const { return ((const Fold*)(words + header.folds_at))[at]; }
};

