"""Runs of the program on a graph of payments, with what they took. Needs only the standard library."""

import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

PROGRAM = os.environ.get("ZOETROPE", "target/release/zoetrope")
WORK = Path("target/bench-ranks")
# The models of ESDG with the smoothing that the paper gives each, and two more that ranks share.
MODELS = {
    "evolvegcn-o": ["--model", "evolvegcn-o", "--set", "data.edge_life=3"],
    "evolvegcn-paper": ["--model", "evolvegcn-o", "--set", "model.variant=paper", "--layers", "2", "--set", "data.edge_life=3"],
    "tm-gcn": ["--model", "tm-gcn", "--set", "data.m_product=3"],
    "cd-gcn": ["--model", "cd-gcn"],
    "mpnn-lstm": ["--model", "mpnn-lstm"],
    "dysat": ["--model", "dysat"],
}


def graph(accounts, days, payments, frame="all"):
    """Flags of a timeline of daily snapshots, all of them one frame if nothing else is said, links of which θ = 0.1 are predicted.

    Generated once: making it takes as much of the processor as many epochs, and would hide what these take.
    """
    file = WORK / f"aml-{accounts}-{days}-{payments}.zoe"
    if not file.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        source = f"synthetic:aml?accounts={accounts}&days={days}&events={payments}"
        subprocess.run([PROGRAM, "data", "generate", source, "--out", str(file), "--quiet"], check=True)
    return [
        "--data", str(file), "--set", "data.window=1d",
        "--set", "data.split=none", "--task", "link-prediction", "--set", "task.theta=0.1", "--frame", str(frame),
        "--set", "train.checkpoint_every=1000000",
    ]


def train(model, flags, launcher=()):
    """One run: the summary (None if it failed), processor seconds, the exit code and the message."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        words = [*launcher, PROGRAM, "train", *MODELS[model], "--json", "--quiet", "--out", str(Path(folder) / "run"), *flags]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError:
        document = {"error": {"message": done.stderr[-500:]}}
    summary = document if "epochs" in document else None
    message = None if summary else document["error"]["message"]
    return {"summary": summary, "cpu": cpu, "code": done.returncode, "message": message}
