"""The workload C1r: the wikipedia events with random features, in files that everyone reads.

`ml_wikipedia.csv` and `ml_wikipedia.npy` are a TGN triple without features of vertices: identifiers
from 1, row `idx` of the matrix for each event, row 0 is padding. The features that JODIE published
are not at hand, so each event has 172 standard normal numbers: the arithmetic is the same, and
what a model learns comes from who meets whom and when.
"""

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "bench-events"
SOURCE = Path(os.environ.get("WIKIPEDIA", ROOT.parent / "shared" / "data" / "wikipedia")) / "wikipedia.csv.gz"
FEATURES = 172
SEED = 20130408
# Events of a quick run: enough for a few batches of 1,200 in every split.
QUICK = 24_000


def make(quick):
    """Writes the files once and returns the table's path; None if the events are not there."""
    table = WORK / ("quick" if quick else "whole") / "ml_wikipedia.csv"
    matrix = table.with_suffix(".npy")
    if table.exists() and matrix.exists():
        return table
    if not SOURCE.exists():
        return None
    table.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(SOURCE, "rt") as file:
        rows = [line.rstrip().split(",") for line in file][1 : 1 + QUICK if quick else None]
    features = numpy.zeros((len(rows) + 1, FEATURES), dtype=numpy.float32)
    numpy.random.default_rng(SEED).standard_normal(out=features[1:], dtype=numpy.float32)
    numpy.save(matrix, features)
    lines = [",u,i,ts,label,idx"]
    lines += [f"{at},{int(u) + 1},{int(i) + 1},{t},{label},{at + 1}" for at, (u, i, t, label) in enumerate(rows)]
    # The table comes last: where it stands, the matrix beside it is whole.
    table.write_text("\n".join(lines) + "\n")
    return table


@dataclass
class Events:
    """The stream and where its parts end: events 0..train_end train, train_end..val_end validate."""

    src: numpy.ndarray
    dst: numpy.ndarray
    time: numpy.ndarray
    features: numpy.ndarray
    train_end: int
    val_end: int

    @property
    def vertices(self):
        return 1 + int(max(self.src.max(), self.dst.max()))

    def part(self, name):
        """First and one past last event of `train`, `val` or `test`."""
        ends = [0, self.train_end, self.val_end, len(self.src)]
        at = ("train", "val", "test").index(name)
        return ends[at], ends[at + 1]

    def destinations(self):
        """The lowest and one past the highest: negatives come from between."""
        return int(self.dst.min()), int(self.dst.max()) + 1


def load(table):
    """The events of a table: 70 % of the time quantiles train, 15 % validate, 15 % test."""
    table = Path(table)
    columns = numpy.loadtxt(table, delimiter=",", skiprows=1, usecols=(1, 2, 3, 5), dtype=numpy.int64, unpack=True)
    src, dst, time, row = columns
    features = numpy.load(table.with_suffix(".npy"))[row]
    ends = [int((time <= bound).sum()) for bound in numpy.quantile(time, [0.7, 0.85])]
    return Events(src, dst, time, features, *ends)
