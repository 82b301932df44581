"""PyTorch's side of the kernels: one case a line on standard input, one answer a line on output.

The fields of a case and of an answer are those of `src/case.rs`. Sparse matrices come from the files
that `bench-kernels graphs` writes, with 32-bit indices (the fastest form for `torch.sparse.mm` here); a
group of snapshots is one block-diagonal matrix, so that it takes one call. The transposed matrix is
made beforehand: it is the fastest way to a gradient that PyTorch offers.
"""
import json
import os
import sys
import time
import warnings

THREADS = int(os.environ["RAYON_NUM_THREADS"])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(THREADS)

import numpy
import torch

torch.set_num_threads(THREADS)
# Compressed rows are called beta at every start.
warnings.filterwarnings("ignore", message="Sparse")
PERIOD, FEWEST = 1_000_003, 5
FOLDER = sys.argv[1]
MADE = {}


def numbers(seed, length):
    """The same numbers as `case::numbers`."""
    with numpy.errstate(over="ignore"):
        position = numpy.arange(min(length, PERIOD), dtype=numpy.uint32)
        hashed = position * numpy.uint32(2_654_435_761) + numpy.uint32(seed * 97_531)
        hashed = (hashed ^ (hashed >> numpy.uint32(15))) * numpy.uint32(2_246_822_519)
        hashed ^= hashed >> numpy.uint32(13)
    pattern = (hashed.astype(numpy.float64) / 2_147_483_648.0 - 1.0).astype(numpy.float32)
    return torch.from_numpy(numpy.resize(pattern, length))


def sample(results):
    flat = results.detach().reshape(-1)
    return flat[:: max(1, len(flat) // 64)][:64].tolist()


def repeat(seconds, work, prepare=lambda: None):
    work(prepare())
    start, runs = time.perf_counter(), []
    while len(runs) < FEWEST or time.perf_counter() - start < seconds:
        ready = prepare()
        begin = time.perf_counter()
        work(ready)
        runs.append(time.perf_counter() - begin)
    return runs


def snapshots(name):
    words = numpy.fromfile(f"{FOLDER}/{name}.bin", dtype=numpy.uint32)
    at = 0
    while at < len(words):
        vertices, entries = int(words[at]), int(words[at + 1])
        ends = numpy.cumsum([at + 2, vertices + 1, entries, entries])
        offsets, columns, values = (words[a:b] for a, b in zip(ends, ends[1:]))
        yield vertices, offsets.astype(numpy.int64), columns.astype(numpy.int64), values.view(numpy.float32)
        at = int(ends[-1])


def csr(offsets, columns, values, size):
    index = lambda array: torch.from_numpy(numpy.ascontiguousarray(array.astype(numpy.int32)))
    values = torch.from_numpy(numpy.ascontiguousarray(values))
    return torch.sparse_csr_tensor(index(offsets), index(columns), values, (size, size))


def transposed(offsets, columns, values, size):
    rows = numpy.repeat(numpy.arange(size), numpy.diff(offsets))
    order = numpy.argsort(columns, kind="stable")
    counts = numpy.bincount(columns, minlength=size)
    return numpy.concatenate([[0], numpy.cumsum(counts)]), rows[order], values[order]


def matrix(name, count, backward):
    """The first `count` snapshots as one block-diagonal matrix, or its transpose."""
    key = (name, count, backward)
    if key not in MADE:
        MADE.clear()
        offsets, columns, values, size, entries = [numpy.zeros(1, numpy.int64)], [], [], 0, 0
        for vertices, own_offsets, own_columns, own_values in list(snapshots(name))[:count]:
            offsets.append(own_offsets[1:] + entries)
            columns.append(own_columns + size)
            values.append(own_values)
            size, entries = size + vertices, entries + len(own_columns)
        arrays = [numpy.concatenate(part) for part in (offsets, columns, values)]
        MADE[key] = csr(*(transposed(*arrays, size) if backward else arrays), size)
    return MADE[key]


def spmm(case):
    m = matrix(case["graph"], case["snapshots"], case["backward"])
    x = numbers(1, m.shape[0] * case["width"]).reshape(m.shape[0], case["width"])
    with torch.no_grad():
        results = sample(torch.sparse.mm(m, x))
        return {"sample": results, "seconds": repeat(case["seconds"], lambda _: torch.sparse.mm(m, x))}


def rows(case):
    vertices, _, columns, _ = next(snapshots(case["graph"]))
    index, width = torch.from_numpy(columns), case["width"]
    with torch.no_grad():
        if case["kernel"] == "gather":
            x = numbers(1, vertices * width).reshape(vertices, width)
            work = lambda _: torch.index_select(x, 0, index)
            return {"sample": sample(work(None)), "seconds": repeat(case["seconds"], work)}
        dy = numbers(1, len(index) * width).reshape(len(index), width)
        dx = torch.zeros(vertices, width)
        results = sample(torch.zeros(vertices, width).index_add_(0, index, dy))
        wide = index[:, None].expand(-1, width)
        added = repeat(case["seconds"] / 2, lambda _: dx.index_add_(0, index, dy))
        scattered = repeat(case["seconds"] / 2, lambda _: dx.scatter_add_(0, wide, dy))
        return {"sample": results, "seconds": min(added, scattered, key=min)}


def recurrent(case):
    steps, vertices, width = case["steps"], case["vertices"], case["width"]
    kind, gates = (torch.nn.GRU, 3) if case["kernel"] == "gru" else (torch.nn.LSTM, 4)
    unit = kind(width, width)
    shapes = [(gates * width, width)] * 2 + [(gates * width,)] * 2
    with torch.no_grad():
        for seed, (parameter, shape) in enumerate(zip(unit.parameters(), shapes), 2):
            length = int(numpy.prod(shape))
            parameter.copy_(numbers(seed, length).reshape(shape) * numpy.float32(1 / numpy.sqrt(numpy.float32(width))))
    x = numbers(1, steps * vertices * width).reshape(steps, vertices, width).requires_grad_()
    d_out = numbers(6, steps * vertices * width).reshape(steps, vertices, width)
    return with_gradient(case, lambda: unit(x)[0], x, d_out, list(unit.parameters()))


def attention(case):
    """`scaled_dot_product_attention`, with vertices and heads as its batch: the layout that it likes best."""
    steps, vertices, width, heads = case["steps"], case["vertices"], case["width"], case["heads"]
    turn = lambda t: t.reshape(steps, vertices, heads, width // heads).permute(1, 2, 0, 3).contiguous()
    back = lambda t: t.permute(2, 0, 1, 3).reshape(steps, vertices, width)
    q, k, v = (turn(numbers(seed, steps * vertices * width)).requires_grad_() for seed in (1, 2, 3))
    d_out = turn(numbers(4, steps * vertices * width))
    forward = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return with_gradient(case, forward, q, d_out, [k, v], back)


def with_gradient(case, forward, x, d_out, others, back=lambda t: t):
    def forget():
        for leaf in [x, *others]:
            leaf.grad = None

    if not case["backward"]:
        return {"sample": sample(back(forward())), "seconds": repeat(case["seconds"], lambda _: forward())}

    def prepare():
        forget()
        return forward()

    prepare().backward(d_out)
    results = sample(back(x.grad))
    return {"sample": results, "seconds": repeat(case["seconds"], lambda out: out.backward(d_out), prepare)}


KERNELS = {
    "spmm": spmm, "gather": rows, "scatter": rows, "gru": recurrent, "lstm": recurrent, "attention": attention,
}


def main():
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(KERNELS[case["kernel"]](case)), flush=True)


main()
