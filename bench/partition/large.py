#!/usr/bin/env python3
"""How long vertices are divided on a timeline of 100 million edges: payments, daily snapshots, all of them one frame.

Writes results/partition-large.json and partition-large.md. Standard library only; ZOETROPE names the program. What is timed is
the planning of a run of one epoch, as its summary has it: mostly the division, beside it what the plan has to know of the model.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from machine import commit, machine  # noqa: E402

RESULTS = ROOT / "bench" / "results"
WORK = ROOT / "target" / "bench-partition"
GOAL_SECONDS = 300


def store(program, accounts, days, events):
    """A store of that many payments, made once."""
    path = WORK / f"aml-{accounts}-{days}-{events}.zoe"
    if not path.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        source = f"synthetic:aml?accounts={accounts}&days={days}&events={events}"
        subprocess.run([program, "data", "generate", source, "--out", str(path), "--quiet"], check=True)
    return path


def row_of(program, data, strategy, ranks):
    """One division by threads of one process."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = [
            program, "train", "--data", str(data), "--out", str(out), "--epochs", "1", "--set", "data.window=1d", "--set", "data.split=none",
            "--frame", "all", "--task", "link-prediction", "--set", "task.theta=0.01", "--model", "cd-gcn", "--hidden", "4",
            "--ranks", str(ranks), "--set", f"plan.strategy={strategy}", "--quiet",
        ]  # fmt: skip
        subprocess.run(words, check=True)
        summary = json.loads((out / "summary.json").read_text())
    reasons = [reason for reason in summary["plan"]["reasons"] if "divided" in reason]
    # The largest of all children so far: of this run, if it is larger than those before.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    row = {"strategy": strategy, "ranks": ranks, "seconds": summary["seconds"]["plan"], "peak_bytes": peak, "reasons": reasons, "commit": commit()[:12]}
    print(f"{strategy} by {ranks} ranks: {row['seconds']:.1f} s", file=sys.stderr, flush=True)
    return row


def text(made):
    """The results as Markdown."""
    where = made["machine"]
    lines = [
        "# Dividing 100 million edges", "",
        f"{where['cpu']}, {where['cores']} cores, {where['memory_gib']} GiB; {where['date']} (`bench/partition/large.py`). "
        f"{made['events']:,} payments between {made['accounts']:,} accounts in {made['days']} daily snapshots, all of them one frame. "
        f"Seconds that a run took to plan, on all cores; goal: {GOAL_SECONDS}.", "",
        "| strategy | parts | seconds | | divided by | commit |", "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in made["rows"]:
        met = "met" if row["seconds"] <= GOAL_SECONDS else "missed"
        by = "; ".join(row["reasons"]) or "zoetrope's own partitioner"
        lines.append(f"| {row['strategy']} | {row['ranks']} | {row['seconds']:.1f} | {met} | {by} | {row['commit']} |")
    peak = max(row["peak_bytes"] for row in made["rows"])
    lines += ["", f"Peak of a process that trains with all ranks as threads: {peak / 2**30:.1f} GiB, with the mapped store.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=lambda words: [int(word) for word in words.split(",")], default=[2, 8])
    parser.add_argument("--accounts", type=int, default=20_000)
    parser.add_argument("--days", type=int, default=200)
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    program = str(Path(os.environ.get("ZOETROPE", ROOT / "target/release/zoetrope")).resolve())
    sizes = {"accounts": options.accounts, "days": options.days, "events": options.events}
    data = store(program, **sizes)
    rows = []
    for strategy in ("vertex", "hypergraph"):
        for ranks in options.ranks:
            rows.append(row_of(program, data, strategy, ranks))
            made = {"machine": machine(), **sizes, "rows": rows}
            (options.out / "partition-large.json").write_text(json.dumps(made, indent=1) + "\n")
            (options.out / "partition-large.md").write_text(text(made))
    print(text(made))


if __name__ == "__main__":
    main()
