"""The cases of the GPU: those of bench/peers and one that is ten times larger."""

import dataclasses
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "peers"))
import workloads  # noqa: E402
from workloads import ENGLAND_COVID, ROOT, ZOETROPE, Case  # noqa: E402, F401

WORK = ROOT / "target" / "bench-gpu"
MODELS = ("tgcn", "evolvegcn-o", "mpnn-lstm")
# Epochs are those of Zoetrope: the first half, in which it prepares, is dropped.
CASES = {
    case.name: case
    for case in [
        dataclasses.replace(workloads.CASES["D1"], models=MODELS, epochs=20),
        dataclasses.replace(workloads.CASES["D4"], models=MODELS, epochs=40),
        dataclasses.replace(workloads.CASES["D5"], models=MODELS, epochs=30),
        # Three frames: two would stay in the two areas that streaming copies into by turns.
        Case("D6", "power-law: 2,000,000 vertices, 16 snapshots of 10,000,000 edges", MODELS,
             8, 4, 6, 8, "synthetic:power-law?vertices=2000000&steps=16&edges=10000000&features=2"),
    ]
}


def settings(case, model):
    """What `zoetrope train` is told of a case, the loss on the last snapshot of each frame."""
    found = {
        "data": case.file, "task": case.task, "model": model, "frame": case.frame, "stride": case.stride, "hidden": case.hidden,
        "lr": 0.01, "data.split": "none", "data.feature_scaling": "none", "train.loss": "last", "plan.reuse": False,
    }
    return {**found, "layers": 2} if model == "evolvegcn-o" else found


def frames_of(case, snapshots):
    """Frames of an epoch."""
    return len(workloads.frames(snapshots, case.frame, case.stride))
