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
SHARDS = 14
COMPARED = re.compile(r"(\d+) compared")
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (.+)")


def side_by_side(commands):
    """Exit codes of programs and what they said; none of them outlives the call."""
    files = [tempfile.TemporaryFile("w+") for _ in commands]
    started = [subprocess.Popen(list(map(str, command)), stdout=file, stderr=file) for command, file in zip(commands, files)]
    try:
        ended = []
        for child, file in zip(started, files):
            code = child.wait()
            file.seek(0)
            ended.append((code, file.read()))
        return ended
    finally:
        for child, file in zip(started, files):
            child.kill()
            child.wait()
            file.close()


def measure(asked, part):
    if asked.device == "cpu":
        return say("the sanitizer needs the card")
    if not shutil.which("compute-sanitizer"):
        raise Failed("compute-sanitizer is not on the path")
    part["tools"], part["only"] = {}, asked.only
    suite = [ZOETROPE, "doctor", "--conformance", "--device", asked.device] + (["--only", asked.only] if asked.only else [])
    # What the tools do is work for one core, and some cases take minutes under them: shards side by side.
    shards = max(1, min(SHARDS, (os.cpu_count() or 1) - 2))
    must([*suite, "--shard", f"1/{shards}"])  # kernels are compiled once
    for tool in asked.tools:
        start = time.monotonic()
        watch = ["compute-sanitizer", "--tool", tool, "--error-exitcode", ERROR, *suite]
        ended = side_by_side([[*watch, "--shard", f"{shard}/{shards}"] for shard in range(1, shards + 1)])
        part["tools"][tool] = found = {"clean": True, "shards": shards, "seconds": round(time.monotonic() - start), "cases": 0, "summary": ""}
        for code, text in ended:
            found["cases"] += sum(map(int, COMPARED.findall(text)))
            said = (SUMMARY.findall(text) or [f"exit code {code}"])[-1]
            if code != 0 and found["clean"]:
                found.update(clean=False, code=code, end=text[:3000])
                found["summary"] = said
            found["summary"] = found["summary"] or said
        say(f"{tool}: {'clean' if found['clean'] else 'NOT CLEAN'} ({found['summary']}), {found['cases']} cases, {found['seconds']} s")
