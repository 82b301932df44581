"""Trains with every snapshot sent whole and with differences, side by side; run it through `run.sh`.

Writes transfer.json (every figure) and transfer.md (the table and the goals). Bytes and seconds of copies are
those of training alone: nothing is validated or tested. An epoch is the median over all rounds, without the first two
of each: the first compiles kernels and makes differences, the second records launches. The exit code is 0 if
everything was measured.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from cases import CASES, ROOT, SMOOTHING, TINY, WORK, ZOETROPE

sys.path[:0] = [str(ROOT / "bench")]
from machine import commit, commit_of, machine  # noqa: E402

START = time.monotonic()
RULES = {"whole": "off", "difference": "on", "auto": "auto"}
# Of issue and paper: transfer 4 times shorter, epochs by three tenths, on smoothed graphs.
GOAL_TRANSFER, GOAL_EPOCH = 4.0, 0.3


def say(text):
    print(f"[{time.monotonic() - START:4.0f} s] {text}", flush=True)


def zoetrope(*words):
    done = subprocess.run([str(word) for word in (ZOETROPE, *words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"zoetrope {' '.join(map(str, words))} ended with {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def prepare(case):
    """Makes the file of a case, if it is not one of the data sets."""
    if isinstance(case.source, str) and not case.file().exists():
        WORK.mkdir(parents=True, exist_ok=True)
        zoetrope("data", "generate", case.source, "--out", case.file(), "--quiet")


def train(case, model, rule, device):
    """The summary of one run."""
    folder = WORK / "run"
    shutil.rmtree(folder, ignore_errors=True)
    keys = {
        **case.settings, "train.frame": case.frame, "train.stride": case.frame, "model.layers": 2, "train.epochs": case.epochs,
        "data.features": "degree", "data.split": "none", "task.name": "link-prediction", "task.theta": 0.01,
        "plan.residency": "stream", "plan.difference": rule, "train.device": device,
    }
    if not model.startswith("evolvegcn"):  # it is as wide as the features
        keys["model.hidden"] = 6
    if SMOOTHING[model]:
        keys[f"data.{SMOOTHING[model]}"] = case.life
    settings = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    return json.loads(zoetrope("train", "--json", "--quiet", "--data", case.file(), "--model", model, "--out", folder, *settings))


# Epochs of a run before those that are all alike.
WARM_UP = 2


def measure(case, model, rules, device):
    """Figures of an epoch for each way of sending, all of them once in each round."""
    runs = {name: [] for name in rules}
    for _ in range(case.rounds):
        for name in rules:
            runs[name].append(train(case, model, RULES[name], device))
    if len({one["state_hash"] for summaries in runs.values() for one in summaries}) != 1:
        raise SystemExit(f"{case.name}, {model}: other weights with differences than without")
    found = {}
    for name, summaries in runs.items():
        of_epoch = lambda key: statistics.median(one["streaming"][key] / len(one["epochs"]) for one in summaries)  # noqa: E731
        seconds = [epoch["seconds"] for one in summaries for epoch in one["epochs"][WARM_UP:]]
        summary = summaries[0]
        found[name] = {
            **{key: of_epoch(key) for key in ("bytes", "transfer_seconds", "rebuild_seconds")},
            "commit": commit(), "epoch_seconds": statistics.median(seconds),
            "rounds": [[epoch["seconds"] for epoch in one["epochs"]] for one in summaries],
            "state_hash": summary["state_hash"], "peak_device_bytes": summary["peak_device_bytes"],
            **{key: summary["data"][key] for key in ("snapshots", "vertices", "edges", "features")},
        }
        figures = found[name]
        say(f"{case.name}, {model}, {name}: {figures['bytes'] / 1e6:.1f} MB, {figures['transfer_seconds'] * 1e3:.2f} ms of copies, "
            f"{figures['rebuild_seconds'] * 1e3:.2f} ms of rebuilding, {figures['epoch_seconds'] * 1e3:.1f} ms an epoch")
    return found


def ratio(of, to):
    return of / to if to else float("inf")


def row(case, model, found):
    """A line of the table for each way of sending, against whole snapshots."""
    whole = found["whole"]
    for name, one in found.items():
        less = 1 - ratio(one["epoch_seconds"], whole["epoch_seconds"])
        yield (f"| {case} | {one['edges'] / 1e6:.1f} | {model} | {name} | {one['bytes'] / 1e6:.1f} | {ratio(whole['bytes'], one['bytes']):.1f} × "
               f"| {one['transfer_seconds'] * 1e3:.2f} | {ratio(whole['transfer_seconds'], one['transfer_seconds']):.1f} × "
               f"| {one['rebuild_seconds'] * 1e3:.2f} | {one['epoch_seconds'] * 1e3:.1f} | {less:+.0%} | {commit_of(one)} |")


def document(report):
    about = report["about"]
    lines = [
        "# Differences instead of whole snapshots", "",
        f"{about.get('card', 'GPU')}; {about.get('date', '')}. One epoch of training, streamed, "
        "frames that follow each other, two layers, degrees as features, the first aggregation computed beforehand (ESDG, section 6). "
        "Layers of tm-gcn and cd-gcn are 6 wide; those of evolvegcn-o are as wide as the features, as in PyTorch Geometric Temporal. "
        "`difference` sends a snapshot as what differs from the one before it wherever that takes fewer bytes, `auto` if it is "
        "faster; all end with the same weights. Ways take turns; an epoch is the median of all rounds, without the first two of each "
        "run, which compile, make differences and record. Edges are those of all snapshots together, after smoothing.", "",
        "| graph | M edges | model | sent | MB | fewer | ms of copies | shorter | ms of rebuilding | ms an epoch | epoch | commit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case, models in report["cases"].items():
        for model, found in models.items():
            lines += row(case, model, found)
    lines += ["", "Goals on smoothed graphs (tm-gcn, evolvegcn-o): copies at least 4 × shorter, epochs at least 30 % shorter.", ""]
    for case, models in report["cases"].items():
        for model, found in models.items():
            if SMOOTHING[model]:
                shorter = ratio(found["whole"]["transfer_seconds"], found["difference"]["transfer_seconds"])
                less = 1 - ratio(found["difference"]["epoch_seconds"], found["whole"]["epoch_seconds"])
                met = lambda holds: "met" if holds else "missed"  # noqa: E731
                lines.append(f"- {case}, {model}: copies {shorter:.1f} × shorter ({met(shorter >= GOAL_TRANSFER)}), "
                             f"epoch {less:.0%} shorter ({met(less >= GOAL_EPOCH)})")
    return "\n".join(lines) + "\n"


def card():
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown GPU"


def main():
    words = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=words, help="of " + ", ".join(CASES))
    parser.add_argument("--models", type=words, default=list(SMOOTHING), help="of " + ", ".join(SMOOTHING))
    parser.add_argument("--rules", type=words, default=["whole", "difference"], help="of " + ", ".join(RULES))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="a small graph: does it run at all?")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results", help="folder for transfer.json and transfer.md")
    asked = parser.parse_args()
    known = TINY if asked.tiny else CASES
    cases = [known[name] for name in asked.cases or known]
    report = {"about": {**machine(), "card": card()}, "cases": {}}
    asked.out.mkdir(parents=True, exist_ok=True)
    for case in cases:
        prepare(case)
        models = report["cases"].setdefault(case.name, {})
        for model in asked.models:
            models[model] = measure(case, model, asked.rules, asked.device)
            # What was measured is kept even if the machine is taken away in the middle of the next run.
            (asked.out / "transfer.json").write_text(json.dumps(report, indent=1) + "\n")
            (asked.out / "transfer.md").write_text(document(report))
    print(document(report))


if __name__ == "__main__":
    main()
