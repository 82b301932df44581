"""How a run of Zoetrope is started, and what machine it was. Needs only the standard library."""

import datetime
import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "bench-events"
RESULTS = ROOT / "bench" / "results"
SHARED = ROOT.parent / "shared" / "data"
# Another build for trials; what is kept is measured with the release build.
PROGRAM = Path(os.environ.get("ZOETROPE", ROOT / "target" / "release" / "zoetrope"))


def train(folder, **settings):
    """The summary of one `zoetrope train`; settings are flags, or keys where they have a dot."""
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


def machine():
    """Where and when, and which commit."""
    with open("/proc/cpuinfo") as info:
        cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()  # noqa: E731
    return {
        "date": datetime.datetime.now().isoformat(timespec="minutes"),
        "commit": git("rev-parse", "HEAD") + ("-changed" if git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results") else ""),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)),
        "kernel": f"{platform.system()} {platform.release()}",
    }


def about(found, threads):
    """The machine in a line."""
    return (f"Commit {found['commit'][:9]}, {found['date']}; {found['cpu']}, {found['cores']} cores, "
            f"{found['memory_gib']} GiB, {found['kernel']}; threads: {threads}.")
