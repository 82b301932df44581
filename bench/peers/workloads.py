"""The cases: which data, how it is cut into frames, and the files that both sides read."""

import os
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "bench-peers"
# Another build for trials; what is kept is measured with the release build.
ZOETROPE = Path(os.environ.get("ZOETROPE", ROOT / "target" / "release" / "zoetrope")).resolve()
SHARED = ROOT.parent / "shared" / "data"
ENGLAND_COVID = Path(os.environ.get("ENGLAND_COVID", SHARED / "england-covid" / "england_covid.json.gz"))
AS_733 = SHARED / "as-733" / "as-733.tar.xz"
# The first days of as-733: all 733 would take most of the time of the whole bench.
AS_733_DAYS = 100


@dataclass(frozen=True)
class Case:
    """One data set and how it is trained on; `epochs` are timed, one more comes before them."""

    name: str
    about: str
    models: tuple
    frame: int
    stride: int
    hidden: int
    epochs: int
    source: object
    task: str = "node-regression"
    # Whether the file has features; otherwise both sides take degrees.
    own_features: bool = True

    @property
    def file(self):
        return WORK / f"{self.name}.npz"


CASES = {
    case.name: case
    for case in [
        Case("D1", "england-covid: 129 vertices, 53 snapshots", ("tgcn", "evolvegcn-o", "mpnn-lstm", "dysat"),
             16, 1, 32, 4, ENGLAND_COVID),
        Case("D4", "power-law: 20,000 vertices, 32 snapshots of 100,000 edges",
             ("tgcn", "evolvegcn-o", "mpnn-lstm", "dysat"), 8, 8, 32, 2, "synthetic:power-law"),
        Case("D5", "power-law: 200,000 vertices, 16 snapshots of 1,000,000 edges", ("tgcn", "evolvegcn-o", "mpnn-lstm"),
             8, 8, 6, 2, "synthetic:power-law?vertices=200000&steps=16&edges=1000000&features=2"),
        Case("as-733", f"as-733, links: the first {AS_733_DAYS} days", ("gc-lstm",), 8, 8, 32, 2, AS_733,
             "link-prediction", own_features=False),
    ]
}


def make(case):
    """Writes the file of a case; returns why that cannot be done, or None."""
    if case.file.exists():
        return None
    WORK.mkdir(parents=True, exist_ok=True)
    if isinstance(case.source, str):
        arguments = ["generate", case.source, "--out", case.file]
    elif not case.source.exists():
        return f"{case.source} is not there"
    elif case.source == AS_733:
        arguments = ["convert", first_days(case.source, WORK / "as-733", AS_733_DAYS), case.file, "--drop"]
    else:
        arguments = ["convert", case.source, case.file, "--lags", "8"]
    subprocess.run([ZOETROPE, "data", *arguments, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return None


def first_days(archive, folder, days):
    """The first snapshots of an archive, unpacked into a folder."""
    folder.mkdir(exist_ok=True)
    with tarfile.open(archive) as files:
        members = sorted((member for member in files.getmembers() if member.isfile()), key=lambda member: member.name)
        for member in members[:days]:
            (folder / Path(member.name).name).write_bytes(files.extractfile(member).read())
    return folder


@dataclass
class Snapshot:
    """One step: edges from `src` to `dst`, what is known of each vertex, and what is asked."""

    src: numpy.ndarray
    dst: numpy.ndarray
    weight: numpy.ndarray
    features: numpy.ndarray
    targets: object


def load(path):
    """The snapshots of a file, as numpy arrays."""
    with numpy.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    offsets = arrays["edge_offsets"].astype(numpy.int64)
    steps = len(offsets) - 1
    weight = arrays.get("edge_weight", numpy.ones(offsets[-1], dtype=numpy.float32))
    edges = [(arrays["edge_src"][a:b].astype(numpy.int64), arrays["edge_dst"][a:b].astype(numpy.int64),
              weight[a:b].astype(numpy.float32)) for a, b in zip(offsets, offsets[1:])]
    features, targets = arrays.get("features"), arrays.get("targets")
    if features is None:
        vertices = 1 + int(max(arrays["edge_src"].max(), arrays["edge_dst"].max()))
        features = numpy.stack([degrees(src, dst, vertices) for src, dst, _ in edges])
    features = numpy.broadcast_to(features, (steps, *features.shape[-2:]))
    return [Snapshot(*edges[t], features[t].astype(numpy.float32), None if targets is None else targets[t])
            for t in range(steps)]


def degrees(src, dst, vertices):
    """ln(1 + in-degree) and ln(1 + out-degree): what Zoetrope takes if there are no features."""
    counts = [numpy.bincount(ends, minlength=vertices) for ends in (dst, src)]
    return numpy.log1p(numpy.stack(counts, axis=1).astype(numpy.float32))


def frames(steps, frame, stride):
    """The steps of each frame."""
    return [range(start, start + frame) for start in range(0, steps - frame + 1, stride)]
