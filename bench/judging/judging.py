"""What judging takes: two versions of the program side by side, in one run. Needs only the standard library.

    python3 judging.py [--before BINARY] [--device cpu|cuda] [--threads 1,2] [--cases "NAME;…"] [--rounds 3] [--out DIR]

A model is trained for one epoch and for three with the same settings; `seconds.evaluate` of the summaries tells what
judging took: a validation is half of the difference, the test part what is left of the shorter run. With one thread
on the processor that is processor time. Medians over rounds; versions take turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from machine import commit, commit_of, machine, short  # noqa: E402

RESULTS = ROOT / "bench" / "results"
AS_733 = os.environ.get("AS_733", str(ROOT.parent / "shared/data/as-733/as-733.tar.xz"))
LINKS = "--task link-prediction --model tgcn --hidden 32 --frame 8 --stride 8 --set task.candidates=100"
D5 = "synthetic:power-law?vertices=200000&steps=16&edges=1000000&features=2&targets=neighbours"
D6 = "synthetic:power-law?vertices=2000000&steps=16&edges=10000000&features=2&targets=neighbours"
NODES = "--task node-regression --model tgcn --hidden 32 --frame 4 --stride 4 --set data.split=0.5/0.25/0.25"

# Name: data, settings. The two of links differ in what chooses the best epoch.
CASES = {
    "as-733 links": (AS_733, LINKS),
    "as-733 links, task.metric=mrr": (AS_733, f"{LINKS} --set task.metric=mrr"),
    "D6 nodes": (D6, NODES),
    "D5 nodes": (D5, NODES),
}
# What must be shown: how many times faster the test part and a validation of the first case are.
GOALS = {"cpu": 10, "cuda": 50}


def made(program, case, folder):
    """The data of a case as both versions read it; what is generated is generated once, because that takes long."""
    data = CASES[case][0]
    if not data.startswith("synthetic:"):
        return data
    file = Path(folder) / f"{case.replace(' ', '-')}.npz"
    if not file.exists():
        subprocess.run([program, "data", "generate", data, "--out", str(file), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return str(file)


def train(program, case, data, epochs, threads, device, folder):
    """The summary of a run."""
    settings = CASES[case][1]
    out = Path(tempfile.mkdtemp(dir=folder)) / "run"
    command = [program, "train", "--data", data, *settings.split(), "--epochs", str(epochs), "--threads", str(threads),
               "--device", device, "--seed", "1", "--quiet", "--out", str(out)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads((out / "summary.json").read_text())


def measure(program, case, data, threads, device, folder):
    """Seconds of a validation and of the test part, and the metrics of the test."""
    short, long = (train(program, case, data, epochs, threads, device, folder) for epochs in (1, 3))
    validation = (long["seconds"]["evaluate"] - short["seconds"]["evaluate"]) / 2
    return {
        "validation": validation,
        "test": short["seconds"]["evaluate"] - validation,
        "epoch": short["epochs"][0]["seconds"],
        "metrics": short["test"],
    }


def summarise(rounds):
    """Medians, and the metrics, which do not change."""
    numbers = {key: statistics.median(one[key] for one in rounds) for key in ("validation", "test", "epoch")}
    return {**numbers, "fastest_test": min(one["test"] for one in rounds), "metrics": rounds[0]["metrics"]}


def table(kept):
    """Rows of all that is kept, each with its commits."""
    lines = [
        "| case | device | threads | test: before, s | now, s | × | validation: before, s | now, s | × | epoch: now, s | commit | before |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in kept:
        now, before = row["now"], row.get("before")
        cells = [row["case"], row["device"], row["threads"]]
        for key in ("test", "validation"):
            old = f"{before[key]:.3g}" if before else ""
            times = f"{before[key] / max(now[key], 1e-9):.1f}" if before else ""
            cells += [old, f"{now[key]:.3g}", times]
        cells += [f"{now['epoch']:.3g}", commit_of(row), short(row.get("before_commit", ""))]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def goals(kept):
    """Whether judging is as many times faster as it was to be; a GPU is compared with the processor before."""
    links = [row for row in kept if row["case"] == "as-733 links"]
    for device, factor in GOALS.items():
        rows = [row for row in links if row["device"] == device and row.get("before")]
        for row in rows:
            found = min(row["before"][key] / max(row["now"][key], 1e-9) for key in ("test", "validation"))
            mark = "x" if found >= factor else " "
            yield f"- [{mark}] as-733 links on {device}, {row['threads']} threads: {found:.1f} × (at least {factor} ×)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default=os.environ.get("BEFORE"), help="the binary of the other version")
    parser.add_argument("--before-commit", default=os.environ.get("BEFORE_COMMIT", "b01498e"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--cases", default="as-733 links")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    now = str(Path(os.environ.get("ZOETROPE", ROOT / "target/release/zoetrope")).resolve())
    file = options.out / "judging.json"
    kept = json.loads(file.read_text()) if file.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for case in options.cases.split(";"):
            data = made(now, case, folder)
            for threads in map(int, options.threads.split(",")):
                found = {"now": [], "before": []}
                programs = {"now": now, **({"before": options.before} if options.before else {})}
                for turn in range(options.rounds):
                    for version in sorted(programs, reverse=turn % 2 == 1):
                        found[version].append(measure(programs[version], case, data, threads, options.device, folder))
                        print(case, threads, version, json.dumps(found[version][-1]), flush=True)
                row = {"case": case, "device": options.device, "threads": threads, "rounds": options.rounds,
                       "machine": machine(), "commit": commit(), "now": summarise(found["now"])}  # fmt: skip
                if options.before:
                    row |= {"before": summarise(found["before"]), "before_commit": options.before_commit}
                same = ("case", "device", "threads")
                kept = [old for old in kept if any(old[key] != row[key] for key in same)] + [row]
                options.out.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(kept, indent=1) + "\n")
    there = machine()
    text = (
        "Judging by two versions side by side (`bench/judging/judging.py`): T-GCN, hidden width 32, 100 candidates for each "
        "link; seconds of the test part and of the validation after an epoch, medians. With one thread on the processor that is "
        f"processor time. {there['cpu']}, {there['cores']} cores, {there['date']}.\n\n"
    )
    (options.out / "judging.md").write_text(text + "\n".join([*table(kept), "", *goals(kept)]) + "\n")
    print("\n".join([*table(kept), "", *goals(kept)]))


if __name__ == "__main__":
    main()
