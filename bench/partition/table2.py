#!/usr/bin/env python3
"""The shape of Table 2 of ESDG: volumes of snapshot and of hypergraph partitioning by ranks, on an AML-like graph.

    python3 bench/partition/table2.py [--data NAME] [--windows W] [--life N] [--ranks 4 8 16 32 64] [--program PATH]

The graph is as dense as the paper's Table 1 has it: about 0.6 edges a vertex and time step as it is, 5.5 once smoothed.
Writes results/partition-volumes.json, .md and .svg. Standard library only.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from machine import ROOT, commit_of, machine, stamped  # noqa: E402
from panels import picture  # noqa: E402

RESULTS = ROOT / "bench" / "results"
NAMES = {"tm-gcn": "TM-GCN", "cd-gcn": "CD-GCN", "evolvegcn-o": "EvolveGCN"}
COLOURS = [("snapshot", "#2563eb", "#60a5fa"), ("hyper", "#d97706", "#fbbf24")]
LEGEND = [("snapshot", "snapshot partitioning"), ("hyper", "hypergraph partitioning")]


def table(lines):
    """The lines as Markdown, in millions of numbers."""
    text = ["| model | ranks | snapshot | hyper | edges of all snapshots | partitioned in | commit |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for line in lines:
        text.append(
            f"| {NAMES[line['model']]} | {line['ranks']} | {line['snapshot'] / 1e6:,.1f} | {line['hyper'] / 1e6:,.1f} "
            f"| {line['edges']:,} | {line['seconds']:.1f} s | {commit_of(line)} |")
    return "\n".join(text) + "\n"


def drawing(lines):
    """A panel for each model, a line for each strategy."""
    panels = {}
    for line in lines:
        kinds = panels.setdefault(NAMES[line["model"]], {"snapshot": [], "hyper": []})
        for kind, pairs in kinds.items():
            pairs.append((line["ranks"], line[kind] / 1e6))
    first = lines[0]
    title = f"Numbers that move between ranks in one step, millions ({first['vertices']:,} accounts, {first['steps']} days)"
    return picture(title, COLOURS, LEGEND, panels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="synthetic:aml?accounts=10k&events=500k&days=64&patterns=400")
    parser.add_argument("--windows", default="day")
    parser.add_argument("--life", default="16")
    parser.add_argument("--ranks", nargs="+", default=["4", "8", "16", "32", "64"])
    parser.add_argument("--program", default=str(ROOT / "target" / "release" / "bench-partition"))
    arguments = parser.parse_args()
    words = [arguments.program, "volumes", arguments.data, arguments.windows, arguments.life, *arguments.ranks]
    out = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = stamped(json.loads(line) for line in out.splitlines())
    asked = {name: getattr(arguments, name) for name in ("data", "windows", "life")}
    made = {"machine": machine(), "asked": asked, "lines": lines}
    (RESULTS / "partition-volumes.json").write_text(json.dumps(made, indent=1) + "\n")
    (RESULTS / "partition-volumes.md").write_text(table(lines))
    (RESULTS / "partition-volumes.svg").write_text(drawing(lines))
    print(table(lines), end="")


if __name__ == "__main__":
    main()
