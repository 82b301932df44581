"""Ranks that end or hang in the middle of a run: who is named, when, what is left, and whether the run goes on.

Reliability goals R5 and R6: survivors exit naming a dead rank within 15 s, a hung one within the timeout and 5 s,
nobody is left behind, and a restart reaches the bits of an undisturbed run. Faults are placed by ZOETROPE_FAULT
(feature `faults`) at a collective of the run: before the first one, between two, and in one.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from machine import machine  # noqa: E402

from job import MPIRUN, Job, state_hash  # noqa: E402

RESULTS = ROOT / "bench" / "results"
RANKS, VICTIM, TIMEOUT = 3, 1, 3
# Where the victim is struck: before the first collective of the run, between two in its middle, in one.
MOMENTS = {"before": "1:before", "between": "400:before", "in": "400:in"}
# Collectives of the engine itself, by which processes get to know each other before the run begins.
EARLIER = {"threads": 0, "MPI": 2}
ENDS, HANGS = ("kill", "exit", "panic"), ("stop", "loop")
# A signal to a process of threads, and its exit, are the end of all ranks: there is nobody to name anybody.
ALONE = {("threads", "kill"), ("threads", "exit"), ("threads", "stop")}
TRAIN = [
    "train", "--data", "synthetic:sbm?vertices=40&steps=20&communities=4", "--task", "link-prediction",
    "--model", "tm-gcn", "--hidden", "6", "--epochs", "15", "--checkpoint-every", "1",
    "--set", f"plan.timeout={TIMEOUT}", "--quiet",
]  # fmt: skip


def command(engine, program, arguments):
    """A run by threads or by processes."""
    if engine == "MPI":
        return [*MPIRUN, "-n", str(RANKS), program, *arguments]
    return [program, *arguments, *([] if "--resume" in arguments else ["--ranks", str(RANKS)])]


def strike(engine, program, fault, moment, folder, whole):
    """One run that is struck, and its restart."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    collective, when = MOMENTS[moment].split(":")
    place = f"{VICTIM}:{EARLIER[engine] + int(collective)}:{when}:{fault}"
    arguments = [*TRAIN, "--out", "run"]
    job = Job(command(engine, program, arguments), folder, {"ZOETROPE_FAULT": place, "TMPDIR": str(folder)})
    code, _ = job.wait(60)
    struck = next((at for at, line in job.lines if line.startswith("fault: ")), None)
    how = "hangs" if fault in HANGS else r"(ended|panicked)"
    named = next((at for at, line in job.lines if re.search(rf"rank {VICTIM} {how}", line)), None)
    result = {
        "engine": engine,
        "fault": fault,
        "moment": moment,
        "struck": struck is not None,
        "named": named is not None,
        "seconds": round(named - struck, 2) if named and struck else None,
        "code": code,
        "orphans": len(job.orphans()),
        "said": job.text(),
    }
    environment = {"TMPDIR": str(folder)}
    if (folder / "run" / "plan.json").exists():
        again = Job(command(engine, program, ["train", "--resume", "run", "--quiet"]), folder, environment)
    else:
        # Struck before there was a run to go on with.
        shutil.rmtree(folder / "run", ignore_errors=True)
        again = Job(command(engine, program, arguments), folder, environment)
    again.wait(120)
    result["same"] = state_hash(folder / "run") == whole
    if not result["same"]:
        result["said"] += "\nrestart: " + again.text()
    return result


def table(results, repeats):
    """One line for each engine, fault and moment."""
    lines = [
        "| fault | engine | moment | named right | seconds until named | orphans | exit code | same bits after restart |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows = {}
    for result in results:
        rows.setdefault((result["fault"], result["engine"], result["moment"]), []).append(result)
    for (fault, engine, moment), of in rows.items():
        alone = (engine, fault) in ALONE
        seconds = [result["seconds"] for result in of if result["seconds"] is not None]
        named = "all end" if alone else f"{sum(result['named'] for result in of)} of {repeats}"
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}" if seconds else "–"
        codes = ", ".join(sorted({str(result["code"]) for result in of}))
        orphans, same = sum(result["orphans"] for result in of), sum(result["same"] for result in of)
        lines.append(
            f"| {fault} | {engine} | {moment} | {named} | {spread} | {orphans} | {codes} | {same} of {repeats} |"
        )
    return "\n".join(lines)


def good(result):
    """Whether a goal is met."""
    limit = TIMEOUT + 5 if result["fault"] in HANGS else 15
    in_time = result["seconds"] is not None and result["seconds"] <= limit
    alone = (result["engine"], result["fault"]) in ALONE
    ended = result["code"] not in (0, None) and result["orphans"] == 0
    return result["struck"] and result["same"] and ended and (alone or in_time)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engines", default="threads,MPI")
    parser.add_argument("--faults", default=",".join(ENDS + HANGS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    program = str(Path(os.environ.get("ZOETROPE", ROOT / "target/debug/zoetrope")).resolve())
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = Job(command("threads", program, [*TRAIN, "--out", "whole"]), folder)
        whole.wait(300)
        expected = state_hash(folder / "whole")
        assert expected, whole.text()
        for engine in options.engines.split(","):
            for fault in options.faults.split(","):
                # A process of threads that is stopped can be continued; nobody inside could notice.
                if (engine, fault) == ("threads", "stop"):
                    continue
                for moment in MOMENTS:
                    for _ in range(options.repeats):
                        result = strike(engine, program, fault, moment, folder, expected)
                        results.append(result)
                        if not good(result):
                            print("not as promised:", json.dumps(result, indent=1), flush=True)
                    print(table(results[-options.repeats :], options.repeats).splitlines()[-1], flush=True)
                    (options.out / "faults.md").write_text(report(results, options.repeats))
    sys.exit(0 if all(map(good, results)) else 1)


def report(results, repeats):
    """What was found so far."""
    there = machine()
    return (
        f"Faults of one of {RANKS} ranks in training (`bench/faults/faults.py`), {repeats} times each; a rank that hangs "
        f"is to be named within {TIMEOUT} + 5 s, one that ends within 15 s. {there['cpu']}, {there['cores']} cores, "
        f"{there['date']}, commit {there['commit'][:12]}.\n\n{table(results, repeats)}\n\n"
        f"{sum(map(good, results))} of {len(results)} runs were as promised. `before`: at the first collective of the run; `between` and "
        "`in`: at the 400th, before its messages leave and after. A signal to a process of threads, or its exit, ends all "
        "ranks at once: nobody is left to name anybody.\n"
    )


if __name__ == "__main__":
    main()
