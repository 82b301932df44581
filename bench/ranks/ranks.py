#!/usr/bin/env python3
"""Memory by blocks, runs under a limit, and how ranks scale on one machine. See run.sh.

Writes results/ranks.json, ranks.md and ranks-memory.svg. Standard library only.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from machine import ROOT, commit_of, machine, stamped  # noqa: E402
from panels import picture  # noqa: E402
from train import MODELS, graph, train  # noqa: E402

NAMES = {
    "tm-gcn": "TM-GCN", "cd-gcn": "CD-GCN", "evolvegcn-o": "EvolveGCN", "evolvegcn-paper": "EvolveGCN of the paper",
    "mpnn-lstm": "MPNN-LSTM", "dysat": "DySAT",
}  # fmt: skip
GOALS = {"evolvegcn-o": 1.8, "evolvegcn-paper": 1.8, "tm-gcn": 1.7, "cd-gcn": 1.7, "mpnn-lstm": 1.7, "dysat": 1.7}
# Those whose memory by blocks is measured.
IN_BLOCKS = ("evolvegcn-o", "tm-gcn", "cd-gcn")
# Those that compute while rows move.
OVERLAPPED = ("tm-gcn", "cd-gcn")
MIB = 1 << 20


def width(model, hidden):
    """EvolveGCN of PyG-Temporal is as wide as the features, and refuses another width."""
    return [] if model == "evolvegcn-o" else ["--hidden", hidden]


def frame(model, days):
    """DySAT learns a position for each snapshot of a frame, and wants to know how many there are: all but the last, which is asked about."""
    return days - 1 if model == "dysat" else "all"


def memory(size):
    """Peak memory by blocks: measured, and planned; seconds of the second epoch."""
    rows = []
    for model in IN_BLOCKS:
        for blocks in size["blocks"]:
            flags = graph(**size["long"]) + [*width(model, "16"), "--epochs", "2", "--set", f"plan.blocks={blocks}"]
            run = train(model, flags)["summary"]
            planned = sum(run["plan"]["memory"].values())
            rows.append({
                "model": model, "blocks": blocks, "peak": run["peak_host_bytes"], "planned": planned,
                "seconds": run["epochs"][-1]["seconds"], "loss": run["epochs"][-1]["loss"],
            })
            print(f"{model} in {blocks} blocks: {rows[-1]['peak'] / MIB:.0f} MiB, planned {planned / MIB:.0f}, {rows[-1]['seconds']:.2f} s", file=sys.stderr)
    return rows


def limits(size, rows):
    """A limit of a third of what one block takes: refused if blocks are kept, kept to if they are computed again."""
    found = []
    for model in ("cd-gcn", "tm-gcn"):
        whole = next(row for row in rows if row["model"] == model and row["blocks"] == 1)
        limit = whole["peak"] // 3
        flags = graph(**size["long"]) + [*width(model, "16"), "--epochs", "2", "--memory-limit", str(limit)]
        without = train(model, flags + ["--set", "plan.recompute=false"])
        run = train(model, flags)
        summary = run["summary"]
        found.append({
            "model": model, "limit": limit, "without": without["code"], "message": without["message"],
            "blocks": summary["plan"]["blocks"]["count"], "peak": summary["peak_host_bytes"], "loss": summary["epochs"][-1]["loss"],
            "loss_without_limit": whole["loss"],
        })
        print(f"{model} under {limit / MIB:.0f} MiB: code {without['code']} without, {found[-1]['blocks']} blocks and {found[-1]['peak'] / MIB:.0f} MiB with", file=sys.stderr)
    return found


def epoch_seconds(run):
    """The median epoch after the first, which prepares matrices and finds memory."""
    if run["summary"] is None:
        sys.exit(f"a run ended with {run['code']}: {run['message']}")
    return statistics.median(epoch["seconds"] for epoch in run["summary"]["epochs"][1:])


def scaling(size, rounds, models, parts):
    """Seconds of an epoch by ranks of one thread each, all kinds in every round; with the part `cost` processor seconds of eight ranks against one."""
    rows = []
    for model in models:
        wide = size["wide"]
        flags = graph(**wide, frame=frame(model, wide["days"])) + [*width(model, size["hidden"]), "--threads", "1", "--epochs", "5"]
        kinds = {"1 rank": ((), ["--ranks", "1"]), "2 threads": ((), ["--ranks", "2"])}
        if "mpi" in parts and shutil.which("mpirun"):
            mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
            kinds["2 processes (MPI)"] = (mpirun, [])
            # The others have nothing to compute while rows move, and refuse the key.
            if model in OVERLAPPED:
                kinds["2 processes, overlapped"] = (mpirun, ["--set", "plan.overlap=true"])
        seconds = {kind: [] for kind in kinds}
        for _ in range(rounds):
            for kind, (launcher, more) in kinds.items():
                seconds[kind].append(epoch_seconds(train(model, flags + more, launcher)))
        row = {"model": model, "seconds": seconds}
        row["gain"] = {kind: statistics.median(seconds["1 rank"]) / statistics.median(all) for kind, all in seconds.items() if kind != "1 rank"}
        print(f"{model}: " + ", ".join(f"{kind} {gain:.2f} ×" for kind, gain in row["gain"].items()), file=sys.stderr)
        rows.append(row)
        if "cost" not in parts:
            continue
        # What an epoch costs all cores together: many epochs less few, because starting costs too. Medians of both before the difference:
        # the system takes from one to three seconds to clear the memory that a run is given, which is as much as several epochs.
        few, many = size["epochs"]
        spent = {ranks: {epochs: [] for epochs in (few, many)} for ranks in ("1", "8")}
        for _ in range(rounds):
            for ranks, of in spent.items():
                for epochs in of:
                    of[epochs].append(train(model, flags[:-1] + [str(epochs), "--ranks", ranks])["cpu"])
        cpu = {ranks: (statistics.median(of[many]) - statistics.median(of[few])) / (many - few) for ranks, of in spent.items()}
        row |= {"cpu": cpu, "cpu_of_rounds": spent, "overhead": cpu["8"] / cpu["1"] - 1}
        print(f"{model}: eight ranks {row['overhead']:+.0%} processor time", file=sys.stderr)
    return rows


def text(made):
    """The results as Markdown."""
    where = made["machine"]
    lines = [
        "# Blocks and ranks", "",
        f"{where['cpu']}, {where['cores']} cores, {where['memory_gib']} GiB; {where['date']} (the newest rows). Graphs of payments, daily snapshots, the whole timeline "
        "one frame, link prediction with θ = 0.1 (`bench/ranks/run.sh`).", "",
    ]
    if "memory" in made:
        lines += ["## Memory by blocks (ESDG §3.1)", "", "| model | blocks | peak, MiB | planned, MiB | s an epoch | loss | commit |", "| --- | --- | --- | --- | --- | --- | --- |"]
        lines += [
            f"| {NAMES[row['model']]} | {row['blocks']} | {row['peak'] / MIB:,.0f} | {row['planned'] / MIB:,.0f} | {row['seconds']:.2f} | {row['loss']:.6f} | {commit_of(row)} |" for row in made["memory"]
        ]
        lines += ["", "A limit of a third of what one block takes:", "", "| model | limit, MiB | blocks kept | computed again | peak, MiB | of the limit | loss, without limit | commit |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
        lines += [
            f"| {NAMES[row['model']]} | {row['limit'] / MIB:,.0f} | refused, exit code {row['without']} | {row['blocks']} blocks | {row['peak'] / MIB:,.0f} | {row['peak'] / row['limit']:.2f} "
            f"| {row['loss']:.6f}, {row['loss_without_limit']:.6f} | {commit_of(row)} |" for row in made["limits"]
        ]
        lines.append("")
    if "scaling" in made:
        kinds = list(dict.fromkeys(kind for row in made["scaling"] for kind in row["seconds"]))
        lines += ["## Ranks of one thread each", "", "Medians; snapshots are shared (ESDG §4.2).", "", "| model | " + " | ".join(kinds) + " | goal, 2 threads | 8 ranks, processor time | commit |", "| --- |" + " --- |" * (len(kinds) + 3)]
        for row in made["scaling"]:
            shown = lambda kind: f"{statistics.median(row['seconds'][kind]):.3f} s" + (f", {row['gain'][kind]:.2f} ×" if kind in row["gain"] else "")  # noqa: E731, B023
            cells = [shown(kind) if kind in row["seconds"] else "" for kind in kinds]
            met = "met" if row["gain"]["2 threads"] >= GOALS[row["model"]] else "missed"
            cost = row.get("overhead")
            under = "" if cost is None else f"{cost:+.0%} (25 %: {'met' if cost <= 0.25 else 'missed'})"
            lines.append(f"| {NAMES[row['model']]} | " + " | ".join(cells) + f" | {GOALS[row['model']]} × ({met}) | {under} | {commit_of(row)} |")
        lines.append("")
    return "\n".join(lines)


def drawing(rows):
    """A panel for each model: peak memory, measured and planned."""
    panels = {}
    for row in rows:
        lines = panels.setdefault(NAMES[row["model"]], {"planned": [], "peak": []})
        for kind in lines:
            lines[kind].append((row["blocks"], row[kind] / MIB))
    colours = [("peak", "#2563eb", "#60a5fa"), ("planned", "#94a3b8", "#64748b")]
    legend = [("peak", "peak of the process, MiB"), ("planned", "planned, MiB")]
    return picture("Memory by blocks of the timeline, recomputed in the backward pass", colours, legend, panels, "blocks")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="memory,scaling,mpi,cost", help="what is measured; scaling alone is of threads")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS), help="of scaling; the others stay as they were")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    size = {
        "long": {"accounts": 10_000, "days": 257, "payments": 4_000_000}, "blocks": (1, 2, 4, 8, 16, 32),
        "wide": {"accounts": 50_000, "days": 33, "payments": 10_000_000}, "hidden": "16", "epochs": (2, 22),
    }
    if arguments.tiny:
        small = {"accounts": 100, "days": 17, "payments": 5_000}
        size = {"long": small, "blocks": (1, 4), "wide": small, "hidden": "4", "epochs": (1, 3)}
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "ranks.json"
    made = json.loads(path.read_text()) if path.exists() else {}
    made["machine"] = machine()
    if "memory" in arguments.parts:
        made["memory"] = stamped(memory(size))
        made["limits"] = stamped(limits(size, made["memory"])) if not arguments.tiny else []
        (arguments.out / "ranks-memory.svg").write_text(drawing(made["memory"]))
    if "scaling" in arguments.parts:
        rows = {row["model"]: row for row in made.get("scaling", []) + stamped(scaling(size, arguments.rounds, arguments.models, arguments.parts))}
        made["scaling"] = [rows[model] for model in MODELS if model in rows]
    path.write_text(json.dumps(made, indent=1) + "\n")
    (arguments.out / "ranks.md").write_text(text(made))
    print(text(made))


if __name__ == "__main__":
    main()
