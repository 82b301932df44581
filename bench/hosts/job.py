"""A run of zoetrope by several ranks, watched from outside. Needs only the standard library."""

import json
import os
import subprocess
import threading
import time
from pathlib import Path

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def descendants(pid):
    """A process and all below it."""
    found = [pid]
    for process in found:
        try:
            for task in Path(f"/proc/{process}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            pass
    return found


def lives(pid):
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def state_hash(folder):
    """The hash of a finished run; None if it did not finish."""
    summary = Path(folder) / "summary.json"
    return json.loads(summary.read_text())["state_hash"] if summary.exists() else None


class Job:
    """A command whose lines are noted with their time."""

    def __init__(self, command, cwd, environment=None):
        self.lines = []
        self.pids = set()
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def wait(self, limit):
        """The exit code (None past the limit, after which everything is killed) and the seconds it took."""
        deadline = time.monotonic() + limit
        while self.process.poll() is None and time.monotonic() < deadline:
            self.pids.update(descendants(self.process.pid))
            time.sleep(0.01)
        code = self.process.poll()
        seconds = time.monotonic() - self.begun
        if code is None:
            for pid in descendants(self.process.pid):
                subprocess.run(["kill", "-KILL", str(pid)], check=False)
            self.process.wait()
        self.reader.join(timeout=5)
        return code, seconds

    def orphans(self):
        """Processes of the job that are still there, after a moment to disappear."""
        deadline = time.monotonic() + 2
        while any(map(lives, self.pids)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return [pid for pid in self.pids if lives(pid)]

    def text(self):
        """All that was said."""
        return "\n".join(line for _, line in self.lines)
