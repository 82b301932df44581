#!/usr/bin/env python3
"""Host memory of each process by their number: the same training on a store of some gigabytes by 1, 2, 4 and 8 processes.

Writes results/hosts-memory.json, hosts-memory.md and hosts-memory.svg. Standard library only. See run.sh.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from job import MPIRUN  # noqa: E402
from machine import commit, machine  # noqa: E402
from panels import picture  # noqa: E402

RESULTS = ROOT / "bench" / "results"
WORK = ROOT / "target" / "bench-hosts"
PEAK = str(Path(__file__).with_name("peak.py"))
MIB = 1 << 20
FACTOR = 1.3
CASES = [("cd-gcn", "snapshot"), ("tm-gcn", "snapshot"), ("cd-gcn", "hypergraph")]
NAMES = {"tm-gcn": "TM-GCN", "cd-gcn": "CD-GCN"}


def store(program, accounts, days, events):
    """A store of that many payments, made once."""
    path = WORK / f"aml-{accounts}-{days}-{events}.zoe"
    if not path.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        source = f"synthetic:aml?accounts={accounts}&days={days}&events={events}"
        subprocess.run([program, "data", "generate", source, "--out", str(path), "--quiet"], check=True)
    return path


def run(program, data, model, strategy, processes, blocks):
    """The peaks of each process of a run, in the order of ranks, and its summary."""
    smoothing = ["--set", "data.m_product=3"] if model == "tm-gcn" else []
    words = [
        program, "train", "--data", str(data), "--set", "data.window=1d", "--set", "data.split=none", "--frame", "all",
        "--task", "link-prediction", "--set", "task.theta=0.01", "--model", model, "--hidden", "4", "--epochs", "1",
        "--set", f"plan.blocks={blocks}", "--threads", "1", "--quiet", *smoothing,
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder, launcher = Path(name), []
        words += ["--out", str(folder / "run")]
        if processes > 1:
            launcher = [*MPIRUN, "-n", str(processes)]
            words += ["--set", f"plan.strategy={strategy}"]
        measured = [*launcher, sys.executable, PEAK, str(folder / "peak"), *words]
        done = subprocess.run(measured, cwd=folder, env={**os.environ, "TMPDIR": name}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{model} by {processes} processes ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        peaks = [json.loads((folder / f"peak.{rank}.json").read_text()) for rank in range(processes)]
        return peaks, json.loads((folder / "run" / "summary.json").read_text())


def row_of(program, stores, case, processes, blocks, wholes):
    """One number of processes: the constant is what a rank of as many takes on a tiny store."""
    (model, strategy), (big, tiny) = case, stores
    constant, _ = run(program, tiny, model, strategy, processes, blocks)
    peaks, summary = run(program, big, model, strategy, processes, blocks)
    most = {name: max(peak[name] for peak in peaks) for name in ("RssAnon", "VmHWM")}
    fixed = {name: max(peak[name] for peak in constant) for name in most}
    if processes == 1:
        wholes[model] = {name: most[name] - fixed[name] for name in most}
    allowed = {name: FACTOR * wholes[model][name] / processes + fixed[name] for name in most}
    shown = ", ".join(f"{name} {most[name] / MIB:,.0f} of {allowed[name] / MIB:,.0f} MiB" for name in most)
    print(f"{model} by {strategy}, {processes} processes: {shown}", file=sys.stderr, flush=True)
    return {
        "model": model, "strategy": strategy if processes > 1 else "one process", "processes": processes, "peaks": peaks, "most": most,
        "constant": fixed, "allowed": allowed, "loss": summary["epochs"][-1]["loss"], "seconds": summary["seconds"],
        "planned": summary["plan"]["memory"], "state_hash": summary["state_hash"], "commit": commit()[:12],
    }  # fmt: skip


def text(made):
    """The results as Markdown."""
    where = made["machine"]
    lines = [
        "# Host memory by number of processes", "",
        f"{where['cpu']}, {where['cores']} cores, {where['memory_gib']} GiB; {where['date']} "
        f"(`bench/hosts/run.sh memory`). A store of {made['store_bytes'] / 1e9:.2f} GB (payments, daily snapshots, all of them one frame), link "
        "prediction, one epoch, one thread a process, all processes on this host. MiB of the process that had most.", "",
        "RssAnon is what a process has for itself. VmHWM has the pages of the mapped store besides, which all processes of a host share: "
        "they are counted once for each process. A process lets go of them when it has read them. The constant is what a process of "
        "as many takes on a store of a thousandth of the events.", "",
        "| model | strategy | processes | RssAnon | allowed | | VmHWM | allowed | | constant (RssAnon, VmHWM) | commit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in made["rows"]:
        cells = []
        for name in ("RssAnon", "VmHWM"):
            met = "met" if row["most"][name] <= row["allowed"][name] else "missed"
            cells += [f"{row['most'][name] / MIB:,.0f}", f"{row['allowed'][name] / MIB:,.0f}", met]
        constant = ", ".join(f"{row['constant'][name] / MIB:,.0f}" for name in ("RssAnon", "VmHWM"))
        lines.append(f"| {NAMES[row['model']]} | {row['strategy']} | {row['processes']} | " + " | ".join(cells) + f" | {constant} | {row['commit']} |")
    lines += ["", f"Allowed: {FACTOR} × (whole / processes) + constant, where whole is what one process takes less its constant.", ""]
    return "\n".join(lines)


def drawing(rows):
    """A panel for each model: the peak of the largest process, and what is allowed."""
    panels, ways = {}, dict.fromkeys((row["model"], row["strategy"]) for row in rows if row["processes"] > 1)
    shown = [(way, row) for way in ways for row in rows if row["model"] == way[0] and row["strategy"] in (way[1], "one process")]
    for (model, strategy), row in shown:
        lines = panels.setdefault(f"{NAMES[model]}, {strategy}", {"anon": [], "all": [], "allowed": []})
        values = {"anon": row["most"]["RssAnon"], "all": row["most"]["VmHWM"], "allowed": row["allowed"]["VmHWM"]}
        for kind, value in values.items():
            lines[kind].append((row["processes"], value / MIB))
    colours = [("anon", "#2563eb", "#60a5fa"), ("all", "#0d9488", "#2dd4bf"), ("allowed", "#94a3b8", "#64748b")]
    legend = [("anon", "own pages (RssAnon), MiB"), ("all", "with mapped files (VmHWM), MiB"), ("allowed", "allowed, MiB")]
    return picture("Peak host memory of the largest process", colours, legend, panels, "processes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=lambda text: [int(one) for one in text.split(",")], default=[1, 2, 4, 8])
    parser.add_argument("--cases", type=lambda text: [tuple(one.split(":")) for one in text.split(",")], default=CASES, help="model:strategy,…")
    parser.add_argument("--accounts", type=int, default=20_000)
    parser.add_argument("--days", type=int, default=200)
    parser.add_argument("--events", type=int, default=84_000_000)
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    program = str(Path(os.environ.get("ZOETROPE", ROOT / "target/release/zoetrope")).resolve())
    sizes = {"accounts": options.accounts, "days": options.days, "events": options.events}
    small = {"accounts": max(options.accounts // 1000, 100), "days": options.days, "events": max(options.events // 1000, 1000)}
    stores = store(program, **sizes), store(program, **small)
    rows, wholes = [], {}
    for case in options.cases:
        for processes in options.processes:
            if processes == 1 and case[0] in wholes:
                continue
            rows.append(row_of(program, stores, case, processes, options.blocks, wholes))
            made = {"machine": machine(), "store_bytes": stores[0].stat().st_size, "rows": rows}
            (options.out / "hosts-memory.json").write_text(json.dumps(made, indent=1) + "\n")
            (options.out / "hosts-memory.md").write_text(text(made))
    (options.out / "hosts-memory.svg").write_text(drawing(rows))
    print(text(made))


if __name__ == "__main__":
    main()
