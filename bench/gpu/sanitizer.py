"""Part `sanitizer`: compute-sanitizer watches the conformance suite."""

import re
import shutil

from cases import ZOETROPE
from program import Failed, run, say

TOOLS = ("memcheck", "initcheck", "racecheck")
ERROR = 9
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (.+)")


def measure(asked, part):
    if asked.device == "cpu":
        return say("the sanitizer needs the card")
    if not shutil.which("compute-sanitizer"):
        raise Failed("compute-sanitizer is not on the path")
    part["tools"], part["only"] = {}, asked.only
    suite = [ZOETROPE, "doctor", "--conformance", "--device", asked.device] + (["--only", asked.only] if asked.only else [])
    for tool in asked.tools:
        done = run(["compute-sanitizer", "--tool", tool, "--error-exitcode", ERROR, *suite])
        said = SUMMARY.findall(done.stdout + done.stderr)
        clean = done.returncode == 0
        part["tools"][tool] = {"clean": clean, "code": done.returncode, "summary": said[-1] if said else ""}
        if not clean:
            part["tools"][tool]["end"] = (done.stdout + done.stderr)[:3000]
        say(f"{tool}: {'clean' if clean else 'NOT CLEAN'} ({said[-1] if said else f'exit code {done.returncode}'})")
