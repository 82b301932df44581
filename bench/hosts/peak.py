#!/usr/bin/env python3
"""Runs a program and notes the most memory that its process had: peak.py FILE PROGRAM [WORD...]

VmHWM is the system's own peak of the resident set: the process's own pages, those of files that it has mapped, and memory that it
shares with others. RssAnon (its own pages alone) and RssFile have no peak of their own and are looked at every few milliseconds.
"""

import json
import os
import sys
import time

EVERY_SECONDS = 0.01


def status(pid):
    """Sizes of a process in bytes, by name; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = (line.split() for line in file)
            return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) == 3 and words[2] == "kB"}
    except (OSError, ValueError):
        return {}


def main():
    out, words = sys.argv[1], sys.argv[2:]
    pid = os.spawnvp(os.P_NOWAIT, words[0], words)
    peaks = {"VmHWM": 0, "RssAnon": 0, "RssFile": 0, "RssShmem": 0}
    ended, code = 0, 0
    while not ended:
        found = status(pid)
        for name in peaks:
            peaks[name] = max(peaks[name], found.get(name, 0))
        time.sleep(EVERY_SECONDS)
        ended, code, used = os.wait4(pid, os.WNOHANG)
    # What the system says of the process when it has ended: its peak, whatever was missed between two looks.
    peaks["VmHWM"] = max(peaks["VmHWM"], used.ru_maxrss * 1024)
    peaks["cpu_seconds"] = used.ru_utime + used.ru_stime
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0"))
    with open(f"{out}.{rank}.json", "w") as file:
        json.dump(peaks, file)
    sys.exit(os.waitstatus_to_exitcode(code))


if __name__ == "__main__":
    main()
