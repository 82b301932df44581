"""Parquet files written by hand, so that every field can lie."""

import struct

from .attack import error, ok
from .tables import scrambled

INT64, DOUBLE, BYTE_ARRAY = 2, 5, 6
PLAIN, RLE_DICTIONARY = 0, 8


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def zigzag(value: int) -> bytes:
    return varint((value << 1 ^ value >> 63) & (1 << 64) - 1)


class Struct:
    """A struct of Thrift's compact protocol; fields must be added in rising order."""

    def __init__(self):
        self.out, self.last = bytearray(), 0

    def field(self, number: int, kind: int, content: bytes) -> "Struct":
        self.out += bytes([(number - self.last) << 4 | kind]) + content
        self.last = number
        return self

    def i32(self, number, value):
        return self.field(number, 5, zigzag(value))

    def i64(self, number, value):
        return self.field(number, 6, zigzag(value))

    def text(self, number, value):
        return self.field(number, 8, varint(len(value)) + value)

    def struct(self, number, value):
        return self.field(number, 12, value)

    def list(self, number, kind, items, count=None):
        count = len(items) if count is None else count
        head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + varint(count)
        return self.field(number, 9, head + b"".join(items))

    def end(self) -> bytes:
        return bytes(self.out) + b"\0"


def column(name: bytes, values, kind: int):
    """Name, physical type and PLAIN bytes of a column."""
    if kind == BYTE_ARRAY:
        return name, kind, b"".join(struct.pack("<I", len(v)) + v for v in values), len(values)
    return name, kind, struct.pack(f"<{len(values)}{'q' if kind == INT64 else 'd'}", *values), len(values)


EDGES = [
    column(b"src", [0, 1, 2], INT64),
    column(b"dst", [1, 2, 0], INT64),
    column(b"time", [10, 20, 30], INT64),
]


def parquet(columns=EDGES, **lies) -> bytes:
    """A file of one row group. `lies` overrides fields: rows, group_rows, values, page_values,
    page_size, plain_size, offset, codec, encoding, children, footer, schema_count, repetition."""
    body, chunks = bytearray(b"PAR1"), []
    rows = columns[0][3]
    codec, encoding = lies.get("codec", 0), lies.get("encoding", PLAIN)
    for name, kind, data, count in columns:
        page = Struct().i32(1, lies.get("page_values", count)).i32(2, encoding).i32(3, 3).i32(4, 3).end()
        header = Struct().i32(1, lies.get("page_type", 0)).i32(2, lies.get("plain_size", len(data)))
        header = header.i32(3, lies.get("page_size", len(data))).struct(5, page).end()
        offset = lies.get("offset", len(body))
        body += header + data
        size = len(header) + len(data)
        meta = Struct().i32(1, kind).list(2, 5, [zigzag(encoding)]).list(3, 8, [varint(len(name)) + name])
        meta = meta.i32(4, codec).i64(5, lies.get("values", count)).i64(6, size)
        meta = meta.i64(7, lies.get("chunk_size", size)).i64(9, offset).end()
        chunks.append(Struct().i64(2, offset).struct(3, meta).end())
    group = Struct().list(1, 12, chunks).i64(2, len(body)).i64(3, lies.get("group_rows", rows)).end()
    footer = Struct().i32(1, 1).list(2, 12, schema(columns, lies), lies.get("schema_count"))
    footer = footer.i64(3, lies.get("rows", rows)).list(4, 12, [group], lies.get("group_count")).text(6, b"zoetrope attacks").end()
    length = lies.get("footer", len(footer))
    return bytes(body) + footer + struct.pack("<I", length) + b"PAR1"


def schema(columns, lies):
    root = Struct().text(4, b"schema").i32(5, lies.get("children", len(columns))).end()
    leaves = [Struct().i32(1, kind).i32(3, lies.get("repetition", 0)).text(4, name).end() for name, kind, _, _ in columns]
    return [root, *leaves]


def nested(depth: int) -> bytes:
    """A schema of groups inside each other and nothing else."""
    items = [Struct().text(4, b"g").i32(5, 1).end()] * depth + [Struct().i32(1, INT64).i32(3, 0).text(4, b"x").end()]
    footer = Struct().i32(1, 1).list(2, 12, items).i64(3, 0).list(4, 12, []).end()
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def attacks():
    whole = parquet()
    text = [column(b"src", [b"a", b"\xff\xfe", b"c"], BYTE_ARRAY), *EDGES[1:]]
    times = [*EDGES[:2], column(b"time", [1.0, float("nan"), 3.0], DOUBLE)]
    wide = EDGES + [column(b"f%d" % i, [1.0, 2.0, 3.0], DOUBLE) for i in range(500)]
    big = [column(b"src", [0, 1, 1 << 40], INT64), *EDGES[1:]]
    return [
        ok("parquet/honest.parquet", whole, "an honest file, made like all the others here"),
        ok("parquet/vertex-2-to-40.parquet", parquet(big), "one vertex id of 2^40"),
        ok("parquet/five-hundred-columns.parquet", parquet(wide), "500 feature columns"),
        error("parquet/empty.parquet", b"", "", "nothing at all"),
        error("parquet/only-magic.parquet", b"PAR1PAR1", "", "the two marks and nothing between"),
        error("parquet/truncated.parquet", whole[:-20], "", "a footer that stops"),
        error("parquet/no-footer.parquet", whole[: len(whole) // 3], "", "a third of a file"),
        error("parquet/footer-4-gib.parquet", parquet(footer=0xFFFFFFFF), "", "a footer that claims 4 GiB"),
        error("parquet/footer-2-gib.parquet", parquet(footer=0x7FFFFFFF), "", "a footer that claims 2 GiB"),
        error("parquet/footer-empty.parquet", parquet(footer=0), "", "a footer of no byte"),
        error("parquet/footer-garbage.parquet", b"PAR1" + scrambled(300) + struct.pack("<I", 300) + b"PAR1", "", "a footer without meaning"),
        error("parquet/encrypted.parquet", b"PARE" + whole[4:-4] + b"PARE", "", "a file that claims to be encrypted"),
        error("parquet/rows-2-to-62.parquet", parquet(rows=1 << 62, group_rows=1 << 62), "", "2^62 rows claimed, three present"),
        error("parquet/rows-negative.parquet", parquet(rows=-1, group_rows=-1), "", "a negative number of rows"),
        error("parquet/rows-differ.parquet", parquet(rows=1000, group_rows=1000), "", "1,000 rows claimed, three present"),
        error("parquet/values-2-to-62.parquet", parquet(values=1 << 62), "", "2^62 values claimed in a column of three"),
        error("parquet/page-values-2-to-31.parquet", parquet(page_values=0x7FFFFFFF), "", "2^31 values claimed in a page of three"),
        error("parquet/page-values-negative.parquet", parquet(page_values=-5), "", "a negative number of values"),
        error("parquet/page-2-gib.parquet", parquet(page_size=0x7FFFFFFF, plain_size=0x7FFFFFFF), "", "a page that claims 2 GiB"),
        error("parquet/page-negative.parquet", parquet(page_size=-1, plain_size=-1), "", "a page of negative size"),
        error("parquet/page-unpacks-2-gib.parquet", parquet(codec=1, plain_size=0x7FFFFFFF), "", "a page that claims to unpack to 2 GiB"),
        error("parquet/page-type-99.parquet", parquet(page_type=99), "", "a page of a kind that does not exist"),
        error("parquet/chunk-2-to-62.parquet", parquet(chunk_size=1 << 62), "", "a column that claims 2^62 bytes"),
        error("parquet/chunk-negative.parquet", parquet(chunk_size=-1), "", "a column of negative size"),
        error("parquet/offset-beyond.parquet", parquet(offset=1 << 40), "", "a column beyond the end of the file"),
        error("parquet/offset-negative.parquet", parquet(offset=-8), "", "a column before the start of the file"),
        error("parquet/offset-footer.parquet", parquet(offset=len(whole) - 8), "", "a column that starts in the footer"),
        error("parquet/codec-99.parquet", parquet(codec=99), "", "a compression that does not exist"),
        error("parquet/codec-gzip-lies.parquet", parquet(codec=2), "", "plain bytes that claim to be gzip"),
        error("parquet/dictionary-missing.parquet", parquet(encoding=RLE_DICTIONARY), "", "values that point into a dictionary which is not there"),
        error("parquet/children-lie.parquet", parquet(children=1 << 30), "", "a schema that claims 2^30 columns"),
        error("parquet/children-negative.parquet", parquet(children=-1), "", "a schema of a negative number of columns"),
        error("parquet/schema-count-lies.parquet", parquet(schema_count=0x7FFFFFFF), "", "a list that claims 2^31 entries: memory for it would be 200 GiB"),
        error("parquet/group-count-lies.parquet", parquet(group_count=0x7FFFFFFF), "", "a list that claims 2^31 row groups"),
        error("parquet/schema-deep.parquet", nested(20_000), "", "20,000 groups inside each other: recursion would overflow the stack"),
        error("parquet/nulls-where-none.parquet", parquet(repetition=1), "", "optional columns without the levels that say what is null"),
        error("parquet/one-column.parquet", parquet(EDGES[:1]), "", "no second vertex"),
        error("parquet/time-nan.parquet", parquet(times), "time", "a time that is not a number"),
        error("parquet/invalid-utf8.parquet", parquet(text), ":1", "a text that is not UTF-8, although the format promises it"),
    ]
