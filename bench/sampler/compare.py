"""Sampling neighbours: Zoetrope, numpy, PyG and TGL on the same questions, in turn, on one core.

Run it through `bench/sampler/run.sh`, which makes the environment. Prints a table and writes
`bench/results/sampler.json`. TGL takes part if the environment variable TGL_CHECKOUT names a checkout of
https://github.com/amazon-science/tgl whose sampler can be built here.
"""
import argparse
import gzip
import json
import os
import pathlib
import platform
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from machine import machine, stamped  # noqa: E402
from side import Side  # noqa: E402

WORK = ROOT / "target" / "bench-sampler"
OURS = ROOT / "target" / "release" / "bench-sampler"
DATA = ROOT.parent / "shared" / "data" / "sx-mathoverflow" / "sx-mathoverflow.txt.gz"
NEIGHBOURS = 10
BATCHES = [200, 600, 1200]
ONE_THREAD = {name: "1" for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}


def columns(path):
    """Numbers vertices densely, sorts by time (stable) and writes the columns."""
    with gzip.open(path) as rows:
        table = np.loadtxt(rows, dtype=np.int64)
    vertices = np.unique(table[:, :2], return_inverse=True)[1].reshape(-1, 2)
    order = np.argsort(table[:, 2], kind="stable")
    WORK.mkdir(parents=True, exist_ok=True)
    vertices[order, 0].astype("<u4").tofile(WORK / "src.bin")
    vertices[order, 1].astype("<u4").tofile(WORK / "dst.bin")
    table[order, 2].astype("<i8").tofile(WORK / "time.bin")
    return len(table)


def tgl():
    """The folder with TGL's built sampler, or None and why it is missing."""
    checkout = os.environ.get("TGL_CHECKOUT")
    if not checkout:
        return None, "TGL skipped: TGL_CHECKOUT does not name a checkout"
    built = WORK / "tgl"
    build = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", built, "--build-temp", WORK / "tgl-objects"],
        cwd=checkout, capture_output=True, text=True)
    if build.returncode:
        return None, f"TGL skipped: its sampler does not build here: {build.stderr.strip().splitlines()[-1:]}"
    return built, None


def cases(has_tgl):
    for choice in ["recent", "uniform"]:
        rivals = ["numpy"] + ["tgl"] * has_tgl + ["pyg"] * (choice == "recent")
        for batch in BATCHES:
            for contestant in ["zoetrope", *rivals]:
                yield dict(contestant=contestant, choice=choice, neighbours=NEIGHBOURS, batch=batch)


def measure(modules, rounds, seconds):
    ours = Side([OURS, "serve", WORK], ONE_THREAD)
    theirs = Side([sys.executable, ROOT / "bench" / "sampler" / "peers.py", WORK, *([modules] if modules else [])], ONE_THREAD)
    results = {}
    for _ in range(rounds):
        for case in cases(modules is not None):
            key = (case["choice"], case["batch"], case["contestant"])
            if case["contestant"] == "zoetrope":
                asked = {field: value for field, value in case.items() if field != "contestant"}
                answer = ours.ask({**asked, "seconds": seconds})
            else:
                answer = theirs.ask({**case, "seconds": seconds})
            before = results.setdefault(key, {**case, **answer, "passes": 0})
            for field in ("seconds", "floor"):
                if field in answer:
                    before[field] = [min(pair) for pair in zip(before[field], answer[field], strict=True)]
            before["passes"] += answer["passes"]
    ours.close()
    theirs.close()
    return results


def summary(results, events):
    found = []
    for (choice, batch, contestant), result in results.items():
        if choice == "recent" and contestant == "numpy":
            us = results[choice, batch, "zoetrope"]
            if (us["sampled"], us["checksum"]) != (result["sampled"], result["checksum"]):
                sys.exit(f"batch {batch}: numpy samples other neighbours")
        seconds = sum(result["seconds"])
        record = dict(choice=choice, batch=batch, contestant=contestant, neighbours=NEIGHBOURS, seconds=seconds,
                      passes=result["passes"], sampled=result["sampled"], per_second=result["sampled"] / seconds)
        if "floor" in result and choice != "uniform":
            record["of_floor"] = sum(result["floor"]) / seconds
        if contestant == "tgl" and choice == "recent":
            record["share_of_moments_with_other_events"] = result["wrong"] / (2 * events)
        found.append(record)
    return found


def table(found):
    ours = {(record["choice"], record["batch"]): record for record in found if record["contestant"] == "zoetrope"}
    lines = ["| choice | batch | contestant | million neighbours a second | ns a neighbour | × slower |",
             "| --- | --- | --- | --- | --- | --- |"]
    for record in found:
        times = ours[record["choice"], record["batch"]]["per_second"] / record["per_second"]
        lines.append(f"| {record['choice']} | {record['batch']} | {record['contestant']} | "
                     f"{record['per_second'] * 1e-6:.1f} | {1e9 / record['per_second']:.1f} | {times:.1f} |")
    return "\n".join(lines)


def versions():
    from importlib.metadata import version

    return {**machine(), "threads": 1, "load": os.getloadavg()[0], "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "torch", "torch_geometric")}}


def main():
    parser = argparse.ArgumentParser(description="Times the sampler against numpy, PyG and TGL.")
    parser.add_argument("--data", type=pathlib.Path, default=DATA, help="rows of source, destination, time; gzip")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of all cases")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds a case and round")
    wish = parser.parse_args()
    events = columns(wish.data)
    modules, why = tgl()
    if why:
        print(why, file=sys.stderr)
    found = summary(measure(modules, wish.rounds, wish.seconds), events)
    print(table(found))
    report = {"versions": versions(), "data": wish.data.name, "events": events, "rounds": wish.rounds, "results": stamped(found)}
    (ROOT / "bench" / "results" / "sampler.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
