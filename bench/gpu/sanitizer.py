"""Part `sanitizer`: compute-sanitizer watches the conformance suite."""

import os
import re
import shutil
import subprocess
import tempfile
import time

from cases import ZOETROPE
from program import Failed, must, say

TOOLS = ("memcheck", "initcheck", "racecheck")
ERROR = 9
COMPARED = re.compile(r"(\d+) compared")


def side_by_side(commands, most):
    """Exit code and words of each program, as they end; so many run at once, and none outlives the call."""
    waiting, running = list(commands), {}
    try:
        while waiting or running:
            while waiting and len(running) < most:
                file = tempfile.TemporaryFile("w+")
                running[subprocess.Popen(list(map(str, waiting.pop(0))), stdout=file, stderr=file)] = file
            time.sleep(0.2)
            for child in [child for child in running if child.poll() is not None]:
                with running.pop(child) as file:
                    file.seek(0)
                    yield child.returncode, file.read()
    finally:
        for child, file in running.items():
            child.kill()
            child.wait()
            file.close()


def measure(asked, part):
    if asked.device == "cpu":
        return say("the sanitizer needs the GPU")
    if not shutil.which("compute-sanitizer"):
        raise Failed("compute-sanitizer is not on the path")
    part["tools"], part["only"] = {}, asked.only
    suite = [ZOETROPE, "doctor", "--conformance", "--device", asked.device] + (["--only", asked.only] if asked.only else [])
    # What the tools do is mostly work for one core: shards side by side, more of them than cores because they differ.
    at_once = max(1, (os.cpu_count() or 1) - 2)
    shards = 4 * at_once
    must([*suite, "--shard", f"1/{shards}"])  # kernels are compiled once
    for tool in asked.tools:
        start = time.monotonic()
        watch = ["compute-sanitizer", "--tool", tool, "--error-exitcode", ERROR, *suite]
        found = {"clean": False, "shards": 0, "of": shards, "cases": 0, "problems": [], "summary": ""}
        part["tools"][tool] = found
        for code, text in side_by_side([[*watch, "--shard", f"{shard}/{shards}"] for shard in range(1, shards + 1)], at_once):
            found["shards"] += 1
            found["cases"] += sum(map(int, COMPARED.findall(text)))
            found["seconds"] = round(time.monotonic() - start)
            if code != 0:
                found["problems"].append({"code": code, "text": text[:3000]})
            found["summary"] = f"{len(found['problems'])} problems in {found['cases']} cases, {found['shards']} of {shards} shards, {found['seconds']} s"
            found["clean"] = found["shards"] == shards and not found["problems"]
        say(f"{tool}: {'clean' if found['clean'] else 'NOT CLEAN'} ({found['summary']})")
