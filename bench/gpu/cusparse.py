"""Multiplies the matrices that `gpu_spmm` wrote with cuSPARSE, and puts both sides into one table.

    cusparse.py WORK OUT

WORK holds zoetrope.json and the matrices; gpu-spmm.json and gpu-spmm.md go to OUT.
"""

import json
import statistics
import sys
from pathlib import Path

import numpy
import torch

sys.path.append(str(Path(__file__).resolve().parents[1]))
from machine import commit_of, stamped  # noqa: E402

# As in gpu_spmm: calls between two events, samples, and samples that are dropped.
CALLS, SAMPLES, WARM_UP = 5, 30, 2
# What is asked: at least so many times as fast as cuSPARSE, up to this width and above.
NARROW, GOAL_NARROW, GOAL_WIDE = 32, 2.0, 1.2


def matrix(path, transposed):
    """A matrix by rows on the GPU, as PyTorch takes it."""
    offsets = torch.from_numpy(numpy.fromfile(path.with_suffix(".offsets"), dtype=numpy.int32))
    columns = torch.from_numpy(numpy.fromfile(path.with_suffix(".columns"), dtype=numpy.int32))
    values = torch.from_numpy(numpy.fromfile(path.with_suffix(".values"), dtype=numpy.float32))
    vertices = len(offsets) - 1
    if transposed:
        rows = torch.repeat_interleave(torch.arange(vertices, dtype=torch.int32), offsets.diff())
        order = torch.argsort(columns, stable=True)
        counts = torch.bincount(columns, minlength=vertices)
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]).to(torch.int32)
        columns, values = rows[order], values[order]
    size = (vertices, vertices)
    return torch.sparse_csr_tensor(offsets.cuda(), columns.cuda(), values.cuda(), size=size)


def microseconds(product):
    """The median time of a call."""
    samples = []
    for _ in range(SAMPLES + WARM_UP):
        before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        before.record()
        for _ in range(CALLS):
            product()
        after.record()
        after.synchronize()
        samples.append(before.elapsed_time(after) * 1e3 / CALLS)
    return statistics.median(samples[WARM_UP:])


def measure(work, rows):
    """cuSPARSE's microseconds by case, side and width."""
    found = {}
    for case, side, width in dict.fromkeys((row["case"], row["side"], row["width"]) for row in rows):
        if (case, side) not in {key[:2] for key in found}:
            sparse = matrix(work / f"{case}.bin", side == "transpose")
        dense = torch.rand(sparse.shape[1], width, device="cuda") - 0.5
        found[case, side, width] = microseconds(lambda: torch.sparse.mm(sparse, dense))
    return found


def table(report):
    """The document as Markdown."""
    lines = [
        f"{report['card']}, PyTorch {report['torch']}. Bytes: columns, values and y once, of x each row that occurs once "
        f"(at least) or once for each entry (at most); the floor is the former at {report['copy_bytes_per_second'] / 1e12:.1f} TB/s. "
        "cuSPARSE multiplies one snapshot at a time.", "",
        "| case | side | longest row | snapshots | width | µs | at least TB/s | at most TB/s | of the floor | cuSPARSE µs | ratio | asked | commit |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in report["rows"]:
        lines.append(
            f"| {row['case']} | {row['side']} | {row['longest_row']} | {row['snapshots']} | {row['width']} | {row['us']:.1f} "
            f"| {row['least_bytes_per_second'] / 1e12:.2f} | {row['most_bytes_per_second'] / 1e12:.2f} | {row['of_floor']:.0%} "
            f"| {row['cusparse_us']:.1f} | {row['ratio']:.2f} | {row['asked']} | {commit_of(row)} |")
    return "\n".join(lines) + "\n"


def main():
    work, out = map(Path, sys.argv[1:])
    report = json.loads((work / "zoetrope.json").read_text())
    report["torch"] = torch.__version__
    report["rows"] = stamped(report["rows"])
    peer = measure(work, report["rows"])
    for row in report["rows"]:
        row["cusparse_us"] = row["snapshots"] * peer[row["case"], row["side"], row["width"]]
        row["ratio"] = row["cusparse_us"] / row["us"]
        row["asked"] = GOAL_NARROW if row["width"] <= NARROW else GOAL_WIDE
    report["met"] = all(row["ratio"] >= row["asked"] for row in report["rows"])
    (out / "gpu-spmm.json").write_text(json.dumps(report, indent=1) + "\n")
    (out / "gpu-spmm.md").write_text(table(report))
    print(table(report))


if __name__ == "__main__":
    main()
