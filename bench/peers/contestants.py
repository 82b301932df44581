"""Who runs which case, and how a run of each is started."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass

from workloads import ROOT, WORK, ZOETROPE

# Of the step that shows our gradient: large, so that the weights' own digits do not drown it.
RATE = 1e4
PYTHON = {
    "pygt": ROOT / "target" / "bench-venv" / "bin" / "python",
    "tgm": ROOT / "target" / "bench-venv" / "bin" / "python",
    "torch": ROOT / "target" / "bench-venv" / "bin" / "python",
    "dgl": ROOT / "target" / "bench-dgl" / "bin" / "python",
}
NAMES = {"zoetrope": "Zoetrope", "pygt": "PyG-Temporal", "tgm": "TGM", "torch": "PyTorch", "dgl": "DGL"}
PACKAGES = {
    "pygt": ["torch", "torch_geometric", "torch_geometric_temporal", "numpy"],
    "tgm": ["tgm-lib"],
    "dgl": ["dgl", "torch", "numpy"],
}


@dataclass(frozen=True)
class Contestant:
    """A program and how it was told to work."""

    peer: str
    variant: str

    @property
    def name(self):
        return f"{NAMES[self.peer]}, {self.variant}"

    @property
    def ours(self):
        return self.peer == "zoetrope"

    def threads(self, given):
        return 1 if self.variant == "one thread" else given


class PeerFailed(Exception):
    """A peer ended without a result, for example for want of memory."""


# Models whose first layer begins with an aggregation that does not change while they train.
REUSABLE = ("tgcn", "evolvegcn-o", "mpnn-lstm")
EQUAL = Contestant("zoetrope", "reuse off")
REUSE = Contestant("zoetrope", "reuse on")
SINGLE = Contestant("zoetrope", "one thread")
STOCK = Contestant("pygt", "stock")


def contestants(case, model, absent):
    """Those of a case, ours first; `absent` peers are left out."""
    ours = [EQUAL] + ([REUSE] if model in REUSABLE else []) + ([SINGLE] if case.name in ("D4", "D5") else [])
    if model == "dysat":
        peers = [Contestant("torch", "plain"), Contestant("torch", "stacked")]
    elif model == "gc-lstm":
        peers = [STOCK, Contestant("pygt", "prenorm"), Contestant("tgm", "stock")]
    else:
        peers = [STOCK, Contestant("pygt", "prenorm"), Contestant("pygt", "csr")]
        peers += [Contestant("dgl", "fused SpMM")] if model == "tgcn" else []
    return ours + [peer for peer in peers if peer.peer not in absent]


def versions():
    """Versions by environment, and why a peer is absent."""
    found, absent = {}, {}
    for peer, packages in PACKAGES.items():
        script = f"import importlib.metadata as m, json; print(json.dumps({{p: m.version(p) for p in {packages}}}))"
        try:
            done = subprocess.run([PYTHON[peer], "-c", script], capture_output=True, text=True, check=True)
            found[peer] = json.loads(done.stdout)
        except (OSError, subprocess.CalledProcessError):
            absent[peer] = f"{NAMES[peer]} could not be installed from the package index"
    return found, absent


def start_weights(case, model):
    """The weights that everyone starts from: those of the peer's own initialisation."""
    weights = WORK / f"{case.name}-{model}.safetensors"
    if not weights.exists():
        drawn = Contestant("torch", "plain") if model == "dysat" else STOCK
        run_peer(drawn, case, model, 0, 1, weights, None)
    return weights


def run(contestant, case, model, epochs, threads, weights):
    """Trains once; returns what it measured and where its last weights are."""
    slug = f"{case.name}-{model}-{contestant.peer}-{contestant.variant}".replace(" ", "-")
    final = WORK / f"{slug}.safetensors"
    if not contestant.ours:
        return run_peer(contestant, case, model, epochs, threads, weights, final), final
    folder = WORK / slug
    summary = zoetrope(case, model, weights, folder, epochs, threads, contestant.variant == "reuse on")
    return {
        "seconds": [epoch["seconds"] for epoch in summary["epochs"]],
        "losses": [epoch["loss"] for epoch in summary["epochs"]],
        "peak_bytes": summary["peak_host_bytes"],
        "import_bytes": 0,
    }, folder / "weights.safetensors"


def run_peer(contestant, case, model, epochs, threads, weights, final):
    job = {
        "peer": contestant.peer, "model": model, "variant": contestant.variant, "task": case.task,
        "data": str(case.file), "frame": case.frame, "stride": case.stride, "hidden": case.hidden,
        "epochs": epochs, "threads": threads, "weights": str(weights), "final": str(final),
        "gradient": str(gradient_of(final)) if final else None,
    }
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    command = [PYTHON[contestant.peer], "-W", "ignore", ROOT / "bench" / "peers" / "peer.py", json.dumps(job)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerFailed(f"{case.name} {model}, {contestant.name} failed ({done.returncode}): {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None


def zoetrope(case, model, weights, folder, epochs, threads, reuse, stride=None, data=None, rate=0.01, more=()):
    """The summary of one `zoetrope train`."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [
        ZOETROPE, "train", "--json", "--out", folder, "--data", data or case.file, "--task", case.task, "--model", model,
        "--frame", case.frame, "--stride", stride or case.stride, "--hidden", case.hidden, "--epochs", epochs,
        "--lr", rate, "--threads", threads, "--set", "data.split=none", *more,
    ]
    # What would do nothing is refused.
    command += ["--set", f"plan.reuse={str(reuse).lower()}"] if model in REUSABLE else []
    command += ["--set", "data.feature_scaling=none"] if case.own_features and not data else []
    command += ["--weights", weights] if weights else []
    command += ["--layers", 2] if model == "evolvegcn-o" else []
    command += ["--set", "train.loss=last"] if model == "mpnn-lstm" else []
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def gradient_of(final):
    """Where a peer keeps the gradient of its first frame, beside its last weights."""
    return final.with_suffix(".gradient")


def first_update(case, model, threads, weights):
    """Our loss of the first frame, before any update, and the weights after one step of plain
    gradient descent with the rate RATE: an epoch of one frame."""
    folder, plain = WORK / "first", ["--set", "train.optimiser=sgd"]
    summary = zoetrope(case, model, weights, folder, 1, threads, False, stride=1 << 30, rate=RATE, more=plain)
    return summary["epochs"][0]["loss"], folder / "weights.safetensors"
