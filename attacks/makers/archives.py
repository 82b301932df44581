"""Tar archives of snapshots."""

import gzip
import io
import tarfile

from .attack import error, ok

DAY = b"# a day\n1\t2\n2\t1\n2\t3\n"


def attacks():
    honest = tar([("as19971108.txt", DAY), ("as19971109.txt", DAY)])
    return [
        ok("snapshot-folder/honest.tar", honest, "an honest archive"),
        error("snapshot-folder/empty.tar", tar([]), "", "no member"),
        error("snapshot-folder/only-folders.tar", linked(tarfile.DIRTYPE, ""), "", "folders and no file"),
        error("snapshot-folder/truncated.tar", honest[:700], "", "a member that stops"),
        error("snapshot-folder/truncated-header.tar", honest[:1300], "", "a header that stops"),
        ok("snapshot-folder/names-outside.tar", tar([("../../as19971108.txt", DAY)]), "a member whose name leads out of the archive: it is never unpacked"),
        ok("snapshot-folder/name-absolute.tar", tar([("/etc/as19971108.txt", DAY)]), "a member with an absolute name: it is never unpacked"),
        error("snapshot-folder/symbolic-link.tar", linked(tarfile.SYMTYPE, "/etc/passwd"), "", "a link to a file of the machine"),
        error("snapshot-folder/hard-link.tar", linked(tarfile.LNKTYPE, "/etc/passwd"), "", "a hard link to a file of the machine"),
        error("snapshot-folder/device.tar", linked(tarfile.CHRTYPE, ""), "", "a device"),
        error("snapshot-folder/fifo.tar", linked(tarfile.FIFOTYPE, ""), "", "a pipe"),
        error("snapshot-folder/size-8-gib.tar", sized(honest, b"77777777777\0"), "", "a member that claims 8 GiB"),
        error("snapshot-folder/size-2-to-63.tar", sized(honest, b"\x80" + b"\x00" * 3 + b"\x7f" + b"\xff" * 7), "", "a member that claims 2^63 bytes"),
        error("snapshot-folder/size-negative.tar", sized(honest, b"\xff" * 12), "", "a member of negative size"),
        error("snapshot-folder/size-garbage.tar", sized(honest, b"12x45678901\0"), "", "a size that is no number"),
        error("snapshot-folder/wrong-checksum.tar", honest[:148] + b"000000\0 " + honest[156:], "", "a header whose checksum is wrong"),
        error("snapshot-folder/long-name-1-gib.tar", long_name(), "", "a name that claims 1 GiB"),
        ok("snapshot-folder/pax-1-gib.tar", pax(b"1073741824 path=as19971108.txt\n"), "an extended header that lies about its length says nothing"),
        ok("snapshot-folder/pax-garbage.tar", pax(b"no length\n"), "an extended header without meaning says nothing"),
        error("snapshot-folder/same-name.tar", tar([("as19971108.txt", DAY)] * 2), "", "one day twice"),
        error("snapshot-folder/word-row.tar", tar([("as19971108.txt", DAY), ("as19971109.txt", DAY + b"2\tx y z\n")]), "as19971109.txt", "a bad row in the second day"),
        ok("snapshot-folder/empty-members.tar", tar([("as19971108.txt", b""), ("as19971109.txt", b"# nothing\n")]), "days without an edge are days"),
        error("snapshot-folder/bomb.tar.gz", gzip.compress(tar([("as19971108.txt", b"1\t2\n" * (12 << 20))]), 9, mtime=0), "", "48 MiB of equal rows in 50 KiB"),
        ok("snapshot-folder/ten-thousand-members.tar.gz", gzip.compress(tar([(f"{i:05}.txt", b"") for i in range(10_000)]), 9, mtime=0), "10,000 empty days"),
        error("snapshot-folder/nested.tar", tar([("as19971108.tar", honest)]), "", "an archive inside an archive"),
    ]


def tar(members) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def linked(kind: bytes, target: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        info = tarfile.TarInfo("as19971108.txt")
        info.type, info.linkname = kind, target
        archive.addfile(info)
    return out.getvalue()


def sealed(header: bytes) -> bytes:
    """A header with its checksum set right."""
    blank = header[:148] + b" " * 8 + header[156:512]
    return blank[:148] + b"%06o\0 " % sum(blank) + blank[156:]


def sized(archive: bytes, size: bytes) -> bytes:
    return sealed(archive[:124] + size + archive[136:512]) + archive[512:]


def long_name() -> bytes:
    header = bytearray(tar([("././@LongLink", b"")])[:512])
    header[156:157] = b"L"
    header[124:136] = b"10000000000\0"
    return sealed(bytes(header)) + b"a" * 2048 + tar([("as19971108.txt", DAY)])


def pax(record: bytes) -> bytes:
    header = bytearray(tar([("header", record)])[:512])
    header[156:157] = b"x"
    padding = bytes(512 - len(record) % 512)
    return sealed(bytes(header)) + record + padding + tar([("as19971108.txt", DAY)])
