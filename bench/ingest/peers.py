"""Reads one file with one peer in a process of its own; prints one JSON line.

usage: peers.py pandas|pandas-store|polars FILE REPEATS

`pandas` and `polars` parse alone. `pandas-store` goes on to what Zoetrope's reader delivers:
vertices numbered densely in ascending order of their identifier, events sorted stably by time,
every column a contiguous array of its final type.
"""
import json
import os
import sys
import time


def resident(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))


def layout(path):
    """Separator, header row or not, and the positions of source, destination and time."""
    name = os.path.basename(path)
    if name.startswith("sx-mathoverflow"):
        return " ", False, (0, 1, 2), False
    return ",", True, (0, 1, 2), name.startswith("nycflights13")


def read_pandas(path):
    import pandas

    separator, header, _, ragged = layout(path)
    # The JODIE header names all features with one word: skip it.
    if ragged:
        return pandas.read_csv(path, sep=separator, header=None, skiprows=1)
    return pandas.read_csv(path, sep=separator, header=0 if header else None)


def read_polars(path):
    import polars

    separator, header, _, ragged = layout(path)
    if ragged:
        return polars.read_csv(path, separator=separator, has_header=False, skip_rows=1)
    return polars.read_csv(path, separator=separator, has_header=header)


def to_store(frame, path):
    import numpy

    _, _, (src, dst, when), jodie = layout(path)
    columns = [frame.iloc[:, column].to_numpy() for column in range(frame.shape[1])]
    if jodie:
        users, source = numpy.unique(columns[src], return_inverse=True)
        items, destination = numpy.unique(columns[dst], return_inverse=True)
        destination = destination + len(users)
    else:
        both = numpy.concatenate([columns[src], columns[dst]])
        _, numbered = numpy.unique(both, return_inverse=True)
        source, destination = numbered[: len(frame)], numbered[len(frame) :]
    times = columns[when].astype(numpy.int64)
    rest = [column for index, column in enumerate(columns) if index not in (src, dst, when)]
    rest = numpy.stack(rest, axis=1).astype(numpy.float32) if rest else None
    if not (numpy.diff(times) >= 0).all():
        order = numpy.argsort(times, kind="stable")
        source, destination, times = source[order], destination[order], times[order]
        rest = None if rest is None else rest[order]
    return source.astype(numpy.uint32), destination.astype(numpy.uint32), times, rest


def main():
    peer, path, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
    read = {
        "pandas": read_pandas,
        "pandas-store": lambda path: to_store(read_pandas(path), path),
        "polars": read_polars,
    }[peer]
    __import__("polars" if peer == "polars" else "pandas")
    before = resident("VmRSS")
    seconds, peak = [], 0
    for _ in range(repeats):
        start = time.perf_counter()
        table = read(path)
        seconds.append(time.perf_counter() - start)
        peak = peak or resident("VmHWM")
        del table
    print(json.dumps({"seconds": seconds, "before_bytes": before, "peak_bytes": peak}))


main()
