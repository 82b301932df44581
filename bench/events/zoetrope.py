"""How a run of Zoetrope is started, and what machine it was. Needs only the standard library."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from machine import commit_of, machine, stamped  # noqa: E402, F401

WORK = ROOT / "target" / "bench-events"
RESULTS = ROOT / "bench" / "results"
SHARED = ROOT.parent / "shared" / "data"
# Another build for trials; what is kept is measured with the release build.
PROGRAM = Path(os.environ.get("ZOETROPE", ROOT / "target" / "release" / "zoetrope"))


def train(folder, **settings):
    """The summary of one `zoetrope train`; settings are flags, or keys if they have a dot."""
    folder = WORK / folder
    shutil.rmtree(folder, ignore_errors=True)
    command = [PROGRAM, "train", "--json", "--out", folder]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"] if "." in name else [f"--{name.replace('_', '-')}", value]
    command = list(map(str, command))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def about(found, threads):
    """The machine in a line."""
    return (f"{found['date']}; {found['cpu']}, {found['cores']} cores, "
            f"{found['memory_gib']} GiB, {found['kernel']}; threads: {threads}.")
