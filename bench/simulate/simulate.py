"""Epochs as `zoetrope sim` predicts them on this machine, beside epochs of `zoetrope train`. Needs only the standard library.

The machine is calibrated first, by operators on synthetic shapes; no model and no data set takes part in that. Then every case is
trained and simulated. An epoch counts as the median of a run but for the first two (the first warms up); its shortest is beside it.
On a machine that others use, `--processor-time` counts what the process used of the processor instead: the difference between a
long run and a short one, for one thread only.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from machine import commit_of, machine, stamped  # noqa: E402

RESULTS = ROOT / "bench" / "results"
# What must be shown of one node.
MEAN_GOAL, WORST_GOAL = 0.05, 0.12

SYNTHETIC = "synthetic:power-law?vertices={vertices}&steps=24&edges={edges}&features=8&change=0.1&targets=neighbours"
# Data, task and frame; the real ones were never seen by calibration, and neither were the models.
DATA = {
    "small": (SYNTHETIC.format(vertices=500, edges=2000), ["--task", "node-regression", "--frame", "8", "--stride", "8"]),
    "large": (SYNTHETIC.format(vertices=8000, edges=64000), ["--task", "node-regression", "--frame", "8", "--stride", "8"]),
    "england-covid": ("{data}/england-covid/england_covid.json.gz", ["--frame", "8", "--stride", "8"]),
    "chickenpox": ("{data}/chickenpox/chickenpox.json", ["--frame", "16", "--stride", "16"]),
    "montevideo-bus": ("{data}/montevideo-bus/montevideo_bus.json.gz", ["--frame", "16", "--stride", "16"]),
    "as-733": ("{data}/as-733/as-733.tar.xz", ["--task", "link-prediction", "--frame", "16", "--stride", "64"]),
    "twitter": ("{data}/twitter-tennis-rg17/twitter_tennis_rg17.json.gz", ["--frame", "8", "--stride", "8"]),
}  # fmt: skip
MODELS = ["tgcn", "gc-lstm", "cd-gcn", "tm-gcn", "evolvegcn-o", "dysat", "mpnn-lstm", "wd-gcn", "a3tgcn"]
WIDTHS = [16, 64]


def cases(options):
    """The chosen cases."""
    for data in options.data.split(","):
        for model in options.models.split(","):
            for width in map(int, options.widths.split(",")):
                for threads in map(int, options.threads.split(",")):
                    yield {"data": data, "model": model, "width": width, "threads": threads}


def words_of(case, options):
    """What `train` and `sim` are told."""
    path, more = DATA[case["data"]]
    return [
        "--data", path.format(data=options.folder), "--model", case["model"], "--hidden", str(case["width"]),
        "--threads", str(case["threads"]), *more,
    ] + (["--device", "cuda"] if options.device == "cuda" else []) + (["--set", "data.split=none"] if options.processor_time else [])  # fmt: skip


def run(command, **more):
    """The JSON that a command prints; None if it refuses the case."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode in (2, 3):
        return None
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def processor_seconds(command, folder):
    """What a run used of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run(command, cwd=folder) is None:
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def train(program, case, options, folder):
    """Median and shortest epoch; None if the model refuses the data."""
    words = words_of(case, options)

    def command(epochs):
        out = Path(tempfile.mkdtemp(dir=folder)) / "run"
        return [program, "train", *words, "--epochs", str(epochs), "--quiet", "--json", "--out", str(out)]

    if options.processor_time:
        few, many = options.epochs, 4 * options.epochs
        found = []
        for _ in range(options.rounds):
            short, long = (processor_seconds(command(epochs), folder) for epochs in (few, many))
            if short is None or long is None:
                return None
            found.append((long - short) / (many - few))
        return statistics.median(found), min(found)
    seconds = []
    for _ in range(options.rounds):
        summary = run(command(options.epochs), cwd=folder)
        if summary is None:
            return None
        seconds += [epoch["seconds"] for epoch in summary["epochs"][2:]]
    return statistics.median(seconds), min(seconds)


def table(rows, about, at):
    """The page."""
    off = [abs(row["predicted"] / row["measured"] - 1) for row in rows]
    inside = sum(row["least"] <= row["measured"] <= row["most"] for row in rows)
    lines = [
        "# Predicted and measured epochs of one node",
        "",
        f"{at['cpu']}, {at['cores']} cores, {at['kernel']}; {at['date']}. `bench/simulate/run.sh`. {about}",
        "",
        f"{len(rows)} cases: mean error {statistics.mean(off):.1%}, worst {max(off):.1%} (goals {MEAN_GOAL:.0%} and {WORST_GOAL:.0%});"
        f" {inside} inside the interval that the simulator gave.",
        "",
        "| data | model | width | threads | predicted, ms | interval, ms | measured, ms | shortest, ms | error | commit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        error = row["predicted"] / row["measured"] - 1
        cells = [row["data"], row["model"], str(row["width"]), str(row["threads"]), f"{row['predicted'] * 1e3:.2f}",
                 f"{row['least'] * 1e3:.2f} to {row['most'] * 1e3:.2f}", f"{row['measured'] * 1e3:.2f}",
                 f"{row['shortest'] * 1e3:.2f}", f"{error:+.1%}", commit_of(row)]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processor-time", action="store_true", help="for a machine that others use; one thread")
    parser.add_argument("--machine", type=Path, help="a machine file instead of calibrating")
    parser.add_argument("--folder", type=Path, default=ROOT / "shared" / "data", help="the folder of the real data sets")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.processor_time and options.threads != "1":
        parser.error("--processor-time is of one thread: add --threads 1")
    options.folder = options.folder.resolve()
    program = str(Path(os.environ.get("ZOETROPE", ROOT / "target/release/zoetrope")).resolve())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        described = options.machine.resolve() if options.machine else Path(folder) / "machine.toml"
        if not options.machine:
            subprocess.run([program, "calibrate", "--device", options.device, "--out", str(described)], check=True)
        for case in cases(options):
            if "/" in DATA[case["data"]][0] and not Path(DATA[case["data"]][0].format(data=options.folder)).exists():
                continue
            told = run([program, "sim", *words_of(case, options), "--machine", str(described), "--json", "--quiet"], cwd=folder)
            measured = train(program, case, options, folder) if told else None
            if not measured:
                print(f"refused: {case}", file=sys.stderr)
                continue
            predicted, (least, most) = told["epoch"]["seconds"], told["interval"]
            rows.append({**case, "predicted": predicted, "least": least, "most": most, "measured": measured[0], "shortest": measured[1]})
            print(f"{case}: predicted {predicted * 1e3:.2f} ms, measured {measured[0] * 1e3:.2f}, {predicted / measured[0] - 1:+.1%}", flush=True)
    about = "Seconds of the processor, not of the clock." if options.processor_time else "Medians of epochs after the second."
    at, rows = machine(), stamped(rows)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "simulate.json").write_text(json.dumps({**at, "about": about, "rows": rows}, indent=1) + "\n")
    (options.out / "simulate.md").write_text(table(rows, about, at))
    print(table(rows, about, at).split("\n")[4])


if __name__ == "__main__":
    main()
