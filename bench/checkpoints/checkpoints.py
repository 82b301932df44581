"""What a checkpoint after every epoch costs, against the same run without any but the last.

All are whole runs of the program, in turn, on D4 of bench/peers (20,000 vertices, 32 snapshots of 100,000
edges, everything trains), so that reading and starting are the same on all sides: without checkpoints, with
one that is due after every epoch, and with every one of them written (train.checkpoint_share=none). The
cost is the difference of the medians, divided by the epochs, as a share of an epoch; how many are written
is counted in one more run that keeps them all. Goes to bench/results/checkpoints.md.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from machine import commit_of, machine  # noqa: E402

DATA = "synthetic:power-law"
# Epochs and layers, as in bench/peers.
CASES = {"tgcn": (60, 1), "evolvegcn-o": (150, 2), "mpnn-lstm": (20, 1)}
GOAL = 0.03


DUE = ["--checkpoint-every", "1"]
EACH = [*DUE, "--set", "train.checkpoint_share=none"]
COUNTED = [*DUE, "--set", "train.keep_checkpoints=65536"]


def run(program, model, epochs, layers, more):
    """Seconds of a whole run, the median of its epochs, the bytes of a checkpoint, and how many are left."""
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        command = [program, "train", "--json", "--quiet", "--data", DATA, "--model", model, "--epochs", str(epochs)]
        command += ["--frame", "8", "--stride", "8", "--hidden", "32", "--layers", str(layers), "--set", "data.split=none", "--out", f"{folder}/run"]
        command += more
        begun = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begun
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
        summary = json.loads(done.stdout)
        saved = sum(file.stat().st_size for file in Path(folder, "run/checkpoints").glob("step-*/*"))
        left = len(list(Path(folder, "run/checkpoints").glob("step-*")))
        epoch = statistics.median(epoch["seconds"] for epoch in summary["epochs"])
        return seconds, epoch, saved / max(1, left), left


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default=str(ROOT / "target/release/zoetrope"))
    parser.add_argument("models", nargs="*", default=list(CASES))
    asked = parser.parse_args()
    where = machine()
    lines = [
        "# What a checkpoint after every epoch costs",
        "",
        f"`bench/checkpoints/run.sh --rounds {asked.rounds}`, {where['date']}, {where['cpu']}, {where['cores']} cores. D4 "
        "of bench/peers, whole runs without and with, in turn; medians. Goal: at most 3 % of an epoch.",
        "",
        "| model | epochs | epoch, ms | checkpoint, kB | run without, s | run with, s | written | cost of an epoch | | every one, s | its cost | commit |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | --- |",
    ]
    for model in asked.models:
        epochs, layers = CASES[model]
        without, with_it, each = [], [], []
        for _ in range(asked.rounds):
            for rows, more in ((without, []), (with_it, DUE), (each, EACH)):
                rows.append(run(asked.program, model, epochs, layers, more))
        plain, saving, all_of_them = (statistics.median(row[0] for row in rows) for rows in (without, with_it, each))
        epoch = statistics.median(row[1] for row in without)
        cost, full = ((seconds - plain) / epochs / epoch for seconds in (saving, all_of_them))
        written = run(asked.program, model, epochs, layers, COUNTED)[3]
        tick = "reached" if cost <= GOAL else "**missed**"
        size = with_it[0][2] / 1e3
        lines.append(
            f"| {model} | {epochs} | {1e3 * epoch:.1f} | {size:.0f} | {plain:.2f} | {saving:.2f} | {written} | {100 * cost:+.1f} % | {tick} | {all_of_them:.2f} | {100 * full:+.1f} % | {commit_of(where)} |"
        )
        print(lines[-1], flush=True)
    (ROOT / "bench/results/checkpoints.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
