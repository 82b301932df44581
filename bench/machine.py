"""Where and when something was measured, and from which commit. Needs only the standard library."""

import datetime
import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def git(*words):
    """What git says of this checkout; empty where there is no git or no checkout."""
    try:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def commit():
    """The commit; a copy without git names it in COMMIT."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results")
    return os.environ.get("COMMIT") or (git("rev-parse", "HEAD") or "unknown") + ("-changed" if changed else "")


def machine():
    """Where and when, and which commit."""
    with open("/proc/cpuinfo") as info:
        cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    return {
        "date": datetime.datetime.now().isoformat(timespec="minutes"),
        "commit": commit(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)),
        "kernel": f"{platform.system()} {platform.release()}",
    }
