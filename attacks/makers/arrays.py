"""NumPy arrays: npz snapshots, and the npy files beside ml_* tables and in TGL folders."""

import io
import pickle
import struct
import zipfile

from .attack import Attack, error, folder, ok
from .tables import scrambled

TGL_MORE = b"".join(b"%d,0,1,%d.0,0\n" % (i, 10 + i) for i in range(3, 33))
ML = b",u,i,ts,label,idx\n0,1,2,0.0,0,1\n1,2,3,5.0,0,2\n"
TGL = b",src,dst,time,ext_roll\n0,0,1,0.0,0\n1,1,2,5.0,1\n2,2,0,9.0,2\n"


def attacks():
    return [*npz(), *npz_zip(), *ml(), *tgl()]


def npy(descr: str, shape: str, data: bytes, version: int = 1, order: str = "False", length=None) -> bytes:
    """An npy file with whatever header is asked for; `length` lies about the header's size."""
    text = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    prefix = 10 if version == 1 else 12
    text += b" " * (63 - (prefix + len(text)) % 64) + b"\n"
    size = len(text) if length is None else length
    field = struct.pack("<H", size & 0xFFFF) if version == 1 else struct.pack("<I", size)
    return b"\x93NUMPY" + bytes([version, 0]) + field + text + data


def u64(*values) -> bytes:
    return npy("<u8", f"({len(values)},)", struct.pack(f"<{len(values)}Q", *values))


def u32(*values) -> bytes:
    return npy("<u4", f"({len(values)},)", struct.pack(f"<{len(values)}I", *values))


def f32(shape: str, *values) -> bytes:
    return npy("<f4", shape, struct.pack(f"<{len(values)}f", *values))


def zipped(members, method=zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            archive.writestr(info, content)
    return out.getvalue()


GOOD = {"edge_offsets.npy": u64(0, 2, 3), "edge_src.npy": u32(0, 1, 2), "edge_dst.npy": u32(1, 2, 0)}


def snapshots(**changes) -> bytes:
    members = {**GOOD, **{f"{name}.npy": content for name, content in changes.items()}}
    return zipped([(name, content) for name, content in members.items() if content is not None])


def npz():
    yield ok("npz/honest.npz", snapshots(), "an honest file")
    yield error("npz/offsets-missing.npz", snapshots(edge_offsets=None), "edge_offsets", "an array that must be there is not")
    yield error("npz/offsets-decrease.npz", snapshots(edge_offsets=u64(0, 3, 1)), "edge offset 2", "offsets that fall")
    yield error("npz/offsets-beyond.npz", snapshots(edge_offsets=u64(0, 2, 1 << 62)), "edge offset 2", "offsets beyond the edges")
    yield error("npz/offsets-start.npz", snapshots(edge_offsets=u64(1, 2, 3)), "edge offset 0", "offsets that do not start at 0")
    yield error("npz/offsets-empty.npz", snapshots(edge_offsets=u64()), "edge_offsets", "no offset")
    yield error("npz/offsets-float.npz", snapshots(edge_offsets=npy("<f8", "(3,)", struct.pack("<3d", 0, 2, 3))), "edge_offsets", "offsets with a decimal point")
    yield error("npz/lengths-differ.npz", snapshots(edge_dst=u32(1, 2)), "edge_dst", "fewer destinations than sources")
    yield ok("npz/vertex-2-to-32.npz", snapshots(edge_src=u32(0, 1, 0xFFFFFFFF)), "the largest 32-bit vertex: a table by vertex would take gigabytes")
    yield error("npz/vertex-negative.npz", snapshots(edge_src=npy("<i8", "(3,)", struct.pack("<3q", 0, -1, 2))), "edge_src", "a negative vertex")
    yield error("npz/vertex-2-to-40.npz", snapshots(edge_src=npy("<i8", "(3,)", struct.pack("<3q", 0, 1 << 40, 2))), "edge_src", "a vertex of 2^40")
    yield error("npz/features-too-few.npz", snapshots(features=f32("(2, 1)", 1, 2)), "features", "features for fewer vertices than edges name")
    yield error("npz/features-steps.npz", snapshots(features=f32("(5, 3, 1)", *range(15))), "features", "features for more steps than there are")
    yield error("npz/object-array.npz", snapshots(features=npy("|O", "(3,)", pickle.dumps([1, 2, 3], 2))), "features", "an array of Python objects: reading it would run code")
    yield error("npz/structured-dtype.npz", snapshots(edge_src=npy("X", "(3,)", bytes(24)).replace(b"'X'", b"[('a', '<u8')]")), "edge_src", "an array of records")
    yield error("npz/unicode-dtype.npz", snapshots(edge_src=npy("<U9", "(3,)", bytes(108))), "edge_src", "an array of text")
    yield error("npz/shape-overflow.npz", snapshots(edge_src=npy("<u4", "(4294967296, 4294967296)", bytes(12))), "edge_src", "a shape whose product is 0 in 64 bits")
    yield error("npz/shape-2-to-60.npz", snapshots(edge_src=npy("<u4", "(1152921504606846976,)", bytes(12))), "edge_src", "a shape of 2^60 elements in a file of 12 bytes")
    yield error("npz/shape-negative.npz", snapshots(edge_src=npy("<u4", "(-3,)", bytes(12))), "edge_src", "a negative shape")
    yield error("npz/shape-deep.npz", snapshots(edge_src=npy("<u4", "(" + "1," * 3000 + ")", bytes(4))), "edge_src", "3,000 dimensions")
    yield error("npz/header-4-gib.npz", snapshots(edge_src=npy("<u4", "(3,)", bytes(12), version=2, length=0xFFFFFFF0)), "edge_src", "a header that claims 4 GiB")
    yield error("npz/header-past-end.npz", snapshots(edge_src=npy("<u4", "(3,)", b"", length=60_000)), "edge_src", "a header that claims more than the file has")
    yield error("npz/header-code.npz", snapshots(edge_src=npy("<u4", "__import__('os').system('true')", bytes(12))), "edge_src", "Python code for a shape")
    yield error("npz/header-garbage.npz", snapshots(edge_src=b"\x93NUMPY\x01\x00\x40\x00" + scrambled(64)), "edge_src", "a header without meaning")
    yield error("npz/header-deep.npz", snapshots(edge_src=npy("<u4", "(" * 5000 + ")" * 5000, bytes(4), version=2)), "edge_src", "5,000 brackets in a header")
    yield error("npz/version-9.npz", snapshots(edge_src=npy("<u4", "(3,)", bytes(12), version=9)), "edge_src", "a version that does not exist")
    yield error("npz/array-truncated.npz", snapshots(edge_src=u32(0, 1, 2)[:-2]), "edge_src", "an array that lacks two bytes")


def npz_zip():
    whole = snapshots()
    names = list(GOOD.items())
    yield error("npz/truncated.npz", whole[: len(whole) // 2], "", "half of an archive")
    yield error("npz/no-directory.npz", whole[:-22], "", "an archive without its last record")
    yield error("npz/only-end.npz", whole[-22:], "", "the last record of an archive alone")
    yield error("npz/bomb.npz", zipped([*names, ("features.npy", npy("<f4", "(16777216,)", bytes(64 << 20)))], zipfile.ZIP_DEFLATED), "", "64 MiB of zeros in 64 KiB")
    yield ok("npz/names-outside.npz", zipped([*names, ("../../outside.npy", u32(1))]), "a member whose name leads out of the archive: it is never unpacked")
    yield error("npz/names-twice.npz", twice(names), "", "two members of one name")
    yield ok("npz/names-strange.npz", zipped([*names, ("a\nb\x1b[31m.npy", u32(1))]), "a member with control characters in its name")
    yield error("npz/thousand-members.npz", zipped([(f"{i}.npy", b"") for i in range(1000)]), "", "1,000 empty members, none of them known")
    yield error("npz/encrypted.npz", flagged(whole, 1), "", "members that claim to be encrypted")
    yield error("npz/method-99.npz", method(whole, 99), "", "a compression method that does not exist")
    yield error("npz/size-lies-4-gib.npz", sizes(whole, 0xFFFFFFF0), "", "members that claim 4 GiB each")
    yield error("npz/size-lies-small.npz", sizes(whole, 1), "", "members that claim one byte each")
    yield error("npz/count-lies.npz", whole[:-12] + struct.pack("<H", 0xFFFF) + whole[-10:], "", "a directory that claims 65,535 members")
    yield error("npz/directory-offset-lies.npz", whole[:-6] + struct.pack("<I", 0xFFFFFF00) + whole[-2:], "", "a directory that claims to be beyond the end")
    yield error("npz/pickle.npz", zipped([("edge_offsets.pkl", pickle.dumps({"a": 1}, 2))]), "", "a pickle in an archive")


def twice(names) -> bytes:
    """Two members of one name; made by renaming one, because zipfile warns about it."""
    archive = zipped([*names, ("edge_srd.npy", u32(9, 9, 9))])
    return archive.replace(b"edge_srd.npy", b"edge_src.npy")


def directory_fields(archive: bytes, field: int, value: bytes) -> bytes:
    """Overwrites one field in every record of the central directory."""
    out, at = bytearray(archive), 0
    while (at := archive.find(b"PK\x01\x02", at)) >= 0:
        out[at + field : at + field + len(value)] = value
        at += 46
    return bytes(out)


def flagged(archive: bytes, flags: int) -> bytes:
    return directory_fields(archive, 8, struct.pack("<H", flags))


def method(archive: bytes, number: int) -> bytes:
    return directory_fields(archive, 10, struct.pack("<H", number))


def sizes(archive: bytes, size: int) -> bytes:
    return directory_fields(archive, 20, struct.pack("<II", size, size))


def beside(name: str, features: bytes, outcome: str, message: str, why: str, table: bytes = ML) -> Attack:
    """An ml_* table with a feature file beside it; the program is given the table."""
    path = f"ml-triple/{name}/ml_x.csv"
    files = {path: table, f"ml-triple/{name}/ml_x.npy": features}
    return Attack(path, files, outcome, message, why)


def ml():
    rows = f32("(3, 2)", 0, 0, 1, 2, 3, 4)
    yield beside("honest", rows, "ok", "", "an honest triple")
    yield beside("too-few-features", f32("(1, 2)", 0, 0), "error", "ml_x.npy", "features for fewer events than there are")
    yield beside("object-features", npy("|O", "(3, 2)", pickle.dumps([1], 2)), "error", "ml_x.npy", "features that are Python objects")
    yield beside("truncated-features", rows[:-3], "error", "ml_x.npy", "features that lack three bytes")
    yield beside("not-an-array", b"features\n", "error", "ml_x.npy", "a text that is called npy")
    yield beside("shape-2-to-60", npy("<f4", "(1152921504606846976, 2)", bytes(24)), "error", "ml_x.npy", "2^60 rows of features in 24 bytes")
    yield beside("shape-overflow", npy("<f4", "(9223372036854775807, 9223372036854775807)", bytes(24)), "error", "ml_x.npy", "a shape whose product no integer holds")
    yield beside("vector", f32("(3,)", 1, 2, 3), "ok", "", "features without a second dimension are one column")
    yield beside("empty", b"", "error", "ml_x.npy", "an empty file beside the table")
    lie = b",u,i,ts,label,idx\n0,1,2,0.0,0,1\n1,2,3,5.0,0,99999999999\n"
    yield beside("index-lies", rows, "error", "ml_x", "a row number that is far beyond the features", lie)
    yield error("ml-triple/short-row/ml_x.csv", ML + b"2,3\n", ":4", "a row that stops early")


def tgl():
    yield folder("tgl/honest", {"edges.csv": TGL}, "ok", "", "an honest folder")
    yield folder("tgl/torch-features", {"edges.csv": TGL, "edge_features.pt": zipped([("archive/data.pkl", pickle.dumps({"a": 1}, 2))])}, "error", "edge_features.pt", "features as a PyTorch pickle, which is never loaded")
    yield folder("tgl/truncated-features", {"edges.csv": TGL, "edge_features.npy": f32("(3, 2)", 1, 2, 3)}, "error", "edge_features.npy", "an array that lacks half of its bytes")
    yield folder("tgl/object-features", {"edges.csv": TGL, "node_features.npy": npy("|O", "(3, 2)", pickle.dumps([1], 2))}, "error", "node_features.npy", "features that are Python objects")
    yield folder("tgl/no-edges", {"ext_full.npz": zipped([("indptr.npy", u64(0, 1))])}, "error", "", "an index without edges")
    yield folder("tgl/word-time", {"edges.csv": TGL + TGL_MORE + b"9,1,2,late,0\n"}, "error", "edges.csv:35", "a time that is a word")
    yield folder("tgl/negative-vertex", {"edges.csv": TGL + b"3,-1,2,10.0,0\n"}, "ok", "", "a negative vertex is an identifier like any other")
    yield folder("tgl/vertex-2-to-40", {"edges.csv": TGL + b"3,1099511627776,2,10.0,0\n"}, "ok", "", "one vertex id of 2^40")
    yield folder("tgl/vertex-2-to-40-features", {"edges.csv": TGL + b"3,1099511627776,2,10.0,0\n", "node_features.npy": f32("(3, 1)", 1, 2, 3)}, "error", "", "a vertex of 2^40 beside features for three: then ids are positions")
