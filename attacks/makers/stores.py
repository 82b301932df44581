"""Zoetrope's own store: damaged, and made whole again around a lie.

The format is specified in crates/zoetrope-graph/src/store/mod.rs. Checksums are right unless the
attack is about them, so that the checks behind them are reached.
"""

import struct

from .attack import error, ok
from .tables import scrambled
from .xxh3 import xxh3

MAGIC = b"\x89ZOE\r\n\x1a\n"
U8, U32, U64, I64, F32 = 1, 2, 3, 4, 5
EVENTS, VERTICES = 70, 9


def columns(src=None, dst=None, time=None):
    """The three columns that every store has."""
    src = [i % VERTICES for i in range(EVENTS)] if src is None else src
    dst = [i * 2 % VERTICES for i in range(EVENTS)] if dst is None else dst
    time = [10 * i for i in range(EVENTS)] if time is None else time
    return [
        (b"src", U32, struct.pack(f"<{len(src)}I", *src)),
        (b"dst", U32, struct.pack(f"<{len(dst)}I", *dst)),
        (b"time", I64, struct.pack(f"<{len(time)}q", *time)),
    ]


def store(sections=None, **lies) -> bytes:
    """A store of these sections. `lies` overrides header fields (version, count, length, events,
    first, second, flags, unit, width, vertex_width) and, for section 0, offset, size and zero."""
    sections = columns() if sections is None else sections
    at = 64 + 64 * len(sections)
    table, body = b"", b""
    for position, (name, kind, data) in enumerate(sections):
        body += bytes(-at % 64)
        at += -at % 64
        check = xxh3(struct.pack("<Q", xxh3(data))) if len(data) > 240 else 0
        first = position == 0
        offset = lies.get("offset", at) if first else at
        size = lies.get("size", len(data)) if first else len(data)
        zero = lies.get("zero", 0) if first else 0
        table += name.ljust(32, b"\0") + struct.pack("<IIQQQ", kind, zero, offset, size, check)
        body += data
        at += len(data)
    header = MAGIC + struct.pack(
        "<IIQQIIIIII",
        lies.get("version", 1),
        lies.get("count", len(sections)),
        lies.get("length", at),
        lies.get("events", EVENTS),
        lies.get("first", VERTICES),
        lies.get("second", 0),
        lies.get("flags", 0),
        lies.get("unit", 1),
        lies.get("width", 0),
        lies.get("vertex_width", 0),
    )
    return header + struct.pack("<Q", xxh3(header + table)) + table + body


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def attacks():
    return [*damaged(), *lying_headers(), *lying_sections()]


def damaged():
    whole = store()
    yield ok("store/honest.zoe", whole, "an honest store, made like all the others here")
    yield error("store/empty.zoe", b"", "", "nothing at all")
    yield error("store/only-magic.zoe", MAGIC, "", "eight bytes of a store")
    yield error("store/random.zoe", MAGIC + scrambled(2000), "", "bytes without meaning after the magic number")
    yield error("store/truncated-header.zoe", whole[:40], "", "half of a header")
    yield error("store/truncated-table.zoe", whole[:100], "", "half of a table")
    yield error("store/truncated-column.zoe", whole[:-1], "", "a store that lacks its last byte")
    yield error("store/longer.zoe", whole + b"\0", "", "a store with a byte too many")
    for name, at in [("header", 24), ("header-checksum", 57), ("table", 70), ("src", 260), ("time", len(whole) - 2)]:
        yield error(f"store/flipped-{name}.zoe", flipped(whole, at), "", f"one bit flipped at byte {at}")
    yield error("store/text-mode.zoe", whole.replace(b"\r\n", b"\n"), "", "a store that was transferred as text")


def lying_headers():
    yield error("store/version-2.zoe", store(version=2), "version", "a version that does not exist")
    yield error("store/count-2-to-32.zoe", store(count=0xFFFFFFFF), "byte", "2^32 sections claimed, three present")
    yield error("store/count-0.zoe", store(count=0), "byte", "no section claimed, three present")
    yield error("store/events-2-to-62.zoe", store(events=1 << 62), "byte", "2^62 events claimed, 70 present")
    yield error("store/events-2-to-63.zoe", store(events=1 << 63), "byte", "a number of events that is negative in 64 bits")
    yield error("store/length-lies.zoe", store(length=1 << 62), "byte", "2^62 bytes claimed")
    yield error("store/vertices-0.zoe", store(first=0), "byte", "no vertex, but events")
    yield error("store/width-2-to-32.zoe", store(width=0xFFFFFFFF), "byte", "2^32 features claimed, none present")
    yield error("store/unit-9.zoe", store(unit=9), "byte", "a unit of time that does not exist")
    yield error("store/flags-unknown.zoe", store(flags=0xFFFF0000), "byte", "flags that do not exist")
    yield error("store/second-missing.zoe", store(flags=2, second=0xFFFFFFFF), "byte", "2^32 vertices on a second side that no event names")


def lying_sections():
    def named(name, kind, data):
        return columns() + [(name, kind, data)]

    yield error("store/offset-beyond.zoe", store(offset=1 << 40), "byte", "a column beyond the end of the file")
    yield error("store/offset-header.zoe", store(offset=0), "byte", "a column that lies over the header")
    yield error("store/offset-unaligned.zoe", store(offset=257), "byte", "a column at an odd byte")
    yield error("store/size-2-to-63.zoe", store(size=(1 << 63) - 1), "byte", "a column of 2^63 bytes")
    yield error("store/size-overflow.zoe", store(size=(1 << 64) - 64), "byte", "a column whose end overflows 64 bits")
    yield error("store/size-odd.zoe", store(size=279), "byte", "a column that ends inside a value")
    yield error("store/reserved-not-zero.zoe", store(zero=7), "byte", "a reserved field that is used")
    yield error("store/name-unknown.zoe", store(named(b"colour", U8, bytes(EVENTS * 4))), "byte", "a column that version 1 does not know")
    yield error("store/name-twice.zoe", store(named(b"src", U32, columns()[0][2])), "byte", "two source columns")
    yield error("store/name-control.zoe", store(named(b"\x1b[2Jx", U8, bytes(EVENTS * 4))), "byte", "terminal commands for a name")
    yield error("store/type-wrong.zoe", store([(b"src", F32, columns()[0][2]), *columns()[1:]]), "byte", "sources that claim to be floats")
    yield error("store/type-99.zoe", store([(b"src", 99, columns()[0][2]), *columns()[1:]]), "byte", "a type that does not exist")
    yield error("store/time-missing.zoe", store(columns()[:2] + [(b"weight", F32, bytes(EVENTS * 4))]), "byte", "no times")
    yield error("store/vertex-out-of-range.zoe", store(columns(src=[VERTICES] * EVENTS)), "byte", "a vertex that the store does not have")
    yield error("store/vertex-2-to-32.zoe", store(columns(dst=[0xFFFFFFFF] * EVENTS)), "byte", "the largest 32-bit vertex among nine")
    yield error("store/time-descends.zoe", store(columns(time=[-10 * i for i in range(EVENTS)])), "byte", "times that fall")
    yield error("store/kind-9.zoe", store(named(b"kind", U8, b"\x09" * EVENTS)), "byte", "events that neither add nor remove")
    yield error("store/names-short.zoe", store(named(b"first.integers", I64, bytes(8))), "byte", "one name for nine vertices")
    yield error("store/names-end-lies.zoe", store(named(b"first.ends", U64, struct.pack("<9Q", *[1 << 62] * 9)) + [(b"first.bytes", U8, b"abc")]), "byte", "names that claim to end at 2^62")
