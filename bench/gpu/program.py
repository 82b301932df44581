"""How programs are started here, and what is said meanwhile."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from cases import WORK, ZOETROPE

PYTHON = os.environ.get("PYTHON", sys.executable)
START = time.monotonic()


class Failed(Exception):
    """A program ended without what was asked of it."""


def say(text):
    print(f"[{time.monotonic() - START:4.0f} s] {text}", flush=True)


def run(command):
    """The finished process, whatever it ended with."""
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def must(command):
    """What a program prints, or Failed with the end of what it said."""
    done = run(command)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-600:]
        raise Failed(f"{' '.join(map(str, command))} ended with {done.returncode}: {said}")
    return done.stdout


def lines(command):
    """The lines that a program prints, each as soon as it is there; at the end Failed as with `must`."""
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            yield from child.stdout
            if child.wait() != 0:
                errors.seek(0)
                raise Failed(f"{' '.join(map(str, command))} ended with {child.returncode}: {errors.read().strip()[-600:]}")
        finally:
            # Also if the time of the run is up while the program is at work.
            child.kill()
            child.wait()


def command_of(folder, settings):
    """`zoetrope train`; settings are flags, or keys if they have a dot; True is a flag without a value."""
    shutil.rmtree(WORK / folder, ignore_errors=True)
    command = [ZOETROPE, "train", "--json", "--quiet", "--out", WORK / folder]
    for name, value in settings.items():
        if "." in name:
            command += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
        else:
            command += [f"--{name.replace('_', '-')}"] + ([] if value is True else [value])
    return command


def train(folder, **settings):
    """The summary of one `zoetrope train`."""
    return json.loads(must(command_of(folder, settings)))


def versions():
    """Of the packages that the peers come from."""
    script = ("import importlib.metadata as m, json\nfound = {}\nfor p in ('torch', 'torch_geometric', 'numpy'):\n"
              "    try: found[p] = m.version(p)\n    except m.PackageNotFoundError: pass\nprint(json.dumps(found))")
    return json.loads(must([PYTHON, "-c", script]))
