"""Who trains on the events, and how a run of each is started."""

import json
import os
import subprocess
from dataclasses import dataclass

import zoetrope
from zoetrope import ROOT

RATE = 1e-4
BATCHES = (200, 1200)
MODELS = ("tgn", "apan", "jodie")
VENV = os.environ.get("PYTHON", ROOT / "target" / "bench-venv" / "bin" / "python")
DGL = ROOT / "target" / "bench-dgl" / "bin" / "python"
NAMES = {"zoetrope": "Zoetrope", "pyg": "PyG", "tgm": "TGM", "tgl": "TGL", "tglite": "TGLite"}
# The interpreter, the variable that names a checkout, the packages whose versions are recorded, and
# what must be importable.
PEERS = {
    "pyg": (VENV, None, ("torch_geometric", "torch"), "torch_geometric"),
    "tgm": (VENV, None, ("tgm-lib", "torch"), "tgm, torch_geometric"),
    "tgl": (os.environ.get("TGL_PYTHON", DGL), "TGL_HOME", ("dgl", "torch"), "dgl, yaml, pandas, sampler_core"),
    "tglite": (os.environ.get("TGLITE_PYTHON", VENV), "TGLITE_HOME", ("torch",), "pandas, torch_scatter, tglite"),
}


@dataclass(frozen=True)
class Contestant:
    """A program, and for Zoetrope whose conventions it follows."""

    peer: str
    follows: str = ""

    @property
    def name(self):
        return NAMES[self.peer] + (f", as {NAMES[self.follows]}" if self.follows else "")

    @property
    def ours(self):
        return self.peer == "zoetrope"


AS_PYG, AS_TGL = Contestant("zoetrope", "pyg"), Contestant("zoetrope", "tgl")
SETTINGS = {
    AS_PYG: {"model.variant": "pyg", "task.neighbours": "batch-stale"},
    AS_TGL: {"model.variant": "tgl", "task.neighbours": "per-event"},
}


def contestants(model):
    """Those of a model, ours first."""
    if model == "tgn":
        return [AS_PYG, AS_TGL, *map(Contestant, ("pyg", "tgm", "tgl", "tglite"))]
    return [AS_TGL, Contestant("tgl"), Contestant("tglite")]


def rival_of(peer):
    """Which of our runs does the same work as a peer."""
    return AS_PYG if peer in ("pyg", "tgm") else AS_TGL


class PeerFailed(Exception):
    """A peer ended without a result, for example for want of memory."""


def versions():
    """Versions of the peers that are there, and why the others are not."""
    found, absent = {}, {}
    for peer, (python, home, packages, modules) in PEERS.items():
        if home and home not in os.environ:
            absent[peer] = f"{NAMES[peer]}: {home} does not name a prepared checkout"
            continue
        paths = [str(os.path.join(os.environ[home], sub)) for sub in ("", "python")] if home else []
        script = (f"import sys; sys.path[:0] = {paths}; import {modules}; import importlib.metadata as m, json; "
                  f"print(json.dumps({{p: m.version(p) for p in {packages}}}))")
        try:
            done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
            found[peer] = json.loads(done.stdout)
            if home:
                git = ["git", "-C", os.environ[home], "rev-parse", "HEAD"]
                found[peer]["commit"] = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            absent[peer] = f"{NAMES[peer]}: {lines[-1]}"
    return found, absent


def run(contestant, model, batch, epochs, table, threads, seed=0, **more):
    """Trains once; what it measured. `more` are flags and keys for Zoetrope, entries of the job for a peer."""
    if contestant.ours:
        return ours(contestant, model, batch, epochs, table, threads, seed, **more)
    job = {"peer": contestant.peer, "model": model, "table": str(table), "batch": batch, "epochs": epochs,
           "threads": threads, "rate": RATE, "seed": seed, **more}
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    command = [PEERS[contestant.peer][0], "-W", "ignore", ROOT / "bench" / "events" / "peer.py", json.dumps(job)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerFailed(f"{model}, batch {batch}, {contestant.name} failed ({done.returncode}): {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout.splitlines()[-1])


def ours(contestant, model, batch, epochs, table, threads, seed=0, rate=RATE, candidates=1, **more):
    """One run of Zoetrope. It ranks each test event among at least one candidate beside the one
    negative that everyone has: with `candidates` 1 its test pass asks a third more than the peers'."""
    summary = zoetrope.train(
        f"run-{model}-{contestant.follows}", data=table, task="link-prediction", model=model, epochs=epochs, lr=rate,
        threads=threads, **more, **SETTINGS[contestant], **{
            "train.batch_size": batch, "train.seed": seed, "data.split": "70/15/15", "data.feature_scaling": "none", "task.candidates": candidates,
            # The peers' convention: memory knows what earlier batches held, whatever its time.
            "model.hidden": 100, "task.pool": "destinations", "task.equal_times": "batch", **({} if model == "jodie" else {"model.heads": 2, "model.neighbours": 10}),
        })
    return {
        "seconds": [epoch["seconds"] for epoch in summary["epochs"]],
        "losses": [epoch["loss"] for epoch in summary["epochs"]],
        "test": summary["test"],
        "evaluate_seconds": summary["seconds"]["evaluate"],
        "peak_bytes": summary["peak_host_bytes"],
        "import_bytes": 0,
        "peak_device_bytes": summary["peak_device_bytes"],
        "redundancy": summary.get("redundancy"),
    }
