"""Part `spmm`: sparse products beside cuSPARSE, measured by spmm.sh."""

import json
import subprocess

from cases import ROOT
from program import Failed, say

SCRIPT = ROOT / "bench" / "gpu" / "spmm.sh"


def measure(asked, part):
    if asked.device == "cpu":
        return say("spmm needs the GPU")
    if not SCRIPT.exists():
        raise Failed("bench/gpu/spmm.sh is not there")
    asked.out.mkdir(parents=True, exist_ok=True)
    code = subprocess.run([SCRIPT, "--out", asked.out.resolve()], cwd=ROOT, check=False).returncode
    if code != 0:
        raise Failed(f"spmm.sh ended with {code}")
    found = asked.out / "gpu-spmm.json"
    part["report"] = json.loads(found.read_text()) if found.exists() else None
