"""Where and when something was measured, and from which commit. Needs only the standard library.

Every row of a result names the commit that it was measured at, in its JSON (`stamped`) and in its table (`commit_of`,
`short`), so that a file whose rows were measured at different times stays true.
"""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The commit of a row that was kept without one.
UNKNOWN = "unknown"


def git(*words):
    """What git says of this checkout; empty if there is no git or no checkout."""
    try:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def commit():
    """The commit; a copy without git names it in COMMIT."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results")
    return os.environ.get("COMMIT") or (git("rev-parse", "HEAD") or UNKNOWN) + ("-changed" if changed else "")


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


def stamped(rows, at=None):
    """The rows, each with the commit that it was measured at: its own if it has one, otherwise `at`, or the present one."""
    at = at or commit()
    return [{"commit": at, **row} for row in rows]


def commit_of(row, *about):
    """The commit of a row as a table shows it: its own, or that of the first of its surroundings which names one."""
    return short(next((part["commit"] for part in (row, *about) if part and part.get("commit")), UNKNOWN))


def short(name):
    """A commit in at most nine digits; what follows them (`-changed`: the checkout differed from the commit) is kept."""
    digits, *more = re.split(r"(?=[^0-9a-f])", name, maxsplit=1)
    return digits[:9] + "".join(more) if digits else name
