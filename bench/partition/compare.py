#!/usr/bin/env python3
"""Our partitions beside those of METIS and Mt-KaHyPar, of the same graphs.

    target/bench-partition-venv/bin/python bench/partition/compare.py [--parts 4 16 64] [--only NAME] [--program PATH]

Every contestant partitions the same union of snapshots (edge cut: METIS) or the same nets (connectivity: Mt-KaHyPar,
preset default, one thread), 3 % imbalance. Cut and volume of all are counted by the same lines below. Times are of
the processor. Writes results/partition.json and results/partition.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mtkahypar
import numpy
import pymetis

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from machine import ROOT, commit_of, machine, stamped  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
RESULTS = ROOT / "bench" / "results"
#: Data set, windows of events, smoothing.
CASES = {
    "as-733": (str(DATA / "as-733" / "as-733.tar.xz"), "day", "raw"),
    "epinions-trust": (str(DATA / "epinions-trust" / "soc-epinions-trust-dir.edges.gz"), "month", "raw"),
    "aml": ("synthetic:aml?accounts=20k&events=300k&days=30&patterns=500", "day", "raw"),
}
IMBALANCE = 0.03


class Nets:
    """A hypergraph as the program wrote it."""

    def __init__(self, stem, vertices):
        read = lambda kind: numpy.fromfile(f"{stem}.{kind}", dtype=numpy.int64)  # noqa: E731
        self.offsets, self.pins, self.weights = read("offsets"), read("pins"), read("weights")
        self.vertices = vertices
        self.net_of_pin = numpy.repeat(numpy.arange(len(self.weights)), numpy.diff(self.offsets))

    def cost(self, part, parts):
        """The sum of weight x (parts reached - 1)."""
        reached = numpy.unique(self.net_of_pin * parts + part[self.pins]) // parts
        return int((self.weights * (numpy.bincount(reached, minlength=len(self.weights)) - 1)).sum())


def metis(edges, parts):
    """METIS's k-way partition of the union of snapshots."""
    source = numpy.concatenate([edges.pins[0::2], edges.pins[1::2]])
    target = numpy.concatenate([edges.pins[1::2], edges.pins[0::2]])
    weight = numpy.concatenate([edges.weights, edges.weights])
    order = numpy.argsort(source, kind="stable")
    starts = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(source, minlength=edges.vertices))])
    graph = pymetis.CSRAdjacency(starts, target[order])
    options = pymetis.Options(ufactor=round(1000 * IMBALANCE), seed=0)
    begin = time.process_time()
    _, part = pymetis.part_graph(parts, graph, eweights=weight[order].tolist(), options=options, recursive=False)
    return numpy.array(part), time.process_time() - begin


def mt_kahypar(library, rows, parts):
    """Mt-KaHyPar's partition of the nets."""
    context = library.context_from_preset(mtkahypar.PresetType.DEFAULT)
    context.set_partitioning_parameters(parts, IMBALANCE, mtkahypar.Objective.KM1)
    mtkahypar.set_seed(0)
    nets = [row.tolist() for row in numpy.split(rows.pins, rows.offsets[1:-1])]
    ones = [1] * rows.vertices
    graph = library.create_hypergraph(context, rows.vertices, len(nets), nets, ones, rows.weights.tolist())
    begin = time.process_time()
    found = graph.partition(context)
    seconds = time.process_time() - begin
    return numpy.array([found.block_id(vertex) for vertex in range(rows.vertices)]), seconds


def measure(program, library, case, parts):
    """One case: what the graph is, and a line for each contestant and number of parts."""
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "cuts", *CASES[case], folder, *map(str, parts)]
        out = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
        about, *ours = map(json.loads, out)
        edges = Nets(f"{folder}/edges", about["vertices"])
        rows = Nets(f"{folder}/rows", about["vertices"])
    lines = [{"who": "Zoetrope", **line} for line in ours]
    for count in parts:
        for who, objective, (part, seconds) in [
            ("METIS", "edge-cut", metis(edges, count)),
            ("Mt-KaHyPar", "connectivity", mt_kahypar(library, rows, count)),
        ]:
            largest = numpy.bincount(part, minlength=count).max()
            lines.append({
                "who": who, "objective": objective, "parts": count, "seconds": seconds, "cut": edges.cost(part, count),
                "volume": rows.cost(part, count), "imbalance": float(largest * count / about["vertices"] - 1),
            })
    return {"about": about, "lines": stamped(lines)}


def table(cases):
    """The cases as Markdown."""
    text = [
        "| graph | parts | edge cut: ours / METIS | s | volume: ours / Mt-KaHyPar | s | volume of METIS's parts / ours | commit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, case in cases.items():
        for parts in sorted({line["parts"] for line in case["lines"]}):
            one = lambda who, kind: next(  # noqa: E731
                line for line in case["lines"] if (line["who"], line["objective"], line["parts"]) == (who, kind, parts))
            cut, metis_cut = one("Zoetrope", "edge-cut"), one("METIS", "edge-cut")
            rows, peer = one("Zoetrope", "connectivity"), one("Mt-KaHyPar", "connectivity")
            pair = lambda left, right, kind: f"{left[kind]:,} / {right[kind]:,} = {left[kind] / right[kind]:.2f}"  # noqa: E731
            seconds = lambda left, right: f"{left['seconds']:.2f} / {right['seconds']:.2f}"  # noqa: E731
            text.append(
                f"| {name} | {parts} | {pair(cut, metis_cut, 'cut')} | {seconds(cut, metis_cut)} | {pair(rows, peer, 'volume')} "
                f"| {seconds(rows, peer)} | {metis_cut['volume'] / rows['volume']:.2f} | {commit_of(rows)} |")
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=int, nargs="+", default=[4, 16, 64])
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--program", default=str(ROOT / "target" / "release" / "bench-partition"))
    arguments = parser.parse_args()
    library = mtkahypar.initialize(1)
    kept = json.loads((RESULTS / "partition.json").read_text()) if (RESULTS / "partition.json").exists() else {"cases": {}}
    # A case that is not asked for stays as it was measured, with its own commit.
    made = {"machine": machine(), "pymetis": pymetis.version, "cases": kept["cases"]}
    for case in arguments.only:
        made["cases"][case] = measure(arguments.program, library, case, arguments.parts)
        print(f"{case}: done", file=sys.stderr)
        (RESULTS / "partition.json").write_text(json.dumps(made, indent=1) + "\n")
        (RESULTS / "partition.md").write_text(table(made["cases"]))
    print(table(made["cases"]), end="")


if __name__ == "__main__":
    main()
