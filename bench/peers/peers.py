"""Zoetrope and its peers train the same cases from the same weights, in turn, on the same cores.

Run it through `bench/peers/run.sh`. In each round every contestant runs once in a process of its
own; the first epoch of a process is dropped. Prints tables and goals, writes peers.json (every
epoch of every run), peers.md and peers.svg to bench/results; cases that are not asked for stay there as they were
measured, with their own commit. Fails if a peer's losses are
not ours (agreement.py: then it was not the same work), or if a peer ended without a result.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import agreement
from chart import picture
from contestants import EQUAL, RATE, PeerFailed, contestants, first_update, gradient_of, run, start_weights, versions, zoetrope
from figures import ALL
from safetensors.numpy import load_file
from table import apart, document
from workloads import CASES, ENGLAND_COVID, ROOT, WORK, ZOETROPE, make

from machine import machine, stamped

RESULTS = ROOT / "bench" / "results"


class Progress:
    """Says what runs, and how long the rest may take: each job as long as before, a new one as the mean."""

    def __init__(self, jobs):
        self.left, self.took, self.start = list(jobs), {}, time.monotonic()

    def now(self, text):
        rest = ""
        if self.took:
            mean = statistics.fmean(self.took.values())
            rest = f", about {sum(self.took.get(job, mean) for job in self.left) / 60:.0f} min to go"
        print(f"[{time.monotonic() - self.start:5.0f} s{rest}] {text}", file=sys.stderr, flush=True)

    def done(self, seconds):
        self.took[self.left.pop(0)] = seconds


def measure(jobs, rounds, quick, given):
    """All rounds; then every peer's first run is compared with ours."""
    progress = Progress(jobs * rounds)
    runs, kept, failures = [], {}, []
    for number in range(rounds):
        for case, model, contestant in jobs:
            progress.now(f"round {number + 1}: {case.name} {model}, {contestant.name}")
            begin = time.monotonic()
            epochs, threads = 1 + (1 if quick else case.epochs), contestant.threads(given)
            try:
                result, weights = run(contestant, case, model, epochs, threads, start_weights(case, model))
            except PeerFailed as failure:
                failures.append(str(failure))
                print(failure, file=sys.stderr)
                continue
            finally:
                progress.done(time.monotonic() - begin)
            about = {"case": case.name, "model": model, "peer": contestant.peer, "variant": contestant.variant,
                     "threads": threads, "round": number + 1}
            runs.append({**about, **result})
            kept.setdefault((case.name, model), {}).setdefault(contestant, (about, result, weights))
    checks = [check for job, by in kept.items() for check in compare(*job, by, given)]
    return runs, checks, failures


def compare(name, model, by, threads):
    """Every peer's first run of a case against ours."""
    case = CASES[name]
    weights = start_weights(case, model)
    start = load_file(weights)
    first, stepped = first_update(case, model, threads, weights)
    after = load_file(stepped)
    _, ours, our_weights = by[EQUAL]
    for contestant, (about, result, final) in by.items():
        if not contestant.ours:
            gradient = load_file(gradient_of(final))
            further = {
                "gradient": agreement.gradient(start, after, RATE, gradient),
                "weights": agreement.weights(start, load_file(our_weights), load_file(final), gradient),
            }
            yield {**about, **agreement.check({**ours, "first_loss": first}, result, further)}


def start_seconds(threads):
    """From the start of the process to the first update on D1, read as it is published."""
    case, found, before = CASES["D1"], [], []
    for _ in range(7):
        found.append(zoetrope(case, "tgcn", None, WORK / "start", 1, threads, False, data=ENGLAND_COVID, more=["--set", "data.scaling=pygt"])["first_step_seconds"])
        begin = time.perf_counter()
        subprocess.run([ZOETROPE, "--version"], check=True, stdout=subprocess.DEVNULL)
        before.append(time.perf_counter() - begin)
    return {"first_step": found, "process": min(before)}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--quick", action="store_true", help="one round, one timed epoch; results go to target/")
    parser.add_argument("--cases", type=words, default=list(CASES), help="of " + ", ".join(CASES))
    parser.add_argument("--models", type=words, help="of those that the cases have")
    parser.add_argument("--rounds", type=int, help="2 if not given")
    parser.add_argument("--threads", type=int, default=2, help="of both sides, and as many cores; 2 if not given")
    parser.add_argument("--out", type=Path, help="folder for peers.json, .md and .svg")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="two earlier results; measures nothing")
    return parser.parse_args()


def main():
    asked = options()
    if asked.compare:
        return print(apart(*(json.loads(path.read_text()) for path in asked.compare)))
    # A machine may have more cores: both sides get the same ones.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.threads])
    about, (found, absent) = {**machine(), "python": platform.python_version()}, versions()
    notes, jobs = list(absent.values()), []
    for case in (CASES[name] for name in asked.cases):
        if reason := make(case):
            notes.append(f"{case.name} left out: {reason}")
            continue
        for model in case.models:
            if not asked.models or model in asked.models:
                jobs += [(case, model, contestant) for contestant in contestants(case, model, absent)]
    rounds = asked.rounds or (1 if asked.quick else 2)
    runs, checks, failures = measure(jobs, rounds, asked.quick, asked.threads)
    report = {"about": about, "versions": found, "threads": asked.threads, "rounds": rounds, "notes": notes + failures, "checks": stamped(checks), "runs": stamped(runs)}
    if "D1" in asked.cases and ENGLAND_COVID.exists():
        report["start_seconds"] = {**start_seconds(asked.threads), "commit": about["commit"]}
    keep(report, asked.out or (WORK / "results" if asked.quick else RESULTS))
    if failures:
        raise SystemExit("\n".join(failures))
    if wrong := [check for check in checks if not check["same"]]:
        raise SystemExit("not the same work: " + "; ".join(f"{c['case']} {c['model']} {c['peer']} {c['variant']}" for c in wrong))


def merge(report, old):
    """Adds the cases and models that were not measured now from an earlier result, whose rows keep their own commits."""
    job = lambda row: (row["case"], row["model"])  # noqa: E731
    measured = set(map(job, report["runs"]))
    for kind in ("checks", "runs"):
        rows = report[kind] + [row for row in stamped(old[kind], old["about"]["commit"]) if job(row) not in measured]
        report[kind] = sorted(rows, key=lambda row: ALL.index(job(row)) if job(row) in ALL else len(ALL))
    if "start_seconds" in old:
        report.setdefault("start_seconds", {"commit": old["about"]["commit"], **old["start_seconds"]})


def keep(report, folder):
    """Writes and prints; an earlier result becomes peers-before.json and is compared with."""
    folder.mkdir(parents=True, exist_ok=True)
    newest, before = folder / "peers.json", folder / "peers-before.json"
    if newest.exists():
        merge(report, json.loads(newest.read_text()))
        newest.replace(before)
    newest.write_text(json.dumps(report) + "\n")
    text = document(report)
    (folder / "peers.md").write_text(text)
    (folder / "peers.svg").write_text(picture(report))
    print(text)
    if before.exists() and (lines := apart(json.loads(before.read_text()), report)):
        print("Against the run before:\n\n" + lines)


if __name__ == "__main__":
    main()
