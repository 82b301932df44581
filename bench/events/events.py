"""Zoetrope and its peers train on the same stream of events, in turn, on the same cores.

Run it through `bench/events/run.sh`. In each round every contestant runs once in a process of its
own. Then Zoetrope alone: how long it takes to a test AP of 0.93, and ranking the test events among
100 candidates. Prints tables and goals, writes events.json (every epoch of every run), events.md
and events.svg to bench/results.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import zoetrope
from chart import picture
from contestants import AS_PYG, AS_TGL, BATCHES, MODELS, RATE, PeerFailed, contestants, ours, run, versions
from figures import WANTED_AP
from table import document
from workload import make

# Most epochs until the wanted AP is given up.
MOST_EPOCHS = 6


def epochs_of(contestant, batch, quick):
    """As many as the accuracy goals ask for; the slow peers are timed on one epoch after the first."""
    if quick:
        return 1
    if contestant.ours:
        return 3 if contestant == AS_PYG else 4
    return 4 if contestant.peer == "pyg" and batch == 200 else 2


def say(start, text):
    print(f"[{time.monotonic() - start:5.0f} s] {text}", file=sys.stderr, flush=True)


def measure(jobs, asked, table, start):
    runs, failures = [], []
    for number in range(asked.rounds):
        for model, batch, contestant in jobs:
            say(start, f"round {number + 1}: {model}, batch {batch}, {contestant.name}")
            epochs = epochs_of(contestant, batch, asked.quick)
            try:
                result = run(contestant, model, batch, epochs, table, asked.threads, seed=number)
            except PeerFailed as failure:
                failures.append(str(failure))
                print(failure, file=sys.stderr)
                continue
            if contestant.ours:
                # One epoch: then nothing but the two parts is evaluated, and no memory is built again.
                result["evaluation"] = ours(contestant, model, batch, 1, table, asked.threads, seed=number)
            runs.append({"model": model, "batch": batch, "peer": contestant.peer, "follows": contestant.follows, "round": number + 1,
                         "threads": asked.threads, **result})
            say(start, f"  {min(result['seconds']):.3g} s an epoch")
    return runs, failures


def to_wanted(asked, table, start):
    """Runs of one epoch more each, from the same seed, until the wanted AP: a longer run begins as a shorter one."""
    tries = []
    for epochs in range(1, 2 if asked.quick else MOST_EPOCHS + 1):
        tries.append(ours(AS_TGL, "tgn", 200, epochs, table, asked.threads, rate=asked.reach_rate))
        say(start, f"{epochs} epochs: test AP {tries[-1]['test']['ap']:.4f} after {sum(tries[-1]['seconds']):.2f} s of training")
        if tries[-1]["test"]["ap"] >= WANTED_AP:
            break
    return {"wanted": WANTED_AP, "rate": asked.reach_rate, "tries": tries}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--quick", action="store_true", help="one epoch over the first events: does everyone run? Results go to target/")
    parser.add_argument("--models", type=words, default=list(MODELS), help="of " + ", ".join(MODELS))
    parser.add_argument("--peers", type=words, help="only these, of pyg, tgm, tgl, tglite; `none` for Zoetrope alone")
    parser.add_argument("--rounds", type=int, default=1, help="1 if not given")
    parser.add_argument("--threads", type=int, default=2, help="of everyone, and as many cores; 2 if not given")
    parser.add_argument("--reach-rate", type=float, default=RATE, help="learning rate on the way to the wanted AP; that of the peers if not given")
    parser.add_argument("--out", type=Path, help="folder for events.json, .md and .svg")
    return parser.parse_args()


def main():
    asked, start = options(), time.monotonic()
    # A machine may have more cores: everyone gets the same ones.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.threads])
    table = make(asked.quick)
    if table is None:
        raise SystemExit("the wikipedia events are not there (shared/data/wikipedia/wikipedia.csv.gz beside the checkout)")
    about, (found, absent) = zoetrope.machine(), versions()
    wanted = lambda one: one.ours or (one.peer not in absent and (asked.peers is None or one.peer in asked.peers))  # noqa: E731
    jobs = [(model, batch, one) for model in asked.models for batch in BATCHES for one in contestants(model) if wanted(one)]
    notes = [f"{reason}; its figures are quoted" for reason in absent.values()]
    for note in notes:
        say(start, note)
    runs, failures = measure(jobs, asked, table, start)
    report = {"about": about, "versions": found, "threads": asked.threads, "rounds": asked.rounds, "quick": asked.quick,
              "notes": notes + failures, "runs": zoetrope.stamped(runs)}
    if "tgn" in asked.models:
        report["reach"] = to_wanted(asked, table, start)
        say(start, "ranking among 100 candidates")
        report["ranking"] = ours(AS_TGL, "tgn", 200, 1, table, asked.threads, candidates=100)
    keep(report, asked.out or (zoetrope.WORK / "results" if asked.quick else zoetrope.RESULTS))
    if failures:
        raise SystemExit("\n".join(failures))


def keep(report, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.json").write_text(json.dumps(report) + "\n")
    text = document(report)
    (folder / "events.md").write_text(text)
    (folder / "events.svg").write_text(picture(report))
    print(text)


if __name__ == "__main__":
    main()
