"""plan.overlap without, with and left to the planner, by two processes on two hosts whose cable is slowed down. Needs only the standard library.

The hosts are network namespaces (crates/zoetrope-testkit/hosts/two_hosts.sh), their cable a veth pair under `tc … tbf`.
The runs take turns; an epoch counts as the shortest of a run but for the first. All have the same bits.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from machine import commit, commit_of, machine  # noqa: E402

RESULTS = ROOT / "bench" / "results"
TWO_HOSTS = str(ROOT / "crates/zoetrope-testkit/hosts/two_hosts.sh")
# Edges as there are after smoothing (ESDG §6.1) for TM-GCN, whose time is that of aggregations; the time of CD-GCN is that of
# its LSTMs. At 1 Gbit/s both wait for rows about as long as they compute.
SHAPES = {
    "tm-gcn": {"vertices": 10000, "degree": 100, "width": 32},
    "cd-gcn": {"vertices": 10000, "degree": 10, "width": 32},
}
# What must be shown: gains at a rate, and the most that may be lost anywhere.
GOAL = {"1gbit": 0.20}
MOST_LOST = 0.02


def drawn(seed):
    """A shape that nobody chose."""
    draw = random.Random(seed)
    return {"vertices": draw.randrange(4000, 16000), "degree": draw.randrange(4, 80), "width": draw.choice([8, 16, 24, 32, 48])}


def data_of(shape):
    edges = shape["vertices"] * shape["degree"]
    return (f"synthetic:power-law?vertices={shape['vertices']}&steps=32&edges={edges}&features={shape['width']}&change=0.1"
            "&targets=neighbours")  # fmt: skip


def train(program, model, shape, rate, overlap, epochs, folder):
    """The shortest epoch but for the first, and the hash of the state."""
    out = Path(tempfile.mkdtemp(dir=folder)) / "run"
    job = [
        TWO_HOSTS, "2", program, "train", "--data", data_of(shape), "--model", model, "--hidden", str(shape["width"]), "--task", "node-regression",
        "--frame", "16", "--stride", "16", "--epochs", str(epochs), "--threads", "1", "--quiet", "--set", "data.split=none",
        "--set", "plan.strategy=snapshot", "--set", f"plan.overlap={overlap}", "--out", str(out),
    ]  # fmt: skip
    environment = {**os.environ, "TMPDIR": str(folder)}
    if rate:
        environment["ZOETROPE_HOSTS_RATE"] = rate
    done = subprocess.run(job, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(job)} ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    summary = json.loads((out / "summary.json").read_text())
    return min(epoch["seconds"] for epoch in summary["epochs"][1:]), summary["state_hash"], summary["bytes"]["all_to_all"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="tm-gcn,cd-gcn")
    parser.add_argument("--rates", default="1gbit,10gbit", help="0 leaves the cable as it is")
    parser.add_argument("--seed", type=int, help="draws a shape at random, beside the fixed ones")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    program = str(Path(os.environ.get("ZOETROPE", ROOT / "target/release/zoetrope")).resolve())
    jobs = [(model, SHAPES[model], "chosen") for model in options.models.split(",")]
    if options.seed is not None:
        jobs += [(model, drawn(options.seed), f"seed {options.seed}") for model in options.models.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for rate in options.rates.split(","):
            for model, shape, chosen in jobs:
                seconds, hashes = {"false": [], "true": [], "auto": []}, set()
                for turn in range(options.rounds):
                    for overlap in sorted(seconds, reverse=turn % 2 == 1):
                        took, state, moved = train(
                            program, model, shape, "" if rate == "0" else rate, overlap, options.epochs, folder
                        )
                        seconds[overlap].append(took)
                        hashes.add(state)
                        print(model, rate, overlap, f"{took:.3f}", state[:12], moved, flush=True)
                without, beside, auto = (statistics.median(seconds[overlap]) for overlap in ("false", "true", "auto"))
                rows.append({"model": model, "shape": shape, "chosen": chosen, "rate": rate, "without": without, "with": beside, "gain": 1 - beside / without, "auto": auto, "auto_gain": 1 - auto / without,
                             "megabytes": moved / options.epochs / 1e6, "equal": len(hashes) == 1, "commit": commit()})  # fmt: skip
    there = machine()
    lines = [
        f"`plan.overlap` by two processes on two hosts, one thread each (`bench/overlap/overlap.py`): `synthetic:power-law`, "
        "32 snapshots, frames of 16, as many features as hidden values (width), `plan.strategy=snapshot`. MB of all ranks. "
        f" {there['cpu']}, {there['cores']} cores, {there['date']}. Medians of "
        f"{options.rounds} runs each, in turns.",
        "",
        "| model | vertices | edges a vertex | width | shape | cable | MB an epoch | without, s | with, s | gain | auto, s | gain | equal bits | commit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        shape = row["shape"]
        cells = [row["model"], f"{shape['vertices']}", f"{shape['degree']}", f"{shape['width']}", row["chosen"],
                 "as it is" if row["rate"] == "0" else row["rate"], f"{row['megabytes']:.0f}", f"{row['without']:.3f}", f"{row['with']:.3f}",
                 f"{100 * row['gain']:.0f} %", f"{row['auto']:.3f}", f"{100 * row['auto_gain']:.0f} %", "yes" if row["equal"] else "NO", commit_of(row)]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for row in rows:
        least = GOAL.get(row["rate"], -MOST_LOST) if row["chosen"] == "chosen" else -MOST_LOST
        mark = "x" if row["auto_gain"] >= least and row["equal"] else " "
        lines.append(f"- [{mark}] auto, {row['model']} ({row['chosen']}) at {row['rate']}: {100 * row['auto_gain']:.0f} % (at least {100 * least:.0f} %)")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "overlap.json").write_text(json.dumps({**there, "rows": rows}, indent=1) + "\n")
    (options.out / "overlap.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
