"""Two versions of the program side by side: seconds of an epoch, in turns, in one run.

    python3 versions.py BEFORE AFTER [--commits A B] [--rounds 5] [--case NAME …] [--json FILE]

Each case is trained by both binaries, one right after the other; who goes first changes from round to round, so
that what else the machine does meets both. Compared are the medians of all epochs of all rounds (the first epoch of a run
is left out: it prepares what later ones use); minima stand in brackets. A row is within the bound if the median of the new
version is at most 3 % longer. Columns are named after the commits that the programs were built from (--commits).
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BOUND = 1.03

D4 = "synthetic:power-law?vertices=20000&steps=32&edges=100000&features=16&change=0.1&targets=neighbours"
FRAMES = "train.frame=8 train.stride=8 model.hidden=32 data.split=none"
LINKS = "synthetic:power-law?vertices=10000&steps=16&edges=60000&features=2&change=0.1"
SHARED = "task.name=link-prediction train.frame=all model.hidden=6 data.split=none"
EVENTS = "synthetic:bipartite?users=3000&items=800&events=60000&features=16"

# Name: data, model, settings, epochs.
CASES = {
    "D4 tgcn": (D4, "tgcn", FRAMES, 6),
    "D4 tgcn, no reuse": (D4, "tgcn", f"{FRAMES} plan.reuse=false", 6),
    "D4 evolvegcn-o": (D4, "evolvegcn-o", FRAMES, 8),
    "D4 mpnn-lstm": (D4, "mpnn-lstm", f"{FRAMES} train.loss=last", 3),
    "D4 cd-gcn": (D4, "cd-gcn", FRAMES, 4),
    "D4 dysat": (D4, "dysat", FRAMES, 3),
    "links tm-gcn": (LINKS, "tm-gcn", SHARED, 3),
    "links tm-gcn, 3 blocks": (LINKS, "tm-gcn", f"{SHARED} plan.blocks=3", 3),
    "links tm-gcn, 2 ranks": (LINKS, "tm-gcn", f"{SHARED} train.ranks=2 plan.strategy=snapshot", 3),
    "links cd-gcn, 2 ranks": (LINKS, "cd-gcn", f"{SHARED} train.ranks=2 plan.strategy=hypergraph", 3),
    "events tgn": (EVENTS, "tgn", "task.name=link-prediction model.hidden=32 train.batch_size=200", 2),
    "events jodie": (EVENTS, "jodie", "task.name=link-prediction model.hidden=32 train.batch_size=200", 3),
    "events apan": (EVENTS, "apan", "task.name=link-prediction model.hidden=32 train.batch_size=200", 2),
    "events tgat": (EVENTS, "tgat", "task.name=link-prediction model.hidden=32 train.batch_size=200", 2),
}


def run(binary, case, folder):
    """The summary of a run."""
    data, model, settings, epochs = case
    out = Path(folder) / "run"
    # Defaults of the two versions may differ: what decides how much is computed is given.
    words = [binary, "train", "--data", data, "--model", model, "--lr", "0.001", "--epochs", str(epochs), "--out", str(out), "--quiet"]
    for setting in settings.split():
        words += ["--set", setting]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    summary = json.loads((out / "summary.json").read_text())
    subprocess.run(["rm", "-r", str(out)], check=True)
    return summary


def epochs(summary):
    """Seconds of its epochs but the first."""
    return [record["seconds"] for record in summary["epochs"][1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--commits", nargs=2, default=["unknown", "unknown"], metavar=("BEFORE", "AFTER"))
    parser.add_argument("--json")
    asked = parser.parse_args()
    rows = {}
    print(f"| case | {asked.commits[0]}, s | {asked.commits[1]}, s | after ÷ before | losses |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.case or CASES:
            seconds, losses = ([], []), (set(), set())
            for number in range(asked.rounds):
                for side in (0, 1) if number % 2 == 0 else (1, 0):
                    summary = run((asked.before, asked.after)[side], CASES[name], folder)
                    seconds[side].extend(epochs(summary))
                    losses[side].add(tuple(record["loss"] for record in summary["epochs"]))
            before, after = map(statistics.median, seconds)
            same = "equal" if losses[0] == losses[1] else "differ"
            rows[name] = {"before": seconds[0], "after": seconds[1], "ratio": after / before, "losses": same, "commits": asked.commits}
            mark = "" if after <= BOUND * before else " **slower**"
            shown = " | ".join(f"{statistics.median(all):.4f} ({min(all):.4f})" for all in seconds)
            least = min(seconds[1]) / min(seconds[0])
            print(f"| {name} | {shown} | {after / before:.3f} ({least:.3f}){mark} | {same} |", flush=True)
    if asked.json:
        Path(asked.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
