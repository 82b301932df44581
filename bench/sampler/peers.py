"""The twins of bench-sampler: numpy, PyG's neighbour table and TGL's sampler, on one thread.

`peers.py FOLDER [MODULES]` answers each line of JSON with one, as `bench-sampler serve` does, with a field
`contestant` more: `numpy`, `pyg` or `tgl`. MODULES is where TGL's `sampler_core` was built.

All get the same questions, both ends of every event at its time, batch by batch; what a contestant needs
besides (index, questions as arrays of its types) is made before the clock runs.

- numpy: a vectorised sampler over the same index; one binary search over keys of vertex and time, then
  positions counted back from there, or drawn with replacement.
- pyg: `LastNeighborLoader`, which is asked for the ends of a batch and then given the batch. It keeps a
  table of the last events and knows no times.
- tgl: `ParallelSampler` with one thread; the time is the one that it takes itself, in C++. Times are float32
  and are given relative to the first event, which is kinder to them than what its own scripts do.
"""
import json
import pathlib
import sys
import time

import numpy as np

PARTS = 400
FEWEST = 3


class Stream:
    def __init__(self, folder):
        read = lambda name, kind: np.fromfile(folder / name, dtype=kind)
        self.src, self.dst = read("src.bin", "<u4").astype(np.int64), read("dst.bin", "<u4").astype(np.int64)
        self.time = read("time.bin", "<i8")
        self.events = len(self.src)
        self.vertices = int(max(self.src.max(), self.dst.max())) + 1
        # Both ends of every event, a self-loop once; in stream order within a vertex.
        event = np.repeat(np.arange(self.events), 2)
        vertex = np.stack([self.src, self.dst], 1).ravel()
        other = np.stack([self.dst, self.src], 1).ravel()
        keep = np.ones(2 * self.events, bool)
        keep[1::2] = self.src != self.dst
        event, vertex, other = event[keep], vertex[keep], other[keep]
        order = np.argsort(vertex, kind="stable")
        self.event, self.neighbour = event[order], other[order]
        self.offsets = np.concatenate([[0], np.cumsum(np.bincount(vertex, minlength=self.vertices))])
        self.first = int(self.time[0])
        self.span = int(self.time[-1]) - self.first + 2
        self.key = vertex[order] * self.span + (self.time[self.event] - self.first)
        self.asked = np.stack([self.src, self.dst], 1).ravel()
        self.asked_time = np.repeat(self.time, 2)

    def batches(self, size, part):
        count = -(-self.events // size)
        for number in range(count * part // PARTS, count * (part + 1) // PARTS):
            yield slice(number * size, min(self.events, (number + 1) * size))


class Numpy:
    def __init__(self, stream, case):
        self.stream, self.case = stream, case
        self.key = stream.asked * stream.span + (stream.asked_time - stream.first)
        self.random = np.random.default_rng(1)

    def begin(self):
        pass

    def batch(self, events):
        """Neighbours, events and times, moment by moment and ascending; and how many each moment got."""
        stream, most = self.stream, self.case["neighbours"]
        moments = slice(2 * events.start, 2 * events.stop)
        start = time.perf_counter()
        begin = stream.offsets[stream.asked[moments]]
        end = np.searchsorted(stream.key, self.key[moments])
        seen = end - begin
        if self.case["choice"] == "uniform":
            draws = (self.random.random((len(seen), most)) * seen[:, None]).astype(np.int64)
            draws.sort(1)
            all_of_them = np.arange(most)[None, :]
            position = begin[:, None] + np.where(seen[:, None] <= most, all_of_them, draws)
            taken = all_of_them < np.minimum(seen, most)[:, None]
        else:
            position = end[:, None] + np.arange(-most, 0)[None, :]
            taken = position >= begin[:, None]
        position = position[taken]
        event = stream.event[position]
        found = stream.neighbour[position], event, stream.time[event], taken.sum(1)
        return time.perf_counter() - start, found

    def count(self, found):
        return len(found[0])


class Pyg:
    def __init__(self, stream, case):
        import torch
        from torch_geometric.nn.models.tgn import LastNeighborLoader

        torch.set_num_threads(1)
        self.loader = LastNeighborLoader(stream.vertices, case["neighbours"])
        self.src, self.dst = torch.from_numpy(stream.src), torch.from_numpy(stream.dst)
        self.asked = torch.from_numpy(stream.asked)

    def begin(self):
        self.loader.reset_state()

    def batch(self, events):
        asked = self.asked[2 * events.start:2 * events.stop]
        start = time.perf_counter()
        found = self.loader(asked)
        self.loader.insert(self.src[events], self.dst[events])
        return time.perf_counter() - start, found

    def count(self, found):
        return len(found[2])


class Tgl:
    def __init__(self, stream, case):
        from sampler_core import ParallelSampler

        times = (stream.time - stream.first).astype(np.float32)
        narrow = lambda values: values.astype(np.int32)
        self.sampler = ParallelSampler(
            narrow(stream.offsets), narrow(stream.neighbour), narrow(stream.event), times[stream.event], 1, 1, 1,
            [case["neighbours"]], case["choice"] == "recent", False, 1, 0.0)
        self.asked, self.time = narrow(stream.asked), np.repeat(times, 2)

    def begin(self):
        self.sampler.reset()

    def batch(self, events):
        moments = slice(2 * events.start, 2 * events.stop)
        self.sampler.sample(self.asked[moments], self.time[moments])
        found = self.sampler.get_ret()[0]
        return found.tot_time(), found

    def count(self, found):
        return len(found.eid())


CONTESTANTS = {"numpy": Numpy, "pyg": Pyg, "tgl": Tgl}


def checked(stream, case, contestant):
    """Sampled neighbours of a pass; for exact samplers the checksum of bench-sampler, for TGL how many moments
    got other events than they should."""
    count, checksum, wrong = 0, 0, 0
    exact = Numpy(stream, case)
    contestant.begin()
    for part in range(PARTS):
        for events in stream.batches(case["batch"], part):
            found = contestant.batch(events)[1]
            if isinstance(contestant, Numpy):
                places = np.arange(count + 1, count + 1 + len(found[0]), dtype=np.uint64)
                values = (found[1].astype(np.uint64) + np.uint64(1)) ^ (found[0].astype(np.uint64) << np.uint64(32))
                checksum = (checksum + int((places * values).sum(dtype=np.uint64))) % 2**64
            elif isinstance(contestant, Tgl) and case["choice"] == "recent":
                _, should, _, counts = exact.batch(events)[1]
                rows = len(counts)
                row = np.repeat(np.arange(rows), counts)
                sums = lambda row, event: np.bincount(row, weights=event + 1.0, minlength=rows)
                wrong += int((sums(row, should) != sums(found.row(), found.eid())).sum())
            count += contestant.count(found)
    return {"sampled": count, "checksum": checksum, "wrong": wrong}


def measure(stream, case):
    contestant = CONTESTANTS[case["contestant"]](stream, case)
    answer = {**checked(stream, case, contestant), "seconds": [float("inf")] * PARTS, "passes": 0}
    start = time.perf_counter()
    while answer["passes"] < FEWEST or time.perf_counter() - start < case["seconds"]:
        contestant.begin()
        answer["passes"] += 1
        for part in range(PARTS):
            seconds = sum(contestant.batch(events)[0] for events in stream.batches(case["batch"], part))
            answer["seconds"][part] = min(answer["seconds"][part], seconds)
    return answer


def main():
    sys.path[:0] = sys.argv[2:]
    stream = Stream(pathlib.Path(sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(measure(stream, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
