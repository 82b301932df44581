"""Measures what the GPU does, part by part; run it through `bench/gpu/run.sh`.

Writes gpu.json (every figure), gpu.md (tables and goals), gpu-curves.svg and gpu-frames.svg. A part that
was not asked for stays as an earlier run left it there or in bench/results, with its own date and commit. A
part that fails is told and the others go on; the exit code is 1 then, and 0 if every part
ran, whether its goals are met or not.
"""

import argparse
import json
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import program
from cases import CASES, MODELS, ROOT
from program import say

sys.path[:0] = [str(ROOT / "bench")]
import chart  # noqa: E402
import conformance  # noqa: E402
import frames  # noqa: E402
import repeat  # noqa: E402
import sanitizer  # noqa: E402
import spmm  # noqa: E402
import tgn  # noqa: E402
import timeline  # noqa: E402
from machine import machine  # noqa: E402
from table import document  # noqa: E402

RESULTS = ROOT / "bench" / "results"
# Cheapest first, so that a run that is cut short has measured the most.
PARTS = {
    "conformance": conformance.measure, "repeat": repeat.measure, "frames": frames.measure, "trace": timeline.measure,
    "tgn": tgn.measure, "spmm": spmm.measure, "sanitizer": sanitizer.measure,
}


class OutOfTime(Exception):
    """The seconds of the whole run are used up."""


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--parts", type=words, default=list(PARTS), help="of " + ", ".join(PARTS))
    parser.add_argument("--cases", type=words, default=list(CASES), help="of frames and trace: " + ", ".join(CASES))
    parser.add_argument("--models", type=words, default=list(MODELS), help="of frames: " + ", ".join(MODELS))
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N; cpu shows whether the scripts run")
    parser.add_argument("--quick", action="store_true", help="as few frames and epochs as show that it runs")
    parser.add_argument("--only", help="of sanitizer: the conformance cases whose name has this text")
    parser.add_argument("--tools", type=words, default=list(sanitizer.TOOLS), help="of sanitizer: " + ", ".join(sanitizer.TOOLS))
    parser.add_argument("--seconds", type=int, default=0, help="of the whole run; what is left then is told and left out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for gpu.json, gpu.md and the pictures")
    asked = parser.parse_args()
    for given, known in ((asked.parts, PARTS), (asked.cases, CASES), (asked.models, MODELS), (asked.tools, sanitizer.TOOLS)):
        if unknown := set(given) - set(known):
            parser.error(f"not known: {', '.join(sorted(unknown))}")
    return asked


def card(device):
    """The GPU in words, and its driver."""
    if device == "cpu":
        return "no GPU: measured on the CPU"
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown GPU"


def keep(report, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gpu.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / "gpu.md").write_text(document(report))
    for name, picture in (("gpu-curves.svg", chart.curves(report)), ("gpu-frames.svg", chart.frames(report))):
        if picture:
            (folder / name).write_text(picture)


def main():
    asked, failed = options(), []
    before = [path for path in (asked.out / "gpu.json", RESULTS / "gpu.json") if path.exists() and asked.device != "cpu"]
    report = json.loads(before[0].read_text()) if before else {"parts": {}}
    about = {**machine(), "card": card(asked.device), "versions": program.versions()}
    if asked.seconds:
        def stop(*_):
            raise OutOfTime(f"the {asked.seconds} s of the run are used up")
        signal.signal(signal.SIGALRM, stop)
        signal.alarm(asked.seconds)
    for name in asked.parts:
        say(f"── {name}")
        part = report["parts"].setdefault(name, {})
        part["about"] = about
        part.pop("failure", None)
        try:
            PARTS[name](asked, part)
            # What was measured is kept even if the machine is taken away in the middle of the next part.
            keep(report, asked.out)
        except OutOfTime as reason:
            failed += asked.parts[asked.parts.index(name):]
            part["failure"] = str(reason)
            say(f"{name}: {reason}; left out: {', '.join(failed[1:]) or 'nothing more'}")
            break
        except (Exception, SystemExit) as reason:
            failed.append(name)
            part["failure"] = f"{type(reason).__name__}: {reason}"[-2000:]
            say(f"{name} FAILED: {part['failure']}")
            if not isinstance(reason, program.Failed):
                traceback.print_exc()
    signal.alarm(0)
    keep(report, asked.out)
    print(document(report))
    if failed:
        raise SystemExit(f"not measured, or not wholly: {', '.join(failed)}")


if __name__ == "__main__":
    main()
