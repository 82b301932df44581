"""Compressed files: bombs, lies and damage."""

import gzip
import lzma
import struct
import zlib

from .attack import error, ok

ROWS = b"".join(b"%d,%d,%d\n" % (i % 97, i % 89, i) for i in range(2000))


def attacks():
    return [*gzips(), *xzs(), *zstds()]


def gzips():
    packed = gzip.compress(ROWS, 9, mtime=0)
    bomb = gzip.compress(bytes(64 << 20), 9, mtime=0)
    yield error("compression/bomb-zeros.csv.gz", bomb, "", "64 MiB of zeros in 64 KiB")
    yield error("compression/bomb-rows.csv.gz", gzip.compress(b"1,2,3\n" * (8 << 20), 9, mtime=0), "ratio", "eight million equal rows")
    yield error("compression/bomb-nested.csv.gz", gzip.compress(bomb, 9, mtime=0), "", "a bomb inside a gzip")
    yield ok("compression/two-members.csv.gz", packed + gzip.compress(b"5,6,2001\n", 9, mtime=0), "two gzip members end to end")
    yield error("compression/truncated.csv.gz", packed[: len(packed) // 2], "byte", "half of a gzip")
    yield error("compression/truncated-in-header.csv.gz", packed[:7], "", "seven bytes of a gzip")
    yield error("compression/flipped-bit.csv.gz", flip(packed, len(packed) // 2), "", "one bit of a gzip flipped")
    yield error("compression/wrong-checksum.csv.gz", packed[:-8] + bytes(4) + packed[-4:], "", "a gzip whose checksum is wrong")
    yield error("compression/garbage-after.csv.gz", packed + b"garbage", "", "garbage after a gzip")
    yield error("compression/endless-name.csv.gz", b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 70_000, "", "a gzip whose file name never ends")
    yield ok("compression/not-compressed.csv.gz", ROWS, "plain text that is called .gz")


def xzs():
    packed = lzma.compress(ROWS, lzma.FORMAT_XZ, preset=6)
    yield error("compression/bomb.csv.xz", lzma.compress(bytes(256 << 20), lzma.FORMAT_XZ, preset=1), "", "256 MiB of zeros in 40 KiB")
    yield error("compression/truncated.csv.xz", packed[: len(packed) // 2], "", "half of an xz")
    yield error("compression/flipped-bit.csv.xz", flip(packed, len(packed) // 2), "", "one bit of an xz flipped")
    yield error("compression/huge-dictionary.csv.xz", huge_dictionary(packed), "", "an xz that asks for a dictionary of 4 GiB")
    yield error("compression/bare-magic.csv.xz", packed[:6], "", "six bytes of an xz")


def zstds():
    yield error("compression/bomb.csv.zst", zstd_frame([(b"0", 128 << 10)] * 4000), "", "500 MiB of zeros in 16 KiB")
    yield error("compression/bomb-rows.csv.zst", zstd_frame([(b"\n", 128 << 10)] * 4000), "", "500 million empty lines in 16 KiB")
    yield ok("compression/plain.csv.zst", zstd_raw(ROWS), "an honest zstd")
    yield error("compression/truncated.csv.zst", zstd_raw(ROWS)[:500], "", "500 bytes of a zstd")
    yield error("compression/huge-window.csv.zst", zstd_raw(ROWS, window=0xA8), "", "a zstd that asks for a window of 2 GiB")
    yield error("compression/reserved-block.csv.zst", b"\x28\xb5\x2f\xfd\x00\x58" + struct.pack("<I", 0b110 | 8 << 3)[:3], "", "a zstd block of a type that does not exist")
    yield error("compression/bare-magic.csv.zst", b"\x28\xb5\x2f\xfd", "", "four bytes of a zstd")


def flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]


def huge_dictionary(packed: bytes) -> bytes:
    """Sets the LZMA2 dictionary size of the first block to the largest and mends the checksum."""
    size = (packed[12] + 1) * 4
    header = bytearray(packed[12 : 12 + size])
    at = header.index(b"\x21\x01") + 2
    header[at] = 40
    header[-4:] = struct.pack("<I", zlib.crc32(bytes(header[:-4])))
    return packed[:12] + bytes(header) + packed[12 + size :]


def zstd_frame(runs) -> bytes:
    """A frame of run-length blocks; needs no compressor."""
    out = bytearray(b"\x28\xb5\x2f\xfd\x00\x58")
    for position, (byte, length) in enumerate(runs):
        last = position + 1 == len(runs)
        out += struct.pack("<I", int(last) | 1 << 1 | length << 3)[:3] + byte
    return bytes(out)


def zstd_raw(content: bytes, window: int = 0x58) -> bytes:
    """A frame of raw blocks. The window byte 0x58 means 2 MiB, 0xA8 means 2 GiB."""
    out = bytearray(b"\x28\xb5\x2f\xfd\x00" + bytes([window]))
    pieces = [content[at : at + (64 << 10)] for at in range(0, len(content), 64 << 10)]
    for position, piece in enumerate(pieces):
        last = position + 1 == len(pieces)
        out += struct.pack("<I", int(last) | len(piece) << 3)[:3] + piece
    return bytes(out)
